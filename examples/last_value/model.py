"""Golden model of the last-value collector."""

from __future__ import annotations

from typing import Any

from warpbank.golden.collector.ocu import Ocu
from warpbank.golden.contents import Kept, Shelf
from warpbank.golden.interfaces import Units
from warpbank.golden.storage.metadata import EMPTY, Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value


class LastValue(Ocu):
    """Last-value collector: one operand collector per warp, whose source slots keep what was last read into
    them.

    A source that its slot has already costs no bank read: a hit. A slot forgets its value when a uop that
    writes the register issues: uops issue in order, so whoever reads the register later wants the new value.
    Timing is that of an `Ocu`; a uop whose sources all hit is complete when it is allocated. A hit counts as
    read, for the scoreboard, when its uop is dispatched.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        #: By warp, then slot: register, value, and what is known of it.
        self._kept: list[dict[int, tuple[int, Value, Metadata]]] = [{} for _ in self._uops]
        self._hits: list[list[int]] = [[] for _ in self._uops]  # registers of the uop in collection that hit

    def start(self, warp: int) -> None:
        """Start of a warp: nothing of the one before is left."""
        self._kept[warp].clear()

    def allocate(self, uop: TraceUop) -> None:
        """Take an issued uop and request the operands that its slots do not have."""
        collector, kept = uop.warp, self._kept[uop.warp]
        self.free &= ~(1 << collector)
        self._uops[collector] = uop
        hits = [
            slot for slot, register in enumerate(uop.sources) if slot in kept and kept[slot][0] == register
        ]
        uop.operands = [kept[slot][1] if slot in hits else None for slot in range(len(uop.sources))]
        uop.metadata = [kept[slot][2] if slot in hits else EMPTY for slot in range(len(uop.sources))]
        uop.missing = len(uop.sources) - len(hits)
        self._hits[collector] = [uop.sources[slot] for slot in hits]
        for slot in list(kept):
            if uop.writes >> kept[slot][0] & 1:
                del kept[slot]
        probe = self._probe
        probe.emit("allocate", collector, uop.warp, uop.seq)
        if hits:
            probe.emit("forward", collector, uop.warp, uop.seq, sum(1 << slot for slot in hits), len(hits))
        for slot, register in enumerate(uop.sources):
            if slot not in hits:
                self._registers.read(collector, slot, uop, register)
        if not uop.missing:
            self._complete(collector, uop)

    def deliver(self, collector: int, slot: int, tag: int, value: Value, metadata: Metadata) -> None:
        """An operand arrives, and stays, unless its uop writes the register itself."""
        uop = self._uops[collector]
        assert uop is not None
        register = uop.sources[slot]
        self._kept[collector].pop(slot, None)
        if not uop.writes >> register & 1:
            self._kept[collector][slot] = register, value, metadata
        super().deliver(collector, slot, tag, value, metadata)

    def dispatch(self, cycle: int, pipelines: Units) -> bool:
        """Dispatch of complete uops, after which the hits count as read."""
        before = self.free
        refused = super().dispatch(cycle, pipelines)
        for collector in range(self._count):
            if (self.free & ~before) >> collector & 1:
                for register in self._hits[collector]:
                    self._read(collector, register)
        return refused

    def contents(self) -> list[Shelf]:
        """Values that the slots of every warp keep, for `warpbank view --format machine`."""
        return [
            Shelf(warp, "kept", 0, [Kept(warp, register, value) for register, value, _ in kept.values()])
            for warp, kept in enumerate(self._kept)
        ]
