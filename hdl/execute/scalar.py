"""Scalar execution: how many lanes an execution unit has to clock for a uop."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Protocol

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.events import field_width
from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import Scalar, Unit
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.collector.metadata import kept_metadata_layout
from warpbank.hdl.interfaces import AlwaysInterface, issue_stream
from warpbank.hdl.layouts import UNITS, Collection
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.storage.metadata import metadata_layout
from warpbank.hdl.typed import Interface, Record, record

#: Units whose scalar uops are counted by themselves; all others are arithmetic.
_KINDS = {Unit.SFU: Scalar.SFU, Unit.LSU: Scalar.MEMORY}


class Dispatched(wiring.Signature):
    """Notice that a uop goes to its unit: its collector and its name.

    Seen from who sends it.

    Members
    -------
    valid : Out(1). A uop goes to its unit in this cycle.
    collector : Out(bits(collectors)). Collector that it leaves.
    warp : Out(bits(warps)). Warp of the uop.
    seq : Out(seq). Number of the uop in its warp.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "collector": Out(config.sub_core.collector_width),
                "warp": Out(config.sub_core.warp_width),
                "seq": Out(field_width("seq", config)),
            }
        )


class DispatchedInterface(Interface, Protocol):
    """Interface object of the signature `Dispatched`."""

    valid: Signal
    collector: Signal
    warp: Signal
    seq: Signal


class Arriving(wiring.Signature):
    """Encoding metadata of an operand that arrives in a collector.

    Seen from the hierarchy.

    Members
    -------
    valid : Out(1). An operand arrives.
    metadata : Out(metadata_layout). Its encoding metadata.
    """

    def __init__(self, parts: int) -> None:
        super().__init__({"valid": Out(1), "metadata": Out(metadata_layout(parts))})


class ArrivingInterface(Interface, Protocol):
    """Interface object of the signature `Arriving`."""

    valid: Signal
    metadata: Record


class Clocked(wiring.Signature):
    """Lanes that a unit clocks for a uop, and how the uop is executed.

    Seen from the decision.

    Members
    -------
    lanes : Out(bits(lanes + 1)). Lanes to clock.
    scalar : Out(Scalar). Kind of scalar execution.
    alone : Out(1). One lane executes the uop for all.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"lanes": Out(bits(config.lanes + 1)), "scalar": Out(bits(len(Scalar))), "alone": Out(1)}
        )


class ClockedInterface(Interface, Protocol):
    """Interface object of the signature `Clocked`."""

    lanes: Signal
    scalar: Signal
    alone: Signal


class ScalarLanes(wiring.Component):
    """Scalar execution control: decides from the operands' metadata who executes a uop. G-Scalar, sections
    4.1 to 4.3.

    One lane does if all operands are equal in the lanes of the uop. An operand whose last write was divergent
    is that only for the very lanes of that write. If each half is compressed by itself, a uop of all threads
    is executed by one lane of a half in which all operands are equal. One uop per collector. Without metadata
    nothing is known of any operand, and nothing is built.

    Parameters
    ----------
    config : the machine.
    parts : parts of a register that are compressed by themselves; 0: there is no metadata.
    executes : kinds of scalar execution that there are.
    probe : generate `events` (lanes).

    Members
    -------
    issue : In(issue_stream). Issue interface: a uop enters the collector `entry`.
    entry : In(bits(collectors)). Collector of the uop that issues.
    deliver : In(Arriving) per collector. Metadata of the operand that arrives.
    kept, offered : In, per collector that keeps values. What it tells of the operands of the uop it offers.
    dispatch : In(Dispatched) per unit. A uop goes to its unit in this cycle.
    clocked : Out(Clocked) per unit. Lanes for that uop; from registers but for the choice of the collector.

    Raises
    ------
    TypeError : no configuration.
    """

    issue: AlwaysInterface
    entry: Signal
    deliver: list[ArrivingInterface]
    kept: list[list[Record]]
    offered: list[Signal]
    dispatch: list[DispatchedInterface]
    clocked: list[ClockedInterface]
    events: EventsInterface

    def __init__(
        self,
        config: SmConfig,
        parts: int,
        executes: frozenset[Scalar] = frozenset(Scalar),
        probe: bool = False,
    ) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"ScalarLanes needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        self._parts = parts
        self._executes = executes
        self._probe = probe
        members: dict[str, wiring.Member] = {
            "issue": In(issue_stream(config)),
            **self._ports(),
            "dispatch": In(Dispatched(config)).array(UNITS),
            "clocked": Out(Clocked(config)).array(UNITS),
        }
        if probe and parts:
            members["events"] = Out(Events(config, {"lanes": UNITS}))
        super().__init__(members)

    def _ports(self) -> dict[str, wiring.Member]:
        """Ports through which operands are learned of."""
        core = self._config.sub_core
        return {
            "entry": In(core.collector_width),
            "deliver": In(Arriving(self._parts)).array(core.collectors),
            **self._kept_ports(0, core.collector_width),
        }

    def _kept_ports(self, collectors: int, number: int) -> dict[str, wiring.Member]:
        """Ports by which collectors tell of the operands that they keep."""
        core = self._config.sub_core
        layout = kept_metadata_layout(self._parts)
        return {
            "kept": In(layout).array(collectors if self._parts else 0, core.collector.slots),
            "offered": In(number).array(collectors),
        }

    def elaborate(self, platform: object) -> Module:
        return self._tell(Module()) if self._parts else Module()

    def _tell(self, m: Module) -> Module:
        """Tell the units who executes their uops."""
        decided = Array(self._collector(m, number) for number in range(self._config.sub_core.collectors))
        for unit, (dispatch, clocked) in enumerate(zip(self.dispatch, self.clocked, strict=True)):
            found = record(_decision(self._config), name=f"found_{unit}")
            whole = _KINDS.get(Unit(unit), Scalar.ALU)
            may = Mux(found.part, Scalar.DIVERGENT in self._executes, whole in self._executes)
            m.d.comb += [
                found.as_value().eq(decided[dispatch.collector]),
                clocked.alone.eq(found.alone & may),
                clocked.lanes.eq(Mux(clocked.alone, 1, found.lanes)),
            ]
            with m.If(clocked.alone):
                m.d.comb += clocked.scalar.eq(Mux(found.part, Scalar.DIVERGENT, whole))
            with m.Elif(found.half):
                m.d.comb += clocked.scalar.eq(Scalar.HALF)
            if self._probe:
                emit(
                    m,
                    self.events.lanes[unit],
                    dispatch.valid,
                    warp=dispatch.warp,
                    seq=dispatch.seq,
                    lanes=clocked.lanes,
                    scalar=clocked.scalar,
                )
        return m

    def _collector(self, m: Module, number: int) -> Signal:
        """State of the uop in a collector. Returns a `_decision`."""
        config = self._config
        uop, operand = self.issue.payload.uop, self.deliver[number]
        mask = Signal(config.lanes, name=f"mask_{number}")
        may, part, equal = (Signal(name=f"{name}_{number}") for name in ("may", "part", "equal"))
        halves = Signal(self._parts, name=f"halves_{number}")
        note = operand.metadata
        with m.If(self.issue.valid & (self.entry == number)):
            m.d.sync += [
                mask.eq(uop.mask),
                may.eq(uop.scalar & uop.mask.any()),
                part.eq(uop.part),
                equal.eq(1),
                halves.eq(-1),
            ]
        with m.Elif(operand.valid):
            mine = self._equal(note, mask)
            m.d.sync += [equal.eq(equal & mine), halves.eq(halves & self._scalar_parts(note))]

        return self._decide(m, number, mask, may, part, equal, halves)

    def _decide(
        self, m: Module, number: int, mask: Signal, may: Signal, part: Signal, equal: Signal, halves: Signal
    ) -> Signal:
        """Decide who executes the uop of a collector. Returns a `_decision`."""
        config = self._config
        size = config.lanes // self._parts
        decision = record(_decision(config), name=f"decision_{number}")
        counts, alone = [], []
        for index in range(self._parts):
            lanes = mask[index * size : (index + 1) * size]
            single = Signal(name=f"single_{number}_{index}")
            if self._parts > 1:
                m.d.comb += single.eq(may & ~part & halves[index] & lanes.any())
            alone.append(single)
            counts.append(Mux(single, 1, sum(lanes)))
        m.d.comb += [
            decision.alone.eq(may & equal),
            decision.part.eq(part),
            decision.half.eq(Cat(alone).any()),
            decision.lanes.eq(sum(counts)),
        ]
        return decision.as_value()

    def _equal(self, note: data.View, mask: Value) -> Value:
        """Test whether the lanes of `mask` of an operand are known to be equal."""
        return note.full & (~note.divergent | (note.base[0] == mask))

    def _scalar_parts(self, note: Record) -> Value:
        """Parts of an operand that are known to be equal in themselves, for a uop of all threads."""
        return Cat(enc.all() & ~note.divergent for enc in (note.enc[index] for index in range(self._parts)))


class KeptScalarLanes(ScalarLanes):
    """Scalar execution control for collectors that keep values and their metadata.

    An operand without metadata is not known to be equal. Decisions are those of `ScalarLanes`; they are made
    on the uop that each collector offers.

    Members
    -------
    issue : In(issue_stream). Issue interface: a uop enters collection as number `entry`.
    entry : In(bits(entries)). Number of the uop that issues among those that can be in collection.
    kept : In(kept_metadata_layout) per collector and slot. Metadata of the operands of the uop that the
        collector offers.
    offered : In(bits(entries)) per collector. Number of that uop among those that can be in collection.
    dispatch : In(Dispatched) per unit. A uop goes to its unit in this cycle.
    clocked : Out(Clocked) per unit. Lanes for that uop; from registers but for the choice of the collector.
    """

    def __init__(
        self,
        config: SmConfig,
        parts: int,
        entries: int,
        executes: frozenset[Scalar] = frozenset(Scalar),
        probe: bool = False,
    ) -> None:
        self._entries = entries
        super().__init__(config, parts, executes, probe)

    def _ports(self) -> dict[str, wiring.Member]:
        core, number = self._config.sub_core, bits(self._entries)
        return {
            "entry": In(number),
            "deliver": In(Arriving(self._parts)).array(core.collectors),
            **self._kept_ports(core.collectors, number),
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if not self._parts:
            return m
        config, issue = self._config, self.issue
        layout = data.StructLayout(
            {"mask": config.lanes, "may": 1, "part": 1, "sources": config.sub_core.collector.slots}
        )
        uops = m.submodules.uops = Memory(shape=layout, depth=self._entries, init=[])
        uop, row = issue.payload.uop, record(layout, name="issued")
        m.d.comb += [
            row.mask.eq(uop.mask),
            row.may.eq(uop.scalar & uop.mask.any()),
            row.part.eq(uop.part),
            row.sources.eq(uop.source_valid),
        ]
        write_at(m, uops, self.entry, row, issue.valid)
        self._uops = uops
        return self._tell(m)

    def _collector(self, m: Module, number: int) -> Signal:
        config = self._config
        row = record(self._uops.shape, name=f"offered_row_{number}")
        m.d.comb += row.as_value().eq(read_at(m, self._uops, self.offered[number]).as_value())
        mask = Signal(config.lanes, name=f"mask_{number}")
        may, part, equal = (Signal(name=f"{name}_{number}") for name in ("may", "part", "equal"))
        halves = Signal(self._parts, name=f"halves_{number}")
        m.d.comb += [mask.eq(row.mask), part.eq(row.part)]
        known, mine, scalar = [], [], []
        for slot, kept in enumerate(self.kept[number]):
            note, absent = kept.note, ~row.sources[slot]
            known.append(absent | kept.known)
            mine.append(absent | self._equal(note, mask))
            scalar.append(absent.replicate(self._parts) | self._scalar_parts(note))
        m.d.comb += [
            may.eq(row.may & Cat(known).all()),
            equal.eq(Cat(mine).all()),
            halves.eq(reduce(and_, scalar)),
        ]
        return self._decide(m, number, mask, may, part, equal, halves)


def scalar_lanes(
    config: SmConfig, parts: int, collection: Collection, executes: frozenset[Scalar], probe: bool
) -> ScalarLanes:
    """Make the unit that decides who executes, for collectors that keep values or do not."""
    if collection.keeps:
        return KeptScalarLanes(config, parts, collection.entries, executes, probe)
    return ScalarLanes(config, parts, executes, probe)


def _decision(config: SmConfig) -> data.StructLayout:
    """Decision about a uop: equal operands, divergence, one lane for some half, or the lanes to clock."""
    return data.StructLayout({"alone": 1, "part": 1, "half": 1, "lanes": bits(config.lanes + 1)})
