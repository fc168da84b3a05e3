"""The flat hierarchy over a storage that compresses: three more cycles, notes beside the values, and
decompress moves."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MOVE
from warpbank.golden.execute.scalar import ScalarLanes
from warpbank.golden.hierarchy.flat import Flat
from warpbank.golden.interfaces import CompressedStorage, Mapping
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.probe import Probe
from warpbank.golden.storage.decompress_moves import DecompressMoves
from warpbank.golden.storage.gscalar import WORD_LANES, groups
from warpbank.golden.storage.metadata import Fill, Metadata, with_metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value

#: Cycles by which an operand comes later than from plain banks: its note is read first, and what is read is
#: decompressed.
READ_DELAY = 2


class Stored(NamedTuple):
    """A write into a bank, between its compression and its arrays.

    Parameters
    ----------
    warp, register : whose value it is.
    bank, note : where it goes, and how it is kept there.
    lanes : mask of the lanes written.
    """

    warp: int
    register: int
    bank: int
    note: Metadata
    lanes: int


class Compressed(Flat):
    """Grants, conflicts and banks as in `Flat`. G-Scalar, sections 3.2 and 5.1.

    A value that a collector evicts is compressed as well, unless a write of its register is pending or issues
    in the same cycle: that might be a partial one, which may go to the bank and finds it as its decompress
    move has left it.

    A result is compressed before it is written, so that its register is free of hazards one cycle later
    (`land`); an operand comes `READ_DELAY` cycles later. Throughput is the same. Decompress moves follow
    from what was written up to the previous cycle: whether a value is compressed is known in the cycle after
    its write.

    Parameters
    ----------
    config : the machine.
    mapping, storage, arbiter, probe : as in `Flat`; the probe also receives `array_read`, `array_write`,
        `lanes`.

    Attributes
    ----------
    pending : gives the mask of a warp's registers that are still to be written, at the clock edge.
    """

    def __init__(
        self, config: SmConfig, mapping: Mapping, storage: CompressedStorage, arbiter: Arbiter, probe: Probe
    ) -> None:
        super().__init__(config, mapping, storage, arbiter, probe)
        self._noting = storage
        self._words = groups(self._every_lane, WORD_LANES)
        self._fetch = self._read
        #: What was read in the last cycles: (collector, slot, tag, (bank, note, value)).
        self._pipe: deque[list[tuple[int, int, int, tuple[int, Metadata, Value]]]] = deque(
            [] for _ in range(READ_DELAY)
        )
        self._stored: list[Stored] = []  # written in this cycle
        self._due: list[Stored] = []  # ... in the previous one
        self.pending: Callable[[int], int] = lambda warp: 0
        #: The last value evicted and compressed: cycle, bank, row, warp, register, value.
        self._evicted: tuple[int, int, int, int, int, Value] | None = None
        self._scalar = ScalarLanes(config, storage.parts, storage.executes, probe)
        self.moves = DecompressMoves(config.sub_core.warps, config.lanes)
        self.dispatched = self._dispatch
        self.land = self._land
        self._landing: list[tuple[int, int]] = []

    @property
    def busy(self) -> bool:
        """See `Flat.busy`."""
        return super().busy or bool(self._stored or self._due or any(self._pipe))

    def _read(self, bank: int, row: int) -> tuple[int, Metadata, Value]:
        return bank, self._noting.note(bank, row), self._noting.read(bank, row)

    def _store(self, bank: int, row: int, uop: TraceUop, register: int, value: Value) -> None:
        fill = Fill.MOVED if uop.seq & MOVE else Fill.PART if uop.part else Fill.WHOLE
        self._noting.write(bank, row, uop.lane_mask, value, fill)
        self._stored.append(Stored(uop.warp, register, bank, self._noting.note(bank, row), uop.lane_mask))
        self._landing.append((uop.warp, register))

    def _land(self) -> list[tuple[int, int]]:
        """The registers that the previous cycle's results went into."""
        landed, self._landing = self._landing, []
        return landed

    def _store_back(self, bank: int, row: int, warp: int, register: int, value: Value) -> None:
        if self.pending(warp) >> register & 1:
            self._stored.append(self._put_back(bank, row, warp, register, value, Fill.MOVED))
        else:
            self._stored.append(self._put_back(bank, row, warp, register, value, Fill.WHOLE))
            self._evicted = self._probe.cycle, bank, row, warp, register, value

    def _put_back(self, bank: int, row: int, warp: int, register: int, value: Value, fill: Fill) -> Stored:
        """Write an evicted value. Returns what is counted and noted in the next cycle."""
        self._noting.write(bank, row, self._every_lane, value, fill)
        return Stored(warp, register, bank, self._noting.note(bank, row), self._every_lane)

    def issue(self, uop: TraceUop) -> None:
        """A uop issues: what it will write must not have been compressed in this cycle."""
        super().issue(uop)
        if self._evicted is not None and self._evicted[0] == self._probe.cycle and uop.collects:
            _, bank, row, warp, register, value = self._evicted
            if uop.warp == warp and uop.destination <= register < uop.destination + uop.count:
                self._due = [
                    entry for entry in self._due if entry.bank != bank
                ]  # they are of this cycle since `step`
                self._due.append(self._put_back(bank, row, warp, register, value, Fill.MOVED))
        if uop.seq & MOVE:
            assert self.moves is not None
            self.moves.note(uop.warp, uop.destination, False)

    def _dispatch(self, uop: TraceUop, collector: int) -> bool:
        """A uop goes to its unit. A move's result is its operand. Returns whether one lane executes it."""
        if uop.seq & MOVE:
            uop.values = [uop.operands[0].view(np.ndarray)]
        return self._scalar.dispatch(uop)

    def step(self) -> list[tuple[int, int, int, Value]]:
        """See `Flat.step`."""
        read = super().step()
        assert self.moves is not None
        for warp, register, bank, note, mask in self._due:
            self.moves.note(warp, register, note.compressed)
            count_arrays(
                self._probe,
                "write",
                bank,
                note,
                self._noting.arrays_written(note, mask),
                groups(mask, WORD_LANES),
            )
        self._due, self._stored = self._stored, []
        for _, _, _, (bank, note, _) in read:
            count_arrays(self._probe, "read", bank, note, self._noting.arrays_read(note), self._words)
        self._pipe.append(read)
        arrived: list[tuple[int, int, int, Value]] = []
        for collector, slot, tag, (_, read_note, read_value) in self._pipe.popleft():
            note, value = self._content((collector, slot, tag), read_note, read_value)
            arrived.append((collector, slot, tag, with_metadata(value, note)))
        return arrived

    def _content(self, operand: tuple[int, int, int], note: Metadata, value: Value) -> tuple[Metadata, Value]:
        """What is delivered as an operand, given what the bank held."""
        return note, value


def count_arrays(probe: Probe, what: str, bank: int, note: Metadata, arrays: int, plain: int) -> None:
    """A bank is read or written: arrays that this activates, and that it would activate if nothing were
    compressed."""
    probe.counters[f"rf.arrays.{what}"] += arrays
    probe.counters[f"rf.arrays.plain_{what}"] += plain
    if probe.sink is not None:
        enc = sum(bits << 4 * part for part, bits in enumerate(note.enc))
        probe.emit(f"array_{what}", bank, note.divergent, enc, arrays, plain)
