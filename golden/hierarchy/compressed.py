"""The flat hierarchy over a storage that compresses: three more cycles, notes beside the values, and decompress moves."""

from __future__ import annotations

from collections import deque

from arch.rooms import SmConfig
from arch.uop import MOVE

from ..collector.arbiter import Arbiter
from ..execute.scalar import ScalarLanes
from ..probe import Probe
from ..seams import Mapping, NotingStorage
from ..storage.gscalar import WORD_LANES, Fill, Note, groups
from ..storage.moves import Moves
from ..stream import TraceUop
from ..values import Value
from .flat import Flat

#: Cycles by which an operand comes later than from plain banks: its note is read first, and what is read is decompressed.
READ_DELAY = 2


class Compressed(Flat):
    """Grants, conflicts and banks as in `Flat`. G-Scalar, sections 3.2 and 5.1.

    A result is compressed before it is written, so that its register is free of hazards one cycle later (`land`); an operand
    comes `READ_DELAY` cycles later. Throughput is the same.

    Parameters
    ----------
    config : the machine.
    mapping, storage, arbiter, probe : as in `Flat`; the probe also receives `array_read`, `array_write`, `lanes`.
    """

    def __init__(self, config: SmConfig, mapping: Mapping, storage: NotingStorage, arbiter: Arbiter, probe: Probe) -> None:
        super().__init__(config, mapping, storage, arbiter, probe)
        self._noting = storage
        self._words = groups(self._every_lane, WORD_LANES)
        self._fetch = self._read
        #: What was read in the last cycles: (collector, slot, tag, (bank, note, value)).
        self._pipe: deque[list[tuple[int, int, int, tuple[int, Note, Value]]]] = deque([] for _ in range(READ_DELAY))
        self._stored: list[tuple[int, Note, int]] = []  # written in this cycle: bank, note, lanes
        self._due: list[tuple[int, Note, int]] = []  # ... in the previous one
        self._scalar = ScalarLanes(config, storage.parts, storage.executes, probe)
        self.moves = Moves(config.sub_core.warps, config.lanes)
        self.dispatched = self._dispatch
        self.land = self._land
        self._landing: list[tuple[int, int]] = []

    @property
    def busy(self) -> bool:
        """See `Flat.busy`."""
        return super().busy or bool(self._stored or self._due or any(self._pipe))

    def _read(self, bank: int, row: int) -> tuple[int, Note, Value]:
        return bank, self._noting.note(bank, row), self._noting.read(bank, row)

    def _store(self, bank: int, row: int, uop: TraceUop, register: int, value: Value) -> None:
        fill = Fill.MOVED if uop.seq & MOVE else Fill.PART if uop.part else Fill.WHOLE
        self._noting.write(bank, row, uop.lane_mask, value, fill)
        note = self._noting.note(bank, row)
        assert self.moves is not None
        self.moves.note(uop.warp, register, note.compressed)
        self._stored.append((bank, note, uop.lane_mask))
        self._landing.append((uop.warp, register))

    def _land(self) -> list[tuple[int, int]]:
        """The registers that the previous cycle's results went into."""
        landed, self._landing = self._landing, []
        return landed

    def _dispatch(self, uop: TraceUop, collector: int) -> bool:
        """A uop goes to its unit. A move's result is its operand. Returns whether one lane executes it."""
        if uop.seq & MOVE:
            uop.values = [uop.operands[0]]
        return self._scalar.dispatch(uop, collector)

    def step(self) -> list[tuple[int, int, int, Value]]:
        """See `Flat.step`."""
        read = super().step()
        for bank, note, mask in self._due:
            self._count("write", bank, note, self._noting.arrays_written(note, mask), groups(mask, WORD_LANES))
        self._due, self._stored = self._stored, []
        for _, _, _, (bank, note, _) in read:
            self._count("read", bank, note, self._noting.arrays_read(note), self._words)
        self._pipe.append(read)
        arrived = []
        for collector, slot, tag, (_, note, value) in self._pipe.popleft():
            self._scalar.deliver(collector, note)
            arrived.append((collector, slot, tag, value))
        return arrived

    def _count(self, what: str, bank: int, note: Note, arrays: int, plain: int) -> None:
        probe = self._probe
        probe.counters[f"rf.arrays.{what}"] += arrays
        probe.counters[f"rf.arrays.plain_{what}"] += plain
        if probe.sink is not None:
            enc = sum(bits << 4 * part for part, bits in enumerate(note.enc))
            probe.emit(f"array_{what}", bank, note.divergent, enc, arrays, plain)
