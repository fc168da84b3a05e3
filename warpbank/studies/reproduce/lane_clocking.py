"""Observer of the lanes that each execution unit clocks in a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Unit
from warpbank.program.trace.schema import Trace
from warpbank.sim.events import IDS, Batch


class LaneClocking:
    """An observer of a run (`warpbank.sim.runs.RunSpec.observer`) under a scheme with `lanes` events.

    Its result: lanes clocked for dispatched uops by unit, decompress moves among those of the ALU.
    """

    #: Events that it reads.
    wanted = frozenset(("dispatch", "lanes"))

    def __init__(self) -> None:
        self._lanes = np.zeros(len(Unit), np.int64)

    def start(self, trace: Trace, config: SmConfig) -> None:
        """Start of the run, whose trace and machine do not matter."""

    def __call__(self, batch: Batch) -> None:
        """Take the events of some cycles."""
        units = self._rows(batch, "dispatch", (2, 3), 1)
        clocked = self._rows(batch, "lanes", (0, 1), 2)
        assert len(units) == len(clocked), "every dispatched uop clocks lanes"
        np.add.at(self._lanes, units, clocked)

    def result(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON. Only after the run."""
        return {unit.name.lower(): int(self._lanes[unit]) for unit in Unit}

    def _rows(self, batch: Batch, event: str, uop: tuple[int, int], wanted: int) -> np.ndarray:
        """A field of all events of a name, in the order of cycle, sub-core and uop (the fields of warp and
        number)."""
        rows = batch.records[batch.records["event"] == IDS[event]]
        values = rows["values"].astype(np.int64)
        order = np.lexsort((values[:, uop[1]], values[:, uop[0]], rows["core"], rows["cycle"]))
        return np.asarray(values[order, wanted])
