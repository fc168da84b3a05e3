"""Observer of the results that a collector keeps: whether a uop finds them there before they leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.program.trace.schema import Trace
from warpbank.sim.events import IDS, Batch


class Kept:
    """Observer of a run (`warpbank.sim.runs.RunSpec.observer`), of collectors that keep values.

    Its result: results written into collectors (`written`), and those of them that a later uop found there
    (`reused`). A result that leaves, is replaced or forgotten before is not; what is fetched again from the
    banks later is no reuse of it.
    """

    _NAMES = ("warp_start", "issue", "forward", "dispatch", "collector_write")
    #: Events that it reads.
    wanted = frozenset(_NAMES)

    def __init__(self) -> None:
        self._sources: list[list[int]] = []
        self._pcs: dict[tuple[int, int, int], int] = {}  # uops in collection: by sub-core, warp, seq
        self._found: dict[tuple[int, int, int], int] = {}  # of those, slots found, as a mask
        self._unread: dict[
            tuple[int, int], set[int]
        ] = {}  # by sub-core and warp: kept results that nobody found yet
        self._written = self._reused = 0

    def start(self, trace: Trace, config: SmConfig) -> None:
        """Start of the run, with its trace and machine."""
        counts = trace.code["source_count"].tolist()
        self._sources = [
            row[:count] for row, count in zip(trace.code["sources"].tolist(), counts, strict=True)
        ]

    def __call__(self, batch: Batch) -> None:
        """Take the events of some cycles."""
        # What is written in a cycle is found from the next one on.
        steps = (self._warp_start, self._issue, self._forward, self._dispatch, self._write)
        number = {IDS[name]: order for order, name in enumerate(self._NAMES)}
        rows = batch.records[np.isin(batch.records["event"], list(number))]
        events = zip(
            rows["cycle"].tolist(),
            rows["event"].tolist(),
            rows["core"].tolist(),
            rows["values"].tolist(),
            strict=True,
        )
        for _, order, core, values in sorted(
            (cycle, number[event], core, values) for cycle, event, core, values in events
        ):
            steps[order](core, values)

    def result(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON. Only after the run."""
        return {"written": self._written, "reused": self._reused}

    def _warp_start(self, core: int, values: list[int]) -> None:
        self._unread[core, values[0]] = set()

    def _issue(self, core: int, values: list[int]) -> None:
        warp, seq, pc = values[:3]
        self._pcs[core, warp, seq] = pc

    def _forward(self, core: int, values: list[int]) -> None:
        _, warp, seq, slots = values[:4]
        self._found[core, warp, seq] = slots

    def _dispatch(self, core: int, values: list[int]) -> None:
        warp, seq = values[2:4]
        found, unread = self._found.pop((core, warp, seq), 0), self._unread[core, warp]
        for slot, register in enumerate(self._sources[self._pcs.pop((core, warp, seq))]):
            if register in unread:
                self._reused += found >> slot & 1
                unread.discard(register)

    def _write(self, core: int, values: list[int]) -> None:
        _, warp, _, register = values[:4]
        self._written += 1
        self._unread[core, warp].add(register)
