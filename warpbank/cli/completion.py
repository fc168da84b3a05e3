"""Shell completion of names: kernels, schemes, presets, units, fields, papers, energy tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from warpbank import workloads
from warpbank.arch.config import PRESETS, preset
from warpbank.arch.overrides import field_paths
from warpbank.arch.schemes import SCHEMES
from warpbank.studies.reproduce import PAPERS

#: Completes what has been typed.
Completion = Callable[[str], list[str]]


def _one_of(names: Callable[[], Iterable[str]]) -> Completion:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def _some_of(names: Callable[[], Iterable[str]], separator: str) -> Completion:
    """Completion of the last of several names; none is offered twice."""

    def complete(incomplete: str) -> list[str]:
        before, between, last = incomplete.rpartition(separator)
        used = before.split(separator)
        return [before + between + name for name in names() if name.startswith(last) and name not in used]

    return complete


def _units() -> Iterable[str]:
    try:
        from warpbank.synth.units import UNITS
    except ModuleNotFoundError:  # the RTL's wheels are not installed: there is nothing to offer
        return ()
    return UNITS


def kernel_or_ptx(incomplete: str) -> list[str]:
    """Shipped kernels, PTX files, and folders that may hold some."""
    at = Path(incomplete)
    folder = at if incomplete.endswith("/") else at.parent
    prefix = "" if incomplete.endswith("/") else at.name
    try:
        files = sorted(entry for entry in folder.iterdir() if entry.name.startswith(prefix))
    except OSError:
        files = []
    found = [f"{entry}/" for entry in files if entry.is_dir() and not entry.name.startswith(".")]
    found += [str(entry) for entry in files if entry.suffix == ".ptx"]
    return [*one_kernel(incomplete), *found]


one_kernel = _one_of(workloads.names)
kernels = _some_of(lambda: ["all", *workloads.names()], ",")
scheme = _some_of(lambda: SCHEMES, "+")
schemes = _some_of(lambda: ["all", *SCHEMES], ",")
machine = _one_of(lambda: PRESETS)
unit = _one_of(_units)
paper = _one_of(lambda: ["all", *PAPERS])
field = _one_of(lambda: [f"{path}=" for path in field_paths(preset("turing"))])
