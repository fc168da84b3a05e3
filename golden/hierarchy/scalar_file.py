"""The flat hierarchy with a scalar bank beside the others, which serves one register per cycle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MOVE
from warpbank.golden.execute.scalar import ScalarLanes
from warpbank.golden.hierarchy.flat import Flat
from warpbank.golden.interfaces import Mapping
from warpbank.golden.main.arbiter import ScalarArbiter
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.storage.compressor import SCALAR, Compressor
from warpbank.golden.storage.decompress_moves import DecompressMoves
from warpbank.golden.storage.gscalar import WORD_LANES, groups
from warpbank.golden.storage.metadata import Metadata, with_metadata
from warpbank.golden.storage.scalar_rf import ScalarRf
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value

#: What is known of an operand: whether the scalar bank delivered it.
_NOTES = {held: Metadata(False, (SCALAR if held else 0,), held, (0,)) for held in (False, True)}


@dataclass(frozen=True)
class Compared:
    """A result between its comparison and its bank: the word that all its lanes hold, if they do and it is of
    all threads."""

    uop: TraceUop
    register: int
    row: int
    value: Value
    word: int | None


class ScalarFile(Flat):
    """Grants, conflicts and banks as in `Flat`, and a scalar bank that all operands and results with equal
    lanes go through. G-Scalar, section 4.1: "only one bank for scalar values".

    A result is compared for a cycle, in a stage that every bank has; then it is written into its bank, which
    is not read in that cycle, or into the scalar bank. Where several ask for the scalar bank, one is written,
    in rotating order, and the others wait in their stages, which take no other result until then. Writes go
    before reads there, too. An operand is asked for where a bit per register says that it is.

    Parameters
    ----------
    config : the machine; `bank_latency` 100.
    mapping, storage, arbiter, probe : as in `Flat`; the probe also receives `array_read`, `array_write`,
        `scalar_write`, `scalar_wait`, `lanes`.
    """

    def __init__(
        self, config: SmConfig, mapping: Mapping, storage: ScalarRf, arbiter: ScalarArbiter, probe: Probe
    ) -> None:
        super().__init__(config, mapping, storage, arbiter, probe)
        self._file = storage
        self._banks, self._bank_width = config.sub_core.banks, config.sub_core.bank_width
        self._words = groups(self._every_lane, WORD_LANES)
        self._compressor = Compressor(config.lanes)
        self._stages: list[Compared | None] = [None] * self._banks
        self._entering: list[tuple[int, Compared]] = []
        self._pointer = 0
        self._accessed = 0  # banks that are written by their stages in this cycle, and the scalar bank
        self._scalar = ScalarLanes(config, 1, storage.executes, probe)
        self.moves = DecompressMoves(config.sub_core.warps, config.lanes)
        self.land = self._land
        self.dispatched = self._dispatch

    @property
    def busy(self) -> bool:
        """Pending work: something happens here in the next cycle."""
        return super().busy or any(self._stages)

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """Request an operand."""
        bank, row = self._mapping.locate(warp, register)
        if self._file.holds(bank, row):
            self._arbiter.request(self._banks, row << self._bank_width | bank, collector, slot, tag)
        else:
            self._arbiter.request(bank, row, collector, slot, tag)

    def _store(self, bank: int, row: int, uop: TraceUop, register: int, value: Value) -> None:
        """A result enters the stage of its bank."""
        code = self._compressor.compress(value, uop.lane_mask)
        scalar = code.full and not uop.part and not uop.seq & MOVE
        self._entering.append((bank, Compared(uop, register, row, value, code.base[0] if scalar else None)))

    def _land(self) -> list[tuple[int, int]]:
        """Write what was compared. Returns the registers, as (warp, register)."""
        asking = sum(
            1 << bank
            for bank, result in enumerate(self._stages)
            if result is not None and result.word is not None
        )
        held = self._accessed = 0
        if asking:
            first = first_from(asking, self._pointer)
            self._pointer = (first + 1) % self._banks
            self._accessed = 1 << self._banks
            held = asking & ~(1 << first)
        if held:
            self._probe.counters["scalar_rf.write_waits"] += held.bit_count()
            if self._probe.sink is not None:
                self._probe.emit("scalar_wait", held.bit_count())
        self._written = held
        landed = []
        for bank, result in enumerate(self._stages):
            if result is not None and not held >> bank & 1:
                self._write(bank, result)
                self._stages[bank] = None
                landed.append((result.uop.warp, result.register))
        return landed

    def _write(self, bank: int, result: Compared) -> None:
        """Write a result that was compared."""
        assert self.moves is not None
        uop, probe = result.uop, self._probe
        lanes = groups(uop.lane_mask, WORD_LANES)
        scalar = result.word is not None
        if result.word is not None:
            self._file.write_scalar(bank, result.row, result.word)
            probe.counters["scalar_rf.writes"] += 1
            if probe.sink is not None:
                probe.emit("scalar_write", result.row << self._bank_width | bank)
        else:
            self._file.write(bank, result.row, uop.lane_mask, result.value)
            self._accessed |= 1 << bank
        self.moves.note(uop.warp, result.register, scalar)
        self._count("write", bank, uop.part and not uop.seq & MOVE, scalar, lanes)

    def _count(self, what: str, bank: int, divergent: bool, scalar: bool, plain: int) -> None:
        arrays = 0 if scalar else plain
        probe = self._probe
        probe.counters[f"rf.arrays.{what}"] += arrays
        probe.counters[f"rf.arrays.plain_{what}"] += plain
        if probe.sink is not None:
            probe.emit(f"array_{what}", bank, divergent, SCALAR if scalar else 0, arrays, plain)

    def _dispatch(self, uop: TraceUop, collector: int) -> bool:
        """A uop goes to its unit. A move's result is its operand. Returns whether one lane executes it."""
        if uop.seq & MOVE:
            uop.values = [uop.operands[0].view(np.ndarray)]
        return self._scalar.dispatch(uop)

    def step(self) -> list[tuple[int, int, int, Value]]:
        """One cycle of reads, after its writes; returns the operands that arrive at the collectors."""
        arrived: list[tuple[int, int, int, Value]] = []
        for collector, slot, tag, (scalar, value) in self.arriving:
            arrived.append((collector, slot, tag, with_metadata(value, _NOTES[scalar])))
        self.arriving = []
        if self._arbiter.pending:
            for bank, row, collector, slot, tag in self._arbiter.step(self._accessed):
                scalar = bank == self._banks
                if scalar:
                    bank, row = row & (1 << self._bank_width) - 1, row >> self._bank_width
                value = self._file.read_scalar(bank, row) if scalar else self._file.read(bank, row)
                self._count("read", bank, False, scalar, self._words)
                self.arriving.append((collector, slot, tag, (scalar, value)))
        for bank, result in self._entering:
            self._stages[bank] = result
        self._entering = []
        self._written = self._accessed = 0
        return arrived
