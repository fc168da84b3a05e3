"""Proof that address allocation hands out no address twice and loses none (LTRF, figure 8), for every cycle
that can be reached, by induction over one cycle: the unused queue holds the addresses that are not given out,
each of them once.

3 and 4 addresses.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Assume, Elaboratable, Fragment, Module, Mux, Signal, Value

from tests.formal.prove import Refuted, assume_no_reset, prove
from warpbank.hdl.async_memory import read_at
from warpbank.hdl.hierarchy.allocation import AddressAllocation

COUNT = 4


def opened(unit: type[AddressAllocation]) -> type[AddressAllocation]:
    """The unit with the places of its queue as signals, `places`."""

    class Opened(unit):  # type: ignore[misc, valid-type]
        def elaborate(self, platform: object) -> Any:
            m = super().elaborate(platform)
            self.places = [
                Mux(self._around | (place < self._last), read_at(m, m.submodules.queue, place), place)
                for place in range(self._count)
            ]
            return m

    return Opened


def queue_invariant(unit: Any) -> list[Value]:
    """The unused queue of an opened unit: as many places as there are unused addresses, none occupied, no two
    the same."""
    count = len(unit.occupied)
    wanted: list[Value] = [unit._first < count, unit._last < count]
    unused = count - sum(unit.occupied)
    wanted.append(unit._last == (unit._first + unused) % count)
    at = [Array(unit.places)[(unit._first + place) % count] for place in range(count)]
    for place, address in enumerate(at):
        inside = place < unused
        free = (address < count) & ~unit.occupied.bit_select(address, 1)
        wanted.append(~inside | free)
        wanted += [~inside | (address != other) for other in at[:place]]
    return wanted


class Harness(Elaboratable):
    """Anybody takes what is available and gives back what was taken, in any order."""

    def __init__(self, unit: Any = AddressAllocation, count: int = COUNT, inductive: bool = True) -> None:
        self.unit, self.count, self.inductive = opened(unit)(count), count, inductive
        self.free = [self.unit.allocate, self.unit.release, self.unit.address]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit = self.unit
        m.submodules.unit = Fragment.get(unit, platform)  # here, so that its inner signals exist
        assume_no_reset(m)
        given, head = Signal(self.count), Signal(self.count)  # what anybody has; what is handed out next
        m.d.comb += head.eq(1 << unit.head)
        m.d.comb += [
            Assume(~unit.allocate | unit.available),
            Assume(~unit.release | ((unit.address < self.count) & given.bit_select(unit.address, 1))),
            # Not lost: something is available as long as not all are given out. Not twice: what is given out
            # is not the head.
            Assert(unit.available == ~given.all()),
            Assert(~unit.available | (head.any() & ~(head & given).any())),
            Assert(unit.occupied == given),
        ]
        taken, back = Signal(self.count), Signal(self.count)
        m.d.comb += [
            taken.eq(unit.allocate.replicate(self.count) & head),
            back.eq(unit.release << unit.address),
        ]
        m.d.sync += given.eq((given | taken) & ~back)
        if self.inductive:
            m.d.comb += [Assert(wanted) for wanted in queue_invariant(unit)]
        return m


@pytest.mark.parametrize("count", [3, COUNT])
def test_none_twice_none_lost(count: int, tmp_path: Path) -> None:
    harness = Harness(count=count)
    prove(harness, harness.free, 3, tmp_path, inductive=True)


class Leaks(AddressAllocation):
    """What is given back while another address is taken is lost."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.allocate & self.release):
            m.d.sync += self.occupied.eq(self.occupied | 1 << self.head)
        return m


class KeepsItsEnd(AddressAllocation):
    """The end of the queue does not move when an address is given back while another one is taken."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.allocate & self.release):
            m.d.sync += self._last.eq(self._last)
        return m


@pytest.mark.parametrize("unit", [Leaks, KeepsItsEnd])
def test_mutants_are_refuted(unit: type[AddressAllocation], tmp_path: Path) -> None:
    """By a run from the initial state, without the invariant."""
    harness = Harness(unit, inductive=False)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 8, tmp_path)
