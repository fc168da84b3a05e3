"""Proofs about the bank arbiter and its request FIFOs, on two banks and two collectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Elaboratable, Module, Mux, Signal

from tests.formal.prove import Refuted, assume_no_reset, prove
from warpbank.arch.config import preset, with_overrides
from warpbank.hdl.main.arbiter import Arbiter

CONFIG = with_overrides(preset("tiny"), ["sub_core.rows=2", "sub_core.warps=1", "lanes=1"])
CORE = CONFIG.sub_core
SLOTS = 2  # slots that may be requested: enough for an order within a group


class Harness(Elaboratable):
    """Requests of collectors that wait for nothing else, in any cycle, at any banks.

    `quiet`: no bank is ever written, so that every request must be served within `BOUND` cycles.
    """

    BOUND = CORE.collectors * SLOTS + 1

    def __init__(self, unit: Any = Arbiter, quiet: bool = False) -> None:
        self.arbiter = unit(CONFIG)
        self.quiet = quiet
        self.watched = Signal(range(CORE.collectors))  # any slot of any collector, chosen once
        self.slot = Signal(range(SLOTS))
        request = self.arbiter.request
        self.free = [
            request.valid,
            request.collector,
            request.slots,
            request.banks.as_value(),
            request.rows.as_value(),
            self.arbiter.written,
            self.watched,
            self.slot,
        ]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = self.arbiter
        assume_no_reset(m)
        request = arbiter.request
        missing = [Signal(SLOTS, name=f"missing_{number}") for number in range(CORE.collectors)]
        m.d.comb += Assume(request.collector < CORE.collectors)
        m.d.comb += Assume(request.slots >> SLOTS == 0)
        m.d.comb += Assume(~request.valid | (Array(missing)[request.collector] == 0))
        if self.quiet:
            m.d.comb += Assume(arbiter.written == 0)
        for number, (grant, left) in enumerate(zip(arbiter.grant, missing, strict=True)):
            served = Signal(SLOTS, name=f"served_{number}")
            m.d.comb += served.eq(Mux(grant.valid, 1 << grant.slot, 0))
            # Only what was asked for and has not come.
            m.d.comb += Assert(~grant.valid | ((grant.slot < SLOTS) & (served & left).any()))
            m.d.comb += Assert(~grant.valid | ~(arbiter.written >> grant.bank)[0])
            asked = Mux(request.valid & (request.collector == number), request.slots[:SLOTS], 0)
            m.d.sync += left.eq(left & ~served | asked)
            age = Signal(range(self.BOUND + 1), name=f"age_{number}")
            with m.If(left == 0):
                m.d.sync += age.eq(0)
            with m.Elif(age < self.BOUND):
                m.d.sync += age.eq(age + 1)
            if self.quiet:
                m.d.comb += Assert(age < self.BOUND)
        for bank, read in enumerate(arbiter.read):
            ports = [grant.valid & (grant.bank == bank) for grant in arbiter.grant]
            m.d.comb += Assert(sum(ports) == read.valid)
        self._order(m)
        return m

    def _order(self, m: Module) -> None:
        """A request is served when all older ones of its bank have been: the FIFO property."""
        arbiter, request = self.arbiter, self.arbiter.request
        seen, watched, slot = Signal(), Signal.like(self.watched), Signal.like(self.slot)
        m.d.sync += [seen.eq(1), watched.eq(self.watched), slot.eq(self.slot)]
        m.d.comb += Assume(~seen | ((watched == self.watched) & (slot == self.slot)))
        m.d.comb += Assume((self.watched < CORE.collectors) & (self.slot < SLOTS))
        waiting, bank, row = Signal(), Signal(CORE.bank_width), Signal(CORE.row_width)
        lengths = [Signal(4, name=f"length_{number}") for number in range(CORE.banks)]
        ahead = Signal(4)
        here = Array(read.valid for read in arbiter.read)[bank]
        asks = Signal()
        at = request.banks[self.slot]
        m.d.comb += asks.eq(
            request.valid & (request.collector == self.watched) & request.slots.bit_select(self.slot, 1)
        )
        before = sum(
            request.slots[place] & (place < self.slot) & (request.banks[place] == at)
            for place in range(SLOTS)
        )
        length = Array(lengths)[at]
        leaves = Array(read.valid for read in arbiter.read)[at]
        grant = Array(Cat(grant.valid, grant.slot, grant.bank) for grant in arbiter.grant)[self.watched]
        mine = Signal()
        m.d.comb += mine.eq(grant[0] & (grant[1 : 1 + CORE.slot_width] == self.slot))
        with m.If(asks):
            m.d.sync += [
                waiting.eq(1),
                bank.eq(at),
                row.eq(request.rows[self.slot]),
                ahead.eq(length + before - leaves),
            ]
        with m.Elif(waiting & here):
            m.d.sync += [ahead.eq(ahead - 1), waiting.eq(ahead != 0)]
        m.d.comb += Assert(mine == (waiting & here & (ahead == 0)))
        m.d.comb += Assert(~mine | (Array(read.row for read in arbiter.read)[bank] == row))
        for number, (read, count) in enumerate(zip(arbiter.read, lengths, strict=True)):
            asked = sum(request.slots[place] & (request.banks[place] == number) for place in range(SLOTS))
            m.d.sync += count.eq(count + Mux(request.valid, asked, 0) - read.valid)


def test_grants_are_asked_for_in_order_and_alone(tmp_path: Path) -> None:
    harness = Harness()
    prove(harness, harness.free, 7, tmp_path)


def test_every_request_is_granted_within_a_bound(tmp_path: Path) -> None:
    harness = Harness(quiet=True)
    prove(harness, harness.free, 8, tmp_path)


class WrongSlot(Arbiter):
    """The second collector always hears of slot 0."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += [grant.slot.eq(0) for grant in self.grant[1:]]
        return m


def test_a_mutant_is_refuted(tmp_path: Path) -> None:
    harness = Harness(WrongSlot)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 9, tmp_path)
