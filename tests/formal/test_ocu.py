"""Proof that the operand collectors deliver every source once, to its own slot, and dispatch a uop with its
own operands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Elaboratable, Module, Mux, Signal

from tests.formal.prove import Refuted, assume_no_reset, prove
from warpbank.arch.config import preset, with_overrides
from warpbank.hdl.collector.ocu import Ocu

CONFIG = with_overrides(preset("tiny"), ["sub_core.warps=2", "lanes=1", "sub_core.banks=1"])
COUNT = CONFIG.sub_core.collectors


class Harness(Elaboratable):
    """Any uops, any units, operands in any order. One collector and one slot, chosen once, are followed by a
    model."""

    def __init__(self, unit: Any = Ocu) -> None:
        self.unit = unit(CONFIG)
        self.collector, self.slot = Signal(range(COUNT)), Signal(range(6))
        ocu = self.unit
        self.free = [self.collector, self.slot, ocu.issue.valid, ocu.issue.payload.as_value()]
        self.free += [signal for port in ocu.deliver for signal in (port.valid, port.slot, port.value)]
        self.free += [port.ready for port in ocu.dispatch]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = ocu = self.unit
        assume_no_reset(m)
        seen, collector, slot = Signal(), Signal.like(self.collector), Signal.like(self.slot)
        m.d.sync += [seen.eq(1), collector.eq(self.collector), slot.eq(self.slot)]
        m.d.comb += Assume(~seen | ((collector == self.collector) & (slot == self.slot)))
        m.d.comb += Assume((self.collector < COUNT) & (self.slot < 6))
        issue = ocu.issue.payload
        m.d.comb += Assume(~ocu.issue.valid | ocu.may_issue.bit_select(issue.warp, 1))
        m.d.comb += Assume(issue.uop.unit < 7)
        m.d.comb += Assert(ocu.read.valid == ocu.issue.valid)

        # The register file answers what was requested, each once.
        asked = [Signal(6, name=f"asked_{number}") for number in range(COUNT)]
        for number, (port, left) in enumerate(zip(ocu.deliver, asked, strict=True)):
            done = Signal(6, name=f"done_{number}")
            m.d.comb += done.eq(port.valid << port.slot)
            m.d.comb += Assume(~port.valid | ((port.slot < 6) & (done & left).any()))
            wanted = Mux(
                ocu.read.valid & (ocu.read.payload.collector == number), ocu.read.payload.source_valid, 0
            )
            m.d.sync += left.eq(left & ~done | wanted)

        # The model: what the collector holds, and the value its slot received.
        holds, seq, unit, value, valid = Signal(), Signal(32), Signal(3), Signal(32), Signal()
        delivery = Array(Cat(port.valid, port.slot, port.value) for port in ocu.deliver)[self.collector]
        with m.If(delivery[0] & (delivery[1:4] == self.slot)):
            m.d.sync += value.eq(delivery[4:])
        taken = Signal()
        m.d.comb += taken.eq(ocu.issue.valid & (ocu.entry == self.collector))
        gone = [port.valid & port.ready & (port.payload.collector == self.collector) for port in ocu.dispatch]
        m.d.comb += Assert(sum(gone) <= 1)
        m.d.comb += Assert(~taken | ~holds)
        with m.If(taken):
            m.d.sync += [
                holds.eq(1),
                seq.eq(issue.uop.seq),
                unit.eq(issue.uop.unit),
                valid.eq(issue.uop.source_valid.bit_select(self.slot, 1)),
            ]
        with m.Elif(sum(gone) != 0):
            m.d.sync += holds.eq(0)
        operands = Array(operand for slots in ocu.operands for operand in slots)
        for number, (port, goes) in enumerate(zip(ocu.dispatch, gone, strict=True)):
            with m.If(goes):
                m.d.comb += Assert(holds)
                m.d.comb += Assert(Array(asked)[self.collector] == 0)
                m.d.comb += Assert((unit == number) & (port.payload.result.seq == seq))
                m.d.comb += Assert(~valid | (operands[self.collector * 6 + self.slot] == value))
        return m


def test_every_source_once_in_its_own_slot(tmp_path: Path) -> None:
    harness = Harness()
    prove(harness, harness.free, 7, tmp_path)


class ReadyTooEarly(Ocu):
    """A uop counts as complete when its first operand comes."""

    def _collect(self, m: Any, number: int, allocated: Any) -> Any:
        return super()._collect(m, number, allocated) | self.deliver[number].valid


def test_a_mutant_is_refuted(tmp_path: Path) -> None:
    harness = Harness(ReadyTooEarly)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 6, tmp_path)
