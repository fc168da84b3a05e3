"""Proof that no hazard passes the scoreboard, for any register of any warp."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Elaboratable, Module, Signal

from tests.formal.prove import Refuted, assume_no_reset, prove
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.uop import RZ
from warpbank.hdl.front_end.scoreboard import Scoreboard

CONFIG = with_overrides(
    preset("tiny"), ["sub_core.warps=2", "sub_core.collectors=2", "sub_core.banks=1", "lanes=1"]
)
ENTRIES = 2


class Small(Scoreboard):
    """Registers R0..R6 and RZ: what a proof can hold. They differ from the others in their number only."""

    registers = 8


class Harness(Elaboratable):
    """One register of one warp, chosen once and for all, is followed by a model that knows nothing else."""

    def __init__(self, writes: bool, unit: Any = Small) -> None:
        self.writes = writes  # RAW and WAW, else WAR
        self.unit = unit(CONFIG, ENTRIES)
        self.warp, self.register = Signal(), Signal(8)
        board = self.unit
        self.free = [self.warp, self.register, board.entry, board.issue.valid, board.issue.payload.as_value()]
        self.free.append(board.writes)
        for hazards in board.hazards:
            self.free += [
                hazards.registers.as_value(),
                hazards.predicates,
                hazards.destination,
                hazards.count,
            ]
        for port in (*board.read, *board.written, *board.retired):
            self.free += [getattr(port, name) for name in port.signature.members]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = board = self.unit
        assume_no_reset(m)
        seen, warp, register = Signal(), Signal(), Signal(8)
        m.d.sync += [seen.eq(1), warp.eq(self.warp), register.eq(self.register)]
        m.d.comb += Assume(~seen | ((warp == self.warp) & (register == self.register)))
        m.d.comb += Assume(self.register < Small.registers - 1)
        uop = board.issue.payload.uop
        mine = Signal()
        m.d.comb += mine.eq(board.issue.valid & (board.issue.payload.warp == self.warp))
        for hazards in board.hazards:
            for place in range(10):
                number = hazards.registers[place]
                m.d.comb += Assume((number < Small.registers - 1) | (number == RZ))
            m.d.comb += Assume(hazards.destination + hazards.count < Small.registers)

        # Writes: pending from issue until written. Nothing is written that is not pending.
        pending = Signal()
        # What issues writes any of the destinations of its warp's first uop, which stand in `hazards`.
        issuing = Array(hazards.registers.as_value() for hazards in board.hazards)[board.issue.payload.warp]
        sets = (
            mine
            & Cat(board.writes[n] & (issuing.word_select(6 + n, 8) == self.register) for n in range(4)).any()
        )
        written = Cat(
            port.valid & (port.warp == self.warp) & (port.register == self.register) for port in board.written
        )
        with m.If(sets):
            m.d.sync += pending.eq(1)
        with m.Elif(written.any()):
            m.d.sync += pending.eq(0)
        m.d.comb += [Assume(port.register < Small.registers) for port in board.written]
        m.d.comb += Assume(
            ~sets | ~pending
        )  # the hazard that the unit itself reports; here the environment obeys it
        m.d.comb += Assume(~written.any() | pending)

        # Reads: each entry's slots that name the register, from issue until read.
        reading = [Signal(6, name=f"reading_{entry}") for entry in range(ENTRIES)]
        left = [Signal(6, name=f"left_{entry}") for entry in range(ENTRIES)]
        m.d.comb += Assume(board.entry < ENTRIES)
        m.d.comb += Assume(~board.issue.valid | (Array(left)[board.entry] == 0))
        for entry, port in enumerate(board.read):
            done = Signal(6, name=f"done_{entry}")
            m.d.comb += done.eq(port.slots)
            m.d.comb += Assume((done & ~left[entry]) == 0)
            names = Cat(
                uop.source_valid[slot] & mine & (uop.sources[slot] == self.register) for slot in range(6)
            )
            with m.If(board.issue.valid & (board.entry == entry)):
                m.d.sync += [left[entry].eq(uop.source_valid), reading[entry].eq(names)]
            with m.Else():
                m.d.sync += [left[entry].eq(left[entry] & ~done), reading[entry].eq(reading[entry] & ~done)]

        head = Array(hazards.registers.as_value() for hazards in board.hazards)[self.warp]
        first = Array(hazards.destination for hazards in board.hazards)[self.warp]
        count = Array(hazards.count for hazards in board.hazards)[self.warp]
        named = Cat(head[8 * place : 8 * place + 8] == self.register for place in range(10)).any()
        writes = (first <= self.register) & (self.register < first + count)
        blocked = board.blocked.bit_select(self.warp, 1)
        if self.writes:
            m.d.comb += Assert(~(named & pending) | blocked)
        else:
            m.d.comb += Assert(~(writes & (reading[0] | reading[1]).any()) | blocked)
        return m


@pytest.mark.parametrize("writes", [True, False])
def test_no_hazard_passes(writes: bool, tmp_path: Path) -> None:
    harness = Harness(writes)
    prove(harness, harness.free, 4, tmp_path)


class ForgetsSlots(Small):
    """Pending reads are forgotten."""

    def _reads(self, m: Any) -> Any:
        return super()._reads(m) & 0


def test_a_mutant_is_refuted(tmp_path: Path) -> None:
    harness = Harness(False, ForgetsSlots)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 4, tmp_path)
