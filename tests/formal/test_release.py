"""Proof that what is dying is released, soon after nobody reads or writes it any more (renaming, section
6.1), by induction over one cycle, so for every cycle that can be reached.

A warp is quiet in a cycle in which it has no read and no write pending, issues nothing and declares nothing
dead. A register of a quiet warp that is dying is released within as many cycles as there are warps, times the
registers of its bank of the table that are dying in that warp, itself included: a warp is served once in a
round, and with it the lowest such register of each bank. Hence a slot whose warp has drained is free for the
next warp within warps x registers of a bank cycles.

The environment: uops with any sources, wide results and any registers declared dead; operands and results
come whenever they like; warps drain, which gives their slots up until their registers are released; launches
begin. Three warps of eight registers, two in each bank of the table, one uop in collection.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Assume, Const, Elaboratable, Fragment, Module, Mux, Signal, Value

from tests.formal.prove import Refuted, assume_no_reset, prove
from warpbank.arch.config import preset, with_overrides
from warpbank.hdl.mapping import release
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.mapping.table import TABLE_BANKS
from warpbank.hdl.round_robin import Choice, first_from

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
        #: Cycles within which a quiet warp has nothing left that is dying.
        self.soon = warps * OF_BANK
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
            m.d.comb += [Assert(unit._pointer < self.warps), Assert(~missing.any() | (owner < self.warps))]
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
        # As many rounds are left as a bank has dying registers, the current one until the warp's turn comes.
        turn = Signal(range(self.warps), name=f"turn_{warp}")
        m.d.comb += turn.eq(
            Mux(unit._pointer <= warp, warp - unit._pointer, warp + self.warps - unit._pointer)
        )
        for bank in range(TABLE_BANKS):
            mine = Signal(range(OF_BANK + 1), name=f"mine_{warp}_{bank}")
            m.d.comb += mine.eq(sum(dying[bank::TABLE_BANKS]))
            m.d.comb += Assert((mine == 0) | (quiet + self.warps * (mine - 1) + turn + 1 <= self.soon))
        m.d.comb += [
            Assert(~ended | ((waits == quiet) & ~pending & (dying == mapped))),
            Assert(~ended | mapped.any() | (waits == 0)),
        ]


def test_what_is_dying_is_released(tmp_path: Path) -> None:
    harness = Harness()
    prove(harness, harness.free, 2, tmp_path, inductive=True)


class Deaf(Small):
    """The last bank of the table is never asked."""

    def _choose(self, m: Module, warp: Value, mask: Value) -> list[tuple[Value, Value]]:
        *others, (number, _) = super()._choose(m, warp, mask)
        return [*others, (number, Const(0))]


def lowest_first(m: Module, mask: Value, pointer: Value, name: str = "choice") -> Choice:
    return first_from(m, mask, Const(0), name)


def test_a_bank_that_is_never_asked_is_refuted(tmp_path: Path) -> None:
    """By a run from the initial state, without the invariant; likewise the other one."""
    harness = Harness(Deaf, 2, inductive=False)
    with pytest.raises(Refuted):
        prove(harness, harness.free, harness.soon + 5, tmp_path, last_only=True)


def test_a_priority_that_does_not_rotate_is_refuted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "first_from", lowest_first)
    harness = Harness(warps=2, inductive=False)
    with pytest.raises(Refuted):
        prove(harness, harness.free, harness.soon + 6, tmp_path, last_only=True)
