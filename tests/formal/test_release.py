"""Proof that what is dying is released, soon after nobody reads or writes it any more (renaming, section
6.1), by induction over one cycle, so for every cycle that can be reached.

A warp is quiet in a cycle in which it has no read and no write pending, issues nothing and declares nothing
dead. A round of a warp takes as many cycles as there are warps, until it is chosen, and four more in the
other stages; with it goes the lowest register of each bank that is dying. So a register of a quiet warp that
is dying is released within three cycles, of stages that the warp may be in without it, and as many rounds as
registers of its bank of the table are dying in that warp, itself included. Hence a slot whose warp has
drained is free for the next warp within rounds x registers of a bank and three cycles.

In each stage is one warp, in one stage each warp; what is there is dying and not to be written, and its
numbers are right.

The environment: uops with any sources, wide results and any registers declared dead; operands and results
come whenever they like; warps drain, which gives their slots up until their registers are released; launches
begin. Three warps of eight registers, two in each bank of the table, one uop in collection.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Elaboratable, Fragment, Module, Mux, Signal, Value

from tests.formal.prove import Refuted, assume_no_reset, prove
from warpbank.arch.config import preset, with_overrides
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.mapping.table import TABLE_BANKS

REGISTERS = 8
#: Registers of a warp in a bank of the table.
OF_BANK = REGISTERS // TABLE_BANKS


class Small(Release):
    """Registers R0..R7: what a proof can hold. They differ from the others in their number only."""

    registers = REGISTERS


class Harness(Elaboratable):
    """The environment, the claims and, if `inductive`, the invariant."""

    def __init__(self, unit: Any = Small, warps: int = 3, inductive: bool = True) -> None:
        config = with_overrides(
            preset("tiny"), [f"sub_core.warps={warps}", "sub_core.collectors=1", "lanes=1"]
        )
        self.unit, self.warps, self.inductive = unit(config, 1), warps, inductive
        self.round = warps + 4
        #: Cycles within which a quiet warp has nothing left that is dying.
        self.soon = 3 + self.round * OF_BANK
        issue, mark = self.unit.issue, self.unit.mark
        self.free = [
            self.unit.launch,
            self.unit.end,
            self.unit.read[0].slots,
            issue.valid,
            issue.payload.as_value(),
            mark.valid,
            mark.warp,
            mark.registers,
        ]
        for port in self.unit.written:
            self.free += [port.valid, port.warp, port.register]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = Fragment.get(self.unit, platform)  # here, so that its inner signals exist
        assume_no_reset(m)
        unit = self.unit
        uop, issuer = unit.issue.payload.uop, unit.issue.payload.warp
        missing, owner, _ = unit._collecting[0]
        destinations = Signal(REGISTERS)
        m.d.comb += [
            destinations.eq(((1 << uop.count) - 1) << uop.destination),
            unit.entry.eq(0),
            Assume(uop.count <= 4),
            Assume(uop.destination + uop.count <= REGISTERS),
            Assume(issuer < self.warps),
            *(Assume(source < REGISTERS) for source in uop.sources),
            Assume(unit.mark.warp < self.warps),
            Assume(~unit.issue.valid | ~missing.any()),
            *(Assume((port.register < REGISTERS) & (port.warp < self.warps)) for port in unit.written),
        ]
        if self.inductive:
            m.d.comb += [
                Assert(~(unit._ahead[:-1] & ~unit._ahead[1:]).any()),
                Assert(~missing.any() | (owner < self.warps)),
            ]
            stages(m, unit)
        for warp in range(self.warps):
            self._warp(m, warp, destinations, missing.any() & (owner == warp))
        return m

    def _warp(self, m: Module, warp: int, destinations: Value, reads: Value) -> None:
        unit = self.unit
        dying, ended, draining = unit._dying[warp], unit.ended[warp], unit.end[warp]
        issues = unit.issue.valid & (unit.issue.payload.warp == warp)
        marks = unit.mark.valid & (unit.mark.warp == warp)
        pending = unit._writing[warp].any() | reads
        mapped, gone = Signal(REGISTERS, name=f"has_{warp}"), Signal(REGISTERS, name=f"leave_{warp}")
        left: Value = Const(0)
        for port in unit.released:
            left = left | Mux(port.valid & (port.warp == warp), 1 << port.register, 0)
        m.d.comb += [
            gone.eq(left),
            unit.mapped[warp].eq(mapped),
            Assume(~marks | ~(unit.mark.registers & ~mapped).any()),
            Assume(~draining | ~(pending | issues | marks | ended)),
            Assume(~ended | ~(issues | marks)),
            Assume(~unit.launch | ~(pending | issues | marks | draining)),
        ]
        m.d.sync += mapped.eq(Mux(unit.launch, 0, mapped & ~gone | Mux(issues, destinations, 0)))
        quiet, waits = (
            Signal(range(self.soon + 2), name=f"quiet_{warp}"),
            Signal(range(self.soon + 2), name=f"waits_{warp}"),
        )
        busy = pending | issues | marks | draining
        m.d.sync += [
            quiet.eq(Mux(busy, 0, Mux(quiet > self.soon, quiet, quiet + 1))),
            waits.eq(Mux(ended, Mux(waits > self.soon, waits, waits + 1), 0)),
        ]
        # The claims.
        m.d.comb += [
            Assert((quiet < self.soon) | ~dying.any()),
            Assert(~ended | (waits < self.soon)),
            Assert(~(dying & ~mapped).any()),
        ]
        if not self.inductive:
            return
        # As many rounds are left as a bank has dying registers, the current one until the warp's turn comes,
        # or until it has passed the stages.
        ahead, some = unit._ahead, unit._some[warp]
        turn = Signal(range(self.warps), name=f"turn_{warp}")
        m.d.comb += turn.eq(Mux(ahead[warp], sum(ahead[:warp]), sum(ahead) + warp))
        passed = [
            (4, unit._served, dying),
            *((3 - place, stage.warp, stage.mask) for place, stage in enumerate(unit._stages)),
        ]
        engaged = Cat(who[warp] for _, who, _ in passed).any()
        m.d.comb += Assert((quiet == 0) | ~dying.any() | some | engaged)
        for bank in range(TABLE_BANKS):
            mine = Signal(range(OF_BANK + 1), name=f"mine_{warp}_{bank}")
            m.d.comb += mine.eq(sum(dying[bank::TABLE_BANKS]))
            rounds = self.round * mine
            left_: Value = Mux(some, rounds - self.round + turn + 5, rounds + 1)
            for cycles, who, mask in passed:
                comes = rounds - Mux(mask[bank::TABLE_BANKS].any(), self.round, 0)
                left_ = Mux(who[warp], comes + cycles, left_)
            m.d.comb += Assert((mine == 0) | (quiet + left_ <= self.soon))
        m.d.comb += [
            Assert(~ended | ((waits == quiet) & ~pending & (dying == mapped))),
            Assert(~ended | mapped.any() | (waits == 0)),
        ]


def stages(m: Module, unit: Release) -> None:
    """One warp in a stage, a warp in one stage; what is there is dying and not to be written; the numbers of
    what has been found."""
    _, finds, releases = unit._stages
    places = [unit._some, unit._served, *(stage.warp for stage in unit._stages)]
    m.d.comb += [Assert(sum(warps) <= 1) for warps in places[1:]]
    for number, warps in enumerate(places):
        m.d.comb += [Assert(~(warps & other).any()) for other in places[:number]]
    for stage in unit._stages:
        for here, dying, writing in zip(stage.warp, unit._dying, unit._writing, strict=True):
            m.d.comb += Assert(~(Mux(here, stage.mask, 0) & ~(dying & ~writing)).any())
    numbers = [(unit._owner, number) for number in unit._numbers]
    released = [(port.warp, port.register) for port in unit.released]
    for stage, found in ((finds, numbers), (releases, released)):
        for bank, (warp, number) in enumerate(found):
            mask = stage.mask[bank::TABLE_BANKS]
            m.d.comb += [
                Assert(~stage.warp.any() | (sum(mask) <= 1)),
                Assert(~stage.warp.any() | (stage.warp == 1 << warp)),
                *(
                    Assert(~stage.warp.any() | ~one | (number == place * TABLE_BANKS + bank))
                    for place, one in enumerate(mask)
                ),
            ]


def test_what_is_dying_is_released(tmp_path: Path) -> None:
    harness = Harness()
    prove(harness, harness.free, 2, tmp_path, inductive=True)


class Deaf(Small):
    """The last bank of the table is never asked."""

    def _find(self, m: Module, reads: Any, issued: Value, destinations: Value) -> Any:
        last = sum(1 << register for register in range(TABLE_BANKS - 1, REGISTERS, TABLE_BANKS))
        return super()._find(
            m, replace(reads, mask=reads.mask & ~Const(last, REGISTERS)), issued, destinations
        )


class Once(Small):
    """A warp that has been served is never chosen again."""

    def _engaged(self, stages: list[Value]) -> Value:
        return super()._engaged([*stages, self._has_been])

    def _choose(self, m: Module, some: Value) -> Value:
        chosen = super()._choose(m, some)
        self._has_been = Signal(len(some))
        m.d.sync += self._has_been.eq(self._has_been | chosen)
        return chosen


def test_a_bank_that_is_never_asked_is_refuted(tmp_path: Path) -> None:
    """By a run from the initial state, without the invariant; likewise the other one."""
    harness = Harness(Deaf, 2, inductive=False)
    with pytest.raises(Refuted):
        prove(harness, harness.free, harness.soon + 5, tmp_path, last_only=True)


def test_a_warp_that_is_served_once_is_refuted(tmp_path: Path) -> None:
    harness = Harness(Once, 2, inductive=False)
    with pytest.raises(Refuted):
        prove(harness, harness.free, harness.soon + 6, tmp_path, last_only=True)
