"""Caching collector units (CCU) of a sub-core: which of them a uop gets, and which uop is dispatched."""

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
from warpbank.hdl.collector.cache_table import Lines, found
from warpbank.hdl.collector.caching_unit import CachingUnit, Results, Taken
from warpbank.hdl.collector.metadata import metadata_ports
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
        self.own_unit = own_unit or core.collector.allocation == "per_warp"
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
        core, count = self._config.sub_core, self._count
        self.units = [CachingUnit(self._config, number, self.far_first) for number in range(count)]
        self._busy = Signal(count)  # units with a uop
        for number, unit in enumerate(self.units):
            m.submodules[f"random_{number}"] = unit.random
        m.d.comb += self.may_slide.eq((1 << core.warps) - 1)
        fresh_owner, choice = self._choose(m)
        allocated = Signal(count, name="allocated")
        m.d.comb += allocated.eq(Mux(self.issue.valid, choice, 0))
        taken = self._seek(m, fresh_owner)
        gone = self._dispatch(m, allocated)
        results = Results(self.result, self.first, self.keep)
        for number, unit in enumerate(self.units):
            unit.end(
                m,
                allocated[number],
                taken,
                gone[number],
                self.start,
                self.deliver[number],
                results,
                self._note_parts,
            )
            self._show(m, number, unit)
        asks = reduce(or_, (unit.asks for unit in self.units))
        for kind, (asked, offer) in enumerate(zip(self.keep, self.result, strict=True)):
            m.d.comb += asked.valid.eq(asks[kind])
            m.d.comb += [
                getattr(asked, name).eq(getattr(offer.payload, name))
                for name in ("warp", "seq", "register", "mask")
            ]
        m.d.sync += self._busy.eq(self._busy & ~gone | allocated)
        if self._probe:
            self._events(m, fresh_owner)
        return m

    def _show(self, m: Module, number: int, unit: CachingUnit) -> None:
        """Connect the ports with the operands of a unit's uop."""
        m.d.comb += self.offered[number].eq(number)
        m.d.comb += [port.eq(value) for port, value in zip(self.operands[number], unit.operands, strict=True)]
        if self._note_parts:
            m.d.comb += [
                port.as_value().eq(note) for port, note in zip(self.kept[number], unit.notes, strict=True)
            ]

    # --- Which unit takes the uop that issues.

    def _choose(self, m: Module) -> tuple[Signal, Value]:
        """Choose the unit. Returns whether it changes hands, and its mask."""
        core, count = self._config.sub_core, self._count
        warp = self.issue.payload.warp
        free, far, holders, mine = Signal(count), Signal(count), Signal(core.warps), Signal(core.warps)
        has, fresh_owner = Signal(count), Signal()
        self._looks = has  # unit in whose table sources are looked up: any other one is empty for them
        owners = [
            decode(m, unit.owner, unit.owned, core.warps, f"owners_{number}")
            for number, unit in enumerate(self.units)
        ]
        m.d.comb += [
            free.eq(~self._busy),
            far.eq(Cat(~(unit.table.valid & unit.table.near).any() for unit in self.units)),
            holders.eq(reduce(or_, owners)),
            mine.eq(reduce(or_, (Mux(free[number], mask, 0) for number, mask in enumerate(owners)))),
            self.holds.eq(
                reduce(
                    or_,
                    (
                        Mux(unit.table.valid.any(), mask, 0)
                        for unit, mask in zip(self.units, owners, strict=True)
                    ),
                )
            ),
            has.eq(Cat((unit.owner == warp) & unit.owned for unit in self.units)),
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
            ]
            self._leave(m, Mux(given, has, 0))
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

    def _leave(self, m: Module, left: Value) -> None:
        """Take the values from the unit of `left`, whose owner goes to another one."""
        m.d.comb += [unit.left.eq(left[number]) for number, unit in enumerate(self.units)]

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

    def _seek(self, m: Module, fresh_owner: Value) -> Taken:
        """Look the uop's sources up in its warp's table, as a result leaves it that takes a line in this
        cycle, and request what is not there. A unit that changes hands is empty for them, so that nothing
        waits for the choice."""
        issue, uop = self.issue.payload, self.issue.payload.uop
        lines = Lines(self._config.sub_core.collector.cache_lines, "sought")
        for unit in self.units:
            unit.after_result(m)
        views = [unit.view for unit in self.units]
        m.d.comb += lines.valid.eq(pick(self._looks, [view.valid for view in views]))
        m.d.comb += [
            register.eq(pick(self._looks, [view.registers[line] for view in views]))
            for line, register in enumerate(lines.registers)
        ]
        self._hits = Signal(MAX_SOURCES, name="hits")
        sought = [Signal(lines.size, name=f"hit_{slot}") for slot in range(MAX_SOURCES)]
        for slot, mask in enumerate(sought):
            same = found(m, lines, uop.sources[slot], f"sought_{slot}")
            m.d.comb += mask.eq(Mux(uop.source_valid[slot] & ~fresh_owner, same, 0))
        missed = uop.source_valid & ~self._hits
        m.d.comb += [
            self._hits.eq(Cat(mask.any() for mask in sought)),
            self.read.valid.eq(self.issue.valid & missed.any()),
            self.read.payload.collector.eq(self.entry),
            self.read.payload.warp.eq(issue.warp),
            self.read.payload.sources.eq(uop.sources),
            self.read.payload.source_valid.eq(missed),
            self.read.payload.dead.eq(uop.dead),
            self.read.payload.near.eq(uop.near),
        ]
        return Taken(issue, fresh_owner, sought, missed)

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
        m.d.comb += complete.eq(self._busy & ~Cat(unit.awaits.any() for unit in self.units))
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
        used = []
        for number, unit in enumerate(self.units):
            delivery, arrived = self.deliver[number], unit.arrived
            emit(m, events.deliver[number], delivery.valid, collector=number, slot=delivery.slot)
            emit(
                m,
                events.collector_write[number],
                unit.kept,
                collector=number,
                warp=arrived.warp,
                seq=arrived.seq,
                register=arrived.register,
            )
            count, before = (
                Signal(bits(unit.table.size + 1), name=f"{name}_{number}") for name in ("used", "used_before")
            )
            m.d.comb += count.eq(sum(unit.table.valid))
            m.d.sync += before.eq(count)
            emit(m, events.window[number], count != before, collector=number, entries=count)
            used.append(count)
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
        lefts = Cat(unit.left for unit in self.units)
        taker, left = Array(used)[self.entry], Array(used)[encode(lefts)]
        emit(
            m, events.flush[0], issue.valid & fresh_owner & (taker != 0), collector=self.entry, entries=taker
        )
        if not self.own_unit:
            valid = lefts.any() & (left != 0)
            emit(m, events.flush[1], valid, collector=encode(lefts), entries=left)
        for kind, offer in enumerate(self.result):
            owners = Cat(unit.lost[kind].any() for unit in self.units)
            emit(
                m,
                events.invalidate[kind],
                owners.any(),
                collector=encode(owners),
                register=offer.payload.register,
            )
        emit(m, events.occupied[0], self._busy.any(), collectors=sum(self._busy))
