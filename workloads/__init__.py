"""Kernels that Warpbank ships: our own CUDA sources, the PTX that LLVM makes of them, their launches and
numpy references.

Every module of this package that defines `WORKLOAD` is a kernel; `warpbank.workloads.names(ALL)` lists them
and `warpbank.workloads.get(name)` returns one. The CUDA source is `cuda/<name>.cu`, its committed PTX
`ptx/<name>.ptx` (remade by `warpbank compile`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from warpbank.arch.names import unknown
from warpbank.program.errors import KernelError
from warpbank.program.launch import Job

SIZES = ("tiny", "small", "full")
#: Groups of kernels, by what they are here for: the algorithms of the papers' benchmarks, which figures and
#: comparisons take unless they say otherwise; kernels of which a larger register file runs more warps; layers
#: of neural networks.
CORE, REGISTER_SENSITIVE, DEEP_LEARNING = "core", "register-sensitive", "deep-learning"
GROUPS = (CORE, REGISTER_SENSITIVE, DEEP_LEARNING)
#: Stands for the kernels of every group.
ALL = "all"


@dataclass(frozen=True)
class Workload:
    """Kernel that is shipped.

    Parameters
    ----------
    name : the module's name, the stem of its .cu and .ptx, and the name on the command line.
    summary : one line: what it computes.
    origin : the benchmark of the papers whose algorithm it has ("Rodinia bfs").
    build : makes the job of a size ("tiny", "small" or "full"); deterministic.
    group : of `GROUPS`.
    """

    name: str
    summary: str
    origin: str
    build: Callable[[str], Job]
    group: str = CORE

    def job(self, size: str) -> Job:
        """The job at `size`; KernelError names the sizes there are."""
        if size not in SIZES:
            raise KernelError(f"kernel {self.name} has no size {size!r}; the sizes are {', '.join(SIZES)}")
        return self.build(size)

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON."""
        return {
            "name": self.name,
            "summary": self.summary,
            "origin": self.origin,
            "group": self.group,
            "sizes": list(SIZES),
        }


def ptx_text(name: str) -> tuple[str, str]:
    """The committed PTX of a kernel and the path it was read from."""
    path = files(__package__) / "ptx" / f"{name}.ptx"
    return path.read_text(encoding="utf-8"), str(path)


@cache
def names(group: str = CORE) -> tuple[str, ...]:
    """Names of the shipped kernels of a group, or of `ALL` groups, sorted. Figures and comparisons take the
    core group unless they say otherwise."""
    return tuple(name for name, each in _shipped().items() if group in (each.group, ALL))


def expand(wanted: Iterable[str]) -> tuple[str, ...]:
    """Names with every group, or `ALL`, replaced by its kernels; other names stay as they are."""
    listed = (names(name) if name in (*GROUPS, ALL) else (name,) for name in wanted)
    return tuple(name for several in listed for name in several)


def groups(kernels: Collection[str]) -> dict[str, int]:
    """Counts of these kernels by group, groups without any left out."""
    counts = {group: len(set(kernels) & set(names(group))) for group in GROUPS}
    return {group: count for group, count in counts.items() if count}


def get(name: str) -> Workload:
    """The kernel called `name`; KernelError lists the names there are."""
    if name not in _shipped():
        raise KernelError(unknown("kernel", name, list(_shipped())))
    return _shipped()[name]


@cache
def _shipped() -> dict[str, Workload]:
    """Kernels by name, sorted."""
    found = sorted(
        module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")
    )
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in found}
    return {name: module.WORKLOAD for name, module in modules.items() if hasattr(module, "WORKLOAD")}
