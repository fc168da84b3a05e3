"""Proofs about the tags of RFC and about the buffers of what leaves, for every cycle that can be reached, by
induction over one.

Around a row of tags: results that come to the entry that holds their register, or to the free one that the
row names; look-ups of any registers, last reads among them; locks; registers that leave; a row that is
cleared. One register, chosen once, is followed: one bit of its newest value, and whether somebody may still
read it. Shown, for three entries and both policies:

* no register has two entries, and it has one exactly from its first result until it leaves: none is lost or
  overwritten;
* what its entry holds is its newest value;
* an entry that leaves says truly whose it is and whether it must be written back: nothing that may still be
  read is dropped;
* nothing leaves that is still to be read, and if anything can leave, one entry does.

A buffer keeps register, row and value of what has left until that is written into its bank.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Assume, Elaboratable, Fragment, Module, Mux, Signal, Value

from tests.formal.ltrf_machine import Few
from tests.formal.prove import Refuted, assume_no_reset, prove
from tests.hdl.wrapped import wrapped
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.hdl.hierarchy.rfc import Departing
from warpbank.hdl.hierarchy.tags import TagRow

ENTRIES = 3
#: Ports of `offered`: the followed register, and what is written into each entry.
FOLLOWED, WRITTEN = 0, 1


def machine(policy: str) -> SmConfig:
    """Three entries."""
    config = with_overrides(preset("tiny"), ["lanes=1"])
    return replace(
        config, sub_core=replace(config.sub_core, cache=Few(registers=ENTRIES, replacement=policy))
    )


def at_most_one(mask: Value) -> Value:
    """No two bits."""
    return (mask & (mask - 1))[: len(mask)] == 0


class Harness(Elaboratable):
    """A row of tags, and what is claimed of it.

    Parameters
    ----------
    unit : the row.
    inductive : assert the invariant, too.
    """

    def __init__(self, unit: Any, inductive: bool = True) -> None:
        self.unit, self.inductive = unit, inductive
        self.followed, self.values = Signal(8, name="followed"), Signal(ENTRIES, name="values")
        names = ("look", "sources", "source_valid", "last", "locked", "drop", "entered", "registers", "clear")
        self.free = [self.followed, self.values, *(Value.cast(getattr(unit, name)) for name in names)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit = self.unit
        m.submodules.unit = Fragment.get(unit, platform)  # here, so that its inner signals exist
        assume_no_reset(m)
        before, seen = Signal(8), Signal()
        m.d.sync += [before.eq(self.followed), seen.eq(1)]
        m.d.comb += [Assume(~seen | (before == self.followed)), unit.offered[FOLLOWED].eq(self.followed)]
        dropped = Signal(ENTRIES)
        m.d.comb += [
            dropped.eq(Mux(unit.drop, unit.ripe, 0)),
            Assume(~unit.drop | unit.ripe.any()),
            Assume((dropped & unit.entered) == 0),
        ]
        # A result comes to its register's entry, or to the free one.
        for entry in range(ENTRIES):
            here = unit.found[WRITTEN + entry]
            fits = Mux(unit.valid[entry], here[entry], unit.unused[entry] & (here == 0))
            m.d.comb += [
                unit.offered[WRITTEN + entry].eq(unit.registers[entry]),
                Assume(~unit.entered[entry] | fits),
            ]
        self._follow(m, dropped)
        self._leaving(m)
        return m

    def _follow(self, m: Module, dropped: Value) -> None:
        """The followed register: whether it is in the row, its value, whether somebody may still read it."""
        unit = self.unit
        held, needed, newest = Signal(name="held"), Signal(name="needed"), Signal(name="newest")
        stored = Signal(ENTRIES, name="stored")
        place = Signal(ENTRIES, name="place")
        comes = [unit.entered[entry] & (unit.registers[entry] == self.followed) for entry in range(ENTRIES)]
        reads = [
            unit.source_valid[slot] & (unit.sources[slot] == self.followed)
            for slot in range(len(unit.source_valid))
        ]
        lasts = reduce(or_, (read & unit.last[slot] for slot, read in enumerate(reads)))
        gone = unit.clear | (dropped & place).any()
        come = reduce(or_, comes)
        m.d.comb += place.eq(unit.found[FOLLOWED])
        m.d.sync += [
            held.eq((held | come) & ~gone),
            needed.eq((needed & ~(unit.look & lasts) | come) & ~gone),
            stored.eq(unit.entered & self.values | ~unit.entered & stored),
        ]
        for entry, one in enumerate(comes):
            with m.If(one):
                m.d.sync += newest.eq(self.values[entry])
        ripe = (unit.ripe & place).any()
        m.d.comb += [
            Assert(at_most_one(place)),
            Assert(place.any() == held),
            Assert(~held | ((stored & place).any() == newest)),
            Assert(~ripe | (unit.leaver == self.followed)),
            Assert(~ripe | (unit.live == needed)),
        ]
        m.d.comb += [
            Assert(unit.hits[slot] == Mux(read, place, unit.hits[slot])) for slot, read in enumerate(reads)
        ]
        if self.inductive:
            m.d.comb += Assert(~held | ((unit._live & place).any() == needed))

    def _leaving(self, m: Module) -> None:
        """Which entry is free, and which leaves."""
        unit = self.unit
        wanted = reduce(or_, unit.hits)
        can = unit.valid & ~unit.locked & ~Mux(unit.look, wanted, 0)
        m.d.comb += [
            Assert((unit.unused & unit.valid) == 0),
            Assert(at_most_one(unit.unused)),
            Assert(unit.unused.any() == ~unit.valid.all()),
            Assert((unit.ripe & ~can) == 0),
            Assert(at_most_one(unit.ripe)),
            Assert(unit.ripe.any() == can.any()),
        ]
        if self.inductive:
            older = unit._older
            for one in range(ENTRIES):
                m.d.comb += Assert(~older[one][one])
                for two in range(ENTRIES):
                    m.d.comb += [Assert((one == two) | (older[one][two] != older[two][one]))]
                    m.d.comb += [
                        Assert(~(older[one][two] & older[two][three]) | older[one][three])
                        for three in range(ENTRIES)
                    ]


@pytest.mark.quick("fifo")
@pytest.mark.parametrize("policy", ["fifo", "lru"])
def test_none_twice_none_lost_and_values_are_the_newest(policy: str, tmp_path: Path) -> None:
    harness = Harness(TagRow(machine(policy)))
    prove(harness, harness.free, 2, tmp_path, inductive=True)


MUTANTS: dict[str, Any] = {
    "an entry that has left is still found": {"drop": lambda value, ports: 0},
    "an entry that somebody needs leaves as a dead one": {"live": lambda value, ports: 0},
    "an entry leaves that is still to be read": {"locked": lambda value, ports: 0},
    "a register gets an entry that another one has": {
        "valid": lambda value, ports: 0,
        "unused": lambda value, ports: 1,
    },
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_refuted(name: str, tmp_path: Path) -> None:
    """By a run from the initial state, without the invariant."""
    harness = Harness(wrapped(TagRow(machine("fifo")), **MUTANTS[name]), inductive=False)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 5, tmp_path)


class Buffer(Elaboratable):
    """What is taken waits with its value until it is written."""

    def __init__(self, unit: Any) -> None:
        self.unit = unit
        self.free = [unit.take, Value.cast(unit.order), unit.value, unit.drain]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = self.unit
        assume_no_reset(m)
        held, fresh = Signal(name="held"), Signal(name="fresh")
        value, order = (
            Signal.like(unit.value, name="value_given"),
            Signal.like(Value.cast(unit.order), name="order_given"),
        )
        m.d.comb += [Assume(~(unit.take & held)), Assume(~unit.drain | held)]
        m.d.sync += [held.eq((held | unit.take) & ~unit.drain), fresh.eq(unit.take)]
        with m.If(unit.take):
            m.d.sync += order.eq(unit.order)
        with m.If(fresh):
            m.d.sync += value.eq(unit.value)
        m.d.comb += [
            Assert(unit.held == held),
            Assert(~held | (Value.cast(unit.waiting) == order)),
            Assert(~held | (unit.carried == Mux(fresh, unit.value, value))),
        ]
        return m


def test_a_buffer_loses_nothing(tmp_path: Path) -> None:
    harness = Buffer(Departing(machine("fifo")))
    prove(harness, harness.free, 6, tmp_path)


def test_a_buffer_that_forgets_is_refuted(tmp_path: Path) -> None:
    harness = Buffer(wrapped(Departing(machine("fifo")), carried=lambda value, ports: ports.value))
    with pytest.raises(Refuted):
        prove(harness, harness.free, 4, tmp_path)
