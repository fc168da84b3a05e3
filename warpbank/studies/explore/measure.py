"""Measures of an exploration: its aims, and how a run, an area and a critical path become their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from warpbank.arch.errors import ArgumentError
from warpbank.arch.names import unknown
from warpbank.studies.compare.run import priced
from warpbank.studies.compare.settings import Setting
from warpbank.studies.explore.front import Aim, Costs

#: Aims by name, in the order of the documentation.
AIMS = {
    aim.name: aim
    for aim in (
        Aim("ipc", "IPC", "of baseline", larger=True),
        Aim("work", "work per energy", "of baseline", larger=True),
        Aim("area", "area", "mm2 of a sub-core", digits=4),
        Aim("clock", "critical path", "ns", digits=2),
    )
}
#: Aims that points are judged by where nobody names others. The critical path is estimated too coarsely to
#: throw points out by it.
DEFAULT_AIMS = ("ipc", "work", "area")


def find_aims(names: Sequence[str]) -> tuple[Aim, ...]:
    """Aims of these names. Raises ArgumentError for an unknown one, one named twice, or fewer than two."""
    for name in names:
        if name not in AIMS:
            raise ArgumentError(f"--aims: {unknown('aim', name, AIMS)}")
    if len(set(names)) != len(names) or len(names) < 2:
        raise ArgumentError(f"--aims takes at least two of {', '.join(AIMS)}, each once")
    return tuple(AIMS[name] for name in names)


def measured(result: Mapping[str, Any], setting: Setting) -> dict[str, float]:
    """IPC of a run, and pJ of its register file on the common table, dynamic and leaked."""
    spent = priced(dict(result), setting)["energy"]
    return {"ipc": result["ipc"], "picojoules": spent["dynamic_total"] + spent["leakage_total"]}


def speed_and_work(
    own: Mapping[str, Mapping[str, float]], base: Mapping[str, Mapping[str, float]], kernels: Sequence[str]
) -> dict[str, float]:
    """Values of the aims `ipc` and `work`: geometric means over kernels, of the base's.

    Parameters
    ----------
    own, base : by kernel, what `measured` gives.
    """
    return {
        "ipc": geometric_mean(own[kernel]["ipc"] / base[kernel]["ipc"] for kernel in kernels),
        "work": geometric_mean(base[kernel]["picojoules"] / own[kernel]["picojoules"] for kernel in kernels),
    }


def costs(values: Mapping[str, float], aims: Sequence[Aim]) -> Costs:
    """Costs of a point in these aims."""
    return tuple(aim.cost(values[aim.name]) for aim in aims)
