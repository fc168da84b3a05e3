"""LTRF over a main register file that compresses: notes go with the values, into the cache and out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.golden.execute.scalar import ScalarLanes
from warpbank.golden.hierarchy.compressed import READ_DELAY, count_arrays
from warpbank.golden.hierarchy.ltrf import Ltrf, LtrfPlus
from warpbank.golden.hierarchy.mover import Move
from warpbank.golden.interfaces import CompressedStorage, Mapping
from warpbank.golden.probe import Probe
from warpbank.golden.storage.gscalar import WORD_LANES, groups
from warpbank.golden.storage.metadata import Fill, Metadata, WithMetadata, with_metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value


class CompressedLtrf(Ltrf):
    """LTRF's register cache over compressed banks. G-Scalar, sections 3.2 and 4, on LTRF, section 4; neither
    paper has it.

    The cache keeps values whole, each with its note, so that scalar execution is decided as without a cache.
    A result is noted when it comes, wherever it goes. A register that leaves takes its note along, which says
    how the main register file keeps it; one that is fetched is decompressed on its way, which takes
    `READ_DELAY` cycles more. Operands take no longer than in `Ltrf`: the note of a result is there when its
    place has been looked up.

    No decompress moves are needed. Results on some lanes merge into what the cache holds. They go to the main
    register file only if their register has left the cache since they were issued; a register that leaves
    while a result of it is still to come is kept there as it is, and so is a value that a collector evicts to
    the main register file.

    Parameters
    ----------
    config, mapping, storage, quiet, probe : as in `Ltrf`; the probe also receives `array_read`,
        `array_write`, `lanes`.

    Attributes
    ----------
    pending : gives the mask of a warp's registers that are still to be written.
    """

    delay = READ_DELAY

    def __init__(
        self,
        config: SmConfig,
        mapping: Mapping,
        storage: CompressedStorage,
        quiet: Callable[[int], bool],
        probe: Probe,
    ) -> None:
        super().__init__(config, mapping, storage, quiet, probe)
        self._noting = storage
        self._plain = Metadata(False, (0,) * storage.parts, False, (0,) * storage.parts)
        blank: Value = with_metadata(np.zeros(config.lanes, np.uint32), self._plain)
        self._values = [[blank] * self._rows for _ in range(self._entries)]
        self._words = groups(self._every_lane, WORD_LANES)
        self._accessed: list[
            tuple[str, int, Metadata, int, int]
        ] = []  # main banks in this cycle, as `count_arrays` takes it
        self._due: list[tuple[str, int, Metadata, int, int]] = []  # ... in the previous one
        self.pending: Callable[[int], int] = lambda warp: 0
        self._scalar = ScalarLanes(config, storage.parts, storage.executes, probe)
        self.dispatched = self._dispatch

    def _dispatch(self, uop: TraceUop, collector: int) -> bool:
        """A uop goes to its unit. Returns whether one lane executes it."""
        return self._scalar.dispatch(uop)

    @property
    def busy(self) -> bool:
        """Pending work: something happens here in the next cycle."""
        return super().busy or bool(self._due)

    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Write one result register; returns whether it was taken in this cycle."""
        note = self._noting.describe(value, uop.lane_mask, Fill.PART if uop.part else Fill.WHOLE)
        return super().write(uop, register, with_metadata(value, note))

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts; returns whether it was taken in this cycle."""
        cached = self.blocks[warp].valid >> register & 1
        note = self._noting.describe(value, self._every_lane, Fill.WHOLE) if cached else self._plain
        return super().write_back(warp, register, with_metadata(value, note))

    def _merged(self, before: Value, value: Value, mask: int) -> Value:
        assert isinstance(value, WithMetadata)
        return with_metadata(super()._merged(before, value, mask), value.note)

    def _outbound(self, move: Move) -> Move:
        assert move.value is not None
        owed = self.pending(move.warp) >> move.register & 1
        return replace(move, value=with_metadata(move.value, self._plain)) if owed else move

    def _fetch(self, bank: int, row: int) -> Value:
        note = self._noting.note(bank, row)
        self._accessed.append(("read", bank, note, self._noting.arrays_read(note), self._words))
        return with_metadata(super()._fetch(bank, row), note)

    def _store(self, bank: int, row: int, mask: int, value: Value) -> None:
        assert isinstance(value, WithMetadata)
        note = value.note
        self._probe.counters["rf.writes"] += 1
        self._noting.keep(bank, row, mask, value.view(np.ndarray), note)
        self._accessed.append(
            ("write", bank, note, self._noting.arrays_written(note, mask), groups(mask, WORD_LANES))
        )

    def step(self) -> list[tuple[int, int, int, Value]]:
        """One cycle, after its results; returns the operands that arrive at the collectors."""
        for access in self._due:
            count_arrays(self._probe, *access)
        arrived = super().step()
        self._due, self._accessed = self._accessed, []
        return arrived


class CompressedLtrfPlus(CompressedLtrf, LtrfPlus):
    """LTRF+ over compressed banks: dead registers are not moved."""
