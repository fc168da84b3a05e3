"""Measures of a comparison: one number of a run, and how runs of several kernels make one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Data = Mapping[str, Any]
_CONFLICTS = ("write", "port", "queue")


@dataclass(frozen=True)
class Measure:
    """Measure, a column of a comparison.

    Parameters
    ----------
    name : key in JSON.
    title : as people see it.
    unit : of the values that are shown.
    text : what it is, in a sentence or two.
    value : (run, the baseline's run of the same kernel) -> number; None: the scheme has no such number.
    relative : the run's value is divided by the baseline's, and means are geometric; otherwise it is shown as
        it is, and means are arithmetic.
    digits : behind the point.
    """

    name: str
    title: str
    unit: str
    text: str
    value: Callable[[Data, Data], float | None]
    relative: bool = True
    digits: int = 3


def conflicts(run: Data) -> int:
    """Request-cycles that reads waited at banks, those of a register file cache included."""
    return sum(
        run["counters"][f"{where}.conflict.{cause}"] for where in ("rf", "cache") for cause in _CONFLICTS
    )


def operands(run: Data) -> int:
    """Source operands of all uops: delivered by banks or a cache, or found in the collector."""
    return run["counters"]["collector.deliveries"] + run["counters"]["boc.forwards"]


def _ipc(run: Data, base: Data) -> float:
    return base["warp_instructions"] / run["cycles"] if run["cycles"] else 0.0


def hit_ratio(run: Data) -> float:
    """Source operands found in the collector or in a register file cache, in percent."""
    counters = run["counters"]
    return _share(100 * (counters["boc.forwards"] + counters["cache.reads"]), operands(run))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _energy(run: Data, *parts: str) -> float:
    return sum(run["energy"][part] for part in parts)


MEASURES = (
    Measure(
        "ipc",
        "IPC",
        "of baseline",
        "Warp instructions per cycle. Instructions that a scheme inserts are not counted, so "
        "that it is a ratio of cycles.",
        _ipc,
    ),
    Measure(
        "rf_reads",
        "RF reads",
        "of baseline",
        "Reads of the register banks, those that fill a register file cache included.",
        lambda run, base: run["counters"]["rf.reads"],
    ),
    Measure(
        "rf_writes",
        "RF writes",
        "of baseline",
        "Writes of the register banks: results, and what collectors and caches evict.",
        lambda run, base: run["counters"]["rf.writes"],
    ),
    Measure(
        "hit_ratio",
        "hit ratio",
        "%",
        "Source operands that were found in a collector or a register file cache. LTRF "
        "prefetches, so that all are.",
        lambda run, base: hit_ratio(run),
        relative=False,
        digits=1,
    ),
    Measure(
        "conflicts",
        "conflicts",
        "cycles/operand",
        "Cycles that read requests waited at banks or at a register file cache: behind a write, another "
        "request, or for their collector's port; divided by source operands.",
        lambda run, base: _share(conflicts(run), operands(run)),
        relative=False,
    ),
    Measure(
        "residency",
        "collector residency",
        "of baseline",
        "Cycles that a uop spends in a collector.",
        lambda run, base: _share(
            run["counters"]["collector.residency"], run["counters"]["collector.allocations"]
        ),
    ),
    Measure(
        "energy",
        "dynamic energy",
        "of baseline",
        "Dynamic energy of the register file on the common table.",
        lambda run, base: _energy(run, "dynamic_total"),
    ),
    Measure(
        "energy_total",
        "energy with leakage",
        "of baseline",
        "The same with leakage, which grows with time and with what a scheme adds.",
        lambda run, base: _energy(run, "dynamic_total", "leakage_total"),
    ),
    Measure(
        "energy_own",
        "energy, own table",
        "of baseline",
        "Dynamic energy on the table that the scheme's own paper printed, where it printed one.",
        lambda run, base: (run["energy_own"] or {}).get("dynamic_total"),
    ),
)


def shown(measure: Measure, run: Data, base: Data) -> float | None:
    """Value that people see; None: there is none, or it would be a share of nothing."""
    value = measure.value(run, base)
    if value is None or not measure.relative:
        return value
    whole = measure.value(_priced_as(base, run), base)
    return value / whole if whole else None


def _priced_as(base: Data, run: Data) -> Data:
    """The baseline's run with the energy on the table that is `run`'s own."""
    return {**base, "energy_own": run["base_own"]}
