"""Bypassing operand collectors: a warp's last values stay where its next uops collect their operands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import BOC_READS, SmConfig, bits
from warpbank.arch.uop import MAX_SOURCES, MOVE
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.collector.boc_dispatch import STEPS, Uops, dispatch
from warpbank.hdl.collector.boc_events import BocEvents
from warpbank.hdl.collector.boc_results import Bus, claim, look_ahead, write_back
from warpbank.hdl.collector.boc_values import Late, Values
from warpbank.hdl.collector.metadata import keep_metadata, metadata_ports
from warpbank.hdl.collector.window import Entries, Inserter, counted
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    Delivery,
    DeliveryInterface,
    NextResult,
    NextResultInterface,
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
from warpbank.hdl.layouts import UNITS, Collection, uop_layout
from warpbank.hdl.probe import Events
from warpbank.hdl.round_robin import after, decode, encode, pick, soonest
from warpbank.hdl.storage.metadata import metadata_layout
from warpbank.hdl.typed import Record, record

#: What of a uop is looked at when it is inserted.
INSERTED = ("sources", "source_valid", "destination", "count", "write_back", "seq")
#: Of that, what the inserter has ports for; and what of a collector's state.
_UOP, _STATE = ("source_valid", "count", "write_back", "full"), ("valid", "dirty", "keep", "passed")


class Boc(BocEvents, wiring.Component):
    """Bypassing operand collectors of a sub-core, one per warp. BOW, section IV.

    A collector holds up to `window` uops in collection, in program order; the next one is taken when the uop
    `window` before it has been dispatched. An issued uop is inserted: its sources are looked for in the
    window, those found cost no bank read, entries are taken for the others and for its results. One uop a
    cycle is inserted: the one that issues, or, in turn, one that waits because its collector's entries were
    short. While a uop waits the oldest entries are squeezed out, and its warp issues nothing. Each collector
    has an `Inserter`, the forwarding logic: all of them look, and one is chosen meanwhile.

    Each unit chooses a uop one cycle ahead: by rotating priority a collector that will have a complete uop
    for it, and of that the oldest. A unit that is free reads the operands of its uop, `BOC_READS` in a cycle,
    and dispatches it with the last of them. A collector reads for one unit in a cycle: for the bus first, and
    then for the last of the units in the order of `Unit`. Uops of one warp for different units may leave in
    any order; its memory uops leave in program order.

    One result a cycle goes to the collectors: of several that of the first unit in rotating order. It goes
    into the entry that was kept for it, and with write-back nowhere else; if that entry has left, it goes to
    the banks. It waits until no operand arrives at its collector; while `BOC_RESULTS` wait no other is taken.
    Dirty values that leave are written to the banks over one bus of the sub-core.

    Parameters
    ----------
    config : the machine: window, entries; one collector per warp.
    parts : parts of a register that are compressed by themselves; metadata is kept with values if not 0.
    hinted : requests of operands carry the uop's hints about them.
    write_through : results go to the banks as well, and nothing is evicted. BOW, section IV-A.
    probe : generate `events` (allocate, forward, reserve, discard, squeeze, insert_wait, deliver,
        collector_write, port_wait, window, occupied).

    Members
    -------
    issue : In(issue_stream). Issue interface: the uop to take, offered only if `may_issue` has its warp.
    heads : In(uop_layout) per warp. The uop that issues, if it is of this warp: its forwarding logic does not
        wait for which warp that is.
    may_issue : Out(warps). Warps whose next uop would be taken in this cycle; from registers.
    may_slide : Out(warps). Warps that may issue a uop that needs no collector: those none of whose uops
        waits; from registers.
    slide : In(1). The warp of `issue.payload` issues a uop that needs no collector: its window moves.
    start : In(warps). New warps start: what their slots kept is dropped.
    holds : Out(warps). Warps that have values here.
    entry : Out(bits(entries)). Number, among the uops in collection, of the one that issues: warp x window +
        its tag.
    read : Out(read_stream). Operand read interface: operands that are not in the window are requested.
    deliver : In(Delivery) per collector. Operand read interface: an operand arrives.
    read_done : Out(ReadDone) per uop in collection. Scoreboard release interface: the sources of a uop that
        is dispatched.
    dispatch : Out(dispatch_stream) per unit. Dispatch interface: the uop that the unit chose, with the last
        of its operands, unless the collector reads for another; from registers and the other units' `ready`.
    refused : Out(1). A unit refused a uop in this cycle.
    result : In(ResultOffer) per unit. Result interface: results as they are offered and written.
    upcoming : In(NextResult) per unit. Register that `result` offers next: its entry is found a cycle ahead.
        A uop's results are offered in the second cycle after its insertion at the earliest.
    first : In(bits(units)). Unit whose offer goes first, then the next ones in order.
    keep : Out(WriteBack) per unit. Question to the testbench: the value of a result that is written into a
        collector.
    evicted : Out(evicted_stream), one with write-back. Result interface: a dirty value that leaves; from
        registers.
    ready, idle, sthld : In. They do not matter to a BOC.
    operands : Out(32 per lane) per collector and read port. Operands of the uop for which the collector
        reads: port p shows that of source slot `BOC_READS` x `step` + p. The unit keeps those of the reads
        before the last.
    reads : Out(1) per collector. It reads operands for a unit in this cycle.
    serves : Out(1) per unit. The collector of its uop reads for it in this cycle.
    step : Out(bits(reads)) per collector. Number of that read; the uop leaves with its last one.
    offered : Out(bits(entries)) per collector. Number of that uop among those in collection.
    kept : Out(kept_metadata_layout) per collector and slot, if `parts`. Metadata of all its operands.
    events : Out(Events), if `probe`. Events of the collectors.

    Latency: inserted in t (the cycle of issue, if nothing waits), a uop that finds all it needs can be
    dispatched in t + 1, one cycle later for every `BOC_READS` sources more than these, and one later if its
    unit had another uop to choose. Requests reach the banks in t + 1, an operand granted in g is delivered in
    g + 1, and its uop can be dispatched in g + 2. A result taken in t is found from t + 1 on, and its entry
    filled from t + 2 on, if no operand arrives at its collector in t + 1.
    """

    issue: AlwaysInterface
    heads: list[Record]
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
    result: list[ResultOfferInterface]
    upcoming: list[NextResultInterface]
    first: Signal
    keep: list[WriteBackInterface]
    operands: list[list[Signal]]
    reads: list[Signal]
    serves: list[Signal]
    step: list[Signal]
    offered: list[Signal]
    evicted: list[stream.Interface]
    ready: Signal
    idle: Signal
    sthld: Signal
    kept: list[list[Record]]

    def __init__(
        self,
        config: SmConfig,
        probe: bool = False,
        parts: int = 0,
        hinted: bool = False,
        write_through: bool = False,
    ) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(
                f"{type(self).__name__} needs the machine's configuration, an SmConfig, not {config!r}."
            )
        core = config.sub_core
        if core.collectors != core.warps:
            raise ValueError(
                f"{type(self).__name__} needs a collector per warp: {core.warps}, not {core.collectors}."
            )
        self._config = config
        self._probe = probe
        self._note_parts, self._evicts = parts, not write_through
        self._inserted_fields = (*INSERTED, *(("dead", "near") if hinted else ()))
        self._warps, self._window = core.warps, core.collector.window
        self._entries = core.collector.window_entries
        members = {
            "issue": In(issue_stream(config)),
            "heads": In(uop_layout(config)).array(core.warps),
            "may_issue": Out(core.warps),
            "may_slide": Out(core.warps),
            "slide": In(1),
            "start": In(core.warps),
            "holds": Out(core.warps),
            "entry": Out(bits(self.entries(config))),
            "read": Out(read_stream(config, self._window, hinted)),
            "deliver": In(Delivery(config, self._window, metadata_layout(parts))).array(core.warps),
            "read_done": Out(ReadDone(config)).array(self.entries(config)),
            "dispatch": Out(dispatch_stream(config)).array(UNITS),
            "refused": Out(1),
            "result": In(ResultOffer(config)).array(UNITS),
            "upcoming": In(NextResult(config)).array(UNITS),
            "first": In(bits(UNITS + self._evicts)),
            "ready": In(core.warps),
            "idle": In(1),
            "sthld": In(0),
            "evicted": Out(evicted_stream(config)).array(int(self._evicts)),
            "keep": Out(WriteBack(config)).array(UNITS),
            "operands": Out(config.value_width).array(core.warps, BOC_READS),
            "reads": Out(1).array(core.warps),
            "serves": Out(1).array(UNITS),
            "step": Out(range(STEPS)).array(core.warps),
            "offered": Out(bits(self.entries(config))).array(core.warps),
            **metadata_ports(config, parts),
        }
        if probe:
            members["events"] = Out(Events(config, self._instances()))
        super().__init__(members)

    @classmethod
    def collection(cls, config: SmConfig, write_through: bool = False) -> Collection:
        """Results are kept, dirty values are evicted, and every warp has a collector of its own."""
        return Collection(
            cls.entries(config),
            cls.tags(config),
            share=config.sub_core.collector.window,
            keeps=UNITS,
            evicts=int(not write_through),
        )

    @staticmethod
    def tags(config: SmConfig) -> int:
        """Tags of one collector, the uops that it can have in collection at a time: the window."""
        return config.sub_core.collector.window

    @staticmethod
    def entries(config: SmConfig) -> int:
        """Uops that can be in collection at a time."""
        return config.sub_core.warps * config.sub_core.collector.window

    @staticmethod
    def place_width(config: SmConfig) -> int:
        """Bits of an entry's number."""
        return bits(config.sub_core.collector.window_entries)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps, window, entries = range(self._warps), self._window, self._entries
        self._state = [Entries(entries, window, str(warp)) for warp in warps]
        # `complete`: inserted, and its operands are there; a register of its own, so that dispatch need not
        # find it out.
        self._busy, self._inserted, self._complete = (
            [Signal(window, name=f"{name}_{warp}") for warp in warps]
            for name in ("busy", "inserted", "complete")
        )
        self._uses = [
            [Signal(entries, name=f"uses_{warp}_{tag}", reset_less=True) for tag in range(window)]
            for warp in warps
        ]
        self._kinds = [
            [Signal(UNITS, name=f"kind_{warp}_{tag}", reset_less=True) for tag in range(window)]
            for warp in warps
        ]  # units of the uops, one bit of each
        self._tag = [Signal(range(window), name=f"tag_{warp}") for warp in warps]  # of the warp's next uop
        self._from_tag = [
            Signal(window, init=-1, name=f"from_tag_{warp}") for warp in warps
        ]  # that one and those above it
        self._waits = Signal(len(warps))  # warps whose youngest uop is not inserted
        self._pinned = [
            Signal(entries, name=f"pinned_{warp}") for warp in warps
        ]  # entries that inserted uops read
        self._lasts = [
            [Signal(STEPS, name=f"last_{warp}_{tag}", reset_less=True) for tag in range(window)]
            for warp in warps
        ]  # number of the last read of a uop's operands, one bit of each
        self._taken, self._completes = (
            [Signal(window, name=f"{name}_{warp}") for warp in warps] for name in ("taken", "completes")
        )  # uops that a unit has chosen; complete at the end of the cycle, insertion in it left out
        self._named = [
            [Signal(entries, name=f"named_{warp}_{unit}", reset_less=True) for unit in range(UNITS)]
            for warp in warps
        ]  # entries for the register that a unit offers
        # Entries that expect a result: in registers where the machine is made for its clock, with a stage
        # between choice and issue.
        staged = self._config.sub_core.front_end.issue_stages > 0
        self._expecting = [Signal(entries, name=f"expecting_{warp}") for warp in warps] if staged else []
        self._wrote: list[Signal] = [Signal(entries, name=f"wrote_{warp}") for warp in warps]
        self._values = [Values(m, self._config, entries, str(warp)) for warp in warps]
        self._rows: list[Signal] = []  # places of the operands of the uop that leaves
        self._late = Late(m, self._config, len(warps), entries)
        self._choose(m)
        self._claim = claim(
            m,
            self._config,
            self._state,
            self._named,
            self._pinned,
            self.result,
            self.first,
            self.keep,
            self._evicts,
            self._late.full,
            self._expecting,
        )
        self._late.take(m, self._claim.entries, self._claim.write, self.deliver)
        self._written = [self._late.written(m, warp) for warp in warps]
        self._deliver(m)
        self._insert(m)
        self._bus: Bus | None = None
        for evicted in self.evicted:
            shown = [values.values[0] for values in self._values]
            self._bus = write_back(m, evicted, self._state, self._pinned, shown)
            self._wrote = self._bus.wrote
        allocated = [
            decode(m, self._tag[warp], self._issues[warp], window, f"allocated_{warp}") for warp in warps
        ]
        uops = Uops(
            self._busy,
            self._complete,
            self._completes,
            self._taken,
            self._kinds,
            self._lasts,
            allocated,
            self._tag,
            self._from_tag,
        )
        rows = [
            [read_at(m, places, Const(tag, bits(window))) for tag in range(window)] for places in self._places
        ]
        blocked = Const(0, len(warps)) if self._bus is None else self._bus.reads
        self._units, self._goes = dispatch(m, self._config, self, uops, rows, blocked)
        for warp in warps:
            self._collector(m, warp, allocated[warp], self._goes[warp].gone, rows[warp])
        if self._probe:
            self._events(m)
        return m

    # --- Issue, and which uop is inserted.

    def _choose(self, m: Module) -> None:
        """Take the uop that issues; choose the one to be inserted: it, or one that waits.

        A warp with one that waits issues none: each collector knows its uop before any is chosen.
        """
        warps, issue = range(self._warps), self.issue.payload
        free, at, self._issues = (Signal(len(warps), name=name) for name in ("free", "at", "issues"))
        tag = Signal.like(self._tag[0], name="tag_of_issue")
        m.d.comb += [
            free.eq(Cat(~busy.bit_select(tag, 1) for busy, tag in zip(self._busy, self._tag, strict=True))),
            self.may_issue.eq(free & ~self._waits),
            self.may_slide.eq(~self._waits),
            at.eq(Cat(issue.warp == warp for warp in warps)),
            self._issues.eq(Mux(self.issue.valid, at, 0)),
            tag.eq(pick(at, self._tag)),
            self.entry.eq(issue.warp * self._window + tag),
        ]
        layout = uop_layout(self._config)
        kept = data.StructLayout(
            {"tag": len(tag), "full": 1, **{name: layout[name].shape for name in self._inserted_fields}}
        )
        waiting = m.submodules.waiting = Memory(shape=kept, depth=len(warps), init=[])
        self._own = [record(kept, name=f"own_{warp}") for warp in warps]
        for own, uop, own_tag in zip(self._own, self.heads, self._tag, strict=True):
            m.d.comb += [getattr(own, name).eq(getattr(uop, name)) for name in self._inserted_fields]
            m.d.comb += [own.tag.eq(own_tag), own.full.eq(uop.mask.all())]
        issued = pick(at, [own.as_value() for own in self._own])
        write_at(m, waiting, issue.warp, issued, self.issue.valid)
        self._row = [read_at(m, waiting, warp) for warp in warps]
        self._uop = [record(kept, name=f"uop_{warp}") for warp in warps]
        m.d.comb += [
            uop.eq(Mux(self._waits[warp], self._row[warp].as_value(), self._own[warp].as_value()))
            for warp, uop in enumerate(self._uop)
        ]

        turn, pointer = Signal(), Signal.like(issue.warp, name="waiting_pointer")
        choice = soonest(m, self._waits, pointer, "waiting")
        fresh = Signal()
        m.d.comb += fresh.eq(self.issue.valid & ~(choice.any & turn))
        m.d.sync += turn.eq(fresh & choice.any)
        with m.If(~fresh & choice.any):
            m.d.sync += pointer.eq(choice.after)
        self._chosen = Signal(len(warps), name="chosen")
        m.d.comb += self._chosen.eq(Mux(fresh, at, choice.one_hot))

    def _deliver(self, m: Module) -> None:
        """Look up which entry an operand arrives for: that of its slot, as the inserter had it."""
        width = self.place_width(self._config)
        self._places, self._place, self._delivered = [], [], []
        for warp, delivery in enumerate(self.deliver):
            places = m.submodules[f"places_{warp}"] = Memory(
                shape=width * MAX_SOURCES, depth=self._window, init=[]
            )
            row, place, mask = (
                Signal(size, name=f"{name}_{warp}")
                for name, size in (
                    ("row_delivered", width * MAX_SOURCES),
                    ("place", width),
                    ("delivered", self._entries),
                )
            )
            m.d.comb += [
                row.eq(read_at(m, places, delivery.tag)),
                place.eq(row.word_select(delivery.slot, width)),
                mask.eq(Mux(delivery.valid, 1 << place, 0)),
            ]
            self._places.append(places)
            self._place.append(place)
            self._delivered.append(mask)

    def _insert(self, m: Module) -> None:
        """Let each collector's forwarding logic look at its uop and its entries; choose one, do what it
        finds, and request what is not in the window."""
        self._inserters: list[Inserter] = []
        self._done = Signal(self._warps, name="done")
        for warp, (state, uop, claimed) in enumerate(
            zip(self._state, self._uop, self._claim.entries, strict=True)
        ):
            unit = m.submodules[f"inserter_{warp}"] = Inserter(self._config)
            self._inserters.append(unit)
            m.d.comb += [
                *(getattr(unit, name).eq(getattr(state, name)) for name in _STATE),
                unit.pinned.eq(self._pinned[warp]),
                unit.claimed.eq(claimed),
                unit.filled.eq(state.filled | self._written[warp] | self._delivered[warp]),
                *(port.eq(register) for port, register in zip(unit.registers, state.registers, strict=True)),
                *(port.eq(plane) for port, plane in zip(unit.age, state.age, strict=True)),
                *(getattr(unit, name).eq(getattr(uop, name)) for name in _UOP),
                unit.still.eq(uop.seq[MOVE.bit_length() - 1]),
                *(
                    port.eq(source)
                    for ports, uop in (
                        (unit.sources, self._own[warp]),
                        (unit.waiting_sources, self._row[warp]),
                    )
                    for port, source in zip(ports, uop.sources, strict=True)
                ),
                unit.destination.eq(self._own[warp].destination),
                unit.waiting_destination.eq(self._row[warp].destination),
                unit.waits.eq(self._waits[warp]),
                self._done[warp].eq(self._chosen[warp] & unit.fits),
            ]
        read, number = self.read, encode(self._chosen)
        uop = self._uop_of_chosen()
        m.d.comb += [
            read.valid.eq((self._done & Cat(unit.read.any() for unit in self._inserters)).any()),
            read.payload.collector.eq(number),
            read.payload.tag.eq(uop.tag),
            read.payload.warp.eq(number),
            read.payload.sources.eq(uop.sources),
            read.payload.source_valid.eq(self._of_chosen([unit.read for unit in self._inserters])),
            *(
                getattr(read.payload, name).eq(getattr(uop, name))
                for name in self._inserted_fields[len(INSERTED) :]
            ),
        ]

    # --- One collector.

    def _collector(self, m: Module, warp: int, allocated: Signal, gone: Value, rows: Sequence[Value]) -> None:
        """Update the state of one collector by issue, insertion, operands, results and write-back."""
        unit, state, done = self._inserters[warp], self._state[warp], self._done[warp]
        slid, moves = (Signal(name=f"{name}_{warp}") for name in ("slides", "moves"))
        m.d.comb += [
            slid.eq(self.slide & (self.issue.payload.warp == warp)),
            moves.eq(done & ~unit.still | slid),
        ]
        pins = self._uops_of(m, warp, allocated, gone)

        arrived, taken = self._claim.arrived[warp], Mux(done, unit.taken, 0)
        look_ahead(m, state, self._named[warp], self.upcoming, taken, warp)
        self._values_of(m, warp, arrived | taken, rows)
        wrote, squeezed = self._wrote[warp], Mux(self._chosen[warp], unit.squeezed, 0)
        present = state.valid & (~state.passed | self._pinned[warp] | state.owed)
        dropped = Mux(moves, state.valid & ~present, 0)
        starts, invalid = self.start[warp], Mux(done, unit.invalid, 0)
        m.d.sync += [
            state.valid.eq(
                Mux(starts, 0, ((state.valid & ~dropped & ~(squeezed & ~state.dirty)) | taken) & ~invalid)
            ),
            state.dirty.eq(
                Mux(
                    starts,
                    0,
                    state.dirty & ~dropped & ~Mux(done, unit.clean, 0) & ~wrote
                    | (arrived if self._evicts else 0),
                )
            ),
            state.reserved.eq(
                Mux(starts, 0, state.reserved & ~taken & ~arrived | Mux(done, unit.expected, 0))
            ),
            state.filled.eq(unit.filled & ~taken & ~arrived),
            state.keep.eq(
                state.keep & ~Mux(done, unit.keep_clear, 0)
                | Mux(done, unit.keep_set, 0)
                | squeezed & state.dirty
            ),
        ]
        touched, leaves = Mux(done, unit.touched, 0), squeezed & state.dirty
        if self._expecting:
            self._expect(m, warp, arrived, moves, dropped, pins)
        for bit, (plane, older) in enumerate(
            zip(state.idle, counted(state.idle, state.valid & ~state.passed), strict=True)
        ):
            m.d.sync += plane.eq(
                (Mux(moves, older, plane) & ~touched & ~leaves)
                | (leaves if (self._window - 1) >> bit & 1 else 0)
            )
        oldest = reduce(and_, state.age)
        for bit, (plane, older) in enumerate(zip(state.age, counted(state.age, ~oldest), strict=True)):
            m.d.sync += plane.eq(Mux(done, older, plane) & ~taken | (taken if bit == 0 else 0))
        for entry, register in enumerate(state.registers):
            with m.If(taken[entry]):
                m.d.sync += register.eq(unit.numbers[entry])
        m.d.comb += self.holds[warp].eq(present.any())
        if self._probe:
            self._collector_events(m, warp, present)

    def _expect(
        self, m: Module, warp: int, arrived: Value, moves: Value, dropped: Value, pins: Value
    ) -> None:
        """Find the entries of a collector that expect a result in the next cycle.

        What the forwarding logic finds is late, so it meets the rest last. An entry that it gives a result is
        one of them. One that expects a result already stays one until that arrives, unless it is lost or
        leaves the window with nobody that reads it and nothing that is to be written back.

        Parameters
        ----------
        arrived : entries whose result arrives.
        moves : the window moves by a uop.
        dropped : entries that it leaves behind.
        pins : entries that a uop in collection reads, or a result waits for, in the next cycle.
        """
        unit, state, done = self._inserters[warp], self._state[warp], self._done[warp]
        squeezed = Mux(self._chosen[warp], unit.squeezed, 0)
        stays, kept, wanted = (
            Signal(self._entries, name=f"{name}_{warp}") for name in ("stays", "kept", "wanted")
        )
        last = self._window - 1
        older = counted(state.idle, state.valid & ~state.passed)
        passes = reduce(and_, (plane if last >> bit & 1 else ~plane for bit, plane in enumerate(older)))
        dirty = state.dirty & ~dropped & ~self._wrote[warp] | (arrived if self._evicts else 0)
        m.d.comb += [
            stays.eq(state.valid & state.reserved & ~arrived & ~dropped & ~(squeezed & ~state.dirty)),
            kept.eq(~Mux(moves, passes, state.passed) & ~squeezed | pins),
            wanted.eq(dirty & (state.keep | squeezed)),
        ]
        with_uop = unit.expected | stays & ~unit.taken & ~unit.invalid & (
            unit.touched
            | kept
            | wanted & ~unit.clean & ~unit.keep_clear
            | dirty & ~unit.clean & unit.keep_set
        )
        m.d.sync += self._expecting[warp].eq(
            Mux(self.start[warp], 0, Mux(done, with_uop, stays & (kept | wanted)))
        )

    def _uops_of(self, m: Module, warp: int, allocated: Signal, gone: Value) -> Value:
        """Update the uops in one collector by issue, insertion, operands and dispatch. Returns the entries
        that a uop in collection reads, or a result waits for, in the next cycle."""
        unit, uop, done, window = self._inserters[warp], self._uop[warp], self._done[warp], self._window
        busy, inserted, tag_ = self._busy[warp], self._inserted[warp], self._tag[warp]
        into = decode(m, uop.tag, done, window, f"into_{warp}")
        write_at(m, self._places[warp], uop.tag, Cat(*unit.places), done)
        m.d.sync += [
            busy.eq(busy & ~gone | allocated),
            inserted.eq(inserted & ~allocated | into),
            self._waits[warp].eq((self._waits[warp] | self._issues[warp]) & ~done),
        ]
        above = Cat(Const(0, 1), self._from_tag[warp][:-1])
        with m.If(self._issues[warp]):
            m.d.sync += [tag_.eq(after(tag_, window)), self._from_tag[warp].eq(Mux(above.any(), above, -1))]
        stay, pinned = busy & inserted & ~gone, []
        kinds = Cat(self.issue.payload.uop.unit == number for number in range(UNITS))
        for tag, uses in enumerate(self._uses[warp]):
            with m.If(allocated[tag]):
                m.d.sync += self._kinds[warp][tag].eq(kinds)
            with m.If(into[tag]):
                m.d.sync += uses.eq(unit.uses)
            pinned.append(Mux(stay[tag], uses, 0))
            there = ~(uses & ~unit.filled).any()
            m.d.comb += self._completes[warp][tag].eq(busy[tag] & inserted[tag] & there)
            m.d.sync += self._complete[warp][tag].eq(Mux(into[tag], unit.complete, stay[tag] & there))
        pins = reduce(or_, pinned) | Mux(done, unit.uses, 0) | self._late.waits(warp)
        m.d.sync += [self._pinned[warp].eq(pins), self._taken[warp].eq(self._goes[warp].taken)]
        return pins

    def _values_of(self, m: Module, warp: int, changed: Value, rows: Sequence[Value]) -> None:
        """Write operands and results into a collector, and show the operands of the uop that leaves it."""
        config, departure, values, late = self._config, self._goes[warp], self._values[warp], self._late
        values.write(m, self._place[warp], self.deliver[warp], late.first, late.goes & late.first.warp[warp])
        width = self.place_width(config)
        row = Signal(width * MAX_SOURCES, name=f"row_offered_{warp}")
        m.d.comb += row.eq(pick(departure.tag, rows))
        self._rows.append(row)
        wanted = [row.word_select(slot, width) for slot in range(config.sub_core.collector.slots)]
        bus = self._bus
        for port, (place, value) in enumerate(zip(values.places, values.values, strict=True)):
            own: Value = departure.places[port]
            if bus is not None and not port:
                # A collector reads for no unit while it reads for the bus, so that `own` is 0 then.
                own = own | Mux(bus.reads[warp], bus.place, 0)
            m.d.comb += [place.eq(own), self.operands[warp][port].eq(value)]
        m.d.comb += [self.reads[warp].eq(departure.tag.any()), self.step[warp].eq(encode(departure.step))]
        if self._note_parts:
            kept = keep_metadata(
                m,
                self._note_parts,
                str(warp),
                self._entries,
                self.deliver[warp],
                self._place[warp],
                changed,
                wanted,
            )
            m.d.comb += [port.as_value().eq(note) for port, note in zip(self.kept[warp], kept, strict=True)]

    def shown(self, unit: int, slot: int) -> tuple[Value, Value]:
        """Return when the collector of a unit's uop shows the operand of a source slot, and the operand."""
        number = self.dispatch[unit].payload.collector
        now = self.serves[unit] & (Array(self.step)[number] == slot // BOC_READS)
        return now, Array(ports[slot % BOC_READS] for ports in self.operands)[number]

    def dispatched(self, context: Any, collector: int) -> list[int]:
        """Return the operands of the uop that leaves a collector in this cycle, of all source slots, for a
        testbench in Amaranth's simulator."""
        width, values = self.place_width(self._config), self._values[collector].memory.data
        row = context.get(self._rows[collector])
        places = [row >> slot * width & (1 << width) - 1 for slot in range(MAX_SOURCES)]
        return [context.get(values[place]) for place in places]
