"""What is claimed of bypassing operand collectors, and an invariant from which it follows at any depth."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Assert, Assume, Cat, Const, Module, Mux, Signal, Value

from tests.formal.collecting import REGISTERS, USED, Environment
from warpbank.arch.parameters import BOC_READS, SmConfig
from warpbank.arch.uop import TO_COLLECTOR
from warpbank.hdl.async_memory import read_at
from warpbank.hdl.collector.boc import Boc
from warpbank.hdl.round_robin import encode


def opened(unit: type[Boc]) -> type[Boc]:
    """The unit with the rows of its memories as signals; without the results that wait to be written."""

    class Opened(unit):  # type: ignore[misc, valid-type]
        def elaborate(self, platform: object) -> Any:
            m = super().elaborate(platform)
            warps = range(self._warps)
            places, waiting, uops = (
                [m.submodules[f"places_{warp}"] for warp in warps],
                m.submodules.waiting,
                m.submodules.uops,
            )
            self.contents = [
                [values.at(m, entry) for entry in range(self._entries)] for values in self._values
            ]
            self.places = [[read_at(m, memory, tag) for tag in range(self._window)] for memory in places]
            self.waiting = [read_at(m, waiting, warp) for warp in warps]
            self.kept = [read_at(m, uops, entry) for entry in range(self._warps * self._window)]
            return m

    return Opened


class Harness(Environment):
    """Claims, beside the operands at dispatch, which `Environment` compares with the newest values: a value
    owed to the banks leaves only by a write into them; a register has one entry; one uop leaves a collector
    in a cycle, to its unit, once all its operands have been read; a unit chooses the oldest complete one for
    it, and memory uops leave in program order.

    Parameters
    ----------
    hints : the compiler's write-back hints are any that are sound; else every result goes to collector and
        banks, without write-back.
    inductive : assert the invariant, too.
    """

    def __init__(
        self,
        unit: type[Boc],
        config: SmConfig,
        slots: int = 2,
        results: int = 1,
        hints: bool = True,
        inductive: bool = True,
    ) -> None:
        super().__init__(opened(unit)(config, write_through=not hints), config, slots, results, hints)
        self.inductive = inductive

    def claims(self, m: Module) -> None:
        self._departure(m)
        self._insertion(m)
        self._hints(m)
        if self.unit.evicted:
            for warp in range(self.warps):
                self._owed(m, warp)
        for warp, state in enumerate(self.unit._state):
            used = state.valid | self._read(warp)
            for entry, register in enumerate(state.registers):
                for other in range(entry):
                    m.d.comb += Assert(~(used[entry] & used[other]) | (register != state.registers[other]))
        if not self.inductive:
            return
        self._choices(m)
        self._queue(m)
        self._looked_up(m)
        for state, pinned, expecting in zip(
            self.unit._state, self.unit._pinned, self.unit._expecting, strict=False
        ):  # none without an issue stage
            present = ~state.passed | pinned | state.owed
            m.d.comb += Assert(expecting == state.valid & state.reserved & present)
        for warp in range(self.warps):
            states = self._states(m, warp)
            self._uops(m, warp, states)
            self._entries(m, warp, states)
            self._newest(m, warp, states)

    # --- Which uops leave.

    def _departure(self, m: Module) -> None:
        """Units and order of the uops in collection, noted at issue: `kinds`, numbers of `USED`; `older`, the
        uops of the collector that were there before. A unit chooses a uop that no older one precedes that it
        could choose; the load/store unit takes one that no older one precedes at all. `passes`: a complete
        uop of another unit stays behind a younger one that leaves; `refused_alone`: a unit that is free does
        not take the complete uop that it chose, since its collector reads for another one."""
        unit, gone = self.unit, self.gone
        self.kinds = [Signal(name=f"kind_of_{entry}") for entry in range(self.entries)]
        self.older = [Signal(self.tags, name=f"older_{entry}") for entry in range(self.entries)]
        self.passes, self.refused_alone = Signal(), Signal()
        passes: list[Value] = []
        for warp in range(self.warps):
            mine = range(warp * self.tags, (warp + 1) * self.tags)
            there = self.busy[mine.start : mine.stop]
            leaves = gone[mine.start : mine.stop]
            ports = [
                unit.dispatch[used].valid
                & unit.dispatch[used].ready
                & (unit.dispatch[used].payload.collector == warp)
                for used in USED
            ]
            m.d.comb += [
                Assert(sum(leaves) <= 1),
                Assert(sum(ports) == leaves.any()),
                *(Assert(unit._busy[warp][tag] == self.busy[entry]) for tag, entry in enumerate(mine)),
            ]
            complete = unit._complete[warp]
            memory = Cat(self.kinds[entry] for entry in mine)
            for tag, entry in enumerate(mine):
                with m.If(self.issue & (unit.entry == entry)):
                    m.d.sync += [self.kinds[entry].eq(self.kind), self.older[entry].eq(there)]
                with m.Elif(self.issue & (self.issuer == warp)):
                    at = Cat(unit.entry == other for other in mine)
                    m.d.sync += self.older[entry].eq(self.older[entry] & ~at)
                before = self.older[entry] & there
                now = Mux(self.issue & (unit.entry == entry), there, before)
                kind = Mux(self.issue & (unit.entry == entry), self.kind, self.kinds[entry])
                could = ~unit._taken[warp] & unit._completes[warp]
                chosen = unit._goes[warp].taken[tag] & ~unit._taken[warp][tag]
                m.d.comb += [
                    Assert(~self.older[entry][tag]),
                    Assert(~gone[entry] | complete[tag]),
                    Assert(~gone[entry] | Mux(self.kinds[entry], ports[1], ports[0])),
                    Assert(~gone[entry] | ~self.kinds[entry] | ~(before & memory).any()),
                    Assert(~chosen | ~(now & could & Mux(kind, memory, ~memory)).any()),
                ]
                passes.append(gone[entry] & (before & complete & ~leaves).any())
        m.d.comb += self.passes.eq(Cat(passes).any())
        blocked = unit._bus.reads if unit._bus is not None else Const(0, self.warps)
        alone = []
        for number, used in enumerate(USED):
            one = unit._units[used]
            waits = self.accepts[number] & one.valid & one.of(unit._complete)
            reads = Cat(
                (one.warp[warp] & (goes.tag & ~one.tag).any()) for warp, goes in enumerate(unit._goes)
            )
            mine = Cat((one.warp[warp] & (goes.tag & one.tag).any()) for warp, goes in enumerate(unit._goes))
            alone.append(waits & reads.any())
            wanted = Signal(name=f"wanted_{number}")
            m.d.sync += wanted.eq(self._for(number).any())
            m.d.comb += [
                # A unit has chosen a uop if there was one for it.
                Assert(~wanted | one.valid),
                # One that is free reads for its uop, unless its collector reads for another unit or the bus.
                Assert(~waits | reads.any() | mine.any() | (one.warp & blocked).any()),
            ]
        m.d.comb += self.refused_alone.eq(Cat(alone).any())

    def _for(self, number: int) -> Value:
        """Uops that a unit of `USED` could choose in this cycle."""
        masks = []
        for entry, kind in enumerate(self.kinds):
            warp, tag = divmod(entry, self.tags)
            mine = slice(warp * self.tags, (warp + 1) * self.tags)
            free = ~self.unit._taken[warp]
            memory = Cat(self.kinds[mine])
            first = ~(self.older[entry] & self.busy[mine] & memory & free).any() if number else 1
            masks.append((kind == number) & self.unit._completes[warp][tag] & free[tag] & first)
        return Cat(masks)

    def operand(self, number: int, entry: int, slot: int) -> tuple[Value, Value]:
        """A collector shows `BOC_READS` operands in a cycle, of a uop that is complete."""
        goes, tag = self.unit._goes[number], entry % self.tags
        shown = goes.tag[tag] & goes.step[slot // BOC_READS] & self.unit._complete[number][tag]
        return shown, self.unit.operands[number][slot % BOC_READS]

    def _read(self, warp: int) -> Value:
        """Entries that a uop in collection reads."""
        unit = self.unit
        inserted = unit._busy[warp] & unit._inserted[warp]
        return reduce(
            or_, (Mux(here, mask, 0) for here, mask in zip(inserted, unit._uses[warp], strict=True))
        )

    def _late(self, warp: int) -> Value:
        """Entries for which a result waits."""
        return reduce(
            or_, (Mux(slot.valid & slot.warp[warp], slot.entry, 0) for slot in self.unit._late.slots)
        )

    def _choices(self, m: Module) -> None:
        """What a unit has chosen is in collection and for it, and no older memory uop is; all operands are
        read at once, since there are not more. What is not complete has issued in the cycle before."""
        unit = self.unit
        for number, one in enumerate(unit._units):
            if number not in USED:
                m.d.comb += Assert(~one.valid)
                continue
            m.d.comb += [Assert(~one.valid | (one.step == 1)), Assert(~one.valid | (one.last == 1))]
            m.d.comb += [
                Assert(~one.valid | _one(one.warp)),
                Assert(~one.valid | _one(one.tag)),
                Assert(~one.valid | (one.number == encode(one.warp))),
                *(
                    Assert(~one.valid | (one.entry.word_select(warp, self.tags) == Mux(at, one.tag, 0)))
                    for warp, at in enumerate(one.warp)
                ),
                Assert(~one.valid | one.of(unit._busy)),
            ]
        for warp in range(self.warps):
            taken = [
                Mux(unit._units[used].valid & unit._units[used].warp[warp], unit._units[used].tag, 0)
                for used in USED
            ]
            self.all_distinct(m, taken)
            m.d.comb += Assert(unit._taken[warp] == reduce(or_, taken))
            for tag in range(self.tags):
                entry = warp * self.tags + tag
                mine = slice(warp * self.tags, (warp + 1) * self.tags)
                before = self.older[entry] & self.busy[mine] & Cat(self.kinds[mine])
                m.d.comb += [
                    Assert(~self.busy[entry] | (unit._lasts[warp][tag] == 1)),
                    Assert(
                        ~unit._taken[warp][tag]
                        | unit._complete[warp][tag]
                        | (unit._tag[warp] == (tag + 1) % self.tags)
                    ),
                    Assert(~(taken[0][tag]) | ~self.kinds[entry]),
                    Assert(~(taken[1][tag]) | (self.kinds[entry] & ~before.any())),
                ]

    def _queue(self, m: Module) -> None:
        """Results that wait: each for one entry, in order; and what the bus has chosen."""
        unit = self.unit
        first, second = unit._late.slots
        m.d.comb += Assert(~second.valid | first.valid)
        for slot in (first, second):
            m.d.comb += [
                Assert(~slot.valid | _one(slot.warp)),
                Assert(~slot.valid | _one(slot.entry)),
                Assert(~slot.valid | (slot.place == encode(slot.entry))),
            ]
        bus = unit._bus
        if bus is None:
            return
        m.d.comb += [
            Assert(~bus.has | bus.valid),
            Assert(bus.reads == Mux(bus.valid & ~bus.has, bus.warps, 0)),
            Assert(~bus.valid | _one(bus.warps)),
            Assert(~bus.valid | _one(bus.entry)),
            Assert(~bus.valid | (bus.place == encode(bus.entry))),
            Assert(~bus.valid | (bus.number == encode(bus.warps))),
        ]
        for warp, state in enumerate(unit._state):
            for entry, register in enumerate(state.registers):
                chosen = bus.valid & bus.warps[warp] & bus.entry[entry]
                leaves = state.valid[entry] & state.owed[entry] & state.passed[entry]
                leaves &= ~unit._pinned[warp][entry] & chosen
                m.d.comb += [
                    Assert(~chosen | (bus.register == register)),
                    Assert(~(leaves & bus.has) | (bus.value == unit.contents[warp][entry])),
                ]

    def _looked_up(self, m: Module) -> None:
        """Which entries are for the register that a unit offers is known of those that expect a result, while
        that register is to be written."""
        for warp, state in enumerate(self.unit._state):
            for number, used in enumerate(USED):
                offered, register = self.offer_warp[number] == warp, self.offer_register[number]
                flies = Array(self.flying)[self.offer_warp[number]].bit_select(register, 1)
                named = self.unit._named[warp][used]
                for entry, of in enumerate(state.registers):
                    expects, found = state.valid[entry] & state.reserved[entry], offered & (of == register)
                    m.d.comb += [
                        Assert(~(flies & named[entry]) | found),
                        Assert(~(flies & expects & found) | named[entry]),
                    ]

    # --- What a uop does when it is inserted, and which hints are sound.

    def _insertion(self, m: Module) -> None:
        unit = self.unit
        at, self.done, self.inserted_warp = Signal(range(self.entries)), Signal(), Signal(range(self.warps))
        self.hint = [Signal(2, name=f"hint_{entry}") for entry in range(self.entries)]
        for entry, hint in enumerate(self.hint):
            with m.If(self.issue & (unit.entry == entry)):
                m.d.sync += hint.eq(unit.issue.payload.uop.write_back)
        m.d.comb += [
            self.done.eq(unit._done.any()),
            self.inserted_warp.eq(encode(unit._chosen)),
            at.eq(self.inserted_warp * self.tags + Array(uop.tag for uop in unit._uop)[self.inserted_warp]),
        ]
        issues = self.issue & (unit.entry == at)
        self.inserted_reads = Mux(
            issues, self.reads_now, Array(self.sources_of(entry) for entry in range(self.entries))[at]
        )
        self.inserted_writes = Mux(issues, self.writes_now, Array(self.writes)[at])
        self.inserted_lanes = Mux(issues, self.mask, Array(self.lanes)[at])
        self.inserted_hint = Mux(issues, unit.issue.payload.uop.write_back, Array(self.hint)[at])

    def _hints(self, m: Module) -> None:
        """Where a hint says that only the collector needs a value, no read of it is farther than the window
        from the last access: `transient`, so says the hint; `idle`, uops since; `spent`, there was a longer
        pause; `dead`, nobody reads it any more."""
        last = self.tags - 1
        self.idle, self.transient, spent = Signal(range(self.tags)), Signal(), Signal()
        issuer = self.issuer == self.warp
        moves = self.done & (self.inserted_warp == self.warp)
        reads, writes = (
            mask.bit_select(self.register, 1) for mask in (self.inserted_reads, self.inserted_writes)
        )
        late = spent | (self.idle == last)
        self.dead = self.transient & late
        m.d.comb += Assume(
            ~(self.issue & issuer & self.reads_now.bit_select(self.register, 1) & self.mask[0] & self.dead)
        )
        with m.If(moves | (self.slide & issuer)):
            touched = moves & (reads | writes)
            m.d.sync += [
                self.idle.eq(Mux(touched, 0, Mux(self.idle == last, last, self.idle + 1))),
                spent.eq(late),
            ]
        with m.If(moves & writes & self.inserted_lanes[0]):
            m.d.sync += [self.transient.eq(self.inserted_hint == TO_COLLECTOR), spent.eq(0)]

    # --- What leaves.

    def _owed(self, m: Module, warp: int) -> None:
        """A dirty value that the hint wants in the banks, or that is squeezed out, is there in the next
        cycle, too, and owed; unless the banks take it, its register is written anew on all lanes, or a new
        warp starts."""
        unit, state, payload = self.unit, self.unit._state[warp], self.unit.evicted[0].payload
        squeezed = Mux(unit._chosen[warp], unit._inserters[warp].squeezed, 0)
        for entry, register in enumerate(state.registers):
            owed = state.valid[entry] & state.dirty[entry] & (state.keep[entry] | squeezed[entry])
            written = (
                unit.evicted[0].valid
                & unit.evicted[0].ready
                & (payload.warp == warp)
                & (payload.register == register)
            )
            rewrites = (self.inserted_writes >> register)[0] & self.inserted_lanes.all()
            replaced = self.done & (self.inserted_warp == warp) & rewrites
            stays, before = (
                Signal(name=f"stays_{warp}_{entry}"),
                Signal.like(register, name=f"before_{warp}_{entry}"),
            )
            m.d.sync += [stays.eq(owed & ~written & ~replaced & ~self.start[warp]), before.eq(register)]
            m.d.comb += Assert(
                ~stays | (state.valid[entry] & state.dirty[entry] & state.keep[entry] & (register == before))
            )

    # --- The invariant.

    def _states(self, m: Module, warp: int) -> _States:
        """Of the entries of one collector."""
        unit, state, delivery = self.unit, self.unit._state[warp], self.unit.deliver[warp]
        states = _States(len(state.registers), warp)
        width = unit.place_width(self.config)
        numbers = range(warp * self.tags, (warp + 1) * self.tags)
        for tag, number in enumerate(numbers):
            for slot in range(self.slots):
                arriving = delivery.valid & (delivery.tag == tag) & (delivery.slot == slot)
                place = unit.places[warp][tag].word_select(slot, width)
                states.uops.append((tag, number, slot, place, arriving))
        asked = [
            Mux(self.left[number][slot] | arriving, 1 << place, 0)[: states.size]
            for _, number, slot, place, arriving in states.uops
        ]
        self.all_distinct(m, asked)
        waits = [unit._busy[warp][tag] & ~unit._inserted[warp][tag] for tag in range(self.tags)]
        waiting = reduce(or_, (Mux(waits[tag], self.writes[number], 0) for tag, number in enumerate(numbers)))
        m.d.comb += [
            states.asked.eq(reduce(or_, asked)),
            states.coming.eq(self.pending[warp] & ~waiting),
            states.present.eq(state.valid & (~state.passed | unit._pinned[warp] | state.owed)),
            states.expecting.eq(states.present & state.reserved),
        ]
        return states

    def all_distinct(self, m: Module, masks: list[Value]) -> None:
        """No two masks share a bit."""
        for place, mask in enumerate(masks):
            for other in masks[:place]:
                m.d.comb += Assert((mask & other) == 0)

    def _uops(self, m: Module, warp: int, states: _States) -> None:
        """The unit and the environment agree on the uops in collection; their entries are theirs."""
        unit, state, row = self.unit, self.unit._state[warp], self.unit.waiting[warp]
        numbers = range(warp * self.tags, (warp + 1) * self.tags)
        written = [Mux(self.busy[number], self.writes[number], 0) for number in numbers]
        self.all_distinct(m, [*written, self.flying[warp]])
        m.d.comb += Assert((reduce(or_, written) | self.flying[warp]) == self.pending[warp])
        m.d.comb += Assert(unit._tag[warp] < self.tags)
        m.d.comb += Assert(unit._from_tag[warp] == Cat(unit._tag[warp] <= tag for tag in range(self.tags)))
        m.d.comb += Assert(unit._waits[warp] == (unit._busy[warp] & ~unit._inserted[warp]).any())
        collected = unit._busy[warp] & unit._inserted[warp]
        uses = [Mux(here, mask, 0) for here, mask in zip(collected, unit._uses[warp], strict=True)]
        late = self._late(warp)
        m.d.comb += Assert(unit._pinned[warp] == reduce(or_, uses) | late)
        m.d.comb += Assert(
            unit._complete[warp] == (collected & Cat(~(mask & ~state.filled).any() for mask in uses))
        )
        m.d.comb += Assert((late & (state.filled | states.asked)) == 0)
        delivery = unit.deliver[warp]
        m.d.comb += Assert(~delivery.valid | ((delivery.tag < self.tags) & (delivery.slot < self.slots)))
        for tag, number in enumerate(numbers):
            busy, inserted, sources = (
                unit._busy[warp][tag],
                unit._inserted[warp][tag],
                self.sources_of(number),
            )
            waits = busy & ~inserted
            results = (((1 << row.count) - 1) << row.destination)[: 2 * REGISTERS]
            own = [
                Mux(self.names[number][slot], 1 << place, 0)[: states.size]
                for _, of, slot, place, _ in states.uops
                if of == number
            ]
            m.d.comb += Assert(
                ~busy | (unit._kinds[warp][tag] == Mux(self.kinds[number], 1 << USED[1], 1 << USED[0]))
            )
            for other, before in enumerate(numbers):
                if other != tag:
                    reached = unit._from_tag[warp]
                    comes = reached[other] | ~reached[tag] if other < tag else reached[other] & ~reached[tag]
                    m.d.comb += Assert(~(busy & self.busy[before]) | (self.older[number][other] == comes))
            m.d.comb += [
                Assert(busy == self.busy[number]),
                Assert(~busy | (self.of_warp[number] == warp)),
                Assert(~busy | (unit.kept[number].result.seq == self.seq[number])),
                Assert(~busy | ((sources & self.flying[warp]) == 0)),
                Assert(~(self.left[number] & ~Mux(busy & inserted, self.names[number], 0)).any()),
                Assert(~(busy & inserted) | (unit._uses[warp][tag] == reduce(or_, own))),
                Assert(~waits | (unit._tag[warp] == (tag + 1) % self.tags)),
                Assert(
                    ~waits
                    | (
                        (row.tag == tag)
                        & (row.source_valid == self.names[number])
                        & (results == self.writes[number])
                    )
                ),
                Assert(
                    ~waits | ((row.full == self.lanes[number].all()) & (row.write_back == self.hint[number]))
                ),
                Assert(~waits | (row.count <= self.results)),
            ]
            m.d.comb += [
                Assert(~(busy & (sources & others).any())) for others in written if others is not written[tag]
            ]
            for register in range(REGISTERS):
                m.d.comb += Assert(
                    ~(busy & self.writes[number][register])
                    | (self.write_lanes[warp][register] == self.lanes[number])
                )
        for tag, number, slot, place, arriving in states.uops:
            busy, inserted, register = (
                unit._busy[warp][tag],
                unit._inserted[warp][tag],
                self.named[number][slot],
            )
            here = busy & self.names[number][slot]
            rewritten = self.writes[number].bit_select(register, 1)
            m.d.comb += [
                Assert(~(here & ~inserted) | (row.sources[slot] == register)),
                Assert(~(here & inserted) | (place < states.size)),
                Assert(~arriving | (here & inserted & ~self.left[number][slot])),
                Assert(~(self.left[number][slot] | arriving) | ~(state.filled >> place)[0]),
            ]
            m.d.comb += [
                Assert(~(here & self.names[number][other]) | (register != self.named[number][other]))
                for other in range(slot)
            ]
            m.d.comb += [
                Assert(
                    ~(here & inserted & (place == entry))
                    | ((state.valid[entry] | rewritten) & (state.registers[entry] == register))
                )
                for entry in range(states.size)
            ]

    def _entries(self, m: Module, warp: int, states: _States) -> None:
        """What has no value waits for one: an operand, or a result on all lanes. Results that are to come are
        expected."""
        state, pinned, late = self.unit._state[warp], self.unit._pinned[warp], self._late(warp)
        m.d.comb += Assert(self.idle < self.tags)
        for entry, register in enumerate(state.registers):
            idle = Cat(plane[entry] for plane in state.idle)
            coming, full = (states.coming >> register)[0], Array(self.write_lanes[warp])[register].all()
            present, expecting, filled = states.present[entry], states.expecting[entry], state.filled[entry]
            m.d.comb += [
                Assert(idle < self.tags),
                Assert(~state.valid[entry] | (register < REGISTERS)),
                Assert(~state.dirty[entry] | (state.valid[entry] & (filled | late[entry]))),
                Assert(~(state.dirty[entry] & (coming & full if self.unit.evicted else 1))),
                Assert(~present | (coming == state.reserved[entry])),
                Assert(~(expecting & ~full) | filled | states.asked[entry] | late[entry]),
                Assert(~(pinned[entry] & ~filled) | states.asked[entry] | late[entry]),
                Assert(~(present & ~filled & ~pinned[entry]) | (expecting & full)),
            ]

    def _newest(self, m: Module, warp: int, states: _States) -> None:
        """Where the newest value of the followed register is, lane 0: in its entry or on its way there, if
        that is dirty, else in the banks; and in every entry that may still be read. Not while it is about to
        be written, nor when it is dead."""
        unit, state = self.unit, self.unit._state[warp]
        followed = self.warp == warp
        changing = (
            states.coming.bit_select(self.register, 1) & Array(self.write_lanes[warp])[self.register][0]
        )
        live = Signal(name=f"live_{warp}")
        m.d.comb += live.eq(followed & self.known & ~self.dead & ~changing)
        late, right = self._late(warp), []
        for entry, value in enumerate(unit.contents[warp]):
            bit = value[0]
            for slot in unit._late.slots:
                bit = Mux(
                    slot.valid & slot.warp[warp] & slot.entry[entry] & slot.lanes[0], slot.value[0], bit
                )
            right.append(bit == self.newest)
        dirty = []
        for entry, register in enumerate(state.registers):
            mine = followed & state.valid[entry] & (register == self.register)
            transient = state.dirty[entry] & ~state.keep[entry]
            idle = Cat(plane[entry] for plane in state.idle)
            dirty.append(mine & states.present[entry] & state.dirty[entry])
            m.d.comb += [
                Assert(
                    ~(mine & live & states.present[entry] & (state.filled[entry] | late[entry]))
                    | right[entry]
                ),
                Assert(~mine | (idle == self.idle) | (state.passed[entry] & ~transient)),
                Assert(~(mine & states.expecting[entry] & ~state.keep[entry]) | (idle == self.idle)),
                Assert(
                    ~(mine & self.known & transient & ~changing) | self.transient | (self.bank == self.newest)
                ),
                Assert(~(mine & states.expecting[entry] & ~state.keep[entry] & changing) | self.transient),
            ]
        m.d.comb += Assert(~live | Cat(dirty).any() | (self.bank == self.newest))
        reads = [
            followed & self.known & self.names[number][slot] & (self.named[number][slot] == self.register)
            for _, number, slot, _, _ in states.uops
        ]
        needs = [
            here & self.lanes[number][0] & unit._busy[warp][tag]
            for here, (tag, number, _, _, _) in zip(reads, states.uops, strict=True)
        ]
        needed = ~self.dead | Cat(needs).any()
        for here, need, (tag, number, slot, place, arriving) in zip(reads, needs, states.uops, strict=True):
            m.d.comb += [
                Assert(~(need & ~unit._inserted[warp][tag]) | ~self.dead),
                Assert(~(here & needed & self.left[number][slot]) | (self.bank == self.newest)),
                Assert(~(here & needed & arriving) | (unit.deliver[warp].value[0] == self.newest)),
            ]
            m.d.comb += [
                Assert(
                    ~(
                        need
                        & unit._inserted[warp][tag]
                        & (place == entry)
                        & (state.filled[entry] | late[entry])
                    )
                    | right[entry]
                )
                for entry in range(states.size)
            ]


def _one(mask: Value) -> Value:
    """Whether one bit of the mask is set."""
    return mask.any() & ((mask & (mask - 1)) == 0)


class _States:
    """Masks over the entries of a collector: `present` and `expecting` as in
    `warpbank.golden.collector.window`; `asked`: an operand is on its way; over registers: `coming`, results
    of inserted uops. `uops`: tag, number, slot, place, and whether its operand arrives in this cycle, of
    every slot of every uop."""

    def __init__(self, size: int, warp: int) -> None:
        self.size = size
        self.present, self.expecting = (
            Signal(size, name=f"present_{warp}"),
            Signal(size, name=f"expecting_{warp}"),
        )
        self.asked = Signal(size, name=f"asked_{warp}")
        self.coming = Signal(REGISTERS, name=f"coming_{warp}")
        self.uops: list[tuple[int, int, int, Value, Value]] = []
