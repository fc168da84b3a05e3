"""Storage that keeps registers encoded: the stages around its banks, metadata beside the values, and
decompress moves."""

from __future__ import annotations

from typing import Final

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MOVE
from warpbank.golden.execute.scalar import ScalarLanes
from warpbank.golden.interfaces import Storage
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.probe import Probe
from warpbank.golden.storage.arrays import WORD_LANES, groups
from warpbank.golden.storage.decompress_moves import DecompressMoves
from warpbank.golden.storage.metadata import CompressedBanks, Fill, Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, packed

#: Cycles by which an operand comes later than from plain banks: its note is read first, and what is read is
#: decompressed.
READ_DELAY: Final = 2

#: Cycles from taking a write to its end: it is compressed first.
WRITE_DELAY: Final = 1


class Stored:
    """A write into a bank, between its compression and its arrays.

    Parameters
    ----------
    warp, register : whose value it is.
    bank, note : where it goes, and how it is kept there.
    lanes : mask of the lanes written.
    """

    __slots__ = ("bank", "lanes", "note", "register", "warp")

    def __init__(self, warp: int, register: int, bank: int, note: Metadata, lanes: int) -> None:
        self.warp = warp
        self.register = register
        self.bank = bank
        self.note = note
        self.lanes = lanes


class Evicted:
    """A value that was evicted and compressed: in which cycle, where it went, whose it is.

    Parameters
    ----------
    cycle : of its compression.
    bank, row : where it went.
    warp, register, value : whose it is, and its bits.
    """

    __slots__ = ("bank", "cycle", "register", "row", "value", "warp")

    def __init__(self, cycle: int, bank: int, row: int, warp: int, register: int, value: int) -> None:
        self.cycle = cycle
        self.bank = bank
        self.row = row
        self.warp = warp
        self.register = register
        self.value = value


def _fill(uop: TraceUop) -> Fill:
    """Fill of a register by the result of a uop."""
    return Fill.MOVED if uop.seq & MOVE else Fill.PART if uop.part else Fill.WHOLE


class Coded(Storage):
    """Banks that keep a register in fewer bytes where they can. G-Scalar, sections 3.2 and 5.1.

    A value that a collector evicts is compressed as well, unless a write of its register is pending or issues
    in the same cycle: that might be a partial one, which may go to the bank and finds it as its decompress
    move has left it.

    A result is compressed before it is written, so that its register is free of hazards one cycle later; an
    operand comes `READ_DELAY` cycles later. Throughput is that of plain banks. Decompress moves follow from
    what was written up to the previous cycle: whether a value is compressed is known in the cycle after its
    write. Until then an operand finds the note of the value before. Nobody reads one then but who reads a
    register that was never written, in a row that may be anybody's; where a register that is asked for may
    just have left a cache, the main register file keeps the distance (`write_delay`).

    What comes from a cache has its metadata already, which says how it is kept.

    Parameters
    ----------
    config : the machine.
    banks : how registers are encoded, and the rows.
    probe : receives `array_read`, `array_write`, `lanes`.
    """

    def __init__(self, config: SmConfig, banks: CompressedBanks, probe: Probe) -> None:
        self.busy = False
        self.read_delay, self.write_delay, self.late = READ_DELAY, WRITE_DELAY, 0
        self.landing = []
        self.moves = DecompressMoves(config.sub_core.warps, config.lanes)
        self._banks, self._probe = banks, probe
        self._reads, self._writes = probe.ports["array_read"], probe.ports["array_write"]
        self._count = config.sub_core.banks
        self._every_lane = config.lane_mask
        self._words = groups(self._every_lane, WORD_LANES)
        self._scalar = ScalarLanes(config, banks.parts, banks.executes, probe)
        self._plain = Metadata(False, (0,) * banks.parts, False, (0,) * banks.parts)
        self._stored: list[Stored] = []  # written in this cycle
        self._put: list[Stored] = []  # ... by a cache: nothing follows from it for the moves
        self._read: list[tuple[int, Metadata]] = []  # read in this cycle
        self._due: list[Stored] = []  # `_stored` of the previous cycle, or of this one since `step`
        self._due_put: list[Stored] = []
        self._due_read: list[tuple[int, Metadata]] = []
        self._now: dict[tuple[int, int], Metadata] = {}  # notes before the writes of this cycle
        self._before: dict[tuple[int, int], Metadata] = {}  # ... of the previous one
        self._evicted: list[Evicted] = []  # in the last cycle that had any
        self._taken: list[tuple[int, int]] = []  # results of this cycle

    def arbiter(self, probe: Probe) -> Arbiter:
        """A queue per bank."""
        return Arbiter(self._count, probe)

    # --- Reads.

    def operand(self, bank: int, row: int) -> tuple[Value, Metadata]:
        """Read of a row for an operand: its value and metadata."""
        note = self._banks.note(bank, row)
        if self._before:
            note = self._before.get((bank, row), note)
        self._read.append((bank, note))
        self.busy = True
        return self._banks.read(bank, row), note

    def fetch(self, bank: int, row: int) -> tuple[Value, Metadata]:
        """Read of a row for a cache: its value and metadata."""
        note = self._banks.note(bank, row)
        self._read.append((bank, note))
        self.busy = True
        return self._banks.read(bank, row), note

    def content(self, bank: int, row: int) -> tuple[Value, str]:
        """Register that a row stands for, and its encoding bits, first the highest byte's."""
        note = self._banks.note(bank, row)
        bits = " ".join(f"{part:04b}" for part in note.enc)
        return self._banks.read(bank, row), f"D enc {bits}" if note.divergent else f"enc {bits}"

    # --- Writes.

    def begin(self) -> int:
        """Every bank takes a result."""
        return 0

    def describe(self, uop: TraceUop, value: Value) -> Metadata:
        """The metadata of a result."""
        return self._banks.describe(packed(value), uop.lane_mask, _fill(uop))

    def encode(self, value: Value, compress: bool) -> Metadata:
        """The metadata of a value of all lanes."""
        return self._banks.describe(packed(value), self._every_lane, Fill.WHOLE) if compress else self._plain

    def result(self, bank: int, row: int, uop: TraceUop, register: int, value: Value) -> None:
        """A result is compressed in this cycle."""
        bits = packed(value)
        metadata = self._banks.describe(bits, uop.lane_mask, _fill(uop))
        self._now[bank, row] = self._banks.note(bank, row)
        self._banks.keep(bank, row, uop.lane_mask, bits, metadata)
        self._stored.append(Stored(uop.warp, register, bank, metadata, uop.lane_mask))
        self._taken.append((uop.warp, 1 << register))
        self.busy = True

    def keep(self, warp: int, mask: int) -> None:
        """A result that no bank takes is as late as one that a bank does."""
        self._taken.append((warp, mask))
        self.busy = True

    def write_back(self, bank: int, row: int, warp: int, register: int, value: Value, compress: bool) -> None:
        """A value is compressed in this cycle."""
        self._now[bank, row] = self._banks.note(bank, row)
        bits = packed(value)
        self._stored.append(self._put_back(bank, row, warp, register, bits, compress))
        self.busy = True
        if compress:
            cycle = self._probe.cycle
            if self._evicted and self._evicted[0].cycle != cycle:
                self._evicted.clear()
            self._evicted.append(Evicted(cycle, bank, row, warp, register, bits))

    def _put_back(self, bank: int, row: int, warp: int, register: int, value: int, compress: bool) -> Stored:
        """Write an evicted value. Returns what is counted and noted in the next cycle."""
        note = self._banks.describe(value, self._every_lane, Fill.WHOLE if compress else Fill.MOVED)
        self._banks.keep(bank, row, self._every_lane, value, note)
        return Stored(warp, register, bank, note, self._every_lane)

    def put(self, bank: int, row: int, mask: int, value: Value, metadata: Metadata) -> None:
        """Keep lanes as their metadata says."""
        self._banks.keep(bank, row, mask, packed(value), metadata)
        self._put.append(Stored(0, 0, bank, metadata, mask))
        self.busy = True

    def written(self, taken: int) -> int:
        """Mask of the banks that are written: a cycle later than it seems, a distance that reads keep."""
        return taken

    def poison(self, bank: int, row: int) -> None:
        """The row reads as `POISON`; its note stays. A value evicted in the cycle of the release comes to the
        arrays after it, and stays."""
        if (bank, row) not in self._before:
            self._banks.poison(bank, row)

    def poisoned(self, value: Value) -> Value:
        """Poisoned value of a cache: it stays as it is, as in hardware: collectors merge what they evict with
        dead lanes, and metadata is about all lanes."""
        return value

    def step(self) -> None:
        """The arrays of the previous cycle's accesses. This cycle's results are free in the next one."""
        reads = self._reads
        for stored in self._due:
            self.moves.note(stored.warp, stored.register, stored.note.compressed)
            self._count_write(stored)
        for stored in self._due_put:
            self._count_write(stored)
        for bank, note in self._due_read:
            reads.emit(bank, note.divergent, note.bits(), self._banks.arrays_read(note), self._words)
        if self._stored or self._due:
            self._due, self._stored = self._stored, []
        if self._put or self._due_put:
            self._due_put, self._put = self._put, []
        if self._read or self._due_read:
            self._due_read, self._read = self._read, []
        if self._now or self._before:
            self._before, self._now = self._now, {}
        if self._taken:
            self.landing.extend(self._taken)
            self._taken.clear()
        self.busy = bool(self._due or self._due_put or self._due_read or self.landing)

    def _count_write(self, stored: Stored) -> None:
        """A bank was written: arrays that this activates, and that it would activate if nothing were
        compressed."""
        note, lanes = stored.note, stored.lanes
        arrays = self._banks.arrays_written(note, lanes)
        self._writes.emit(stored.bank, note.divergent, note.bits(), arrays, groups(lanes, WORD_LANES))

    # --- Uops.

    def before(self, uop: TraceUop, missing: int) -> TraceUop | None:
        """The move that must issue in the place of a uop that has no hazard."""
        return self.moves.before(uop, missing)

    def issue(self, uop: TraceUop, missing: int) -> None:
        """A uop issues: what it will write must not have been compressed in this cycle."""
        if self._evicted and self._evicted[0].cycle == self._probe.cycle and uop.collects:
            for one in self._evicted:
                if uop.warp == one.warp and uop.destination <= one.register < uop.destination + uop.count:
                    self._due = [stored for stored in self._due if stored.bank != one.bank]
                    self._due.append(
                        self._put_back(one.bank, one.row, one.warp, one.register, one.value, False)
                    )
        self.moves.issue(uop, missing)

    def dispatched(self, uop: TraceUop) -> bool:
        """A uop goes to its unit. A move's result is its operand. Returns whether one lane executes it."""
        if uop.seq & MOVE:
            uop.values = [uop.operands[0]]
        return self._scalar.dispatch(uop)
