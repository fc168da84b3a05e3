"""What is claimed of caching collector units, and an invariant from which it follows at any depth."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal, Value

from tests.formal.collecting import REGISTERS, USED, Environment
from warpbank.arch.parameters import SmConfig
from warpbank.hdl.async_memory import read_at
from warpbank.hdl.collector.ccu import Ccu


def opened(unit: type[Ccu]) -> type[Ccu]:
    """The unit with the rows of its memories as signals, and with what its look-up and its results do."""

    class Opened(unit):  # type: ignore[misc, valid-type]
        def _take(self, m: Module, fresh_owner: Any) -> Any:
            self.fresh_owner = fresh_owner
            self.taken, random = super()._take(m, fresh_owner)
            return self.taken, random

        def _results(self, m: Module, number: int, *rest: Any) -> Any:
            kept, line, dropped = super()._results(m, number, *rest)
            self.keeps_in[number] = kept, line
            return kept, line, dropped

        def elaborate(self, platform: object) -> Any:
            self.keeps_in: dict[int, tuple[Value, Value]] = {}
            m = super().elaborate(platform)
            memories = [m.submodules[f"slots_{number}"] for number in range(self._count)]
            self.contents = [
                [read_at(m, memory, line) for line in range(table.size)]
                for memory, table in zip(memories, self._tables, strict=True)
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
                both = unit._owned[number] & unit._owned[other]
                m.d.comb += Assert(~both | (unit._owner[number] != unit._owner[other]))
        for place, keep in enumerate(unit.keep[used] for used in USED):
            for other in unit.keep[:place]:
                m.d.comb += Assert(~(keep.valid & other.valid) | (keep.warp != other.warp))
        if self.inductive:
            self._pending(m)
            for number in numbers:
                self._table(m, number)

    def _locked(self, m: Module, number: int) -> None:
        table = self.unit._tables[number]
        for line, register in enumerate(table.registers):
            stays, before = (
                Signal(name=f"stays_{number}_{line}"),
                Signal.like(register, name=f"before_{number}_{line}"),
            )
            m.d.sync += [stays.eq(table.locked[line] & ~self.gone[number]), before.eq(register)]
            m.d.comb += Assert(~stays | (table.locked[line] & (register == before)))
            m.d.comb += Assert(~stays | table.valid[line] | ~self.unit._owned[number])

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
        unit, table = self.unit, self.unit._tables[number]
        owned, owner, delivery = unit._owned[number], unit._owner[number], unit.deliver[number]
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
        locked, asked = [], []
        for slot, (here, place, arriving) in enumerate(self._operands_of(number)):
            register = self.named[number][slot]
            locked.append(Mux(here, 1 << place, 0)[: table.size])
            asked.append(Mux(self.left[number][slot] | arriving, 1 << place, 0)[: table.size])
            newest = ~(collected & self.known & (register == self.register)) | (
                delivery.value[0] == self.newest
            )
            m.d.comb += [
                Assert(~arriving | (here & ~self.left[number][slot] & newest)),
                Assert(~here | (place < table.size)),
                Assert(~asked[-1].any() | ~(table.filled & asked[-1]).any()),
            ]
            m.d.comb += [
                Assert(~(here & self.names[number][other]) | (register != self.named[number][other]))
                for other in range(slot)
            ]
            m.d.comb += [
                Assert(
                    ~(here & (place == line))
                    | ((table.valid[line] | ~owned) & (table.registers[line] == register))
                )
                for line in range(table.size)
            ]
        m.d.comb += [
            Assert(table.locked == reduce(or_, locked)),
            Assert(~(table.valid & ~table.filled & ~reduce(or_, asked)).any()),
            Assert(~self.known | (self.bank == self.newest)),
        ]
        for line, register in enumerate(table.registers):
            right = unit.contents[number][line][0] == self.newest
            here = (mine & table.valid[line]) | (collected & table.locked[line])
            holds = here & table.filled[line] & (register == self.register)
            m.d.comb += [
                Assert(~(holds & self.known) | right),
                Assert(~table.valid[line] | (register < REGISTERS)),
            ]
            for other in range(line):
                both = table.valid[line] & table.valid[other]
                m.d.comb += Assert(~both | (register != table.registers[other]))
        self._order(m, table.newer)

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
        for number, table in enumerate(self.unit._tables):
            left, busy = self.left[number], self.busy[number]
            m.d.comb += Assume(~left.any() | self.grants[number])
            complete = busy & ~(table.locked & ~table.filled).any()
            age, lost = Signal(range(self.slots + 2), name=f"age_{number}"), Signal(name=f"lost_{number}")
            m.d.sync += [lost.eq(complete & ~self.gone[number]), age.eq(Mux(busy & ~complete, age + 1, 0))]
            missing = Mux(left.any(), sum(left) + 1, self.unit.deliver[number].valid)
            m.d.comb += [
                Assert(~busy | complete | (age + missing <= self.slots + 1)),
                Assert(~lost | self.gone[number]),
            ]


class LeastRecentlyUsed(Harness):
    """A line that is valid is replaced only when every line that may be replaced is valid and was used after
    it.

    Used: by a slot of the uop that is allocated, in the order of slots, or by a result that is kept. `later`
    follows for any two lines which was used last. A uop replaces no line that one of its slots uses, a result
    none that is locked.
    """

    def claims(self, m: Module) -> None:
        super().claims(m)
        for number in range(self.collectors):
            self._replaced(m, number)

    def _replaced(self, m: Module, number: int) -> None:
        unit, table, taken = self.unit, self.unit._tables[number], self.unit.taken
        lines, slots = range(table.size), range(self.slots)
        allocated = self.issue & (unit.entry == number)
        kept, line = unit.keeps_in[number]
        uses = [[self.source_valid[slot] & (taken.places[slot] == each) for slot in slots] for each in lines]
        last = [Signal(range(self.slots + 1), name=f"last_{number}_{each}") for each in lines]
        for each in lines:
            for slot in slots:
                with m.If(uses[each][slot]):
                    m.d.comb += last[each].eq(slot + 1)
        later = {
            (one, other): Signal(name=f"later_{number}_{one}_{other}", init=one > other)
            for one in lines
            for other in lines
            if one != other
        }
        for (one, other), bit in later.items():
            with m.If(allocated & ((last[one] != 0) | (last[other] != 0))):
                m.d.sync += bit.eq(last[one] > last[other])
            with m.Elif(kept & line[one]):
                m.d.sync += bit.eq(1)
            with m.Elif(kept & line[other]):
                m.d.sync += bit.eq(0)
            if self.inductive:
                m.d.comb += Assert(bit == table.newer[one][other])
        valid = Mux(unit.fresh_owner, 0, table.valid)
        hits = [allocated & self.source_valid[slot] & taken.hits[slot] for slot in slots]
        missed = [allocated & self.source_valid[slot] & ~taken.hits[slot] for slot in slots]
        for each in lines:
            for slot in slots:
                here = missed[slot] & uses[each][slot]
                m.d.comb += Assert(~(here & Cat(hits[of] & uses[each][of] for of in slots).any()))
                for other in lines:
                    if other != each:
                        closed = Cat(hits[of] & uses[other][of] for of in slots).any()
                        closed |= Cat(missed[of] & uses[other][of] for of in range(slot)).any()
                        oldest = valid[other] & later[other, each]
                        m.d.comb += Assert(~(here & valid[each] & ~closed) | oldest)
            here = kept & line[each] & table.valid[each]
            here &= table.registers[each] != unit._kept[number].register
            m.d.comb += Assert(~here | ~table.locked[each])
            for other in lines:
                if other != each:
                    oldest = table.valid[other] & later[other, each]
                    m.d.comb += Assert(~(here & ~table.locked[other]) | oldest)
