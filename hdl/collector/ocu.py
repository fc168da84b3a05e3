"""Operand collector units, which hold an issued uop until its operands have come from the banks."""

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
from warpbank.hdl.collector.metadata import metadata_ports
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    Delivery,
    DeliveryInterface,
    ReadDone,
    ReadDoneInterface,
    ResultOffer,
    WriteBack,
    dispatch_stream,
    evicted_stream,
    issue_stream,
    read_stream,
)
from warpbank.hdl.layouts import UNITS, Collection, dispatch_layout
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.round_robin import decode, first_from
from warpbank.hdl.storage.metadata import metadata_layout
from warpbank.hdl.typed import Record, record


class Ocu(wiring.Component):
    """Operand collector units of a sub-core. Malekeh, section II; BOW, section II.

    A free collector is chosen by rotating priority (the paper: at random). All reads of a uop are requested
    when it is allocated, in slot order. A collector has a single port: one operand per cycle (the arbiter
    sees to it). Its values stand in a memory of its own, `slots_<collector>`, a row per source slot; only
    numbers of collectors and slots are routed.

    Parameters
    ----------
    config : the machine: collectors, slots, allocation.
    probe : generate `events` (allocate, deliver, occupied).
    parts : of a register, if the storage compresses them. An OCU keeps no metadata of operands.
    hinted : requests of operands carry the uop's hints about them.

    Members
    -------
    issue : In(issue_stream). Issue interface: the uop to take, offered only if `may_issue` has its warp.
    may_issue : Out(warps). Warps whose next uop would find a collector in this cycle; from registers.
    may_slide : Out(warps). Warps that may issue a uop that needs no collector: all.
    slide : In(1). The warp of `issue.payload` issues a uop that needs no collector. An OCU does not look at
        it.
    start : In(warps). New warps start. An OCU does not look at it.
    holds : Out(warps). Warps that have cached values here: none, an OCU forgets everything.
    entry : Out(bits(entries)). Number, among the uops in collection, of the one that issues: its collector.
    read : Out(read_stream). Operand read interface: the uop's operands are requested.
    deliver : In(Delivery) per collector. Operand read interface: an operand arrives.
    read_done : Out(ReadDone) per uop in collection. Scoreboard release interface: operands were read.
    dispatch : Out(dispatch_stream) per unit. Dispatch interface: a complete uop, by rotating priority;
        `valid` and `payload` are from registers.
    refused : Out(1). A unit refused a uop in this cycle.
    first, ready, idle, sthld : In. They do not matter to an OCU: it keeps no results, and lets no uop wait
        for a better unit.
    result : In(ResultOffer), of no unit. Results are not kept.
    keep, evicted, kept, offered : Out, none. There is nothing to keep, evict or tell of.
    operands : Out(32 per lane) per collector and slot. What the slots hold; those of the uop are right when
        it is dispatched.
    events : Out(Events), if `probe`. Allocations, deliveries and occupied collectors.

    Latency: allocated in t, requests at the banks in t + 1, an operand granted in g is delivered in g + 1 and
    its uop can be dispatched in g + 2; a uop without operands in t + 1. A collector dispatched in t can be
    allocated again in t + 1.
    """

    issue: AlwaysInterface
    may_issue: Signal
    may_slide: Signal
    slide: Signal
    start: Signal
    holds: Signal
    entry: Signal
    read: AlwaysInterface
    deliver: list[DeliveryInterface]
    read_done: list[ReadDoneInterface]
    dispatch: list[stream.Interface]
    refused: Signal
    operands: list[list[Signal]]
    first: Signal
    ready: Signal
    idle: Signal
    sthld: Signal
    evicted: list[stream.Interface]
    offered: list[Signal]
    kept: list[list[Record]]
    events: EventsInterface

    def __init__(self, config: SmConfig, probe: bool = False, parts: int = 0, hinted: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Ocu needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        self._probe = probe
        core = config.sub_core
        members = {
            "issue": In(issue_stream(config)),
            "may_issue": Out(core.warps),
            "may_slide": Out(core.warps),
            "slide": In(1),
            "start": In(core.warps),
            "holds": Out(core.warps),
            "entry": Out(core.collector_width),
            "read": Out(read_stream(config, hinted=hinted)),
            "deliver": In(Delivery(config, metadata=metadata_layout(parts))).array(core.collectors),
            "read_done": Out(ReadDone(config)).array(core.collectors),
            "dispatch": Out(dispatch_stream(config)).array(UNITS),
            "refused": Out(1),
            "operands": Out(config.value_width).array(core.collectors, core.collector.slots),
            "first": In(bits(UNITS)),
            "ready": In(core.warps),
            "idle": In(1),
            "sthld": In(0),
            "result": In(ResultOffer(config)).array(0),
            "keep": Out(WriteBack(config)).array(0),
            "evicted": Out(evicted_stream(config)).array(0),
            **metadata_ports(config, 0),
            "offered": Out(core.collector_width).array(0),
        }
        if probe:
            members["events"] = Out(Events(config, self._reported()))
        super().__init__(members)

    @classmethod
    def collection(cls, config: SmConfig) -> Collection:
        """Sizes: no results are kept, nothing is evicted, a collector may serve any warp, and a uop requests
        all its sources."""
        return Collection(cls.entries(config), cls.tags(config), whole=True)

    @staticmethod
    def tags(config: SmConfig) -> int:
        """Tags of one collector, the uops that it can have in collection at a time: one."""
        return 1

    @staticmethod
    def entries(config: SmConfig) -> int:
        """Uops that can be in collection at a time: one per collector."""
        return config.sub_core.collectors

    def _reported(self) -> dict[str, int]:
        """Events that can happen, and how many of each in a cycle."""
        return {"allocate": 1, "deliver": self._config.sub_core.collectors, "occupied": 1}

    def _to_read(self, m: Module) -> Value:
        """Mask of the sources of the uop that issues that have to be read from the banks: all."""
        return self.issue.payload.uop.source_valid

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = self._config.sub_core
        count = core.collectors
        uop = self.issue.payload.uop

        self._wanted = Signal(core.collector.slots, name="wanted")
        m.d.comb += self._wanted.eq(self._to_read(m))
        m.d.comb += self.may_slide.eq((1 << core.warps) - 1)
        free = Signal(count, init=(1 << count) - 1)
        allocated = self._allocate(m, free)
        ready = Signal(count)
        completed = Signal(count)
        m.d.comb += completed.eq(Cat(self._collect(m, number, allocated[number]) for number in range(count)))

        dispatch = data.StructLayout(
            {name: field.shape for name, field in dispatch_layout(self._config) if name != "collector"}
        )
        uops = m.submodules.uops = Memory(shape=dispatch, depth=count, init=[])
        write_at(m, uops, self.entry, self._parts(m, dispatch), self.issue.valid)

        taken: list[Value] = []
        refused: list[Value] = []
        for unit, port in enumerate(self.dispatch):
            waits_for = Signal(count, name=f"waits_for_{Unit(unit).name.lower()}")
            with m.If(self.issue.valid):
                m.d.sync += waits_for.eq(waits_for & ~allocated | Mux(uop.unit == unit, allocated, 0))
            pointer = Signal(core.collector_width, name=f"pointer_{unit}")
            choice = first_from(m, ready & waits_for, pointer, f"unit_{unit}")
            found = read_at(m, uops, choice.index)
            m.d.comb += [port.valid.eq(choice.any), port.payload.collector.eq(choice.index)]
            m.d.comb += [getattr(port.payload, name).eq(getattr(found, name)) for name, _ in dispatch]
            goes = port.valid & port.ready
            with m.If(goes):
                m.d.sync += pointer.eq(choice.after)
            taken.append(Mux(goes, choice.one_hot, 0))
            refused.append(port.valid & ~port.ready)
        gone = Signal(count)
        m.d.comb += gone.eq(reduce(or_, taken))
        m.d.comb += self.refused.eq(reduce(or_, refused))
        m.d.sync += ready.eq(ready & ~gone | completed)
        m.d.sync += free.eq(free & ~allocated | gone)
        if self._probe:
            self._events(m, free)
        return m

    def _allocate(self, m: Module, free: Signal) -> Signal:
        """Choose a collector for the uop that issues and request its operands. Returns its mask, 0 if none
        issues."""
        core = self._config.sub_core
        issue = self.issue.payload
        if core.collector.allocation == "per_warp":
            m.d.comb += [self.may_issue.eq(free), self.entry.eq(issue.warp)]
        else:
            m.d.comb += self.may_issue.eq(free.any().replicate(core.warps))
            pointer = Signal(core.collector_width)
            choice = first_from(m, free, pointer, "free")
            m.d.comb += self.entry.eq(choice.index)
            with m.If(self.issue.valid):
                m.d.sync += pointer.eq(choice.after)
        m.d.comb += [
            self.read.valid.eq(self.issue.valid),
            self.read.payload.collector.eq(self.entry),
            self.read.payload.warp.eq(issue.warp),
            self.read.payload.sources.eq(issue.uop.sources),
            self.read.payload.source_valid.eq(self._wanted),
            self.read.payload.dead.eq(issue.uop.dead),
            self.read.payload.near.eq(issue.uop.near),
        ]
        return decode(m, self.entry, self.issue.valid, core.collectors, "allocated")

    def _collect(self, m: Module, number: int, allocated: Value) -> Value:
        """Update one collector's slots. Returns whether its uop is complete from the next cycle on and was
        not before."""
        core = self._config.sub_core
        delivery, done = self.deliver[number], self.read_done[number]
        missing = Signal(core.collector.slots, name=f"missing_{number}")
        left = Signal.like(missing, name=f"left_{number}")
        m.d.comb += left.eq(missing & ~(1 << delivery.slot))
        with m.If(allocated):
            m.d.sync += missing.eq(self._wanted)
        with m.Elif(delivery.valid):
            m.d.sync += missing.eq(left)
        m.d.comb += done.slots.eq(delivery.valid << delivery.slot)

        slots = m.submodules[f"slots_{number}"] = Memory(
            shape=self._config.value_width, depth=core.collector.slots, init=[]
        )
        write_at(m, slots, delivery.slot, delivery.value, delivery.valid)
        for slot, operand in enumerate(self.operands[number]):
            m.d.comb += operand.eq(read_at(m, slots, Const(slot, core.slot_width)))
        return Mux(allocated, ~self._wanted.any(), delivery.valid & ~left.any())

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

    def _events(self, m: Module, free: Signal) -> None:
        events, issue = self.events, self.issue
        emit(
            m,
            events.allocate[0],
            issue.valid,
            collector=self.entry,
            warp=issue.payload.warp,
            seq=issue.payload.uop.seq,
        )
        for number, delivery in enumerate(self.deliver):
            emit(m, events.deliver[number], delivery.valid, collector=number, slot=delivery.slot)
        emit(m, events.occupied[0], ~free.all(), collectors=sum(~bit for bit in free))

    def shown(self, unit: int, slot: int) -> tuple[Value, Value]:
        """Return when the collector of a unit's uop shows the operand of a source slot, and the operand."""
        return Const(1), Array(ports[slot] for ports in self.operands)[self.dispatch[unit].payload.collector]

    def dispatched(self, context: Any, collector: int) -> list[int]:
        """Return the operands of the uop that leaves a collector in this cycle, of all source slots, for a
        testbench in Amaranth's simulator."""
        return [context.get(operand) for operand in self.operands[collector]]
