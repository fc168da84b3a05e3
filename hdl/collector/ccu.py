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
from warpbank.hdl.collector.cache_table import Lines, Taken, found, take, touched, victim
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
from warpbank.hdl.layouts import UNITS, Collection, dispatch_layout
from warpbank.hdl.lfsr import WIDTH as RANDOM_WIDTH
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

    Sources that stand in the cache table cost no bank read. Results always go to the banks. One of them per
    unit and cycle is kept as well, the first whose reuse is near; it joins its register's line, or takes one
    if it is written on all lanes. Any other result makes its register's line invalid. In a cycle in which a
    unit takes a uop it keeps no result.

    The look-up of a uop's sources is made once per sub-core, on the state of the unit that takes it.

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
    keep : Out(WriteBack) per execution unit. Question to the testbench: the value of a result that a
        collector unit keeps (port D).
    evicted : Out(evicted_stream), none. The banks have all results.
    operands : Out(32 per lane) per unit and slot. Operands of the unit's uop; right when it is dispatched.
    offered : Out(bits(entries)) per unit. Number of its uop among those in collection.
    kept : Out(kept_metadata_layout) per unit and slot, if `parts`. Metadata of `operands`.
    events : Out(Events), if `probe`. Events of the units.

    Latency: allocated in t, a uop whose sources are all in the table can be dispatched in t + 1; requests
    reach the banks in t + 1, an operand granted in g is delivered in g + 1, and its uop can be dispatched in
    g + 2. A result written in t is found from t + 1 on.
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
        self._numbers: list[Lfsr] = []
        self._kept = [
            WriteBack(self._config).create(path=("kept", number)) for number in range(count)
        ]  # by this unit
        self._keeps: list[Value] = []  # per collector unit, mask of the execution unit whose result it keeps
        self._lost: dict[
            int, list[tuple[int, Signal]]
        ] = {}  # per execution unit, (number, lines) that its result makes invalid
        for number in range(count):
            self._numbers.append(Lfsr(number_seed(core.collector.seed, number)))
            m.submodules[f"random_{number}"] = self._numbers[number]
        m.d.comb += self.may_slide.eq((1 << core.warps) - 1)
        fresh_owner, choice = self._choose(m)
        allocated = Signal(count, name="allocated")
        m.d.comb += allocated.eq(Mux(self.issue.valid, choice, 0))
        taken, random = self._take(m, fresh_owner)
        gone = self._dispatch(m, allocated)
        for number in range(count):
            self._table(m, number, allocated[number], gone[number], fresh_owner, taken)
        for unit, (asked, offer) in enumerate(zip(self.keep, self.result, strict=True)):
            m.d.comb += asked.valid.eq(reduce(or_, self._keeps)[unit])
            m.d.comb += [
                getattr(asked, name).eq(getattr(offer.payload, name))
                for name in ("warp", "seq", "register", "mask")
            ]
        m.d.sync += self._busy.eq(self._busy & ~gone | allocated)
        m.d.comb += random.eq(pick(self._looks, [lfsr.state for lfsr in self._numbers]))
        if self._probe:
            self._events(m, fresh_owner, taken)
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
        chooser = m.submodules.random_unit = Lfsr(core.collector.seed)
        waited = Signal(STHLD_WIDTH)
        open_ = Signal(count)
        if self.far_first:
            m.d.comb += open_.eq(Mux((free & far).any(), free & far, Mux(waited >= self.sthld, free, 0)))
        else:
            m.d.comb += open_.eq(self._open_units(free, has))
        choice = any_of(m, open_, chooser.state, "unit")
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

    def _take(self, m: Module, fresh_owner: Signal) -> tuple[Taken, Signal]:
        """Look the uop's sources up in its warp's table, and request what is not there. A unit that changes
        hands is empty for them, so that nothing waits for the choice. Returns also the random number, to be
        driven."""
        issue = self.issue.payload
        lines = Lines(self._config.sub_core.collector.cache_lines, "of_unit")
        states = [Cat(*table.all()) for table in self._tables]
        state = Signal(len(states[0]), name="state_of_unit")
        m.d.comb += state.eq(pick(self._looks, states))
        m.d.comb += Cat(*lines.all()).eq(state)
        random = Signal(RANDOM_WIDTH, name="random_of_unit")
        taken = take(
            m,
            lines,
            ~fresh_owner,
            issue.uop.sources,
            issue.uop.source_valid,
            issue.uop.near,
            random,
            self.far_first,
        )
        m.d.comb += [
            self.read.valid.eq(self.issue.valid & (taken.misses)),
            self.read.payload.collector.eq(self.entry),
            self.read.payload.warp.eq(issue.warp),
            self.read.payload.sources.eq(issue.uop.sources),
            self.read.payload.source_valid.eq(issue.uop.source_valid & ~taken.hits),
            self.read.payload.dead.eq(issue.uop.dead),
            self.read.payload.near.eq(issue.uop.near),
        ]
        return taken, random

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
        m.d.comb += complete.eq(
            self._busy & Cat(~(table.locked & ~table.filled).any() for table in self._tables)
        )
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
        self, m: Module, number: int, allocated: Value, gone: Value, fresh_owner: Signal, taken: Taken
    ) -> None:
        """Update the state of a unit by its uop, its operands and its owner's results."""
        core, table, owner = self._config.sub_core, self._tables[number], self._owner[number]
        starts = Signal(name=f"starts_{number}")
        m.d.comb += starts.eq(self._owned[number] & (self.start & (1 << owner)).any())
        kept, line, dropped = self._results(m, number, allocated, fresh_owner, taken)
        delivery = self.deliver[number]
        place = Array(self._places(m, number, allocated, taken))[delivery.slot]
        filled = Mux(delivery.valid, 1 << place, 0)[: table.size]
        fresh = Mux(allocated, taken.fresh, 0)
        with m.If(allocated & fresh_owner):
            m.d.sync += [owner.eq(self.issue.payload.warp), self._owned[number].eq(1)]
        with m.Elif(starts | self._left[number]):
            m.d.sync += self._owned[number].eq(int(self._private))
        valid, forgets = Signal(table.size, name=f"kept_{number}"), Signal(name=f"forgets_{number}")
        m.d.comb += [
            forgets.eq((allocated & fresh_owner) | starts | self._left[number]),
            valid.eq(Mux(forgets, 0, table.valid & ~dropped)),
        ]
        m.d.sync += [
            table.valid.eq(valid | fresh | Mux(kept, line, 0)),
            table.filled.eq(table.filled & ~fresh | filled | Mux(kept, line, 0)),
            table.locked.eq(Mux(gone, 0, table.locked) | Mux(allocated, taken.used, 0)),
        ]
        with m.If(allocated):
            m.d.sync += table.near.eq(table.near & ~taken.used | taken.near)
            m.d.sync += [
                row.eq(after) for row, after in zip(table.newer, taken.renewed(table.newer), strict=True)
            ]
        with m.Elif(kept):
            m.d.sync += table.near.eq(table.near | line)
            m.d.sync += [
                row.eq(after)
                for row, after in zip(table.newer, touched(list(table.newer), line), strict=True)
            ]
        for position, register in enumerate(table.registers):
            for slot in range(MAX_SOURCES):
                with m.If(
                    allocated
                    & taken.fresh[position]
                    & (taken.places[slot] == position)
                    & self.issue.payload.uop.source_valid[slot]
                ):
                    m.d.sync += register.eq(self.issue.payload.uop.sources[slot])
            with m.If(kept & line[position]):
                m.d.sync += register.eq(self._kept[number].register)
        self._values(m, number, place, encode(line), fresh | Mux(kept, line, 0))
        if self._probe:
            emit(m, self.events.deliver[number], delivery.valid, collector=number, slot=delivery.slot)
            used, before = (
                Signal(bits(table.size + 1), name=f"{name}_{number}") for name in ("used", "used_before")
            )
            m.d.comb += used.eq(sum(table.valid))
            m.d.sync += before.eq(used)
            emit(m, self.events.window[number], used != before, collector=number, entries=used)
        assert core.collectors == self._count

    def _places(self, m: Module, number: int, allocated: Value, taken: Taken) -> list[Value]:
        """Lines of the source slots of the unit's uop. They stand in a memory, where a testbench looks them
        up, too."""
        width = self.place_width(self._config)
        memory = m.submodules[f"places_{number}"] = Memory(shape=width * MAX_SOURCES, depth=2, init=[])
        write_at(m, memory, Const(0, 1), Cat(*taken.places), allocated)
        row = Signal(width * MAX_SOURCES, name=f"places_of_{number}")
        m.d.comb += row.eq(read_at(m, memory, Const(0, 1)))
        places = [row.word_select(slot, width) for slot in range(MAX_SOURCES)]
        self._slots = places
        return places

    def _values(self, m: Module, number: int, place: Value, line: Value, changed: Value) -> None:
        """Values of the lines, with port S and port D."""
        table, delivery, keep = self._tables[number], self.deliver[number], self._kept[number]
        values = m.submodules[f"slots_{number}"] = Memory(
            shape=self._config.value_width, depth=table.size, init=[]
        )
        write_at(m, values, place, delivery.value, delivery.valid)
        port = values.write_port(granularity=32)
        m.d.comb += [
            port.addr.eq(line),
            port.data.eq(keep.value),
            port.en.eq(keep.valid.replicate(self._config.lanes) & keep.mask),
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

    def _results(
        self, m: Module, number: int, allocated: Value, fresh_owner: Signal, taken: Taken
    ) -> tuple[Signal, Signal, Value]:
        """Choose among the owner's results of this cycle. Returns whether one is kept, in which line, and the
        lines that become invalid."""
        table, owner, keep = self._tables[number], self._owner[number], self._kept[number]
        mine, near = Signal(UNITS, name=f"mine_{number}"), Signal(UNITS, name=f"near_{number}")
        m.d.comb += mine.eq(
            Cat(offer.valid & self._owned[number] & (offer.payload.warp == owner) for offer in self.result)
        )
        m.d.comb += near.eq(
            mine & Cat(offer.payload.near for offer in self.result) if self.far_first else mine
        )
        port = soonest(m, near, self.first, f"port_{number}")
        replaced = Mux(allocated, taken.fresh, 0)
        forgets = (allocated & fresh_owner) | self._left[number]
        kept, line = Signal(name=f"keeps_{number}"), Signal(table.size, name=f"line_{number}")
        here = [
            found(m, table, offer.payload.register, f"{number}_{unit}")
            for unit, offer in enumerate(self.result)
        ]
        offered = record(self.result[0].payload.shape(), name=f"offered_{number}")
        m.d.comb += offered.as_value().eq(
            pick(port.one_hot, [offer.payload.as_value() for offer in self.result])
        )
        hit = Signal(table.size, name=f"hit_of_{number}")
        m.d.comb += hit.eq(pick(port.one_hot, here))
        lfsr = self._numbers[number]
        place = victim(m, table, table.valid, table.locked, lfsr.state, self.far_first, f"port_{number}")
        able = Signal(name=f"able_{number}")
        m.d.comb += able.eq(
            (port.one_hot & Cat(offer.taken for offer in self.result)).any()
            & ~allocated
            & ~self._left[number]
            & (hit.any() | (port.one_hot & Cat(offer.payload.mask.all() for offer in self.result)).any())
        )
        m.d.comb += [line.eq(Mux(hit.any(), hit, place)), kept.eq(able & line.any())]
        m.d.comb += lfsr.advance.eq(Mux(allocated, taken.misses, kept & ~hit.any()))
        m.d.comb += [
            keep.valid.eq(kept),
            keep.value.eq(pick(port.one_hot, [asked.value for asked in self.keep])),
        ]
        self._keeps.append(Mux(kept, port.one_hot, 0))
        m.d.comb += [
            getattr(keep, name).eq(getattr(offered, name)) for name in ("warp", "seq", "register", "mask")
        ]
        drops = []
        for unit, (offer, mask) in enumerate(zip(self.result, here, strict=True)):
            lost = Signal(table.size, name=f"lost_{number}_{unit}")
            blocked = port.one_hot[unit] & able
            m.d.comb += lost.eq(Mux(offer.taken & mine[unit] & ~blocked & ~forgets, mask & ~replaced, 0))
            drops.append(lost)
            self._lost.setdefault(unit, []).append((number, lost))
        if self._probe:
            emit(
                m,
                self.events.collector_write[number],
                kept,
                collector=number,
                warp=offered.warp,
                seq=offered.seq,
                register=offered.register,
            )
        return kept, line, reduce(or_, drops)

    def shown(self, unit: int, slot: int) -> tuple[Value, Value]:
        """Return when the collector of a unit's uop shows the operand of a source slot, and the operand."""
        return Const(1), Array(ports[slot] for ports in self.operands)[self.dispatch[unit].payload.collector]

    def dispatched(self, context: Any, collector: int) -> list[int]:
        """Return the operands of the uop that leaves a collector in this cycle, of all source slots, for a
        testbench in Amaranth's simulator."""
        return [context.get(operand) for operand in self.operands[collector]]

    # --- Events.

    def _events(self, m: Module, fresh_owner: Signal, taken: Taken) -> None:
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
            issue.valid & taken.hits.any(),
            collector=self.entry,
            warp=issue.payload.warp,
            seq=issue.payload.uop.seq,
            slots=taken.hits,
            count=sum(taken.hits),
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
