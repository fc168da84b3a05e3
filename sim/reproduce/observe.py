"""What figures need to know of a run besides its counters: how long uops spend in each stage, how full collectors are."""

from __future__ import annotations

from typing import Any

import numpy as np

from arch.uop import Unit
from sim.events import IDS, Batch


class Stages:
    """An observer of a run (`sim.runs.RunSpec.observer`).

    Its result: for `memory` and `other` uops their number, the cycles from issue to dispatch (`collect`), and those from issue
    to retirement (`total`); uops that never enter a collector have 0 cycles of the former. `occupancy`: for each number of values
    that a collector held, the collector-cycles in which it did, from a collector's first value to the end of the run.
    """

    def __init__(self) -> None:
        self._issued: dict[tuple[int, int, int], int] = {}
        self._collected: dict[tuple[int, int, int], tuple[int, bool]] = {}
        self._sums = {kind: {"uops": 0, "collect": 0, "total": 0} for kind in ("memory", "other")}
        self._held: dict[tuple[int, int], tuple[int, int]] = {}
        self._occupancy: dict[int, int] = {}
        self._end = 0

    def __call__(self, batch: Batch) -> None:
        """Take the events of some cycles."""
        # A slot's next warp counts its uops from 0 again, so that the order of cycles matters; within one, a uop's own order.
        steps = (("issue", self._issue), ("dispatch", self._dispatch), ("retire", self._retire))
        stages = [(cycle, order, take, core, values) for order, (event, take) in enumerate(steps)
                  for cycle, core, values in self._rows(batch, event)]
        for cycle, _, take, core, values in sorted(stages, key=lambda row: row[:2]):
            take(cycle, core, values)
        for cycle, core, values in self._rows(batch, "window"):
            self._change((core, values[0]), cycle, values[1])
        self._end = batch.end

    def result(self) -> dict[str, Any]:
        """Plain dictionaries for JSON. Only after the run."""
        for collector in list(self._held):
            self._change(collector, self._end, 0)
        return {**self._sums, "occupancy": {str(entries): self._occupancy[entries] for entries in sorted(self._occupancy)}}

    def _issue(self, cycle: int, core: int, values: list[int]) -> None:
        self._issued[core, values[0], values[1]] = cycle

    def _dispatch(self, cycle: int, core: int, values: list[int]) -> None:
        _, unit, warp, seq = values[:4]
        uop = (core, warp, seq)
        self._collected[uop] = (cycle - self._issued[uop], unit == Unit.LSU)

    def _retire(self, cycle: int, core: int, values: list[int]) -> None:
        uop = (core, values[0], values[1])
        collect, memory = self._collected.pop(uop, (0, False))
        sums = self._sums["memory" if memory else "other"]
        sums["uops"] += 1
        sums["collect"] += collect
        sums["total"] += cycle - self._issued.pop(uop)

    def _rows(self, batch: Batch, event: str) -> list[tuple[int, int, list[int]]]:
        """Events of one name: (cycle, sub-core, values), by cycle."""
        rows = batch.records[batch.records["event"] == IDS[event]]
        rows = rows[np.argsort(rows["cycle"], kind="stable")]
        return list(zip(rows["cycle"].tolist(), rows["core"].tolist(), rows["values"].tolist(), strict=True))

    def _change(self, collector: tuple[int, int], cycle: int, entries: int) -> None:
        """From this cycle on the collector holds so many values."""
        if collector in self._held:
            since, before = self._held[collector]
            self._occupancy[before] = self._occupancy.get(before, 0) + cycle - since
        self._held[collector] = (cycle, entries)
