"""Scalar execution: how many lanes an execution unit has to clock for a uop."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.events import field_width
from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import Scalar, Unit
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.collector.metadata import kept_metadata_layout
from warpbank.hdl.interfaces import UNITS, Collection, issue_stream
from warpbank.hdl.probe import Events, emit
from warpbank.hdl.storage.metadata import metadata_layout

#: Units whose scalar uops are counted by themselves; all others are arithmetic.
_KINDS = {Unit.SFU: Scalar.SFU, Unit.LSU: Scalar.MEMORY}


class Dispatched(wiring.Signature):
    """A uop that goes to its unit (seen from who sends it): from which collector, and its name."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "collector": Out(config.sub_core.collector_width),
                "warp": Out(config.sub_core.warp_width),
                "seq": Out(field_width("seq", config)),
            }
        )


class Arriving(wiring.Signature):
    """What is known of an operand that arrives in a collector (seen from the hierarchy)."""

    def __init__(self, parts: int) -> None:
        super().__init__({"valid": Out(1), "metadata": Out(metadata_layout(parts))})


class Clocked(wiring.Signature):
    """What a unit is told with a uop (seen from the decision): lanes to clock, which kind of scalar execution
    it is, and whether one lane executes it for all."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"lanes": Out(bits(config.lanes + 1)), "scalar": Out(bits(len(Scalar))), "alone": Out(1)}
        )


class ScalarLanes(wiring.Component):
    """Decides from the notes of a uop's operands who executes it. G-Scalar, sections 4.1 to 4.3.

    One lane does if all operands are equal in the lanes of the uop. An operand whose last write was divergent
    is that only for the very lanes of that write. If each half is compressed by itself, a uop of all threads
    is executed by one lane of a half in which all operands are equal. One uop per collector. Without metadata
    nothing is known of any operand, and nothing is built.

    Parameters
    ----------
    config : the machine.
    parts : of a register, as they are compressed; 0: there are no metadata.
    executes : kinds of scalar execution that there are.
    probe : generate `events` (lanes).

    Members
    -------
    issue : In(issue_stream). A uop enters the collector `entry`.
    entry : In. Its number.
    deliver : In(Arriving) per collector. An operand arrives.
    kept, offered : In, per collector that keeps values. What it tells of the operands of the uop it offers.
    dispatch : In(Dispatched) per unit. A uop goes to its unit in this cycle.
    clocked : Out(Clocked) per unit. For that uop; from registers but for the choice of the collector.

    Raises
    ------
    TypeError : no configuration.
    """

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
        members: dict[str, Any] = {
            "issue": In(issue_stream(config)),
            **self._ports(),
            "dispatch": In(Dispatched(config)).array(UNITS),
            "clocked": Out(Clocked(config)).array(UNITS),
        }
        if probe and parts:
            members["events"] = Out(Events(config, {"lanes": UNITS}))
        super().__init__(members)

    def _ports(self) -> dict[str, Any]:
        """How it learns of operands."""
        core = self._config.sub_core
        return {
            "entry": In(core.collector_width),
            "deliver": In(Arriving(self._parts)).array(core.collectors),
            **self._kept_ports(0, core.collector_width),
        }

    def _kept_ports(self, collectors: int, number: int) -> dict[str, Any]:
        """What collectors tell of the operands that they keep."""
        core = self._config.sub_core
        layout = kept_metadata_layout(self._parts)
        return {
            "kept": In(layout).array(collectors if self._parts else 0, core.collector.slots),
            "offered": In(number).array(collectors),
        }

    def elaborate(self, platform: object) -> Module:
        return self._tell(Module()) if self._parts else Module()

    def _tell(self, m: Module) -> Module:
        """What the units are told."""
        decided = Array(self._collector(m, number) for number in range(self._config.sub_core.collectors))
        for unit, (dispatch, clocked) in enumerate(zip(self.dispatch, self.clocked, strict=True)):
            found = Signal(_decision(self._config), name=f"found_{unit}")
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
        """What is known of the uop in a collector. Returns a `_decision`."""
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
        """Who executes the uop of a collector. Returns a `_decision`."""
        config = self._config
        size = config.lanes // self._parts
        decision = Signal(_decision(config), name=f"decision_{number}")
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
        """Whether the lanes of `mask` of an operand are known to be equal."""
        return note.full & (~note.divergent | (note.base[0] == mask))

    def _scalar_parts(self, note: Any) -> Value:
        """Parts of an operand that are known to be equal in themselves, for a uop of all threads."""
        return Cat(enc.all() & ~note.divergent for enc in (note.enc[index] for index in range(self._parts)))


class KeptScalarLanes(ScalarLanes):
    """The same with collectors that keep values and the notes of those that came from the banks. An operand
    without a note is not known to be equal.

    Members
    -------
    as in `ScalarLanes`, and
    entry : In. Number of the uop that issues among those that can be in collection.
    kept : In(kept_layout) per collector and slot. What is known of the operands of the uop that it offers.
    offered : In, per collector. Number of that uop among those that can be in collection.
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

    def _ports(self) -> dict[str, Any]:
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
        uop, row = issue.payload.uop, Signal(layout, name="issued")
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
        row = Signal(self._uops.shape, name=f"offered_row_{number}")
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
    """Who decides, for collectors that keep values or do not."""
    if collection.keeps:
        return KeptScalarLanes(config, parts, collection.entries, executes, probe)
    return ScalarLanes(config, parts, executes, probe)


def _decision(config: SmConfig) -> data.StructLayout:
    """All operands are equal; the uop is divergent; one lane executes for all of some half; lanes to clock if
    not one for all."""
    return data.StructLayout({"alone": 1, "part": 1, "half": 1, "lanes": bits(config.lanes + 1)})
