"""Observer of a run for figures that need more than its counters: how long uops spend in each stage, how full
collectors are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Unit
from warpbank.program.trace.schema import Trace
from warpbank.sim.events import IDS, Batch


@dataclass(slots=True)
class _Stay:
    """A uop from issue to retirement: cycles of its issue, of its last operand's arrival so far, and of its
    dispatch."""

    issued: int
    sources: frozenset[int]
    complete: int
    dispatched: int = -1
    memory: bool = False


class Stages:
    """An observer of a run (`warpbank.sim.runs.RunSpec.observer`), of machines whose registers are mapped
    directly.

    Its result: for `memory` and `other` uops their number, the cycles from issue to the arrival of the last
    operand (`operands`; 0 for what is found in the collector at issue), from issue to dispatch (`collect`),
    and from issue to retirement (`total`); uops that never enter a collector have 0 cycles of the former two.
    `occupancy`: for each number of values that a warp's collector held, the collector-cycles in which it did,
    from its first value until the warp's last uop has retired.
    """

    #: Events that it reads. A slot's next warp counts its uops from 0 again, so that the order of cycles
    #: matters; within one, a uop's own order, which is this one.
    _STEPS = (
        "warp_start",
        "issue",
        "allocate",
        "forward",
        "reserve",
        "grant",
        "dispatch",
        "retire",
        "window",
    )
    wanted = frozenset(_STEPS)

    def __init__(self) -> None:
        self._sources: list[frozenset[int]] = []
        self._banks = 1
        self._base: dict[tuple[int, int], int] = {}
        self._stays: dict[tuple[int, int, int], _Stay] = {}
        self._inside: dict[
            tuple[int, int], dict[int, tuple[int, _Stay]]
        ] = {}  # by collector, then seq: warp and uop
        self._sums = {
            kind: {"uops": 0, "operands": 0, "collect": 0, "total": 0} for kind in ("memory", "other")
        }
        self._flying: dict[tuple[int, int], int] = {}  # uops in flight, by warp
        self._drained: dict[tuple[int, int], int] = {}  # since when a warp has none
        self._held: dict[tuple[int, int], tuple[int, int]] = {}
        self._occupancy: dict[int, int] = {}
        self._end = 0

    def start(self, trace: Trace, config: SmConfig) -> None:
        """Start of the run, with its trace and machine."""
        counts = trace.code["source_count"].tolist()
        self._sources = [
            frozenset(row[:count]) for row, count in zip(trace.code["sources"].tolist(), counts, strict=True)
        ]
        self._banks = config.sub_core.banks

    def __call__(self, batch: Batch) -> None:
        """Take the events of some cycles."""
        takes = (
            self._warp_start,
            self._issue,
            self._allocate,
            self._insert,
            self._insert,
            self._grant,
            self._dispatch,
            self._retire,
            self._window,
        )
        stages = [
            (cycle, order, take, core, values)
            for order, (event, take) in enumerate(zip(self._STEPS, takes, strict=True))
            for cycle, core, values in self._rows(batch, event)
        ]
        for cycle, _, take, core, values in sorted(stages, key=lambda row: row[:2]):
            take(cycle, core, values)
        self._end = batch.end

    def result(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON. Only after the run."""
        for warp in list(self._held):
            self._change(warp, self._drained.get(warp, self._end), 0)
        return {
            **self._sums,
            "occupancy": {str(entries): self._occupancy[entries] for entries in sorted(self._occupancy)},
        }

    def _warp_start(self, cycle: int, core: int, values: list[int]) -> None:
        warp = core, values[0]
        self._base[warp] = values[1]
        if warp in self._held and warp in self._drained:  # the slot's warp before this one
            self._change(warp, self._drained[warp], 0)

    def _issue(self, cycle: int, core: int, values: list[int]) -> None:
        warp, seq, pc = values[:3]
        self._stays[core, warp, seq] = _Stay(cycle, self._sources[pc], cycle)
        self._flying[core, warp] = self._flying.get((core, warp), 0) + 1
        self._drained.pop((core, warp), None)

    def _allocate(self, cycle: int, core: int, values: list[int]) -> None:
        collector, warp, seq = values[:3]
        self._inside.setdefault((core, collector), {})[seq] = (warp, self._stays[core, warp, seq])

    def _insert(self, cycle: int, core: int, values: list[int]) -> None:
        """A uop that waited for its entries has them now."""
        self._stays[core, values[1], values[2]].complete = cycle

    def _grant(self, cycle: int, core: int, values: list[int]) -> None:
        """An operand arrives in the next cycle, for all uops of the collector that read it."""
        bank, row, collector = values[:3]
        for warp, stay in self._inside[core, collector].values():
            register = (row - self._base[core, warp]) * self._banks + (bank - warp) % self._banks
            if register in stay.sources:
                stay.complete = cycle + 1

    def _dispatch(self, cycle: int, core: int, values: list[int]) -> None:
        collector, unit, _, seq = values[:4]
        _, stay = self._inside[core, collector].pop(seq)
        stay.dispatched, stay.memory = cycle, unit == Unit.LSU

    def _retire(self, cycle: int, core: int, values: list[int]) -> None:
        stay = self._stays.pop((core, values[0], values[1]))
        sums = self._sums["memory" if stay.memory else "other"]
        sums["uops"] += 1
        if stay.dispatched >= 0:
            sums["operands"] += stay.complete - stay.issued
            sums["collect"] += stay.dispatched - stay.issued
        sums["total"] += cycle - stay.issued
        warp = core, values[0]
        self._flying[warp] -= 1
        if not self._flying[warp]:
            self._drained[warp] = cycle

    def _window(self, cycle: int, core: int, values: list[int]) -> None:
        """The collector of a warp holds another number of values."""
        self._change((core, values[0]), cycle, values[1])

    def _rows(self, batch: Batch, event: str) -> list[tuple[int, int, list[int]]]:
        """Events of one name: (cycle, sub-core, values), by cycle."""
        rows = batch.records[batch.records["event"] == IDS[event]]
        rows = rows[np.argsort(rows["cycle"], kind="stable")]
        return list(zip(rows["cycle"].tolist(), rows["core"].tolist(), rows["values"].tolist(), strict=True))

    def _change(self, warp: tuple[int, int], cycle: int, entries: int) -> None:
        """From this cycle on the warp's collector holds so many values."""
        if warp in self._held:
            since, before = self._held[warp]
            self._occupancy[before] = self._occupancy.get(before, 0) + max(0, cycle - since)
        self._held[warp] = (cycle, entries)
