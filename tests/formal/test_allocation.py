"""Proof that address allocation hands out no address twice and loses none (LTRF, figure 8), up to a depth that wraps the queue.

4 addresses, 12 cycles; one address, chosen once and for all, is followed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Assume, Elaboratable, Module, Signal

from hdl.hierarchy.allocation import AddressAllocation
from tests.formal.prove import Refuted, assume_no_reset, prove

COUNT = 4


class Harness(Elaboratable):
    """Anybody takes what is available and gives back what was taken, in any order."""

    def __init__(self, unit: Any = AddressAllocation) -> None:
        self.unit = unit(COUNT)
        self.chosen = Signal(range(COUNT))
        self.free = [self.chosen, self.unit.allocate, self.unit.release, self.unit.address]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = self.unit
        assume_no_reset(m)
        seen, chosen = Signal(), Signal(range(COUNT))
        m.d.sync += [seen.eq(1), chosen.eq(self.chosen)]
        m.d.comb += Assume(~seen | (chosen == self.chosen))

        given, count = Signal(COUNT), Signal(range(COUNT + 1))
        takes = unit.allocate & (unit.head == self.chosen)
        m.d.comb += [
            Assume(~unit.allocate | unit.available), Assume(~unit.release | given.bit_select(unit.address, 1)),
            # Not lost: something is available as long as not all are given out. Not twice: what is given out is not the head.
            Assert(unit.available == (count != COUNT)), Assert(~takes | ~given.bit_select(self.chosen, 1)),
            Assert(unit.occupied == given),
        ]
        m.d.sync += count.eq(count + unit.allocate - unit.release)
        for address in range(COUNT):
            with m.If(unit.allocate & (unit.head == address)):
                m.d.sync += given[address].eq(1)
            with m.If(unit.release & (unit.address == address)):
                m.d.sync += given[address].eq(0)
        return m


def test_none_twice_none_lost(tmp_path: Path) -> None:
    harness = Harness()
    prove(harness, harness.free, 12, tmp_path)


class Leaks(AddressAllocation):
    """The end of the queue does not move when an address is given back while another one is taken."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.allocate & self.release):
            m.d.sync += self.occupied.eq(self.occupied | 1 << self.head)
        return m


def test_a_mutant_is_refuted(tmp_path: Path) -> None:
    harness = Harness(Leaks)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 8, tmp_path)
