"""Caching collector units: operand collectors that keep the values of the warp they served last."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_SOURCES, Unit
from warpbank.arch.uop import Memory as Op
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.collector.cache_table import Lines, found, renewed, touched, victim
from warpbank.hdl.collector.metadata import keep_metadata, metadata_ports
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    Delivery,
    DeliveryInterface,
    ReadDone,
    ReadDoneInterface,
    ResultOffer,
    ResultOfferInterface,
    WriteBack,
    WriteBackInterface,
    dispatch_stream,
    evicted_stream,
    issue_stream,
    read_stream,
)
from warpbank.hdl.layouts import REGISTER_WIDTH, UNITS, Collection, dispatch_layout
from warpbank.hdl.lfsr import Lfsr, any_of
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.round_robin import decode, encode, pick, soonest
from warpbank.hdl.storage.metadata import metadata_layout
from warpbank.hdl.typed import Record, record

#: Bits of STHLD and of the count of cycles waited.
STHLD_WIDTH = 8


class Ccu(wiring.Component):
    """Caching collector units of a sub-core. Malekeh, sections III and IV.

    A unit holds one uop in collection, and the values of one warp, its owner. A warp that owns a unit is
    collected there and nowhere else, so no warp has values in two. Another warp gets a free unit that keeps
    no value whose reuse is near, at random; where all free units keep such values it waits, until the
    sub-core has waited for STHLD cycles in all; then it gets any free unit, at random. A unit that changes
    hands forgets its values.

    Sources that stand in the cache table cost no bank read; each of the others takes a line when it arrives.
    Results always go to the banks. One of them per unit and cycle is kept as well, the first whose reuse is
    near. A cycle later it joins its register's line; a result that is written on all lanes and has none takes
    one in the first cycle in which the unit waits for no operand, unless another result of the warp comes
    before that. Any other result makes its register's line invalid.

    The look-up of a uop's sources is made once per sub-core, on the state of the unit that takes it. A unit
    has one search for the line that is replaced, a cycle ahead: an operand that arrives and a result never
    need it at once.

    Parameters
    ----------
    config : the machine: collectors, lines, allocation, seed.
    parts : parts of a register that are compressed by themselves; metadata is kept with values if not 0.
    hinted : requests of operands carry the uop's hints about them.
    probe : generate `events` (allocate, forward, flush, deliver, collector_write, invalidate, unit_wait,
        window, occupied).
    far_first : lines and units whose values are not reused soon are given away first; False:
        customary policies, for comparison: least recently used replacement, every result kept, any free unit
        for a warp that owns none, no waiting. Malekeh, section VI-C.
    own_unit : a warp that owns a unit is collected there and nowhere else; False: every uop gets any free
        unit, at random, as in the baseline of Malekeh's section II. If that is another one than the warp's
        last, the warp's values there are forgotten: it has values in one place at most.

    Members
    -------
    issue : In(issue_stream). Issue interface: the uop to take, offered only if `may_issue` has its warp.
    may_issue : Out(warps). Warps whose next uop would be taken in this cycle; from registers and `sthld`.
    may_slide : Out(warps). Warps that may issue a uop that needs no collector: all.
    slide : In(1). The warp of `issue.payload` issues a uop that needs no collector.
    start : In(warps). New warps start: what their slots kept is dropped.
    ready : In(warps). Warps whose next uop has no hazard and needs a collector.
    idle : In(1). Nothing issues in this cycle.
    sthld : In(8). Cycles to wait for a unit without near values.
    holds : Out(warps). Warps that have values here.
    entry : Out(bits(entries)). Number of the unit that takes the uop.
    read : Out(read_stream). Operand read interface: operands that are not in the table are requested.
    deliver : In(Delivery) per unit. Operand read interface: an operand arrives (port S).
    read_done : Out(ReadDone) per unit. Scoreboard release interface: the sources of a uop that is dispatched.
    dispatch : Out(dispatch_stream) per execution unit. Dispatch interface: a complete uop, by rotating
        priority; from registers.
    refused : Out(1). An execution unit refused a uop in this cycle.
    result : In(ResultOffer) per execution unit. Result interface: results as they are offered and written.
    first : In(bits(units)). Execution unit whose offer goes first, then the next ones in order.
    keep : Out(WriteBack) per execution unit. Question to the testbench: the value of a result that port D of
        a collector unit takes.
    evicted : Out(evicted_stream), none. The banks have all results.
    operands : Out(32 per lane) per unit and slot. Operands of the unit's uop; right when it is dispatched.
    offered : Out(bits(entries)) per unit. Number of its uop among those in collection.
    kept : Out(kept_metadata_layout) per unit and slot, if `parts`. Metadata of `operands`.
    events : Out(Events), if `probe`. Events of the units.

    Latency: allocated in t, a uop whose sources are all in the table can be dispatched in t + 1; requests
    reach the banks in t + 1, an operand granted in g is delivered in g + 1, and its uop can be dispatched in
    g + 2. A result written in t is found from t + 1 on at the earliest.
    """

    issue: AlwaysInterface
    may_issue: Signal
    may_slide: Signal
    slide: Signal
    start: Signal
    ready: Signal
    idle: Signal
    sthld: Signal
    holds: Signal
    entry: Signal
    read: AlwaysInterface
    deliver: list[DeliveryInterface]
    read_done: list[ReadDoneInterface]
    dispatch: list[stream.Interface]
    refused: Signal
    result: list[ResultOfferInterface]
    first: Signal
    keep: list[WriteBackInterface]
    operands: list[list[Signal]]
    offered: list[Signal]
    events: EventsInterface
    evicted: list[stream.Interface]
    kept: list[list[Record]]

    def __init__(
        self,
        config: SmConfig,
        probe: bool = False,
        parts: int = 0,
        hinted: bool = False,
        far_first: bool = True,
        own_unit: bool = True,
    ) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Ccu needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        self._probe = probe
        self._note_parts = parts
        self.far_first = far_first
        core = config.sub_core
        self._count = core.collectors
        self._private = core.collector.allocation == "per_warp"
        self.own_unit = own_unit or self._private
        members = {
            "issue": In(issue_stream(config)),
            "may_issue": Out(core.warps),
            "may_slide": Out(core.warps),
            "slide": In(1),
            "start": In(core.warps),
            "ready": In(core.warps),
            "idle": In(1),
            "sthld": In(STHLD_WIDTH),
            "holds": Out(core.warps),
            "entry": Out(core.collector_width),
            "read": Out(read_stream(config, hinted=hinted)),
            "deliver": In(Delivery(config, metadata=metadata_layout(parts))).array(core.collectors),
            "read_done": Out(ReadDone(config)).array(core.collectors),
            "dispatch": Out(dispatch_stream(config)).array(UNITS),
            "refused": Out(1),
            "result": In(ResultOffer(config)).array(UNITS),
            "first": In(bits(UNITS)),
            "keep": Out(WriteBack(config)).array(UNITS),
            "evicted": Out(evicted_stream(config)).array(0),
            "operands": Out(config.value_width).array(core.collectors, core.collector.slots),
            "offered": Out(bits(core.collectors)).array(core.collectors),
            **metadata_ports(config, parts),
        }
        if probe:
            members["events"] = Out(
                Events(
                    config,
                    {
                        "allocate": 1,
                        "forward": 1,
                        "flush": 1 if self.own_unit else 2,
                        "deliver": core.collectors,
                        "collector_write": core.collectors,
                        "invalidate": UNITS,
                        "unit_wait": 1,
                        "window": core.collectors,
                        "occupied": 1,
                    },
                )
            )
        super().__init__(members)

    @classmethod
    def collection(cls, config: SmConfig, far_first: bool = True, own_unit: bool = True) -> Collection:
        """Results are kept, the banks have them all, and a unit may serve any warp."""
        return Collection(cls.entries(config), cls.tags(config), keeps=UNITS)

    @staticmethod
    def tags(config: SmConfig) -> int:
        """Tags of one unit, the uops that it can have in collection at a time: one."""
        return 1

    @staticmethod
    def entries(config: SmConfig) -> int:
        """Uops that can be in collection at a time: one per unit."""
        return config.sub_core.collectors

    @staticmethod
    def place_width(config: SmConfig) -> int:
        """Bits of a line's number."""
        return bits(config.sub_core.collector.cache_lines)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = self._config.sub_core
        count = self._count
        self._tables = [Lines(core.collector.cache_lines, str(number)) for number in range(count)]
        self._owner = [
            Signal(core.warp_width, name=f"owner_{number}", init=number if self._private else 0)
            for number in range(count)
        ]
        self._owned = Signal(count, init=(1 << count) - 1 if self._private else 0)
        self._busy = Signal(count)  # units with a uop
        self._left = Signal(count)  # the unit whose owner goes to another one
        self._awaits = [Signal(MAX_SOURCES, name=f"awaits_{number}") for number in range(count)]
        self._victims = [Signal(core.collector.cache_lines, name=f"victim_{n}", init=1) for n in range(count)]
        self._new = Signal(count, name="new")  # its uop came in the last cycle
        # The last cycle's result at port D joins a line of these, or seeks one, which it takes or waits for.
        self._joins = [Signal(core.collector.cache_lines, name=f"joins_{n}") for n in range(count)]
        self._seeks, self._takes = Signal(count, name="arrived_seeks"), Signal(count, name="arrived_takes")
        self._opens = Signal(count, name="opens")  # a result may take a line in the next cycle
        self._sources: list[Signal] = []  # per unit, registers of its uop's slots
        self._near: list[Signal] = []  # per unit, slots of its uop whose reuse is near
        self._numbers: list[Lfsr] = []
        asked = self.keep[0]
        result = data.StructLayout(
            {name: getattr(asked, name).shape() for name in ("warp", "seq", "register", "mask", "value")}
        )
        self._arrived = [  # the last cycle's result at port D
            record(result, name=f"arrived_{number}", reset_less=True) for number in range(count)
        ]
        self._asks: list[Value] = []  # per unit, mask of the execution unit whose result port D takes
        self._lost: dict[
            int, list[tuple[int, Signal]]
        ] = {}  # per execution unit, (number, lines) that its result makes invalid
        for number in range(count):
            seed = number_seed(core.collector.seed, number)
            self._numbers.append(Lfsr(seed, core.collector.cache_lines))
            m.submodules[f"random_{number}"] = self._numbers[number]
        m.d.comb += self.may_slide.eq((1 << core.warps) - 1)
        fresh_owner, choice = self._choose(m)
        allocated = Signal(count, name="allocated")
        m.d.comb += allocated.eq(Mux(self.issue.valid, choice, 0))
        # The tables as results leave them that take a line in this cycle.
        self._fresh = [Signal(core.collector.cache_lines, name=f"taken_by_result_{n}") for n in range(count)]
        self._views = [Lines(core.collector.cache_lines, f"after_result_{n}") for n in range(count)]
        sought = self._seek(m, fresh_owner)
        gone = self._dispatch(m, allocated)
        for number in range(count):
            self._table(m, number, allocated[number], gone[number], fresh_owner, sought)
        for unit, (asked, offer) in enumerate(zip(self.keep, self.result, strict=True)):
            m.d.comb += asked.valid.eq(reduce(or_, self._asks)[unit])
            m.d.comb += [
                getattr(asked, name).eq(getattr(offer.payload, name))
                for name in ("warp", "seq", "register", "mask")
            ]
        m.d.sync += self._busy.eq(self._busy & ~gone | allocated)
        if self._probe:
            self._events(m, fresh_owner)
        return m

    # --- Which unit takes the uop that issues.

    def _choose(self, m: Module) -> tuple[Signal, Value]:
        """Choose the unit. Returns whether it changes hands, and its mask."""
        core, count = self._config.sub_core, self._count
        warp = self.issue.payload.warp
        free, far, holders, mine = Signal(count), Signal(count), Signal(core.warps), Signal(core.warps)
        has, fresh_owner = Signal(count), Signal()
        self._looks = has  # unit in whose table sources are looked up: any other one is empty for them
        owners = [
            decode(m, owner, self._owned[number], core.warps, f"owners_{number}")
            for number, owner in enumerate(self._owner)
        ]
        m.d.comb += [
            free.eq(~self._busy),
            far.eq(Cat(~(table.valid & table.near).any() for table in self._tables)),
            holders.eq(reduce(or_, owners)),
            mine.eq(reduce(or_, (Mux(free[number], mask, 0) for number, mask in enumerate(owners)))),
            self.holds.eq(
                reduce(
                    or_,
                    (
                        Mux(table.valid.any(), mask, 0)
                        for table, mask in zip(self._tables, owners, strict=True)
                    ),
                )
            ),
            has.eq(Cat((owner == warp) & self._owned[number] for number, owner in enumerate(self._owner))),
        ]
        self._chooser = chooser = m.submodules.random_unit = Lfsr(core.collector.seed, count)
        waited = Signal(STHLD_WIDTH)
        open_ = Signal(count)
        if self.far_first:
            m.d.comb += open_.eq(Mux((free & far).any(), free & far, Mux(waited >= self.sthld, free, 0)))
        else:
            m.d.comb += open_.eq(self._open_units(free, has))
        choice = any_of(m, open_, chooser.ranks, "unit")
        given = self.issue.valid & fresh_owner
        if self.own_unit:
            taker: Value = Mux(fresh_owner, choice, has)
            m.d.comb += [
                self.may_issue.eq(mine | Mux(open_.any(), ~holders, 0)),
                fresh_owner.eq(~has.any()),
                chooser.advance.eq(given),
            ]
        else:
            taker = choice
            m.d.comb += [
                self.may_issue.eq(open_.any().replicate(core.warps)),
                fresh_owner.eq(~(has & choice).any()),
                chooser.advance.eq(self.issue.valid),
                self._left.eq(Mux(given, has, 0)),
            ]
        m.d.comb += self.entry.eq(encode(taker))
        waits = Signal()
        if self.far_first:
            m.d.comb += waits.eq(
                self.idle
                & free.any()
                & ~(free & far).any()
                & (waited < self.sthld)
                & (self.ready & ~holders).any()
            )
            self._count_waits(m, waited, waits, given & ~(free & far).any())
        if self._probe:
            emit(m, self.events.unit_wait[0], waits, cycles=waited + 1)
        return fresh_owner, taker

    def _open_units(self, free: Value, has: Value) -> Value:
        """Units that a warp may be given under customary policies; `has`: the one that it owns."""
        return free

    def _count_waits(self, m: Module, waited: Signal, waits: Value, spent: Value) -> None:
        """Count the cycles waited, until the time is spent on a unit with near values."""
        with m.If(waits):
            m.d.sync += waited.eq(waited + 1)
        with m.Elif(spent):
            m.d.sync += waited.eq(0)

    # --- The sources of the uop that issues.

    def _seek(self, m: Module, fresh_owner: Signal) -> list[Signal]:
        """Look the uop's sources up in its warp's table, as a result leaves it that takes a line in this
        cycle, and request what is not there. A unit that changes hands is empty for them, so that nothing
        waits for the choice. Returns the line of each slot, a mask."""
        issue, uop = self.issue.payload, self.issue.payload.uop
        lines = Lines(self._config.sub_core.collector.cache_lines, "sought")
        for table, new, arrived, held in zip(
            self._tables, self._fresh, self._arrived, self._views, strict=True
        ):
            m.d.comb += held.valid.eq(table.valid | new)
            m.d.comb += [
                after.eq(Mux(new[line], arrived.register, before))
                for line, (after, before) in enumerate(zip(held.registers, table.registers, strict=True))
            ]
        m.d.comb += lines.valid.eq(pick(self._looks, [held.valid for held in self._views]))
        m.d.comb += [
            register.eq(pick(self._looks, [held.registers[line] for held in self._views]))
            for line, register in enumerate(lines.registers)
        ]
        self._hits = Signal(MAX_SOURCES, name="hits")
        sought = [Signal(lines.size, name=f"hit_{slot}") for slot in range(MAX_SOURCES)]
        for slot, mask in enumerate(sought):
            same = found(m, lines, uop.sources[slot], f"sought_{slot}")
            m.d.comb += mask.eq(Mux(uop.source_valid[slot] & ~fresh_owner, same, 0))
        self._missed = uop.source_valid & ~self._hits
        m.d.comb += [
            self._hits.eq(Cat(mask.any() for mask in sought)),
            self.read.valid.eq(self.issue.valid & self._missed.any()),
            self.read.payload.collector.eq(self.entry),
            self.read.payload.warp.eq(issue.warp),
            self.read.payload.sources.eq(uop.sources),
            self.read.payload.source_valid.eq(self._missed),
            self.read.payload.dead.eq(uop.dead),
            self.read.payload.near.eq(uop.near),
        ]
        return sought

    # --- Dispatch.

    def _dispatch(self, m: Module, allocated: Value) -> Signal:
        """Choose one complete unit per execution unit. Returns the mask of those that go."""
        count, uop = self._count, self.issue.payload.uop
        layout = data.StructLayout(
            {name: field.shape for name, field in dispatch_layout(self._config) if name != "collector"}
        )
        uops = m.submodules.uops = Memory(shape=layout, depth=count, init=[])
        write_at(m, uops, self.entry, self._parts(m, layout), self.issue.valid)
        complete = Signal(count)
        self._kinds = [Signal(bits(UNITS), name=f"kind_{number}") for number in range(count)]
        m.d.comb += complete.eq(self._busy & ~Cat(awaits.any() for awaits in self._awaits))
        for number, signal in enumerate(self._kinds):
            with m.If(allocated[number]):
                m.d.sync += signal.eq(uop.unit)
        taken: list[Value] = []
        refused: list[Value] = []
        for unit, port in enumerate(self.dispatch):
            pointer = Signal(self._config.sub_core.collector_width, name=f"pointer_{unit}")
            mask = Signal(count, name=f"complete_{Unit(unit).name.lower()}")
            m.d.comb += mask.eq(complete & Cat(signal == unit for signal in self._kinds))
            choice = soonest(m, mask, pointer, f"unit_{unit}")
            held = read_at(m, uops, choice.index)
            m.d.comb += [port.valid.eq(choice.any), port.payload.collector.eq(choice.index)]
            m.d.comb += [getattr(port.payload, name).eq(getattr(held, name)) for name, _ in layout]
            goes = port.valid & port.ready
            with m.If(goes):
                m.d.sync += pointer.eq(choice.after)
            taken.append(Mux(goes, choice.one_hot, 0))
            refused.append(port.valid & ~port.ready)
        gone = Signal(count)
        m.d.comb += [gone.eq(reduce(or_, taken)), self.refused.eq(reduce(or_, refused))]
        for number, done in enumerate(self.read_done):
            m.d.comb += done.slots.eq(gone[number].replicate(MAX_SOURCES))
        return gone

    def _parts(self, m: Module, layout: data.StructLayout) -> Record:
        """Fields of an issued uop that are kept for its dispatch."""
        kept = record(layout)
        issue, uop, result = self.issue.payload, self.issue.payload.uop, kept.result
        m.d.comb += [kept.memory.eq(uop.memory), kept.lines.eq(uop.lines), kept.passes.eq(uop.passes)]
        m.d.comb += [
            getattr(result, name).eq(getattr(uop, name))
            for name in ("seq", "destination", "count", "predicates_written", "mask", "part")
        ]
        m.d.comb += [
            result.warp.eq(issue.warp),
            result.fence.eq(uop.memory == Op.FENCE),
            result.near.eq(uop.near[MAX_SOURCES]),
        ]
        return kept

    # --- One unit's table.

    def _table(
        self, m: Module, number: int, allocated: Value, gone: Value, fresh_owner: Signal, sought: list[Signal]
    ) -> None:
        """Update the state of a unit by its uop, its operands and its owner's results."""
        table, owner, delivery = self._tables[number], self._owner[number], self.deliver[number]
        starts, forgets = Signal(name=f"starts_{number}"), Signal(name=f"forgets_{number}")
        m.d.comb += [
            starts.eq(self._owned[number] & (self.start & (1 << owner)).any()),
            forgets.eq((allocated & fresh_owner) | self._left[number]),
        ]
        with m.If(allocated & fresh_owner):
            m.d.sync += [owner.eq(self.issue.payload.warp), self._owned[number].eq(1)]
        with m.Elif(starts | self._left[number]):
            m.d.sync += self._owned[number].eq(int(self._private))
        place = self._victims[number]
        self._next_victim(m, number)
        fresh = Mux(delivery.valid, place, 0)
        uses = self._uop(m, number, allocated, sought, place)
        dropped = self._arrive(m, number, forgets, starts, fresh)
        kept, line = self._keep(m, number, place)
        written = Mux(kept, line, 0)
        valid, locked, used, near = (
            Signal(table.size, name=f"{name}_{number}") for name in ("kept", "locks", "uses", "near_of")
        )
        m.d.comb += [
            valid.eq(((table.valid | written) & ~dropped) | Mux(self._owned[number], fresh, 0)),
            locked.eq(Mux(allocated, reduce(or_, sought), 0) | fresh),
            used.eq(reduce(or_, uses)),
            near.eq(reduce(or_, (Mux(self._near[number][slot], use, 0) for slot, use in enumerate(uses)))),
        ]
        nears = self._near[number].bit_select(delivery.slot, 1)
        rows = renewed(touched(touched(table.newer, written), fresh), uses)
        m.d.sync += [
            table.valid.eq(Mux(forgets | starts, 0, valid)),
            table.locked.eq(Mux(gone, 0, table.locked) | locked),
            table.near.eq(table.near & ~used & ~fresh | near | Mux(nears, fresh, 0) | written),
            *(row.eq(after) for row, after in zip(table.newer, rows, strict=True)),
        ]
        source = self._sources[number].word_select(delivery.slot, REGISTER_WIDTH)
        for position, register in enumerate(table.registers):
            with m.If(fresh[position]):
                m.d.sync += register.eq(source)
            with m.Elif(written[position]):
                m.d.sync += register.eq(self._arrived[number].register)
        self._values(m, number, encode(place), kept, fresh | written)
        if self._probe:
            emit(m, self.events.deliver[number], delivery.valid, collector=number, slot=delivery.slot)
            count, before = (
                Signal(bits(table.size + 1), name=f"{name}_{number}") for name in ("used", "used_before")
            )
            m.d.comb += count.eq(sum(table.valid))
            m.d.sync += before.eq(count)
            emit(m, self.events.window[number], count != before, collector=number, entries=count)

    def _next_victim(self, m: Module, number: int) -> None:
        """Choose the line that the next cycle replaces if it has to: none that the unit's uop reads, nor one
        that is written in this cycle, or may be."""
        table, place = self._tables[number], self._victims[number]
        takes = self.deliver[number].valid | self._seeks[number]
        closed = table.locked | self._joins[number] | Mux(takes, place, 0)
        ranks = self._numbers[number].ranks
        m.d.sync += place.eq(victim(m, table, closed, ranks, self.far_first, str(number)))

    def _uop(
        self, m: Module, number: int, allocated: Value, sought: list[Signal], place: Signal
    ) -> list[Value]:
        """Follow the sources of the unit's uop: their registers, their lines, and which are still to come.
        Returns, for each slot, the line that the uop of the last cycle found, a mask."""
        uop, delivery = self.issue.payload.uop, self.deliver[number]
        awaits, width = self._awaits[number], self.place_width(self._config)
        new, arrives = self._new[number], Signal(MAX_SOURCES, name=f"arrives_{number}")
        sources = Signal(REGISTER_WIDTH * MAX_SOURCES, name=f"sources_{number}", reset_less=True)
        near = Signal(MAX_SOURCES, name=f"near_slots_{number}", reset_less=True)
        uses = [
            Signal(len(mask), name=f"found_{number}_{slot}", reset_less=True)
            for slot, mask in enumerate(sought)
        ]
        m.d.comb += arrives.eq(delivery.valid << delivery.slot)
        m.d.sync += new.eq(allocated)
        with m.If(allocated):
            m.d.sync += [
                sources.eq(uop.sources.as_value()),
                near.eq(uop.near),
                awaits.eq(self._missed),
                *(kept.eq(mask) for kept, mask in zip(uses, sought, strict=True)),
            ]
        with m.Else():
            m.d.sync += awaits.eq(awaits & ~arrives)
            m.d.comb += self._opens[number].eq(~(awaits & ~arrives).any())
        self._sources.append(sources)
        self._near.append(near)
        # The lines stand in a memory, where a testbench looks them up, too.
        memory = m.submodules[f"places_{number}"] = Memory(shape=width * MAX_SOURCES, depth=2, init=[])
        port = memory.write_port(granularity=width)
        lines = Cat(encode(mask) for mask in sought)
        m.d.comb += [
            port.data.eq(Mux(allocated, lines, encode(place).replicate(MAX_SOURCES))),
            port.en.eq(Mux(allocated, -1, arrives)),
        ]
        row = Signal(width * MAX_SOURCES, name=f"places_of_{number}")
        m.d.comb += row.eq(read_at(m, memory, Const(0, 1)))
        self._slots = [row.word_select(slot, width) for slot in range(MAX_SOURCES)]
        return [Mux(new, mask, 0) for mask in uses]

    def _values(self, m: Module, number: int, place: Value, kept: Value, changed: Value) -> None:
        """Values of the lines, with port S and port D."""
        table, delivery, arrived = self._tables[number], self.deliver[number], self._arrived[number]
        values = m.submodules[f"slots_{number}"] = Memory(
            shape=self._config.value_width, depth=table.size, init=[]
        )
        write_at(m, values, place, delivery.value, delivery.valid)
        port = values.write_port(granularity=32)
        m.d.comb += [
            port.addr.eq(Mux(self._takes[number], place, encode(self._joins[number]))),
            port.data.eq(arrived.value),
            port.en.eq(kept.replicate(self._config.lanes) & arrived.mask),
        ]
        m.d.comb += self.offered[number].eq(number)
        for operand, slot in zip(self.operands[number], self._slots, strict=True):
            m.d.comb += operand.eq(read_at(m, values, slot))
        if self._note_parts:
            notes = keep_metadata(
                m,
                self._note_parts,
                str(number),
                table.size,
                self.deliver[number],
                place,
                changed,
                self._slots,
            )
            m.d.comb += [
                port.as_value().eq(note) for port, note in zip(self.kept[number], notes, strict=True)
            ]

    def _arrive(self, m: Module, number: int, forgets: Value, starts: Value, fresh: Value) -> Value:
        """Choose among the owner's results of this cycle the one that port D takes, to be written later; its
        line may be `fresh`, which is an operand's from now on. Returns the lines that the others make
        invalid."""
        table, owner, arrived = self._tables[number], self._owner[number], self._arrived[number]
        mine, near = Signal(UNITS, name=f"mine_{number}"), Signal(UNITS, name=f"near_{number}")
        m.d.comb += mine.eq(
            Cat(offer.valid & self._owned[number] & (offer.payload.warp == owner) for offer in self.result)
        )
        m.d.comb += near.eq(
            mine & Cat(offer.payload.near for offer in self.result) if self.far_first else mine
        )
        port = soonest(m, near, self.first, f"port_{number}")
        here = [
            found(m, self._views[number], offer.payload.register, f"{number}_{unit}")
            for unit, offer in enumerate(self.result)
        ]
        written = port.one_hot & Cat(offer.taken for offer in self.result)
        whole = port.one_hot & Cat(offer.payload.mask.all() for offer in self.result)
        hit, takes = Signal(table.size, name=f"hit_of_{number}"), Signal(name=f"port_takes_{number}")
        more = (mine & Cat(offer.taken for offer in self.result)).any()
        seeks, stays = Signal(name=f"seeks_{number}"), ~(forgets | starts)
        m.d.comb += [
            hit.eq(pick(port.one_hot, here)),
            takes.eq(written.any() & (hit.any() | whole.any())),
            seeks.eq((takes & ~hit.any() | self._seeks[number] & ~self._takes[number] & ~more) & stays),
        ]
        self._asks.append(Mux(takes & ~forgets, port.one_hot, 0))
        with m.If(takes):
            m.d.sync += [
                arrived.value.eq(pick(port.one_hot, [asked.value for asked in self.keep])),
                *(
                    getattr(arrived, name).eq(
                        pick(port.one_hot, [getattr(offer.payload, name) for offer in self.result])
                    )
                    for name in ("warp", "seq", "register", "mask")
                ),
            ]
        m.d.sync += [
            self._joins[number].eq(Mux(takes & stays, hit & ~fresh, 0)),
            self._seeks[number].eq(seeks),
            self._takes[number].eq(seeks & self._opens[number]),
        ]
        drops = []
        for unit, (offer, mask) in enumerate(zip(self.result, here, strict=True)):
            lost = Signal(table.size, name=f"lost_{number}_{unit}")
            m.d.comb += lost.eq(Mux(offer.taken & mine[unit] & ~port.one_hot[unit] & ~forgets, mask, 0))
            drops.append(lost)
            self._lost.setdefault(unit, []).append((number, lost))
        return reduce(or_, drops)

    def _keep(self, m: Module, number: int, place: Signal) -> tuple[Signal, Signal]:
        """Write a result of an earlier cycle into the table. Returns whether it is written, and the line."""
        table, arrived, lfsr = self._tables[number], self._arrived[number], self._numbers[number]
        joins, takes, delivers = self._joins[number], self._takes[number], self.deliver[number].valid
        kept, line = Signal(name=f"keeps_{number}"), Signal(table.size, name=f"line_{number}")
        taken = Signal(name=f"line_taken_{number}")  # by an operand, if one comes
        m.d.comb += [
            self._fresh[number].eq(Mux(takes, place, 0)),
            line.eq(Mux(takes, place, joins)),
            taken.eq((joins & place).any()),
            kept.eq(takes | joins.any() & ~(delivers & taken)),
            lfsr.advance.eq(delivers | takes),
        ]
        if self._probe:
            emit(
                m,
                self.events.collector_write[number],
                kept,
                collector=number,
                warp=arrived.warp,
                seq=arrived.seq,
                register=arrived.register,
            )
        return kept, line

    def shown(self, unit: int, slot: int) -> tuple[Value, Value]:
        """Return when the collector of a unit's uop shows the operand of a source slot, and the operand."""
        return Const(1), Array(ports[slot] for ports in self.operands)[self.dispatch[unit].payload.collector]

    def dispatched(self, context: Any, collector: int) -> list[int]:
        """Return the operands of the uop that leaves a collector in this cycle, of all source slots, for a
        testbench in Amaranth's simulator."""
        return [context.get(operand) for operand in self.operands[collector]]

    # --- Events.

    def _events(self, m: Module, fresh_owner: Signal) -> None:
        events, issue = self.events, self.issue
        emit(
            m,
            events.allocate[0],
            issue.valid,
            collector=self.entry,
            warp=issue.payload.warp,
            seq=issue.payload.uop.seq,
        )
        emit(
            m,
            events.forward[0],
            issue.valid & self._hits.any(),
            collector=self.entry,
            warp=issue.payload.warp,
            seq=issue.payload.uop.seq,
            slots=self._hits,
            count=sum(self._hits),
        )
        used = Array(sum(table.valid) for table in self._tables)
        taker, left = used[self.entry], used[encode(self._left)]
        emit(
            m, events.flush[0], issue.valid & fresh_owner & (taker != 0), collector=self.entry, entries=taker
        )
        if not self.own_unit:
            valid = self._left.any() & (left != 0)
            emit(m, events.flush[1], valid, collector=encode(self._left), entries=left)
        for unit, offer in enumerate(self.result):
            owners = Cat(lost.any() for _, lost in self._lost[unit])
            emit(
                m,
                events.invalidate[unit],
                owners.any(),
                collector=encode(owners),
                register=offer.payload.register,
            )
        emit(m, events.occupied[0], self._busy.any(), collectors=sum(self._busy))


def number_seed(seed: int, number: int) -> int:
    """Seed of the unit `number`, different for every unit."""
    return (seed + 0x1D3 * (number + 1)) % 0xFFFF + 1
