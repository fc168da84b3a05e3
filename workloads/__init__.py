"""Kernels that Warpbank ships: our own CUDA sources, the PTX that LLVM makes of them, their launches and
numpy references.

Every module of this package that defines `WORKLOAD` is a kernel; `warpbank.workloads.names()` lists them and
`warpbank.workloads.get(name)` returns one. The CUDA source is `cuda/<name>.cu`, its committed PTX
`ptx/<name>.ptx` (remade by `warpbank compile`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from warpbank.arch.names import unknown
from warpbank.program.errors import KernelError
from warpbank.program.launch import Job

SIZES = ("tiny", "small", "full")


@dataclass(frozen=True)
class Workload:
    """Kernel that is shipped.

    Parameters
    ----------
    name : the module's name, the stem of its .cu and .ptx, and the name on the command line.
    summary : one line: what it computes.
    origin : the benchmark of the papers whose algorithm it has ("Rodinia bfs").
    build : makes the job of a size ("tiny", "small" or "full"); deterministic.
    """

    name: str
    summary: str
    origin: str
    build: Callable[[str], Job]

    def job(self, size: str) -> Job:
        """The job at `size`; KernelError names the sizes there are."""
        if size not in SIZES:
            raise KernelError(f"kernel {self.name} has no size {size!r}; the sizes are {', '.join(SIZES)}")
        return self.build(size)

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON."""
        return {"name": self.name, "summary": self.summary, "origin": self.origin, "sizes": list(SIZES)}


def ptx_text(name: str) -> tuple[str, str]:
    """The committed PTX of a kernel and the path it was read from."""
    path = files(__package__) / "ptx" / f"{name}.ptx"
    return path.read_text(), str(path)


@cache
def names() -> tuple[str, ...]:
    """Names of all shipped kernels, sorted."""
    found = (m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    return tuple(sorted(n for n in found if hasattr(importlib.import_module(f"{__name__}.{n}"), "WORKLOAD")))


def get(name: str) -> Workload:
    """The kernel called `name`; KernelError lists the names there are."""
    if name not in names():
        raise KernelError(unknown("kernel", name, names()))
    return importlib.import_module(f"{__name__}.{name}").WORKLOAD
