"""LTRF: a register file cache that holds what the active warps' intervals need, over a large and slow main
register file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, WritePort
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import TRANSFER_QUEUE, SmConfig, bits
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.hierarchy.engine import Engine
from warpbank.hdl.hierarchy.link import transfer_layout
from warpbank.hdl.hierarchy.lookups import LOOKUPS, LookUpInterface, OperandLookups
from warpbank.hdl.hierarchy.ltrf_events import LtrfEvents
from warpbank.hdl.hierarchy.ports import Hierarchy, HierarchyPorts
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.layouts import UNITS, Collection
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.arbiter_ports import LookupsInterface, RequestsInterface
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.mapping.ports import follow
from warpbank.hdl.probe import Events, emit, total
from warpbank.hdl.round_robin import Choice, decode, pick, soonest
from warpbank.hdl.typed import Numbers, Record, record


class Ltrf(LtrfEvents, Hierarchy):
    """Register file hierarchy of LTRF: a cache between the collectors and the banks. LTRF, section 4.

    See `warpbank.golden.hierarchy.ltrf.Ltrf` for what happens in a cycle.

    A register without content in the main register file has nothing to be carried: it leaves the cache
    without that, and when it comes zeros are written into its place, in the cycle behind the one in which it
    is given it, if the engine does not use its bank of the cache then. Where every register has a home this
    never happens.

    With `cache.write_back` `dirty` a bit per place says whether the main register file lacks its value; a
    register that leaves without it is not carried.

    Metadata go with the values, into the cache and out of it: each writer has a unit that finds those of what
    it writes, and each bank of the cache a memory of metadata, which is written a cycle after the bank.

    Parameters
    ----------
    config : the machine: cache, main register file.
    main : the main register file, `cached`.
    collection : the collectors.
    liveness : keep a liveness bit-vector, so that dead registers are not moved (LTRF+; LTRF, section 3.2).
    probe : generate `events`.

    Members
    -------
    those of `warpbank.hdl.hierarchy.ports.HierarchyPorts`. `owed`: of the registers that set off.

    Latency: an operand requested in t as its uop's first or second is looked up in t + 1 if no other uop
    waits for that, granted in t + 2 at the earliest, and delivered in the cycle after its grant. A register
    that is fetched comes `read_delay` cycles later than its bank delivers it.
    """

    #: Only the cache reads the main register file.
    main_needs: Mapping[str, bool] = {"operands": False, "cached": True}
    #: The engine; tests put others here.
    engine_class = Engine

    @staticmethod
    def moved(config: SmConfig) -> tuple[int, int]:
        """Registers that are located in a cycle because they set off, and those that may be on their way from
        or to a bank of the main register file."""
        return config.sub_core.transfers, TRANSFER_QUEUE + 2

    def __init__(
        self,
        config: SmConfig,
        main: MainRegisterFile,
        collection: Collection,
        liveness: bool = False,
        probe: bool = False,
    ) -> None:
        self._config, self._main, self.collection, self._probe = config, main, collection, probe
        self._uops, self._tags, self._evicts = collection.entries, collection.tags, collection.evicts
        core = config.sub_core
        self._banks, self._entries = core.banks, core.cache.registers
        self._writers = collection.writers
        self._metadata = main.layout
        self._tracks = core.cache.write_back == "dirty"
        self._place_layout = data.StructLayout(
            {"entry": bits(self._entries), "offset": bits(core.active_warps)}
        )
        self._blocks = WarpControlBlocks(config, 2 * LOOKUPS + self._writers, liveness)
        self._lookups = OperandLookups(config, self._tags, self._uops, collection.whole)
        self.engine = self.engine_class(config, main.storage.read_delay, main.layout.size)
        self._arbiter = Arbiter(
            config,
            self._uops,
            self._tags,
            probe,
            cache=True,
            late=(MAX_SOURCES // LOOKUPS - 1) * self._uops,
            lookups=LOOKUPS,
        )
        ports = HierarchyPorts(
            config,
            collection,
            main.layout,
            keeps=UNITS,
            owed=core.transfers if main.layout.size or self._tracks else 0,
            ahead=UNITS,
            prefetched=self._blocks.registers_per_warp,
        )
        members: dict[str, Any] = dict(ports.members)
        if probe:
            inner = [part.events.signature for part in self._reporters()]
            members["events"] = Out(Events(config, total([Events(config, self._own_events()), *inner])))
        super().__init__(members)
        self.parts, self.executes = main.storage.parts, main.storage.executes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        for name in ("main", "arbiter", "blocks", "lookups"):
            m.submodules[name] = getattr(self, f"_{name}")
        m.submodules.engine = self.engine
        follow(m, self, self._main, config, self._uops)
        self._caches: list[Numbers] = [
            Memory(shape=config.value_width, depth=max(2, config.sub_core.active_warps), init=[])
            for _ in range(self._entries)
        ]
        for number, cache in enumerate(self._caches):
            m.submodules[f"cache_{number}"] = cache
        self._warps(m)
        self._look_up(m)
        self._find_results(m)
        self._describe(m)
        rows = config.sub_core.active_warps if self._tracks else 0
        self._dirty = [Signal(self._entries, name=f"dirty_{row}", reset_less=True) for row in range(rows)]
        self._set_off(m)
        self._hold_values(m)
        self._write_cache(m)
        if self._tracks:
            self._keep_dirty(m)
        self._keep_metadata(m)
        self._write_main(m)
        self._read_cache(m)
        self._land(m)
        if self._probe:
            self._events(m)
        return m

    def _warps(self, m: Module) -> None:
        """Connect the control blocks to all that concerns the warps."""
        blocks = self._blocks
        m.d.comb += [blocks.start.eq(self.start.warps), blocks.registers.eq(self.working)]
        for name in ("activate", "activated", "deactivate", "ended", "quiet", "prefetch", "prefetching"):
            m.d.comb += getattr(blocks, name).eq(getattr(self, name))
        m.d.comb += [self.may_issue.eq(blocks.may_issue), self.may_activate.eq(blocks.may_activate)]
        m.d.comb += [blocks.issue.valid.eq(self.issue.valid), blocks.issue.payload.eq(self.issue.payload)]
        engine = self.engine
        m.d.comb += [blocks.inbound.eq(engine.inbound), blocks.outbound.eq(engine.outbound)]
        if self._main.mapping.released:  # physical registers that are released may be somebody else's
            m.d.comb += [blocks.forget.eq(self.launch), engine.forget.eq(self.launch)]

    # --- Operands.

    def _look_up(self, m: Module) -> None:
        """Find the operands that are looked up in this cycle, and ask for them."""
        lookups, arbiter = self._lookups, self._arbiter
        m.d.comb += [lookups.read.valid.eq(self.read.valid), lookups.read.payload.eq(self.read.payload)]
        self._ask(m, arbiter.request, lookups.newest, 0)
        self._ask(m, arbiter.late, lookups.late, LOOKUPS)

    def _ask(
        self, m: Module, request: RequestsInterface | LookupsInterface, found: LookUpInterface, port: int
    ) -> None:
        """Find operands through the read ports from `port` on, and request them."""
        m.d.comb += [request.valid.eq(found.valid), request.collector.eq(found.collector)]
        if self._tags > 1:
            m.d.comb += request.tag.eq(found.tag)
        for number in range(LOOKUPS):
            find = self._blocks.find[port + number]
            m.d.comb += [
                find.warp.eq(found.warp),
                find.register.eq(found.registers[number]),
                request.slots[number].eq(found.slots[number]),
                request.banks[number].eq(find.bank),
                request.rows[number].eq(find.offset),
            ]
            if self._probe:
                held = find.placed & ~self._moving(find.warp, find.register)
                emit(
                    m,
                    self.events.interval_read[port + number],
                    found.valid & found.slots[number].any() & ~held,
                    warp=find.warp,
                    register=find.register,
                )

    def _read_cache(self, m: Module) -> None:
        """Read ports of the cache banks, for granted operands and leaving registers, and the crossbar to the
        collectors. Metadata come with values.

        A bank reads what its oldest request wants, whether that is granted or not: the grant comes late, and
        what is read without one nobody takes.
        """
        arbiter = self._arbiter
        contents: list[Value] = []
        for number, (cache, read) in enumerate(zip(self._caches, arbiter.read, strict=True)):
            port, access = cache.read_port(), self.engine.cache[number]
            ports, found = [port], Value.cast(port.data)
            if self._metadata.size:
                memory, write = self._notes[number]
                ports.append(memory.read_port(transparent_for=(write,)))
                found = Cat(found, ports[-1].data)
            for each in ports:
                m.d.comb += [
                    each.en.eq(arbiter.waiting[number] | access.reads),
                    each.addr.eq(Mux(access.reads, access.transfer.offset, read.row)),
                ]
            m.d.comb += access.data.eq(found)
            contents.append(found)
        m.d.comb += arbiter.written.eq(self._wanted | self._engaged)
        values = Array(contents)
        for number, (grant, delivery) in enumerate(zip(arbiter.grant, self.deliver, strict=True)):
            source = Signal.like(grant.bank, name=f"source_{number}")
            m.d.sync += [delivery.valid.eq(grant.valid), delivery.slot.eq(grant.slot), source.eq(grant.bank)]
            if self._tags > 1:
                m.d.sync += delivery.tag.eq(grant.tag)
            m.d.comb += Cat(delivery.value, delivery.metadata.as_value()).eq(values[source])

    # --- Results.

    def _find_results(self, m: Module) -> None:
        """Find each writer's register, which is offered in the next cycle: in the cache, in the main register
        file, or on its way.

        A register that is chosen to set off in this cycle is on its way in the next one. Its writer has its
        bank then, and is not taken: a bank of the cache is written nevertheless, and the register leaves with
        that, since which lanes are written need not wait for this comparison; one of the main register file
        is not.
        """
        main = self._main
        self._all, self._offers = [*self.result, *self.evicted], [*main.result, *main.evicted]
        self._places: list[Record] = []
        self._to_cache: list[Value] = []
        self._in_cache: list[Signal] = []
        self._in_main: list[Signal] = []
        self._spoiled = Signal(self._writers, name="spoiled")
        asks = [*self.ahead, *(evicted.payload for evicted in self.evicted)]
        m.d.comb += [main.first.eq(self.first), main.spoiled.eq(self._spoiled)]
        finds = list(self._blocks.find)[2 * LOOKUPS :]
        for number, (writer, offer, find) in enumerate(zip(self._all, self._offers, finds, strict=True)):
            warp, register, ask = writer.payload.warp, writer.payload.register, asks[number]
            here, there = (Signal(name=f"found_in_{name}_{number}") for name in ("cache", "main"))
            place = record(self._place_layout, name=f"found_{number}")
            moving = Signal(name=f"moving_{number}")
            m.d.comb += [
                find.warp.eq(ask.warp),
                find.register.eq(ask.register),
                moving.eq(self._moving(ask.warp, ask.register)),
            ]
            m.d.sync += [
                here.eq(find.placed & ~moving),
                there.eq(~find.placed & ~moving),
                place.entry.eq(find.entry),
                place.offset.eq(find.offset),
            ]
            in_cache: Value = here
            in_main: Value = there
            spoiled = self._sets_off(warp, register)
            if number >= UNITS:  # looked up since it has been offered; one that is nowhere is dropped
                looked_up, exists = Signal(name="evicted_looked_up"), main.exists[number]
                m.d.sync += looked_up.eq(writer.valid & ~writer.ready)
                in_cache, in_main = here & looked_up & exists, there & looked_up | ~exists
                spoiled = spoiled & exists
            m.d.comb += [
                self._spoiled[number].eq(spoiled),
                offer.payload.eq(writer.payload),
                offer.valid.eq(writer.valid & in_main),
            ]
            self._to_cache.append(writer.valid & in_cache)
            self._in_cache.append(here)
            self._in_main.append(there)
            self._places.append(place)
            if self._probe:
                emit(
                    m,
                    self.events.write_wait[number],
                    writer.valid & ~writer.ready,
                    unit=number,
                    bank=Mux(in_cache, place.entry, main.bank_of[number]),
                )

    def _moving(self, warp: Value, register: Value) -> Value:
        """Whether a register sets off or is on a link."""
        found = self._sets_off(warp, register)
        for link in self.engine.links:
            here = Cat(
                wanted & (transfer.warp == warp) & (transfer.register == register)
                for wanted, transfer in zip(link.wanted, link.transfers, strict=True)
            )
            found = found | here.any()
        return found

    def _sets_off(self, warp: Value, register: Value) -> Value:
        """Whether a register has been chosen, and is not on a link yet."""
        blocks = self._blocks
        return (blocks.warp == warp) & Cat(
            setting.valid & (setting.register == register) for setting in blocks.setting
        ).any()

    def _describe(self, m: Module) -> None:
        """Metadata of each writer's value, in the next cycle. A value that a collector evicts to the main
        register file is kept as it is."""
        self._noted: list[Value] = []
        if not self._metadata.size:
            return
        values, masks = self._payloads()
        for number, (writer, place) in enumerate(zip(self._all, self._to_cache, strict=True)):
            noter = m.submodules[f"noter_{number}"] = self._main.storage.noter()
            m.d.comb += [
                noter.enable.eq(writer.valid),
                noter.value.eq(values[number]),
                noter.mask.eq(masks[number]),
            ]
            if number < UNITS:
                m.d.comb += noter.part.eq(writer.payload.part)
                self._noted.append(noter.note.as_value())
            else:
                cached = Signal(name="evicted_to_cache")
                m.d.sync += cached.eq(place)
                self._noted.append(Mux(cached, noter.note.as_value(), 0))

    def _set_off(self, m: Module) -> None:
        """The registers that were chosen get places, and go to the queues of their banks; what is not carried
        loses its place at once, or is cleared in the next cycle."""
        blocks, engine, main = self._blocks, self.engine, self._main
        clears = bool(main.mapping.released)
        self._next = Signal(self._entries, name="engaged_next")  # what the engine uses in the next cycle
        m.d.comb += self._next.eq(Cat(access.next for access in engine.cache))
        self._cleared = Signal(self._entries, name="cleared")
        self._cleared_row = Signal.like(blocks.offset, name="cleared_row")
        cleared, vacated = Signal(self._entries, name="clears"), Signal(self._entries, name="vacated")
        rooms = Cat(order.room for order in engine.order)
        pushed: list[tuple[Value, Value]] = []  # by register: the bank that it would go to; transfer
        before: list[tuple[Value, Value]] = []  # the carried ones that go first, and their banks
        zeros, gone = [], []
        for number, (setting, moved) in enumerate(zip(blocks.setting, main.moved, strict=True)):
            carried, room, free, first = (
                Signal(name=f"{name}_{number}")
                for name in ("is_carried", "has_room", "place_is_free", "first_of_its_bank")
            )
            place = Signal(self._entries, name=f"place_{number}")
            m.d.comb += [
                moved.warp.eq(blocks.warp),
                moved.register.eq(setting.register),
                carried.eq(setting.live & self._has_content(number) & ~(blocks.leaves & self._clean(number))),
                first.eq(~Cat(taken & (bank == moved.bank) for taken, bank in before).any()),
                place.eq(1 << setting.entry),
                free.eq(~(self._next & place).any() if clears else 1),
                setting.goes.eq(Mux(carried, room, blocks.leaves | free)),
                moved.goes.eq(setting.valid & carried & room),
            ]
            # Each bank knows what would go to it before it is known whether that has room.
            at = decode(m, moved.bank, setting.valid & carried & first, self._banks, f"queue_{number}")
            m.d.comb += room.eq((at & rooms).any())
            before.append((setting.valid & carried, moved.bank))
            plain = self.owed[number].pending if self.owed else Const(0, 1)
            transfer = record(transfer_layout(self._config), name=f"transfer_{number}")
            m.d.comb += [
                transfer.out.eq(blocks.leaves),
                transfer.warp.eq(blocks.warp),
                transfer.register.eq(setting.register),
                transfer.entry.eq(setting.entry),
                transfer.offset.eq(blocks.offset),
                transfer.row.eq(moved.row),
                transfer.plain.eq(plain),
            ]
            pushed.append((at, transfer.as_value()))
            # Not `goes`, which waits for a queue: what is not carried needs none.
            alone = setting.valid & ~carried & (blocks.leaves | free)
            zeros.append(Mux(alone & ~blocks.leaves, place, 0) if clears else Const(0, self._entries))
            gone.append(Mux(alone & blocks.leaves, place, 0))
            if self._probe:
                self._setting_events(m, number, setting, alone, clears)
        for owed, setting in zip(self.owed, blocks.setting, strict=False):
            m.d.comb += [owed.warp.eq(blocks.warp), owed.register.eq(setting.register)]
        m.d.comb += [cleared.eq(reduce(or_, zeros)), vacated.eq(reduce(or_, gone))]
        m.d.sync += [self._cleared.eq(cleared), self._cleared_row.eq(blocks.offset)]
        for number, order in enumerate(engine.order):
            mine = Cat(at[number] for at, _ in pushed)
            m.d.comb += [
                order.push.eq(mine.any() & order.room),
                order.transfer.as_value().eq(pick(mine, [transfer for _, transfer in pushed])),
            ]
        for row, back in enumerate(blocks.back):
            read = Cat(access.reads & (access.transfer.offset == row) for access in engine.cache)
            m.d.comb += back.eq(read | Mux(blocks.offset == row, vacated, 0))

    def _clean(self, number: int) -> Value:
        """Test of a register that leaves: the main register file has its value, and none is to come."""
        if not self._tracks:
            return Const(0, 1)
        dirty = Array(self._dirty)[self._blocks.offset]
        return ~dirty.bit_select(self._blocks.setting[number].entry, 1) & ~self.owed[number].pending

    def _keep_dirty(self, m: Module) -> None:
        """A place lacks its value in the main register file if it was not fetched, or has been written."""
        blocks = self._blocks
        given = [
            (setting.valid & setting.goes & ~blocks.leaves, moved.goes, 1 << setting.entry)
            for setting, moved in zip(blocks.setting, self._main.moved, strict=True)
        ]
        given_now, fetched = (Signal(self._entries, name=name) for name in ("places_given", "places_fetched"))
        m.d.comb += [
            given_now.eq(reduce(or_, (Mux(comes, place, 0) for comes, _, place in given))),
            fetched.eq(reduce(or_, (Mux(comes & goes, place, 0) for comes, goes, place in given))),
        ]
        for row, dirty in enumerate(self._dirty):
            written = Cat(choice.any & (at == row) for choice, at in self._chosen)
            mine = blocks.offset == row
            m.d.sync += dirty.eq((dirty | written | Mux(mine, given_now, 0)) & ~Mux(mine, fetched, 0))

    def _has_content(self, number: int) -> Value:
        """Whether a register that sets off has content in the main register file, or shall have."""
        return self._main.moved[number].content

    def _hold_values(self, m: Module) -> None:
        """Values of what the writers offer, and the lanes they write, in the next cycle."""
        self._values: list[Value] = []
        self._masks: list[Value] = []
        for number, (writer, value, mask) in enumerate(zip(self._all, *self._payloads(), strict=True)):
            held_value, held_mask = (
                Signal(len(each), name=f"held_{name}_{number}", reset_less=True)
                for name, each in (("value", value), ("mask", mask))
            )
            with m.If(writer.valid):
                m.d.sync += [held_value.eq(value), held_mask.eq(mask)]
            self._values.append(held_value)
            self._masks.append(held_mask)

    def _write_cache(self, m: Module) -> None:
        """Each bank of the cache takes what the engine has for it, or zeros, or else one result: it is given
        out in a cycle, and written in the next.

        Which banks the engine has is kept in registers of its own, beside those that say what for: which
        operands are granted waits for it.
        """
        self._wanted, self._engaged = (
            Signal(self._entries, name="cache_wanted"),
            Signal(self._entries, name="cache_engaged"),
        )
        self._used = Signal(self._entries, name="cache_used")
        m.d.sync += self._used.eq(self._next)
        m.d.comb += self._engaged.eq(self._used | self._cleared)
        #: Result that each bank takes, and its row.
        self._chosen: list[tuple[Choice, Signal]] = []
        reached = Signal(self._writers, name="writers_from_first")
        m.d.comb += reached.eq(Cat(self.first <= writer for writer in range(self._writers)))
        self._cache_ports: list[WritePort[int, Value]] = []
        for number, cache in enumerate(self._caches):
            wants, offers = (
                Signal(self._writers, name=f"cache_{name}_{number}") for name in ("wants", "offers")
            )
            m.d.comb += [
                wants.eq(
                    Cat(
                        valid & (place.entry == number)
                        for valid, place in zip(self._to_cache, self._places, strict=True)
                    )
                ),
                self._wanted[number].eq(wants.any()),
                offers.eq(Mux(self._engaged[number], 0, wants)),
            ]
            choice = soonest(m, offers, self.first, f"cache_bank_{number}", reached)
            offset = Signal.like(self._cleared_row, name=f"written_row_{number}")
            m.d.comb += offset.eq(pick(choice.one_hot, [place.offset for place in self._places]))
            self._chosen.append((choice, offset))
            self._write_bank(m, number, cache)
            if self._probe:
                payloads = Array(Cat(writer.payload.warp, writer.payload.register) for writer in self._all)
                payload: Any = payloads[choice.index]  # the stubs know no slices of a choice
                width = self._config.sub_core.warp_width
                emit(
                    m,
                    self.events.cache_write[number],
                    (choice.one_hot & ~self._spoiled).any(),
                    entry=number,
                    offset=offset,
                    warp=payload[:width],
                    register=payload[width:],
                )

    def _write_bank(self, m: Module, number: int, cache: Numbers) -> None:
        """Write a bank of the cache with what it was given in the cycle before.

        Which writer's, from a register, is what all lanes hang on. A place is read two cycles after its
        result was taken at the earliest.
        """
        access, cleared, (choice, offset) = (
            self.engine.cache[number],
            self._cleared[number],
            self._chosen[number],
        )
        writer = Signal(self._writers, name=f"taken_writer_{number}")
        row = Signal.like(offset, name=f"taken_row_{number}", reset_less=True)
        fills, whole = Signal(name=f"was_filled_{number}"), Signal(name=f"whole_{number}")
        # Where the engine has the bank, or zeros come, no result is chosen.
        at = offset | Mux(access.fills, access.transfer.offset, 0) | Mux(cleared, self._cleared_row, 0)
        m.d.sync += [
            writer.eq(choice.one_hot),
            row.eq(at),
            fills.eq(access.fills),
            whole.eq(access.fills | cleared),
        ]
        port = cache.write_port(granularity=32)
        self._cache_ports.append(port)
        word = Mux(fills, access.word[: self._config.value_width], 0)
        m.d.comb += [
            port.addr.eq(row),
            port.data.eq(pick(writer, self._values) | word),
            port.en.eq(pick(writer, self._masks) | whole.replicate(self._config.lanes)),
        ]

    def _keep_metadata(self, m: Module) -> None:
        """A bank's metadata follow a cycle after its value: of a result, of the register that arrived, of
        zeros."""
        self._notes: list[tuple[Numbers, WritePort[int, Value]]] = []
        size, main = self._metadata.size, self._main
        if not size:
            return
        width = self._config.value_width
        offsets, noted = Array(place.offset for place in self._places), Array(self._noted)
        for number, ((choice, _), access) in enumerate(zip(self._chosen, self.engine.cache, strict=True)):
            memory = m.submodules[f"cache_notes_{number}"] = Memory(
                shape=size, depth=max(2, self._config.sub_core.active_warps), init=[]
            )
            written, fills, cleared = (
                Signal(name=f"noting_{name}{number}") for name in ("", "fill_", "zeros_")
            )
            index = Signal.like(choice.index, name=f"noted_writer_{number}")
            offset = Signal.like(access.transfer.offset, name=f"noted_row_{number}")
            engine_row = Mux(access.fills, access.transfer.offset, self._cleared_row)
            m.d.sync += [
                written.eq(choice.any),
                index.eq(choice.index),
                fills.eq(access.fills),
                cleared.eq(self._cleared[number]),
                offset.eq(Mux(access.fills | self._cleared[number], engine_row, offsets[choice.index])),
            ]
            port = memory.write_port()
            m.d.comb += [
                port.en.eq(written | fills | cleared),
                port.addr.eq(offset),
                port.data.eq(Mux(fills, access.word[width:], Mux(cleared, main.storage.zeros, noted[index]))),
            ]
            self._notes.append((memory, port))
        for number, (given, writer, bank) in enumerate(
            zip(main.given, main.writer, self.engine.bank, strict=True)
        ):
            result, index = Signal(name=f"told_result_{number}"), Signal.like(writer, name=f"teller_{number}")
            m.d.sync += [result.eq(~main.access[number].granted), index.eq(writer)]
            m.d.comb += given.as_value().eq(Mux(result, noted[index], bank.word[width:]))

    def _payloads(self) -> tuple[list[Value], list[Value]]:
        """The writers' values, and the lanes they write."""
        values: list[Value] = [keep.value for keep in self.keep]
        masks: list[Value] = [result.payload.mask for result in self.result]
        for evicted in self.evicted:
            values.append(evicted.payload.value)
            masks.append(Const(self._config.lane_mask, self._config.lanes))
        return values, masks

    # --- The main register file.

    def _write_main(self, m: Module) -> None:
        """Each bank of the main register file takes a result, or else what the engine wants."""
        main, width = self._main, self._config.value_width
        for number, (port, access, bank) in enumerate(
            zip(main.write, main.access, self.engine.bank, strict=True)
        ):
            if main.late:
                served = Signal.like(main.serves[number], name=f"served_{number}")
                m.d.sync += served.eq(main.serves[number])
                value = pick(served, self._values)
            else:
                value = pick(main.serves[number][:UNITS], [keep.value for keep in self.keep])
            m.d.comb += [
                port.value.eq(value),
                access.read.eq(bank.reads),
                access.write.eq(bank.writes),
                access.row.eq(bank.transfer.row),
                access.value.eq(bank.word[:width]),
                access.warp.eq(bank.transfer.warp),
                access.register.eq(bank.transfer.register),
                bank.granted.eq(access.granted),
                bank.cycles.eq(access.cycles),
                bank.data.eq(Cat(access.data, access.metadata.as_value())),
            ]
            if self._probe:
                inside = self._blocks.may_issue.bit_select(bank.transfer.warp, 1)
                emit(
                    m,
                    self.events.interval_read[2 * LOOKUPS + number],
                    access.granted & bank.reads & inside,
                    warp=bank.transfer.warp,
                    register=bank.transfer.register,
                )
        places = [
            (wanted, transfer)
            for link in self.engine.links
            for wanted, transfer in zip(link.wanted, link.transfers, strict=True)
        ]
        for moving, (wanted, transfer) in zip(main.moving, places, strict=True):
            m.d.comb += [
                moving.valid.eq(wanted),
                moving.warp.eq(transfer.warp),
                moving.register.eq(transfer.register),
            ]

    def _land(self, m: Module) -> None:
        """Results that are taken in this cycle, by the cache or by the main register file; the testbench is
        asked for those, too, that the cache writes and does not take."""
        cached = Signal(self._writers, name="cached")
        m.d.comb += cached.eq(reduce(or_, (choice.one_hot for choice, _ in self._chosen)))
        for number, (writer, offer) in enumerate(zip(self._all, self._offers, strict=True)):
            m.d.comb += writer.ready.eq((cached[number] | offer.valid & offer.ready) & ~self._spoiled[number])
        for number, (keep, result) in enumerate(zip(self.keep, self.result, strict=True)):
            m.d.comb += keep.valid.eq(result.valid & (result.ready | cached[number]))
            m.d.comb += [
                getattr(keep, name).eq(getattr(result.payload, name))
                for name in ("warp", "seq", "register", "mask")
            ]
        for finished, landed in zip(self.finished, self.landed, strict=True):
            wiring.connect(m, wiring.flipped(finished), wiring.flipped(landed))
