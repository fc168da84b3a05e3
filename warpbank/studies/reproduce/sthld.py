"""Malekeh's adaptive waiting time over long runs: figures about kernels of which short ones run several
times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from warpbank.arch.config import preset
from warpbank.sim.runs import RunSpec, Task
from warpbank.studies.reproduce.measures import gain, hit_ratio
from warpbank.studies.reproduce.paper import Figure, Results

_PRESET = "turing"
#: Runs of a program, one after the other, so that at `full` every kernel of the core group lasts fifty of the
#: paper's intervals; one of a kernel that is not here.
REPEATS = {
    **dict.fromkeys(("backprop", "blackscholes", "btree", "lbm", "nbody", "srad"), 2),
    **dict.fromkeys(("gaussian", "matrixmul", "mri_q", "pathfinder", "sad", "scan"), 3),
    **dict.fromkeys(("dct8x8", "hotspot"), 4),
}
#: Parts of a run by whose means the walk of the waiting time is shown.
PARTS = ("first quarter", "second quarter", "third quarter", "last quarter")
_INTERVAL = preset(_PRESET).sub_core.collector.sthld_interval


def walk(result: Mapping[str, Any]) -> tuple[float, ...]:
    """Mean waiting time in each quarter of a run's intervals, and the greatest.

    Parameters
    ----------
    result : of a run that `warpbank.studies.waiting:Waiting` observed.
    """
    values = [each["sthld"] for each in result["observed"]["intervals"]]
    bounds = [len(values) * part // len(PARTS) for part in range(len(PARTS) + 1)]
    return (*(_mean(values[begin:end]) for begin, end in pairwise(bounds)), float(max(values, default=0)))


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0


def _adaptive(kernel: str, size: str) -> RunSpec:
    """Malekeh with the paper's interval, watched."""
    watch = "warpbank.studies.waiting:Waiting"
    return RunSpec(kernel, size, "malekeh", _PRESET, observer=watch, repeat=REPEATS.get(kernel, 1))


def _never(kernel: str, size: str) -> RunSpec:
    """Malekeh without waiting."""
    never = ("sub_core.collector.sthld=0",)
    return RunSpec(kernel, size, "malekeh", _PRESET, never, repeat=REPEATS.get(kernel, 1))


def _walk_tasks(kernel: str, size: str) -> list[Task]:
    return [_adaptive(kernel, size)]


def _walk_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    result = results[_adaptive(kernel, size)]
    return (float(result["cycles"] // _INTERVAL), *walk(result))


def _both(kernel: str, size: str) -> list[Task]:
    return [_adaptive(kernel, size), _never(kernel, size)]


def _worth_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    adaptive, never = (results[task] for task in _both(kernel, size))
    return hit_ratio(adaptive), hit_ratio(never), gain(adaptive, never)


LONG = (
    Figure(
        "sthld-long",
        f"Fig. 8: waiting time over a long run, with the paper's interval of {_INTERVAL} cycles",
        "intervals, cycles",
        ("intervals", *PARTS, "greatest"),
        _walk_tasks,
        _walk_row,
        "The paper draws the machine's states and prints no walk. At full every kernel of the core group "
        "lasts fifty intervals; short ones run two to four times, one run after the other.",
        shape="lines",
        beside=("intervals", "greatest"),
    ),
    Figure(
        "sthld-long-worth",
        "Section IV-B3: hit ratio over a long run with adaptive waiting and without waiting, and the change "
        "in IPC",
        "%",
        ("hits, adaptive", "hits, STHLD 0", "IPC, adaptive over STHLD 0"),
        _both,
        _worth_row,
        "The paper prints the adaptive one alone.",
    ),
)
