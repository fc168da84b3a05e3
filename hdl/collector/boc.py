"""Bypassing operand collectors: a warp's last values stay where its next uops collect their operands."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from arch.rooms import SmConfig, bits
from arch.uop import MAX_SOURCES, MOVE, Unit
from arch.uop import Memory as Op

from ..lookup import read_at, write_at
from ..priority import after, decode, encode, first_from
from ..probe import Events, emit
from ..seams import (
    UNITS,
    Delivery,
    ReadDone,
    ResultOffer,
    WriteBack,
    dispatch_layout,
    dispatch_stream,
    evicted_stream,
    issue_stream,
    read_stream,
    uop_layout,
)
from .boc_results import claim, write_back
from .notes import keep_notes, note_ports
from .window import Entries, Inserter, counted

#: What of a uop is looked at when it is inserted.
INSERTED = ("sources", "source_valid", "destination", "count", "write_back", "seq")


class Boc(wiring.Component):
    """All bypassing operand collectors of a sub-core, one per warp. BOW, section IV.

    A collector holds up to `window` uops in collection, in program order; the next one is taken when the uop `window` before it
    has been dispatched. An issued uop is inserted: its sources are looked for in the window, those found cost no bank read,
    entries are taken for the others and for its results. The sub-core has one unit that inserts (`Inserter`, the forwarding
    logic), one uop a cycle: the one that issues, or, in turn, one that waits because its collector's entries were short. While a
    uop waits the oldest entries are squeezed out, and its warp issues nothing.

    A collector has one port for operands and one for results. Of several results for one collector the first unit in rotating
    order goes. A result goes into the entry that was kept for it, and with write-back nowhere else; if that entry has left, it
    goes to the banks. Dirty values that leave are written to the banks over one bus of the sub-core.

    Parameters
    ----------
    config : the machine: window, entries; one collector per warp.
    parts : of a register, if the storage compresses them: then the notes of operands are kept beside them.
    probe : generate `events` (allocate, forward, reserve, discard, squeeze, insert_wait, deliver, collector_write, port_wait,
        window, occupied).

    Members
    -------
    issue : In(issue_stream). A uop to take; only if `may_issue` has its warp (seam 1).
    may_issue : Out(warps). Warps whose next uop would be taken in this cycle; from registers.
    may_slide : Out(warps). Warps that may issue a uop that needs no collector: those none of whose uops waits; from registers.
    slide : In(1). The warp of `issue.payload` issues one: its window moves. start : In(warps). New warps start: what their slots
        kept is dropped.
    holds : Out(warps). Warps that have values here.
    entry : Out(bits(entries)). Number, among the uops in collection, of the one that issues: warp x window + its tag.
    read : Out(read_stream). Operands that are not in the window are requested (seam 2).
    deliver : In(Delivery) per collector. An operand arrives.
    read_done : Out(ReadDone) per uop in collection. The sources of a uop that is dispatched (seam 6).
    dispatch : Out(dispatch_stream) per unit. A collector's oldest complete uop, by rotating priority (seam 3); from registers.
    refused : Out(1). A unit refused one in this cycle.
    result : In(ResultOffer) per unit. Results as they are offered and written (seam 4).
    first : In. Unit whose offer goes first, then the next ones in order.
    keep : Out(WriteBack) per unit. Its result is written into a collector; its value comes in.
    evicted : Out(evicted_stream), with write-back. A dirty value that leaves; from registers.
    operands : Out(value) per collector and slot. Operands of its oldest complete uop.
    offered : Out, per collector. Number of that uop among those in collection.
    operand : In(Noted) per collector, if `parts`. Note of the operand that arrives.
    kept : Out(kept_layout) per collector and slot, if `parts`. What is known of `operands`.

    Latency: inserted in t (the cycle of issue, if nothing waits), a uop that finds all it needs can be dispatched in t + 1;
    requests reach the banks in t + 1, an operand granted in g is delivered in g + 1, and its uop can be dispatched in g + 2. A
    result written in t is found from t + 1 on.
    """

    #: Results are kept, dirty values are evicted, and every warp has a collector of its own.
    caches, evicts, per_warp, waits = True, True, True, False

    def __init__(self, config: SmConfig, probe: bool = False, parts: int = 0) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"{type(self).__name__} needs the machine's configuration, an SmConfig, not {config!r}.")
        core = config.sub_core
        if core.collectors != core.warps:
            raise ValueError(f"{type(self).__name__} needs a collector per warp: {core.warps}, not {core.collectors}.")
        self._config = config
        self._probe = probe
        self._note_parts = parts
        self._warps, self._window = core.warps, core.collector.window
        self._entries = core.collector.window_entries
        members = {
            "issue": In(issue_stream(config)), "may_issue": Out(core.warps), "may_slide": Out(core.warps), "slide": In(1),
            "start": In(core.warps), "holds": Out(core.warps), "entry": Out(bits(self.entries(config))),
            "read": Out(read_stream(config, self._window)),
            "deliver": In(Delivery(config, self._window)).array(core.warps),
            "read_done": Out(ReadDone(config)).array(self.entries(config)),
            "dispatch": Out(dispatch_stream(config)).array(UNITS), "refused": Out(1),
            "result": In(ResultOffer(config)).array(UNITS), "first": In(bits(UNITS + self.evicts)),
            "keep": Out(WriteBack(config)).array(UNITS),
            "operands": Out(config.value_width).array(core.warps, core.collector.slots),
            "offered": Out(bits(self.entries(config))).array(core.warps),
            **note_ports(config, parts),
        }
        if self.evicts:
            members["evicted"] = Out(evicted_stream(config))
        if probe:
            members["events"] = Out(Events(config, {
                "allocate": 1, "forward": 1, "reserve": 1, "discard": 2, "squeeze": 1, "insert_wait": 1, "deliver": core.warps,
                "collector_write": core.warps, "port_wait": UNITS, "window": core.warps, "occupied": 1,
            }))
        super().__init__(members)

    @staticmethod
    def tags(config: SmConfig) -> int:
        """Uops that one collector can have in collection at a time."""
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
        warps, window = self._warps, self._window
        self._state = [Entries(self._entries, window, str(warp)) for warp in range(warps)]
        self._busy, self._inserted = ([Signal(window, name=f"{name}_{warp}") for warp in range(warps)]
                                      for name in ("busy", "inserted"))
        self._uses = [[Signal(self._entries, name=f"uses_{warp}_{tag}", reset_less=True) for tag in range(window)]
                      for warp in range(warps)]
        self._tag = [Signal(range(window), name=f"tag_{warp}") for warp in range(warps)]  # of the warp's next uop
        self._pinned = [Signal(self._entries, name=f"pinned_{warp}") for warp in range(warps)]
        self._wrote: list[Value] = [Const(0, self._entries)] * warps  # entries whose values a bank takes in this cycle
        self._memories = [Memory(shape=self._config.value_width, depth=self._entries, init=[]) for _ in range(warps)]
        self._waits = Signal(warps)
        for warp in range(warps):
            m.d.comb += self._pinned[warp].eq(reduce(or_, (
                Mux(self._busy[warp][tag] & self._inserted[warp][tag], uses, 0) for tag, uses in enumerate(self._uses[warp]))))
        m.d.comb += self._waits.eq(Cat((busy & ~inserted).any()
                                       for busy, inserted in zip(self._busy, self._inserted, strict=True)))
        m.submodules.inserter = self._inserter = Inserter(self._config)
        self._choose(m)
        self._claims = claim(m, self._config, self._state, self.result, self.first, self.keep, self.evicts)
        self._select(m)
        if self.evicts:
            self._wrote = write_back(m, self.evicted, self._state, self._pinned, self._memories)
        gone = self._dispatch(m)
        for warp in range(warps):
            self._collector(m, warp, gone[warp])
        if self._probe:
            self._events(m)
        return m

    # --- Issue, and which uop is inserted.

    def _choose(self, m: Module) -> None:
        """Take the uop that issues; choose the one to be inserted: it, or one that waits."""
        warps, issue = self._warps, self.issue.payload
        free = Signal(warps)
        m.d.comb += [
            free.eq(Cat(~busy.bit_select(tag, 1) for busy, tag in zip(self._busy, self._tag, strict=True))),
            self.may_issue.eq(free & ~self._waits), self.may_slide.eq(~self._waits),
        ]
        tag = Signal.like(self._tag[0], name="tag_of_issue")
        m.d.comb += [tag.eq(Array(self._tag)[issue.warp]), self.entry.eq(issue.warp * self._window + tag)]
        layout = uop_layout(self._config)
        kept = data.StructLayout({"tag": len(tag), "full": 1, **{name: layout[name].shape for name in INSERTED}})
        waiting = m.submodules.waiting = Memory(shape=kept, depth=warps, init=[])
        own = Signal(kept, name="issued")
        m.d.comb += [getattr(own, name).eq(getattr(issue.uop, name)) for name in INSERTED]
        m.d.comb += [own.tag.eq(tag), own.full.eq(issue.uop.mask.all())]
        write_at(m, waiting, issue.warp, own, self.issue.valid)

        turn, pointer = Signal(), Signal.like(issue.warp, name="waiting_pointer")
        choice = first_from(m, self._waits, pointer, "waiting")
        fresh = Signal()
        m.d.comb += fresh.eq(self.issue.valid & ~(choice.any & turn))
        m.d.sync += turn.eq(fresh & choice.any)
        with m.If(~fresh & choice.any):
            m.d.sync += pointer.eq(choice.after)
        self._inserts, self._uop = Signal(name="inserts"), Signal(kept, name="uop_of_insert")
        self._warp = Signal.like(issue.warp, name="warp_of_insert")
        m.d.comb += [
            self._inserts.eq(self.issue.valid | choice.any), self._warp.eq(Mux(fresh, issue.warp, choice.index)),
            self._uop.eq(Mux(fresh, own.as_value(), read_at(m, waiting, choice.index).as_value())),
        ]

    def _select(self, m: Module) -> None:
        """Give the inserter the uop and the state of its collector; request what it does not find."""
        unit, uop = self._inserter, self._uop
        self._still = uop.seq[MOVE.bit_length() - 1]
        parts = ("valid", "dirty", "keep", "passed")
        states = Array(
            Cat(*(getattr(state, name) for name in parts), pinned, claimed.entry, *state.registers, *state.age)
            for state, pinned, claimed in zip(self._state, self._pinned, self._claims, strict=True)
        )
        state = Signal(len(states[0]), name="state")
        m.d.comb += [
            state.eq(states[self._warp]),
            Cat(*(getattr(unit, name) for name in parts), unit.pinned, unit.claimed, *unit.registers, *unit.age).eq(state),
            *(unit.sources[slot].eq(uop.sources[slot]) for slot in range(MAX_SOURCES)),
            unit.source_valid.eq(uop.source_valid), unit.destination.eq(uop.destination), unit.count.eq(uop.count),
            unit.write_back.eq(uop.write_back), unit.full.eq(uop.full), unit.still.eq(self._still),
        ]
        self._done = Signal(name="done")
        read = self.read
        m.d.comb += [
            self._done.eq(self._inserts & unit.fits), read.valid.eq(self._done & unit.read.any()),
            read.payload.collector.eq(self._warp), read.payload.tag.eq(uop.tag), read.payload.warp.eq(self._warp),
            read.payload.sources.eq(uop.sources), read.payload.source_valid.eq(unit.read),
        ]

    # --- Dispatch.

    def _dispatch(self, m: Module) -> list[Value]:
        """Per unit one collector's oldest complete uop. Returns per warp the mask of tags that go."""
        config, window, warps = self._config, self._window, self._warps
        layout = data.StructLayout({name: field.shape for name, field in dispatch_layout(config) if name != "collector"})
        uops = m.submodules.uops = Memory(shape=layout, depth=warps * window, init=[])
        write_at(m, uops, self.entry, self._parts(m, layout), self.issue.valid)
        self._oldest, kinds = [], []
        offered = Signal(warps)
        for warp, state in enumerate(self._state):
            complete = Signal(window, name=f"complete_{warp}")
            m.d.comb += complete.eq(self._busy[warp] & self._inserted[warp]
                                    & Cat(~(uses & ~state.filled).any() for uses in self._uses[warp]))
            kind = [Signal(range(UNITS), name=f"kind_{warp}_{tag}", reset_less=True) for tag in range(window)]
            for tag, signal in enumerate(kind):
                with m.If(self.issue.valid & (self.entry == warp * window + tag)):
                    m.d.sync += signal.eq(self.issue.payload.uop.unit)
            oldest = first_from(m, complete, self._tag[warp], f"oldest_{warp}")
            self._oldest.append(oldest)
            kinds.append(Array(kind)[oldest.index])
            m.d.comb += [offered[warp].eq(oldest.any), self.offered[warp].eq(warp * window + oldest.index)]
        entry = Array((warp * window + oldest.index)[: len(self.entry)] for warp, oldest in enumerate(self._oldest))
        goes, refused = [], []
        for unit, port in enumerate(self.dispatch):
            mask, pointer = Signal(warps, name=f"for_{Unit(unit).name.lower()}"), Signal(range(warps), name=f"pointer_{unit}")
            m.d.comb += mask.eq(offered & Cat(kind == unit for kind in kinds))
            choice = first_from(m, mask, pointer, f"unit_{unit}")
            held = read_at(m, uops, entry[choice.index])
            m.d.comb += [port.valid.eq(choice.any), port.payload.collector.eq(choice.index)]
            m.d.comb += [getattr(port.payload, name).eq(getattr(held, name)) for name, _ in layout]
            with m.If(port.valid & port.ready):
                m.d.sync += pointer.eq(choice.after)
            goes.append(Mux(port.valid & port.ready, choice.one_hot, 0))
            refused.append(port.valid & ~port.ready)
        gone = Signal(warps)
        m.d.comb += [gone.eq(reduce(or_, goes)), self.refused.eq(reduce(or_, refused))]
        tags = [Mux(gone[warp], oldest.one_hot, 0) for warp, oldest in enumerate(self._oldest)]
        for number, done in enumerate(self.read_done):
            m.d.comb += done.slots.eq(tags[number // window][number % window].replicate(MAX_SOURCES))
        return tags

    def _parts(self, m: Module, layout: data.StructLayout) -> data.View:
        """What of an issued uop is kept for its dispatch."""
        kept = Signal(layout)
        issue, uop, result = self.issue.payload, self.issue.payload.uop, kept.result
        m.d.comb += [kept.memory.eq(uop.memory), kept.lines.eq(uop.lines), kept.passes.eq(uop.passes)]
        m.d.comb += [getattr(result, name).eq(getattr(uop, name))
                     for name in ("seq", "destination", "count", "predicates_written", "mask", "part")]
        m.d.comb += [result.warp.eq(issue.warp), result.fence.eq(uop.memory == Op.FENCE), result.near.eq(uop.near[MAX_SOURCES])]
        return kept

    # --- One collector.

    def _collector(self, m: Module, warp: int, gone: Value) -> None:
        """The state of one collector: what issue, insertion, operands, results and write-back do to it."""
        unit, state, uop = self._inserter, self._state[warp], self._uop
        mine = Signal(name=f"chosen_{warp}")
        done, slid, moves = (Signal(name=f"{name}_{warp}") for name in ("inserted_now", "slides", "moves"))
        m.d.comb += [
            mine.eq(self._inserts & (self._warp == warp)), done.eq(mine & unit.fits),
            slid.eq(self.slide & (self.issue.payload.warp == warp)), moves.eq(done & ~self._still | slid),
        ]
        issues = self.issue.valid & (self.issue.payload.warp == warp)
        allocated = decode(m, self._tag[warp], issues, self._window, f"allocated_{warp}")
        into = decode(m, uop.tag, done, self._window, f"into_{warp}")
        m.d.sync += [
            self._busy[warp].eq(self._busy[warp] & ~gone | allocated),
            self._inserted[warp].eq(self._inserted[warp] & ~allocated | into),
        ]
        with m.If(allocated.any()):
            m.d.sync += self._tag[warp].eq(after(self._tag[warp], self._window))
        for tag, uses in enumerate(self._uses[warp]):
            with m.If(into[tag]):
                m.d.sync += uses.eq(unit.uses)

        delivery = self.deliver[warp]
        arrived, taken = self._claims[warp].arrived, Mux(done, unit.taken, 0)
        place = self._values(m, warp, into, arrived | taken)
        filled = Mux(delivery.valid, 1 << place, 0)[: self._entries]
        wrote, squeezed = self._wrote[warp], Mux(mine, unit.squeezed, 0)
        present = state.valid & (~state.passed | self._pinned[warp] | state.owed)
        dropped = Mux(moves, state.valid & ~present, 0)
        starts, invalid = self.start[warp], Mux(done, unit.invalid, 0)
        m.d.sync += [
            state.valid.eq(Mux(starts, 0, ((state.valid & ~dropped & ~(squeezed & ~state.dirty)) | taken) & ~invalid)),
            state.dirty.eq(Mux(starts, 0, state.dirty & ~dropped & ~Mux(done, unit.clean, 0) & ~wrote
                               | (arrived if self.evicts else 0))),
            state.reserved.eq(Mux(starts, 0, state.reserved & ~taken & ~arrived | Mux(done, unit.expected, 0))),
            state.filled.eq(state.filled & ~taken | filled | arrived),
            state.keep.eq(state.keep & ~Mux(done, unit.keep_clear, 0) | Mux(done, unit.keep_set, 0) | squeezed & state.dirty),
        ]
        touched, leaves = Mux(done, unit.touched, 0), squeezed & state.dirty
        older = counted(state.idle, Mux(moves, state.valid & ~state.passed, 0))
        for bit, (plane, up) in enumerate(zip(state.idle, older, strict=True)):
            m.d.sync += plane.eq((up & ~touched & ~leaves) | (leaves if (self._window - 1) >> bit & 1 else 0))
        oldest = reduce(lambda a, b: a & b, state.age)
        for bit, (plane, up) in enumerate(zip(state.age, counted(state.age, Mux(done, ~oldest, 0)), strict=True)):
            m.d.sync += plane.eq(up & ~taken | (taken if bit == 0 else 0))
        for entry, register in enumerate(state.registers):
            with m.If(taken[entry]):
                m.d.sync += register.eq(unit.numbers[entry])
        m.d.comb += self.holds[warp].eq(present.any())
        if self._probe:
            self._collector_events(m, warp, present)

    def _values(self, m: Module, warp: int, into: Value, changed: Value) -> Value:
        """The entries' values, with a port for operands and one for results. Returns the entry that an operand arrives for."""
        config, delivery, claimed = self._config, self.deliver[warp], self._claims[warp]
        width = self.place_width(config)
        places = m.submodules[f"places_{warp}"] = Memory(shape=width * MAX_SOURCES, depth=self._window, init=[])
        write_at(m, places, self._uop.tag, Cat(*self._inserter.places), into.any())
        of_delivery, of_oldest = (Signal(width * MAX_SOURCES, name=f"{name}_{warp}") for name in ("row_delivered", "row_offered"))
        m.d.comb += [
            of_delivery.eq(read_at(m, places, delivery.tag)), of_oldest.eq(read_at(m, places, self._oldest[warp].index)),
        ]
        place = Signal(width, name=f"place_{warp}")
        m.d.comb += place.eq(of_delivery.word_select(delivery.slot, width))
        values = m.submodules[f"slots_{warp}"] = self._memories[warp]
        write_at(m, values, place, delivery.value, delivery.valid)
        port = values.write_port(granularity=32)
        m.d.comb += [
            port.addr.eq(encode(claimed.entry)), port.data.eq(claimed.write.value),
            port.en.eq(claimed.write.valid.replicate(config.lanes) & claimed.write.mask),
        ]
        chosen_ = [of_oldest.word_select(slot, width) for slot in range(config.sub_core.collector.slots)]
        m.d.comb += [operand.eq(read_at(m, values, at)) for operand, at in zip(self.operands[warp], chosen_, strict=True)]
        if self._note_parts:
            kept = keep_notes(m, self._note_parts, str(warp), self._entries, self.operand[warp], place, changed, chosen_)
            m.d.comb += [port.as_value().eq(note) for port, note in zip(self.kept[warp], kept, strict=True)]
        return place

    # --- Events.

    def _collector_events(self, m: Module, warp: int, present: Value) -> None:
        events, keep, delivery = self.events, self._claims[warp].write, self.deliver[warp]
        emit(m, events.deliver[warp], delivery.valid, collector=warp, slot=delivery.slot)
        emit(m, events.collector_write[warp], keep.valid, collector=warp, warp=keep.warp, seq=keep.seq, register=keep.register)
        used, before = (Signal(bits(self._entries + 1), name=f"{name}_{warp}") for name in ("used", "used_before"))
        m.d.comb += used.eq(sum(present[entry] for entry in range(self._entries)))
        m.d.sync += before.eq(used)
        emit(m, events.window[warp], used != before, collector=warp, entries=used)

    def _events(self, m: Module) -> None:
        events, issue, unit, warp, uop = self.events, self.issue, self._inserter, self._warp, self._uop
        emit(m, events.allocate[0], issue.valid, collector=issue.payload.warp, warp=issue.payload.warp, seq=issue.payload.uop.seq)
        emit(m, events.forward[0], self._done & unit.found.any(), collector=warp, warp=warp, seq=uop.seq, slots=unit.found,
             count=sum(unit.found))
        emit(m, events.reserve[0], self._done & unit.expected.any(), collector=warp, warp=warp, seq=uop.seq,
             count=sum(unit.expected))
        emit(m, events.discard[0], self._done & (unit.overwritten | unit.transient).any(), collector=warp,
             overwritten=sum(unit.overwritten), transient=sum(unit.transient))
        lost = Signal(bits(self._entries + 1), name="lost_by_slide")
        m.d.comb += lost.eq(Array(
            sum((state.valid & state.dirty & state.passed & ~pinned & ~state.owed)[entry] for entry in range(self._entries))
            for state, pinned in zip(self._state, self._pinned, strict=True))[issue.payload.warp])
        emit(m, events.discard[1], self.slide & (lost != 0), collector=issue.payload.warp, overwritten=0, transient=lost)
        register = reduce(or_, (Mux(unit.squeezed[entry], unit.registers[entry], 0) for entry in range(self._entries)))
        emit(m, events.squeeze[0], self._inserts & unit.squeezed.any(), collector=warp, register=register,
             dirty=(unit.squeezed & unit.dirty).any())
        emit(m, events.insert_wait[0], self._waits.any(), collectors=sum(self._waits))
        for number, offer in enumerate(self.result):
            emit(m, events.port_wait[number], offer.held, unit=number, collector=offer.payload.warp)
        busy = sum(sum(busy) for busy in self._busy)
        emit(m, events.occupied[0], Cat(*self._busy).any(), collectors=busy)


class WriteThroughBoc(Boc):
    """The same with results written into the banks at once as well: BOW without write-back (BOW, section IV-A)."""

    evicts = False
