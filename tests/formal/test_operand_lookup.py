"""Proofs about the look-up of operands' names, on three collectors with sources in two slots,
from two banks of the table.

The environment: uops with any sources, of which any register or none is exempt, whenever their collector is
free; a table in which any registers have physical ones, those that follow from the register. Beside the unit
runs a list of the requests that are left, of each collector, with the order in which they came. Shown:

* each bank of the table that has requests looks up the oldest of them, of the oldest uop that has any, in
  slot order, and no other: so each request is looked up once, and none is lost;
* the uop whose requests go to the banks is the oldest of those all of whose names are known, with the place
  of each of its registers, or that it has none;
* every uop goes within a bound.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Elaboratable, Module, Mux, Signal, Value

from tests.formal.prove import Refuted, assume_no_reset, prove
from tests.hdl.mapping.broken_lookup import MUTANTS
from warpbank.arch.config import preset, with_overrides
from warpbank.hdl.mapping.operand_lookup import OperandLookup
from warpbank.hdl.mapping.table import TABLE_BANKS

CONFIG = with_overrides(
    preset("tiny"), ["sub_core.warps=2", "sub_core.rows=8", "sub_core.collectors=3", "lanes=1"]
)
COUNT = CONFIG.sub_core.collectors
SLOTS = 2  # slots that may be requested: enough for an order within a uop
#: Cycles in which a uop goes: its own look-ups and those of all others, in one bank.
BOUND = COUNT * SLOTS


def place_of(warp: Value, register: Value) -> Value:
    """Physical register of a register, by the environment's table."""
    return Cat(warp[0], register[0], register[1] ^ warp[0], register[2])


class Harness(Elaboratable):
    """The environment and the claims; `alone`: claim that nobody overtakes an older uop, and that no two uops
    are looked up in one cycle."""

    def __init__(self, unit: Any = OperandLookup, alone: bool = False) -> None:
        self.unit, self.alone = unit(CONFIG), alone
        read = self.unit.read
        self.mapped, self.exempt = Signal(8), Signal(8)  # registers R0..R7, of every warp
        self.free = [read.valid, read.payload.as_value(), self.mapped, self.exempt]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = self.unit
        assume_no_reset(m)
        read, asks = unit.read.payload, unit.read.valid
        seen, mapped, exempt = Signal(), Signal(8), Signal(8)
        m.d.sync += [seen.eq(1), mapped.eq(self.mapped), exempt.eq(self.exempt)]
        m.d.comb += Assume(~seen | ((mapped == self.mapped) & (exempt == self.exempt)))
        for port in unit.find:
            m.d.comb += [
                port.mapped.eq(self.mapped.bit_select(port.register[:3], 1)),
                port.physical.eq(place_of(port.warp, port.register)),
            ]
        for own in unit.place:
            m.d.comb += [
                own.exempt.eq(self.exempt.bit_select(own.register[:3], 1)),
                own.physical.eq(~place_of(own.warp, own.register)),
            ]
        self.busy = [Signal(name=f"busy_{number}") for number in range(COUNT)]
        m.d.comb += [
            Assume(read.collector < COUNT),
            Assume(read.source_valid >> SLOTS == 0),
            Assume(~asks | ~Array(self.busy)[read.collector]),
            *(Assume(register < (8 if slot < SLOTS else 1)) for slot, register in enumerate(read.sources)),
            *(Assume(register[1] == register[0]) for register in read.sources),  # banks 0 and 3
        ]
        self._requests(m)
        self._look_ups(m)
        self._names(m)
        return m

    def _requests(self, m: Module) -> None:
        """The uops as they were asked for, those of this cycle among them, and the requests that are left."""
        read, asks = self.unit.read.payload, self.unit.read.valid & self.unit.read.payload.source_valid.any()
        self.warp, self.sources, self.left, self.before, self.valid, self.new = [], [], [], [], [], []
        self.kept = []
        for number in range(COUNT):
            new = Signal(name=f"new_{number}")
            m.d.comb += new.eq(asks & (read.collector == number))
            kept = Signal.like(
                Cat(read.warp, *read.sources[:SLOTS], read.source_valid), name=f"kept_{number}"
            )
            now = Signal.like(kept, name=f"uop_{number}")
            m.d.comb += now.eq(Mux(new, Cat(read.warp, *read.sources[:SLOTS], read.source_valid), kept))
            m.d.sync += kept.eq(now)
            width = len(read.warp)
            self.warp.append(now[:width])
            self.sources.append([now[width + 8 * slot : width + 8 * slot + 8] for slot in range(SLOTS)])
            self.valid.append(now[width + 8 * SLOTS :])
            renamed = Cat(
                read.source_valid[slot] & ~self.exempt.bit_select(read.sources[slot][:3], 1)
                for slot in range(SLOTS)
            )
            kept_left = Signal(SLOTS, name=f"kept_left_{number}")
            left = Signal(SLOTS, name=f"left_{number}")
            m.d.comb += left.eq(Mux(new, renamed, kept_left))
            before, kept_before = (
                Signal(COUNT, name=f"{name}_{number}") for name in ("before", "kept_before")
            )
            m.d.comb += before.eq(Mux(new, Cat(self.busy), kept_before))  # uops that are older
            self.left.append(left)
            self.before.append(before)
            self.new.append(new)
            self.kept.append((kept_left, kept_before))

    def _look_ups(self, m: Module) -> None:
        """Each bank looks up its oldest request."""
        self.served: list[list[Value]] = [[] for _ in range(COUNT)]
        busy_banks = []
        for bank, find in enumerate(self.unit.find):
            wanted = [
                Cat(
                    left[slot] & (self.sources[number][slot][: TABLE_BANKS.bit_length() - 1] == bank)
                    for slot in range(SLOTS)
                )
                for number, left in enumerate(self.left)
            ]
            asking = Cat(mask.any() for mask in wanted)
            for number, mask in enumerate(wanted):
                first = Signal(SLOTS, name=f"first_{bank}_{number}")
                m.d.comb += first.eq(Mux((asking & self.before[number]).any(), 0, mask & (~mask + 1)))
                self.served[number].append(first)
                for slot in range(SLOTS):
                    here = (find.warp == self.warp[number]) & (find.register == self.sources[number][slot])
                    m.d.comb += Assert(~first[slot] | here)
            busy_banks.append(asking.any())
        m.d.comb += Assert(self.unit.looked_up == sum(busy_banks))
        if self.alone:
            lookers = Cat(reduce(or_, served).any() for served in self.served)
            m.d.comb += Assert((lookers & (lookers - 1)) == 0)

    def _names(self, m: Module) -> None:
        """The oldest uop all of whose names are known goes, with its names."""
        named = self.unit.named
        known, goes = Signal(COUNT), Signal(COUNT)
        m.d.comb += known.eq(
            Cat(
                (busy | new) & ~(left & ~reduce(or_, served)).any()
                for busy, new, left, served in zip(self.busy, self.new, self.left, self.served, strict=True)
            )
        )
        m.d.comb += [
            goes.eq(
                Cat(bit & ~(known & before).any() for bit, before in zip(known, self.before, strict=True))
            ),
            Assert(named.valid == known.any()),
        ]
        for number in range(COUNT):
            claims = [named.collector == number, named.warp == self.warp[number]]
            claims.append(named.slots == self.valid[number])
            for slot, register in enumerate(self.sources[number]):
                exempt = self.exempt.bit_select(register[:3], 1)
                mapped = exempt | self.mapped.bit_select(register[:3], 1)
                place = place_of(self.warp[number], register)
                claims.append(~named.slots[slot] | (named.mapped[slot] == mapped))
                right = named.physical[slot] == Mux(exempt, ~place, place)[: len(place)]
                claims.append(~named.slots[slot] | ~mapped | right)
            m.d.comb += Assert(~goes[number] | Cat(claims).all())
            kept_left, kept_before = self.kept[number]
            m.d.sync += [
                self.busy[number].eq((self.busy[number] | self.new[number]) & ~goes[number]),
                kept_left.eq(self.left[number] & ~reduce(or_, self.served[number])),
                kept_before.eq(self.before[number] & ~goes),
            ]
            age = Signal(range(BOUND + 1), name=f"age_{number}")
            m.d.sync += age.eq(Mux(self.busy[number] & (age < BOUND), age + 1, 0))
            m.d.comb += Assert(age < BOUND)
            if self.alone:
                m.d.comb += Assert(~goes[number] | ~self.before[number].any())


@pytest.mark.parametrize("depth", [4, pytest.param(BOUND + 1, marks=pytest.mark.long)])
def test_the_oldest_of_each_bank_is_looked_up_and_every_uop_gets_its_names(
    depth: int, tmp_path: Path
) -> None:
    """The bound on the time that a uop takes needs the greater depth: a minute."""
    harness = Harness()
    prove(harness, harness.free, depth, tmp_path)


def test_uops_overtake_each_other_and_are_looked_up_together(tmp_path: Path) -> None:
    """What the proof is about happens."""
    harness = Harness(alone=True)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 4, tmp_path)


@pytest.mark.quick("WrongBank")
@pytest.mark.parametrize("unit", MUTANTS)
def test_mutants_are_refuted(unit: Any, tmp_path: Path) -> None:
    harness = Harness(unit)
    with pytest.raises(Refuted):
        prove(harness, harness.free, BOUND, tmp_path)
