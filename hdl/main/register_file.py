"""The main register file: bank arbiter, bank timing, a mapping and a storage, joined."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MOVE
from warpbank.hdl.front_end.scoreboard import Owed, OwedInterface
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    Delivery,
    DeliveryInterface,
    WriteBack,
    WriteBackInterface,
    Written,
    WrittenInterface,
    evicted_stream,
    read_stream,
    result_stream,
)
from warpbank.hdl.layouts import REGISTER_WIDTH, UNITS, Collection
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.bank_timing import BankTiming
from warpbank.hdl.main.ports import (
    Access,
    AccessInterface,
    BankPort,
    BankPortInterface,
    LocationInterface,
    Moved,
    MovedInterface,
)
from warpbank.hdl.main.storage import Storage
from warpbank.hdl.mapping.ports import Hooked, Hooks, Mapping, Moving, MovingInterface, follow
from warpbank.hdl.probe import Events, EventsInterface, emit, gather, reporting, total
from warpbank.hdl.round_robin import Choice, first_from, pick, soonest
from warpbank.hdl.storage.decompress_moves import Stored, StoredInterface
from warpbank.hdl.storage.metadata import metadata_layout
from warpbank.hdl.typed import Record, record


class MainRegisterFile(Hooked):
    """Registers in banks, wherever the mapping has them and however the storage keeps them. Any hierarchy
    stands over it.

    Within a cycle, results and evicted values take their banks first; reads are served on the banks left
    over. What a bank reads goes through a crossbar straight into the collectors' slots. A source that is
    nowhere is delivered as zeros; an evicted value whose register is nowhere is dropped.

    Where only a cache reads them, plain banks are accessed a cycle after they are given out (`late`): which
    writer has a bank is known from registers then, and all lanes of its value hang on that. Nothing comes
    later for it: what is read goes over a narrow link, which takes its first beat from the bank.

    Parameters
    ----------
    config : the machine.
    mapping, storage : the other rooms' units; the mapping with a port per writer and, if `cached`, those for
        the registers that are moved.
    collection : the collectors.
    operands : collectors read it; else only a cache does, which tells the storage what metadata to keep.
    cached : a cache stands over it, which moves registers.
    moved : registers that may be located in a cycle because a cache moves them, and those that may be on
        their way from or to a bank.
    probe : generate `events` (write, write_back, dead_value, those of the units inside; fetch, if there are
        no `operands`; write_wait, if it is not `cached`).

    Members
    -------
    those of `warpbank.hdl.mapping.ports.Hooks`, and
    read : In(read_stream). Operands are requested (operand read interface).
    deliver : Out(Delivery) per collector. They arrive; from registers.
    result : In(result_stream) per unit. A result register is offered (result interface); `ready`: it is
        written in this cycle.
    evicted : In(evicted_stream) per value that collectors evict. `ready`: it is written in this cycle, or
        dropped.
    first : In. Writer whose offer goes first, then the next ones in order, wrapping around.
    write : Out(WriteBack) per bank. What is written; its value comes in, `late` cycles later. What collectors
        evict brings its own; if `late`, its value comes in here, too.
    landed : Out(Written) per bank; per unit, if the storage never `waits`, where the collectors keep results
        or there are more banks than units. A result is there from the next cycle on (scoreboard release
        interface).
    stored : Out(Stored) per bank, if the storage compresses. So is a value, compressed or not.
    owed : Out(Owed) per value that collectors evict and, if `cached`, per bank, if those are compressed here.
        Asks whether a result of the register is to come: then the value is kept as it is.
    writer : Out, per bank, if `cached` as all that follow. Who writes it, if anybody.
    serves : Out(writers) per bank, if there are no `operands`. The writer that it is given to, one-hot.
    spoiled : In(writers). Those that do not write after all, although their bank is theirs; may depend on
        `ready`.
    ports : In(collectors), if there are `operands`. Collectors whose port the cache uses in this cycle.
    given : In(metadata) per bank. Metadata of what was written in the cycle before.
    bank_of, row_of, exists : Out, per writer. Where its register is; it is somewhere.
    moved : In(Moved) per register that may be moved.
    moving : In(Moving), as many as there may be per bank. Registers on their way.
    access : In(Access) per bank.

    Latency: an operand requested in t is granted in t + 1 at the earliest, and delivered in the cycle after
    its grant, or `read_delay` cycles later.
    """

    read: AlwaysInterface
    deliver: list[DeliveryInterface]
    result: list[stream.Interface]
    evicted: list[stream.Interface]
    first: Signal
    write: list[WriteBackInterface]
    landed: list[WrittenInterface]
    stored: list[StoredInterface]
    owed: list[OwedInterface]
    ports: Signal
    writer: list[Signal]
    serves: list[Signal]
    spoiled: Signal
    given: list[Record]
    bank_of: list[Signal]
    row_of: list[Signal]
    exists: Signal
    moved: list[MovedInterface]
    moving: list[MovingInterface]
    access: list[AccessInterface]
    events: EventsInterface

    def __init__(
        self,
        config: SmConfig,
        mapping: Mapping,
        storage: Storage,
        collection: Collection,
        operands: bool = True,
        cached: bool = False,
        probe: bool = False,
        moved: tuple[int, int] = (1, 1),
    ) -> None:
        self._config, self._collection, self._cached, self._probe = config, collection, cached, probe
        self.mapping, self.storage = mapping, storage
        self.arbiter: Arbiter | None = storage.arbiter(collection, cached, probe) if operands else None
        self._only_cache = cached and not operands
        #: Cycles by which a bank is accessed after it is given to somebody.
        self.late = int(self._only_cache and not storage.read_delay)
        #: Who asks for a bank is known late: after a look-up in a cache, or, on a machine with an issue
        #: stage, after the collectors' own choice.
        self._hurried = self._only_cache or (
            collection.keeps > 0 and config.sub_core.front_end.issue_stages > 0
        )
        core, tags, evicts = config.sub_core, collection.tags, collection.evicts
        banks, caches = core.banks, core.banks if cached else 0
        self._writers = collection.writers
        self.layout = metadata = metadata_layout(storage.parts)
        #: A register lands when its bank has it, not when a unit's result is taken: it has to where the
        #: storage waits, and there is less to look at where banks are few.
        self._by_bank = not cached and (storage.waits or not (collection.keeps or banks > UNITS))
        compresses = bool(storage.parts) and not (cached and not operands)  # else the cache does it
        alone = evicts + caches  # values of all lanes that nobody has described
        members: dict[str, wiring.Member] = {
            **Hooks(config, collection.entries).members,
            "read": In(read_stream(config, tags)),
            "deliver": Out(Delivery(config, tags, metadata)).array(core.collectors),
            "result": In(result_stream(config)).array(UNITS),
            "evicted": In(evicted_stream(config)).array(evicts),
            "first": In(bits(self._writers)),
            "write": Out(WriteBack(config)).array(banks),
            "landed": Out(Written(config)).array(0 if cached else banks if self._by_bank else UNITS),
            "stored": Out(Stored(config)).array(banks if compresses else 0),
            "owed": Out(Owed(config)).array(alone if compresses else 0),
            "ports": In(core.collectors if operands and cached else 0),
            "writer": Out(bits(self._writers)).array(caches),
            "serves": Out(self._writers).array(caches if self._only_cache else 0),
            "spoiled": In(self._writers if cached else 0),
            "given": In(metadata).array(caches),
            "bank_of": Out(core.bank_width).array(self._writers if cached else 0),
            "row_of": Out(core.row_width).array(self._writers if cached else 0),
            "exists": Out(self._writers if cached else 0),
            "moved": In(Moved(config)).array(moved[0] if cached else 0),
            "moving": In(Moving(config)).array(moved[1] * caches),
            "access": In(Access(config, metadata)).array(caches),
        }
        self._reporters = reporting(self.arbiter, storage, mapping) if probe else []
        if probe:
            own = {"write": banks, "write_back": caches or evicts}
            own |= {"fetch": 0 if operands else banks, "write_wait": 0 if cached else self._writers}
            own["dead_value"] = evicts if mapping.released else 0
            here = Events(config, {name: count for name, count in own.items() if count})
            members["events"] = Out(
                Events(config, total([here, *(part.events.signature for part in self._reporters)]))
            )
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core, mapping, storage = self._config.sub_core, self.mapping, self.storage
        m.submodules.mapping, m.submodules.storage = mapping, storage
        follow(m, self, mapping, self._config, self._collection.entries)
        for freed, released in zip(storage.freed, mapping.released, strict=False):  # not in synthesis
            if self.late:  # a bank that was given out before is accessed before
                m.d.sync += [
                    getattr(freed, name).eq(getattr(released, name)) for name in released.signature.members
                ]
            else:
                wiring.connect(m, released, freed)
        self._timing: BankTiming | None = None
        if core.bank_latency != 100:
            self._timing = m.submodules.timing = BankTiming(core.banks, core.bank_latency)
        self._write(m)
        if self.arbiter is not None:
            self._request(m, self.arbiter)
            self._deliver(m, self.arbiter)
        elif self._timing is not None:
            m.d.comb += self._timing.written.eq(self._accessed)
        if self._cached:
            self._move(m)
        if self._probe:
            gather(m, self.events, [part.events for part in self._reporters])
        return m

    # --- Operands.

    def _request(self, m: Module, arbiter: Arbiter) -> None:
        """Have a uop's operands located, and their requests sent to the arbiter."""
        m.submodules.arbiter = arbiter
        asked, request = self.mapping.request, arbiter.request
        wiring.connect(m, wiring.flipped(self.read), self.mapping.read)
        m.d.comb += [
            request.valid.eq(asked.valid),
            request.collector.eq(asked.collector),
            request.slots.eq(asked.slots),
        ]
        if self._collection.tags > 1:
            m.d.comb += request.tag.eq(asked.tag)
        for slot in range(self._config.sub_core.collector.slots):
            m.d.comb += [request.banks[slot].eq(asked.banks[slot]), request.rows[slot].eq(asked.rows[slot])]
        for slot, where in enumerate(self.storage.where):
            bank, row = asked.banks[slot], asked.rows[slot]
            m.d.comb += [where.bank.eq(bank), where.row.eq(row)]
            with m.If(where.scalar):
                m.d.comb += [
                    request.banks[slot].eq(self._config.sub_core.banks),
                    request.rows[slot].eq(Cat(bank, row)),
                ]
        for bank, read in zip(self.storage.bank, arbiter.read, strict=True):
            m.d.comb += [bank.read.eq(read.valid), bank.read_row.eq(read.row)]
        if self._cached:
            m.d.comb += arbiter.ports.eq(self.ports)
        written = Cat(bank.written for bank in self.storage.bank)
        m.d.comb += arbiter.written.eq(written | self._settling(m))
        if self._timing is not None:
            m.d.comb += [
                self._timing.written.eq(written),
                self._timing.waiting.eq(arbiter.waiting),
                self._timing.granted.eq(Cat(read.valid for read in arbiter.read)),
                arbiter.opening.eq(self._timing.opening),
            ]

    def _settling(self, m: Module) -> Value:
        """Banks that a cache's register came into in the cycle before: their storage has it a cycle later.

        Somebody may have asked for it already, so they are not read meanwhile.
        """
        if not self._cached or not self.storage.write_delay:
            return Const(0, self._config.sub_core.banks)
        settling = Signal(self._config.sub_core.banks)
        m.d.sync += settling.eq(Cat(access.granted & access.write for access in self.access))
        return settling

    def _blank(self, m: Module, number: int, tag: Value, slot: Value) -> Value:
        """Test whether a source of a collector's uop is nowhere."""
        request, tags = self.mapping.request, self._collection.tags
        if not len(self.mapping.blank):
            return Const(0, 1)
        blanks = [Signal(len(self.mapping.blank), name=f"blank_{number}_{uop}") for uop in range(tags)]
        for uop, blank in enumerate(blanks):
            mine = request.valid & (request.collector == number)
            with m.If(mine & (request.tag == uop) if tags > 1 else mine):
                m.d.sync += blank.eq(self.mapping.blank)
        return (Array(blanks)[tag] if tags > 1 else blanks[0]).bit_select(slot, 1)

    def _deliver(self, m: Module, arbiter: Arbiter) -> None:
        """The crossbar: a register of bank and slot numbers per collector, one for each cycle that a bank
        needs, and a choice of the banks' data."""
        contents = Array(bank.data for bank in self.storage.bank)
        metadata = Array(bank.metadata.as_value() for bank in self.storage.bank)
        for number, (grant, delivery) in enumerate(zip(arbiter.grant, self.deliver, strict=True)):
            tags = [grant.tag] if self._collection.tags > 1 else []
            signals = [grant.valid, grant.slot, grant.bank, *tags]
            for stage in range(1 + self.storage.read_delay):
                ahead, signals = signals, []
                for name, before in zip(("valid", "slot", "source", "tag"), ahead, strict=False):
                    signals.append(Signal.like(before, name=f"{name}_{number}_{stage}", init=0))
                    m.d.sync += signals[-1].eq(before)
            valid, slot, source, *tag = signals
            if tag:
                m.d.comb += delivery.tag.eq(tag[0])
            blank = self._blank(m, number, tag[0] if tag else Const(0), slot)
            m.d.comb += [
                delivery.valid.eq(valid),
                delivery.slot.eq(slot),
                delivery.value.eq(Mux(blank, 0, contents[source])),
            ]
            if self.layout.size:
                found = Mux(blank, self.storage.zeros, metadata[source])
                m.d.comb += delivery.metadata.as_value().eq(found)

    # --- Writes.

    def _write(self, m: Module) -> None:
        """Give each bank to one writer, and write it."""
        places: list[LocationInterface] = list(self.mapping.locate)[: self._writers]
        writers = [*self.result, *self.evicted]
        exists = [Const(1, 1)] * UNITS + list(self.mapping.mapped[UNITS : self._writers])
        for place, writer in zip(places, writers, strict=True):
            m.d.comb += [place.warp.eq(writer.payload.warp), place.register.eq(writer.payload.register)]
        rows = Array(place.row for place in places)
        served: list[Value] = []
        accessed: list[Value] = []
        for number in range(self._config.sub_core.banks):
            free = Signal(name=f"free_{number}")
            offers = Signal(self._writers, name=f"offers_{number}")
            m.d.comb += [
                free.eq(self._free(number)),
                offers.eq(
                    Cat(
                        writer.valid & (place.bank == number) & there & free
                        for writer, place, there in zip(writers, places, exists, strict=True)
                    )
                ),
            ]
            first = soonest if self._hurried else first_from
            choice = first(m, offers, self.first, f"bank_{number}")
            served.append(choice.one_hot)
            row = Signal(self._config.sub_core.row_width, name=f"row_{number}")
            if self._hurried:  # a short way from the choice
                m.d.comb += row.eq(pick(choice.one_hot, list(rows)))
            else:
                m.d.comb += row.eq(rows[choice.index])
            spoiled = (choice.one_hot & self.spoiled).any() if self._cached else Const(0, 1)
            written = Signal(name=f"is_written_{number}")
            m.d.comb += written.eq(choice.any & ~spoiled)
            # A bank that only a cache reads is lost to a result that is not written after all.
            given = choice.any if self._only_cache else written
            accessed.append(given | self._access(m, number, choice, written, given, row, free))
        taken = Signal(self._writers)
        m.d.comb += taken.eq(reduce(or_, served))
        for unit, (writer, place, there) in enumerate(zip(writers, places, exists, strict=True)):
            m.d.comb += writer.ready.eq(taken[unit] | ~there)
            if self._probe and not self._cached:
                waits = writer.valid & ~writer.ready
                emit(m, self.events.write_wait[unit], waits, unit=unit, bank=place.bank)
        if self._cached:
            m.d.comb += [outer.eq(place.bank) for outer, place in zip(self.bank_of, places, strict=True)]
            m.d.comb += [outer.eq(place.row) for outer, place in zip(self.row_of, places, strict=True)]
            m.d.comb += self.exists.eq(Cat(exists))
        self._accessed = Cat(accessed)
        self._land(m)
        self._evict(m, taken, places)

    def _free(self, number: int) -> Value:
        """Test whether a bank takes a write, or an access of the cache."""
        busy = self.storage.bank[number].held
        return ~busy if self._timing is None else ~(busy | self._timing.busy[number])

    def _access(
        self, m: Module, number: int, choice: Choice, written: Value, given: Value, row: Value, free: Value
    ) -> Value:
        """A bank's one access: a write (of a result, or of an evicted value), or else what the cache wants,
        or the read that the arbiter grants; it is `written`, or `given` to a writer. Returns whether it is
        the cache's."""
        bank, port = self._given_out(m, number, given), self.write[number]
        back: Value = choice.one_hot[UNITS] if self.evicted else Const(0, 1)
        if self._cached and self.evicted:  # it may be spoiled
            back = back & written
        payload = record(self.result[0].payload.shape(), name=f"written_{number}")
        payloads = Array(result.payload.as_value() for result in self.result)
        m.d.comb += [
            payload.as_value().eq(
                pick(choice.one_hot[:UNITS], list(payloads))
                if self._hurried
                else payloads[choice.index[: bits(UNITS)]]
            ),
            port.valid.eq(written & ~back),
            *(getattr(port, name).eq(getattr(payload, name)) for name in ("warp", "seq", "register", "mask")),
            bank.write.eq(written),
            bank.row.eq(Mux(given, row, bank.read_row)),
            bank.mask.eq(port.mask),
            bank.part.eq(payload.part),
            bank.moved.eq(payload.seq[MOVE.bit_length() - 1]),
        ]
        if not self.late:
            m.d.comb += bank.value.eq(port.value)
        for evicted in self.evicted:
            with m.If(back):
                if not self.late:
                    m.d.comb += bank.value.eq(evicted.payload.value)
                m.d.comb += [
                    bank.mask.eq(self._config.lane_mask),
                    bank.part.eq(0),
                    bank.moved.eq(self._plain(evicted.payload, 0)),
                ]
        if self._probe:
            names = {name: getattr(payload, name) for name in ("warp", "seq", "register", "mask")}
            emit(m, self.events.write[number], port.valid, bank=number, row=row, **names)
        if not self._cached:
            self._follow(m, number, back, payload)
            return Const(0, 1)
        access = self.access[number]
        if self.stored:
            self._follow(m, number, back, payload, given)
        m.d.comb += [
            self.writer[number].eq(choice.index),
            bank.given.eq(self.given[number]),
            access.granted.eq(free & ~given & (access.read | access.write)),
            access.cycles.eq(1 if self._timing is None else self._timing.cycles[number]),
            access.data.eq(self.storage.bank[number].data),
            access.metadata.eq(self.storage.bank[number].metadata),
        ]
        with m.If(~given):
            m.d.comb += [bank.write.eq(access.granted & access.write), bank.mask.eq(self._config.lane_mask)]
            if not self.late:
                m.d.comb += bank.value.eq(access.value)
            if self.stored:
                plain = self._plain(access, len(self.evicted) + number)
                m.d.comb += [bank.part.eq(0), bank.moved.eq(plain)]
            if self.arbiter is not None:
                with m.If(access.granted):
                    m.d.comb += bank.row.eq(access.row)
        if self.arbiter is None:
            m.d.comb += [bank.read_row.eq(access.row), bank.read.eq(access.granted & access.read)]
        if self._only_cache:
            m.d.comb += self.serves[number].eq(choice.one_hot)
        if self._probe:
            self._access_events(m, number, back, bank.row)
        return access.granted

    def _given_out(self, m: Module, number: int, given: Value) -> BankPortInterface:
        """Port of a bank, by which it is accessed at once, without a value; if `late`, in the next cycle, in
        which its value comes: that of the writer that it was `given` to, or the cache's."""
        bank = self.storage.bank[number]
        if not self.late:
            return bank
        ahead = BankPort(self._config).create(path=(f"ahead_{number}",))
        to_writer = Signal(name=f"was_given_{number}")
        m.d.sync += to_writer.eq(given)
        m.d.comb += bank.value.eq(Mux(to_writer, self.write[number].value, self.access[number].value))
        for name in ("read", "write", "row", "mask"):
            wanted = getattr(ahead, name)
            held = Signal(len(wanted), name=f"late_{name}_{number}", reset_less=name in ("row", "mask"))
            m.d.sync += held.eq(wanted)
            m.d.comb += getattr(bank, name).eq(held)
        return ahead

    def _access_events(self, m: Module, number: int, back: Value, row: Value) -> None:
        """Report what a cache reads and writes, and what a collector evicts, in a bank."""
        access = self.access[number]
        whose: dict[str, Value] = {"warp": access.warp, "register": access.register}
        reads, writes = access.granted & access.read, access.granted & access.write
        if self.arbiter is None:
            emit(m, self.events.fetch[number], reads, bank=number, row=access.row, **whose)
        for evicted in self.evicted:
            whose = {name: Mux(back, getattr(evicted.payload, name), value) for name, value in whose.items()}
        emit(m, self.events.write_back[number], back | writes, bank=number, row=row, **whose)

    def _plain(self, evicted: Record | AccessInterface, number: int) -> Value:
        """Test whether an evicted value, which `owed[number]` is about, is to be kept as it is.

        It is if a write of its register is pending or issues, which might be a partial one that finds the
        bank as its decompress move has left it.
        """
        if not self.owed:
            return Const(0, 1)
        issue = self.issue.payload
        writes = (evicted.register - issue.uop.destination)[:REGISTER_WIDTH] < issue.uop.count
        return self.owed[number].pending | self.issue.valid & (issue.warp == evicted.warp) & writes

    def _follow(
        self, m: Module, number: int, back: Value, payload: Record, written: Value | None = None
    ) -> None:
        """Follow the register in the stage of a bank, until it is there; `written`: by a writer, and not by
        the cache."""
        bank, delay = self.storage.bank[number], self.storage.write_delay
        names: dict[str, Value] = {name: getattr(payload, name) for name in ("warp", "register")}
        for evicted in self.evicted:
            names = {name: Mux(back, getattr(evicted.payload, name), value) for name, value in names.items()}
        if written is not None:
            access = self.access[number]
            names = {name: Mux(written, value, getattr(access, name)) for name, value in names.items()}
            owed = self.owed[len(self.evicted) + number]
            m.d.comb += [owed.warp.eq(access.warp), owed.register.eq(access.register)]
        if delay:
            held = {name: Signal.like(getattr(payload, name), name=f"{name}_{number}") for name in names}
            with m.If(bank.write):
                m.d.sync += [held[name].eq(value) for name, value in names.items()]
            names = dict(held)
        ports: list[WrittenInterface | StoredInterface] = [self.landed[number]] if self._by_bank else []
        for port in ports + ([self.stored[number]] if self.stored else []):
            m.d.comb += [port.valid.eq(bank.stored), *(getattr(port, n).eq(v) for n, v in names.items())]
        if self.stored:
            m.d.comb += self.stored[number].compressed.eq(bank.compressed)

    def _land(self, m: Module) -> None:
        """Delay what collectors take of results: it is as late as what a bank takes."""
        if self._cached or self._by_bank:
            return
        domain = m.d.sync if self.storage.write_delay else m.d.comb
        for finished, landed in zip(self.finished, self.landed, strict=True):
            domain += [
                landed.valid.eq(finished.valid),
                landed.warp.eq(finished.warp),
                landed.register.eq(finished.register),
            ]

    def _evict(self, m: Module, taken: Value, places: list[LocationInterface]) -> None:
        """Connect what follows from an evicted value besides its write."""
        for number, evicted in enumerate(self.evicted, UNITS):
            whose = {"warp": evicted.payload.warp, "register": evicted.payload.register}
            for owed in self.owed[:1]:
                m.d.comb += [owed.warp.eq(whose["warp"]), owed.register.eq(whose["register"])]
            if self._probe and not self._cached:
                goes, place = evicted.valid & taken[number], places[number]
                emit(m, self.events.write_back[0], goes, bank=place.bank, row=place.row, **whose)
            if self._probe and self.mapping.released:
                gone = evicted.valid & ~self.mapping.mapped[number]
                emit(m, self.events.dead_value[0], gone, **whose)

    # --- Registers of a cache.

    def _move(self, m: Module) -> None:
        """The registers that are moved have homes, or none; what is on its way is not released."""
        mapping = self.mapping
        places = list(mapping.locate)[-len(self.moved) :]
        for number, (moved, place) in enumerate(zip(self.moved, places, strict=True)):
            m.d.comb += [
                place.warp.eq(moved.warp),
                place.register.eq(moved.register),
                moved.bank.eq(place.bank),
                moved.row.eq(place.row),
                moved.content.eq(mapping.content[number]),
                mapping.moves[number].eq(moved.goes),
            ]
        for outer, inner in zip(self.moving, mapping.moving, strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
