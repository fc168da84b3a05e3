"""What is claimed of caching collector units, and an invariant from which it follows at any depth."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Assert, Assume, Cat, Const, Module, Mux, Signal, Value

from tests.formal.collecting import REGISTERS, USED, Environment
from warpbank.arch.parameters import SmConfig
from warpbank.hdl.async_memory import read_at
from warpbank.hdl.collector.ccu import Ccu
from warpbank.hdl.layouts import REGISTER_WIDTH


def opened(unit: type[Ccu]) -> type[Ccu]:
    """The unit with the rows of its memories as signals."""

    class Opened(unit):  # type: ignore[misc, valid-type]
        def elaborate(self, platform: object) -> Any:
            m = super().elaborate(platform)
            memories = [m.submodules[f"slots_{number}"] for number in range(self._count)]
            self.contents = [
                [read_at(m, memory, line) for line in range(unit.table.size)]
                for memory, unit in zip(memories, self.units, strict=True)
            ]
            self.places = [
                read_at(m, m.submodules[f"places_{number}"], Const(0, 1)) for number in range(self._count)
            ]
            self.kept = [read_at(m, m.submodules.uops, number) for number in range(self._count)]
            return m

    return Opened


class Harness(Environment):
    """Claims, beside the operands at dispatch, which `Environment` compares with the newest values: a locked
    line stays and keeps its register, and stays valid while its warp owns the unit; a warp owns one unit at
    most; a unit keeps one result a cycle at most.

    Parameters
    ----------
    inductive : assert the invariant, too.
    """

    def __init__(
        self, unit: type[Ccu], config: SmConfig, slots: int = 2, results: int = 1, inductive: bool = True
    ) -> None:
        super().__init__(opened(unit)(config), config, slots, results)
        self.inductive = inductive
        self.ready, self.idle, self.sthld = (
            self._any(self.warps, "ready"),
            self._any(1, "idle"),
            self._any(8, "sthld"),
        )

    def claims(self, m: Module) -> None:
        unit = self.unit
        m.d.comb += [unit.ready.eq(self.ready), unit.idle.eq(self.idle), unit.sthld.eq(self.sthld)]
        numbers = range(self.collectors)
        for number in numbers:
            self._locked(m, number)
            for other in range(number):
                one, two = unit.units[number], unit.units[other]
                m.d.comb += Assert(~(one.owned & two.owned) | (one.owner != two.owner))
        for place, keep in enumerate(unit.keep[used] for used in USED):
            for other in unit.keep[:place]:
                m.d.comb += Assert(~(keep.valid & other.valid) | (keep.warp != other.warp))
        if self.inductive:
            self._pending(m)
            for number in numbers:
                self._table(m, number)

    def _locked(self, m: Module, number: int) -> None:
        held = self.unit.units[number]
        table = held.table
        for line, register in enumerate(table.registers):
            stays, before = (
                Signal(name=f"stays_{number}_{line}"),
                Signal.like(register, name=f"before_{number}_{line}"),
            )
            m.d.sync += [stays.eq(table.locked[line] & ~self.gone[number]), before.eq(register)]
            m.d.comb += Assert(~stays | (table.locked[line] & (register == before)))
            m.d.comb += Assert(~stays | table.valid[line] | ~held.owned)

    # --- The invariant.

    def _pending(self, m: Module) -> None:
        """Which results are to come."""
        for warp in range(self.warps):
            of_uops = [
                Mux(self.busy[number] & (self.of_warp[number] == warp), self.writes[number], 0)
                for number in range(self.collectors)
            ]
            m.d.comb += [
                Assert((reduce(or_, of_uops) | self.flying[warp]) == self.pending[warp]),
                Assert((reduce(or_, of_uops) & self.flying[warp]) == 0),
            ]
            for number, written in enumerate(of_uops):
                busy = self.busy[number] & (self.of_warp[number] == warp)
                m.d.comb += Assert(~(busy & (self.sources_of(number) & self.flying[warp]).any()))
                m.d.comb += [
                    Assert(~written[register] | (self.write_lanes[warp][register] == self.lanes[number]))
                    for register in range(REGISTERS)
                ]
                for other, others in enumerate(of_uops):  # several uops of a warp, in several units
                    if other != number:
                        m.d.comb += Assert(~(busy & (self.sources_of(number) & others).any()))
                        m.d.comb += Assert(~(written & others).any())

    def _operands_of(self, number: int) -> list[tuple[Value, Value, Value]]:
        """Of every source slot: there is one; its line; its operand arrives in this cycle."""
        unit, width = self.unit, self.unit.place_width(self.config)
        delivery = unit.deliver[number]
        return [
            (
                self.busy[number] & self.names[number][slot],
                unit.places[number].word_select(slot, width),
                delivery.valid & (delivery.slot == slot),
            )
            for slot in range(self.slots)
        ]

    def _table(self, m: Module, number: int) -> None:
        unit, held = self.unit, self.unit.units[number]
        table, owned, owner, delivery = held.table, held.owned, held.owner, unit.deliver[number]
        busy = self.busy[number]
        m.d.comb += [
            Assert(unit._busy[number] == busy),
            Assert(~(busy & owned) | (owner == self.of_warp[number])),
            Assert(~busy | owned | (not unit.own_unit)),
            Assert((unit._kinds[number] == USED[0]) | (unit._kinds[number] == USED[1])),
            Assert(owner < self.warps),
            Assert(owned | ~table.valid.any()),
            Assert(~busy | (unit.kept[number].result.seq == self.seq[number])),
            Assert(~delivery.valid | (delivery.slot < self.slots)),
            Assert(~(self.left[number] & ~self.names[number]).any()),
            Assert(busy | ~self.left[number].any()),
        ]
        mine: Value = owned & (owner == self.warp)
        collected: Value = busy & (self.of_warp[number] == self.warp)
        locked, found = [], held.uses
        for slot, (here, place, arriving) in enumerate(self._operands_of(number)):
            register, awaited = self.named[number][slot], held.awaits[slot]
            there = here & ~awaited
            locked.append(Mux(there, 1 << place, 0)[: table.size])
            newest = ~(collected & self.known & (register == self.register)) | (
                delivery.value[0] == self.newest
            )
            m.d.comb += [
                Assert(awaited == (self.left[number][slot] | arriving)),
                Assert(~arriving | (here & ~self.left[number][slot] & newest)),
                Assert(~there | (place < table.size)),
                Assert((found[slot] == 0) | (found[slot] == locked[-1])),
                Assert(~here | (held.sources.word_select(slot, REGISTER_WIDTH) == register)),
            ]
            m.d.comb += [
                Assert(~(here & self.names[number][other]) | (register != self.named[number][other]))
                for other in range(slot)
            ]
            m.d.comb += [
                Assert(~(here & awaited & table.valid[line]) | (table.registers[line] != register))
                for line in range(table.size)
            ]
            m.d.comb += [
                Assert(
                    ~(there & (place == line))
                    | ((table.valid[line] | ~owned) & (table.registers[line] == register))
                )
                for line in range(table.size)
            ]
        m.d.comb += [
            *(Assert(mask == 0) for mask in found[self.slots :]),
            Assert(held.awaits[self.slots :] == 0),
            Assert(busy | (held.awaits == 0)),
            Assert(table.locked == reduce(or_, locked)),
            Assert(~self.known | (self.bank == self.newest)),
        ]
        self._victim(m, number)
        self._arrived(m, number, mine)
        pending_here, pending = self._to_be_written(number)
        for line, register in enumerate(table.registers):
            content = Mux(pending_here[line], pending, unit.contents[number][line][0])
            holds = (mine & table.valid[line]) | (collected & table.locked[line])
            m.d.comb += [
                Assert(~(holds & (register == self.register) & self.known) | (content == self.newest)),
                Assert(~table.valid[line] | (register < REGISTERS)),
            ]
            for other in range(line):
                both = table.valid[line] & table.valid[other]
                m.d.comb += Assert(~both | (register != table.registers[other]))
        self._order(m, table.newer)

    def _victim(self, m: Module, number: int) -> None:
        """The line that is replaced is one at most, and free when an operand arrives; choices are below their
        number."""
        unit, held = self.unit, self.unit.units[number]
        table, place = held.table, held.victim
        m.d.comb += [
            Assert((place & (place - 1)[: table.size]) == 0),
            Assert(place.any()),
            Assert(held.new | ~(place & table.locked).any()),
            Assert(~held.new | self.busy[number] & ~unit.deliver[number].valid),
            *(Assert(rank < count) for count, rank in enumerate(held.random.ranks, 1)),
            *(Assert(rank < count) for count, rank in enumerate(unit._chooser.ranks, 1)),
        ]

    def _arrived(self, m: Module, number: int, mine: Value) -> None:
        """A result that came through port D is its register's newest value, until another one comes."""
        held = self.unit.units[number]
        table, arrived, lines, seeks, owner = held.table, held.arrived, held.joins, held.seeks, held.owner
        valid = seeks | lines.any()
        registers = [Mux(line, register, 0) for line, register in zip(lines, table.registers, strict=True)]
        here = Cat(register == arrived.register for register in table.registers) & table.valid
        followed = mine & self.known & (arrived.register == self.register)
        unwritten = Array(self.pending)[owner].bit_select(arrived.register[:2], 1)
        m.d.comb += [
            Assert(~valid | held.owned),
            Assert(~valid | (arrived.register < REGISTERS)),
            Assert(~valid | ~unwritten),
            Assert((lines & (lines - 1)[: table.size]) == 0),
            Assert(~(seeks & lines.any())),
            Assert(held.takes == (seeks & ~held.new & ~held.awaits.any())),
            Assert(~lines.any() | (reduce(or_, registers) == arrived.register)),
            Assert((lines & (~table.valid | table.locked)) == 0),
            Assert(~seeks | ~here.any()),
            Assert(~seeks | arrived.mask.all()),
            Assert(~(seeks & followed) | (arrived.value[0] == self.newest)),
        ]
        # Where one waits for a line, no operand can bring its register.
        sources = self.sources_of(number)
        m.d.comb += Assert(~(seeks & self.busy[number]) | ~sources.bit_select(arrived.register[:2], 1))

    def _to_be_written(self, number: int) -> tuple[Value, Value]:
        """Line that a result will join in this cycle, a mask, and what it makes of it."""
        held = self.unit.units[number]
        return Mux(held.arrived.mask[0], held.joins, 0), held.arrived.value[0]

    def _order(self, m: Module, newer: list[Signal]) -> None:
        """Who was used after whom is a strict total order."""
        lines = range(len(newer))
        for line in lines:
            m.d.comb += Assert(~newer[line][line])
            for other in lines:
                if other != line:
                    m.d.comb += Assert(newer[line][other] ^ newer[other][line])
                    m.d.comb += [
                        Assert(~(newer[line][other] & newer[other][third]) | newer[line][third])
                        for third in lines
                        if third not in (line, other)
                    ]


class Dispatches(Harness):
    """With fair banks and fair units every uop is complete `slots` + 1 cycles after it was allocated at the
    latest, and goes in that cycle or in one of the next ones: of the other units each goes before it once at
    most.

    Fair: units take; an operand is delivered to every unit that has asked for some. For two units.
    """

    def claims(self, m: Module) -> None:
        super().claims(m)
        m.d.comb += Assume(self.accepts.all())
        for number in range(self.collectors):
            left, busy = self.left[number], self.busy[number]
            m.d.comb += Assume(~left.any() | self.grants[number])
            complete = busy & ~self.unit.units[number].awaits.any()
            age, lost = Signal(range(self.slots + 2), name=f"age_{number}"), Signal(name=f"lost_{number}")
            m.d.sync += [lost.eq(complete & ~self.gone[number]), age.eq(Mux(busy & ~complete, age + 1, 0))]
            missing = Mux(left.any(), sum(left) + 1, self.unit.deliver[number].valid)
            m.d.comb += [
                Assert(~busy | complete | (age + missing <= self.slots + 1)),
                Assert(~lost | self.gone[number]),
            ]


class LeastRecentlyUsed(Harness):
    """A line that is valid is chosen to be replaced only when every other one that might be is valid and was
    used after it.

    Used: by a source that the uop of the last cycle found, in the order of slots, by an operand that takes
    it, or by a result that is kept. `later` follows for any two lines which was used last. Lines that might
    not be chosen: those of the uop in collection, and those that are written in this cycle, or may be.
    """

    def claims(self, m: Module) -> None:
        super().claims(m)
        for number in range(self.collectors):
            self._replaced(m, number)

    def _replaced(self, m: Module, number: int) -> None:
        held = self.unit.units[number]
        table, place = held.table, held.victim
        lines, slots = range(table.size), range(self.slots)
        kept, line = held.kept, held.line
        found, delivered = held.uses, self.unit.deliver[number].valid
        last = [Signal(range(self.slots + 3), name=f"last_{number}_{each}") for each in lines]
        for each in lines:
            with m.If(kept & line[each]):
                m.d.comb += last[each].eq(1)
            with m.If(delivered & place[each]):
                m.d.comb += last[each].eq(2)
            for slot in slots:
                with m.If(found[slot][each]):
                    m.d.comb += last[each].eq(slot + 3)
        later = {
            (one, other): Signal(name=f"later_{number}_{one}_{other}", init=one > other)
            for one in lines
            for other in lines
            if one != other
        }
        for (one, other), bit in later.items():
            with m.If((last[one] != 0) | (last[other] != 0)):
                m.d.sync += bit.eq(last[one] > last[other])
            if self.inductive:
                m.d.comb += Assert(bit == table.newer[one][other])
        written: Value = held.joins
        written |= Mux(delivered | held.seeks, place, 0)
        closed = table.locked | written
        before = Signal(table.size, name=f"might_{number}")
        replaceable = Signal(table.size, name=f"replaceable_{number}")
        for each in lines:
            others = [other for other in lines if other != each]
            oldest = Cat(closed[other] | (table.valid[other] & later[other, each]) for other in others).all()
            m.d.comb += replaceable[each].eq(~closed[each] & (~table.valid[each] | oldest))
        started = Signal(name=f"began_{number}")
        m.d.sync += [before.eq(replaceable), started.eq(1)]
        m.d.comb += Assert(~started | ((place & ~before) == 0))
