"""LTRF: a register file cache that holds what the active warps' intervals need, over a large and slow main
register file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.memory import Memory, WritePort
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.hierarchy.ltrf_events import LOOKUPS, LtrfEvents
from warpbank.hdl.hierarchy.mover import Mover
from warpbank.hdl.hierarchy.ports import Hierarchy, HierarchyPorts
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.interfaces import UNITS, Collection, read_layout
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.mapping.ports import follow
from warpbank.hdl.probe import Events, emit, total
from warpbank.hdl.round_robin import Choice, chosen, first_from
from warpbank.hdl.typed import Numbers, record


class Ltrf(LtrfEvents, Hierarchy):
    """Register file hierarchy of LTRF: a cache between the collectors and the banks. LTRF, section 4.

    See `warpbank.golden.hierarchy.ltrf.Ltrf` for what happens in a cycle.

    A register without content in the main register file has nothing to be moved: it leaves the cache without
    that, and when it comes zeros are written into its place, in the cycle in which it is given it, if its
    bank of the cache is free then. Where every register has a home this never happens.

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
    those of `warpbank.hdl.hierarchy.ports.HierarchyPorts`. `owed` asks about the register that has left the
    cache in the cycle before, if there are metadata.

    Latency: an operand requested in t as its uop's first or second is looked up in t + 1 if no other uop
    waits for that, granted in t + 2 at the earliest, and delivered in the cycle after its grant. A register
    that is fetched comes `read_delay` cycles later than its bank delivers it.
    """

    #: Only the cache reads the main register file.
    main_needs: Mapping[str, bool] = {"operands": False, "cached": True}

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
        self._blocks = WarpControlBlocks(config, LOOKUPS + self._writers, liveness)
        self._arbiter = Arbiter(config, MAX_SOURCES // LOOKUPS * self._uops, self._tags, probe, cache=True)
        ports = HierarchyPorts(
            config,
            collection,
            main.layout,
            keeps=UNITS,
            owed=min(1, main.layout.size),
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
        for name in ("main", "arbiter", "blocks"):
            m.submodules[name] = getattr(self, f"_{name}")
        follow(m, self, self._main, config, self._uops)
        delay, noted = self._main.storage.read_delay, self._metadata.size
        self._movers = [Mover(config, delay, noted) for _ in range(self._banks)]
        self._caches: list[Numbers] = [
            Memory(shape=config.value_width, depth=max(2, config.sub_core.active_warps), init=[])
            for _ in range(self._entries)
        ]
        for number, mover in enumerate(self._movers):
            m.submodules[f"mover_{number}"] = self._build(mover)
        for number, cache in enumerate(self._caches):
            m.submodules[f"cache_{number}"] = cache
        self._warps(m)
        self._look_up(m)
        self._find_results(m)
        self._describe(m)
        self._fill(m)
        self._write_cache(m)
        self._move(m)
        self._clear(m)
        self._keep_metadata(m)
        self._write_main(m)
        self._read_cache(m)
        self._land(m)
        if self._probe:
            self._events(m)
        return m

    def _build(self, mover: Mover) -> Elaboratable:
        """What is built of a mover. A launch forgets what is still on its way, of warps that have ended:
        physical registers that can be released are free then."""
        return ResetInserter(self.launch)(mover) if self._main.mapping.released else mover

    def _warps(self, m: Module) -> None:
        """What concerns the warps goes to the control blocks."""
        blocks = self._blocks
        m.d.comb += [blocks.start.eq(self.start.warps), blocks.registers.eq(self.working)]
        for name in ("activate", "activated", "deactivate", "ended", "quiet", "prefetch", "prefetching"):
            m.d.comb += getattr(blocks, name).eq(getattr(self, name))
        m.d.comb += [self.may_issue.eq(blocks.may_issue), self.may_activate.eq(blocks.may_activate)]
        m.d.comb += [blocks.issue.valid.eq(self.issue.valid), blocks.issue.payload.eq(self.issue.payload)]
        rows = self._config.sub_core.active_warps
        carried = [Mux(mover.idle, 0, 1 << mover.move.offset)[:rows] for mover in self._movers]
        inbound = [Mux(mover.inbound, 1 << mover.move.offset, 0)[:rows] for mover in self._movers]
        m.d.comb += [blocks.carried.eq(reduce(or_, carried)), blocks.inbound.eq(reduce(or_, inbound))]

    # --- Operands.

    def _look_up(self, m: Module) -> None:
        """Uops wait in a queue; two operands of the oldest are found in a cycle, and asked for."""
        layout = read_layout(self._config, self._tags)
        queue = m.submodules.lookups = SyncFIFO(width=layout.size, depth=max(2, self._uops))
        head = record(layout)
        done, left, rest = (Signal(MAX_SOURCES, name=f"{name}_sources") for name in ("done", "left", "rest"))
        m.d.comb += [
            queue.w_data.eq(self.read.payload.as_value()),
            queue.w_en.eq(self.read.valid & self.read.payload.source_valid.any()),
            head.as_value().eq(queue.r_data),
            left.eq(Mux(queue.r_rdy, head.source_valid & ~done, 0)),
        ]
        request = self._arbiter.request
        m.d.comb += [
            request.valid.eq(queue.r_rdy),
            request.collector.eq(head.collector),
            request.slots.eq(left & ~rest),
        ]
        if self._tags > 1:
            m.d.comb += request.tag.eq(head.tag)
        remaining: Value = left
        for number in range(LOOKUPS):
            first = chosen(m, remaining, f"looked_up_{number}")
            find = self._blocks.find[number]
            m.d.comb += [find.warp.eq(head.warp), find.register.eq(Array(head.sources)[first.index])]
            for slot in range(MAX_SOURCES):
                with m.If(first.one_hot[slot]):
                    m.d.comb += [request.banks[slot].eq(find.entry), request.rows[slot].eq(find.offset)]
            remaining = remaining & ~first.one_hot
            if self._probe:
                held = find.placed & ~self._blocks.inbound.bit_select(find.offset, 1)
                emit(
                    m,
                    self.events.interval_read[number],
                    first.any & ~held,
                    warp=find.warp,
                    register=find.register,
                )
        m.d.comb += [rest.eq(remaining), queue.r_en.eq(queue.r_rdy & (rest == 0))]
        with m.If(queue.r_rdy):
            m.d.sync += done.eq(Mux(rest == 0, 0, done | (left & ~rest)))

    def _read_cache(self, m: Module) -> None:
        """What the arbiter grants, and the register that leaves; the crossbar to the collectors. Metadata
        come with values."""
        blocks, arbiter = self._blocks, self._arbiter
        contents: list[Value] = []
        for number, (cache, read) in enumerate(zip(self._caches, arbiter.read, strict=True)):
            port, leaves = cache.read_port(), self._leaving[number]
            ports, found = [port], Value.cast(port.data)
            if self._metadata.size:
                memory, write = self._notes[number]
                ports.append(memory.read_port(transparent_for=(write,)))
                found = Cat(found, ports[-1].data)
            for each in ports:
                m.d.comb += [
                    each.en.eq(read.valid | leaves),
                    each.addr.eq(Mux(leaves, blocks.offset, read.row)),
                ]
            contents.append(found)
        m.d.comb += arbiter.written.eq(self._written | self._leaving | self._cleared)
        values, width = Array(contents), self._config.value_width
        for number, (grant, delivery) in enumerate(zip(arbiter.grant, self.deliver, strict=True)):
            source = Signal.like(grant.bank, name=f"source_{number}")
            m.d.sync += [delivery.valid.eq(grant.valid), delivery.slot.eq(grant.slot), source.eq(grant.bank)]
            if self._tags > 1:
                m.d.sync += delivery.tag.eq(grant.tag)
            m.d.comb += Cat(delivery.value, delivery.metadata.as_value()).eq(values[source])
        left = Signal.like(blocks.entry, name="entry_left")
        m.d.sync += left.eq(blocks.entry)
        moved = Signal(width + self._metadata.size)
        m.d.comb += moved.eq(values[left])
        m.d.comb += [mover.value.eq(moved[:width]) for mover in self._movers]
        for owed in self.owed:  # a register whose result is still to come is kept as it is
            m.d.sync += [owed.warp.eq(blocks.warp), owed.register.eq(blocks.moved)]
            m.d.comb += [mover.note.eq(Mux(owed.pending, 0, moved[width:])) for mover in self._movers]

    # --- Results.

    def _find_results(self, m: Module) -> None:
        """Where each writer's register is: in the cache, in the main register file, or on its way."""
        main = self._main
        self._all, self._offers = [*self.result, *self.evicted], [*main.result, *main.evicted]
        self._finds = list(self._blocks.find)[LOOKUPS:]
        carried = Array(Cat(mover.idle, mover.move.warp, mover.move.register) for mover in self._movers)
        self._to_cache = []
        m.d.comb += main.first.eq(self.first)
        for number, (writer, offer, find) in enumerate(
            zip(self._all, self._offers, self._finds, strict=True)
        ):
            warp, register, bank = writer.payload.warp, writer.payload.register, main.bank_of[number]
            here, moving = Signal(name=f"here_{number}"), Signal(name=f"moving_{number}")
            there = main.exists[number] if number >= UNITS else Const(1, 1)
            m.d.comb += [
                offer.payload.eq(writer.payload),
                offer.valid.eq(writer.valid & ~(there & (here | moving))),
                find.warp.eq(warp),
                find.register.eq(register),
                moving.eq(carried[bank] == Cat(Const(0, 1), warp, register)),
                here.eq(find.placed & ~moving),
            ]
            self._to_cache.append(writer.valid & here & there)
            if self._probe:
                emit(
                    m,
                    self.events.write_wait[number],
                    writer.valid & ~writer.ready,
                    unit=number,
                    bank=Mux(here, find.entry, bank),
                )

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

    def _fill(self, m: Module) -> None:
        """The register that arrives from the narrow crossbar's one port."""
        arrives, pointer = Signal(self._banks), Signal(range(self._banks), name="fill_pointer")
        m.d.comb += arrives.eq(Cat(mover.arrives for mover in self._movers))
        choice = self._fill_choice = first_from(m, arrives, pointer, "fill")
        with m.If(choice.any):
            m.d.sync += pointer.eq(choice.after)
        m.d.comb += [mover.filled.eq(choice.one_hot[number]) for number, mover in enumerate(self._movers)]
        self._filled = record(self._movers[0].move.shape(), name="filled_move")
        self._fill_value = Signal(self._config.value_width)
        self._fills = choice.any
        m.d.comb += [
            self._filled.as_value().eq(Array(mover.move.as_value() for mover in self._movers)[choice.index]),
            self._fill_value.eq(Array(access.data for access in self._main.access)[choice.index]),
        ]

    def _write_cache(self, m: Module) -> None:
        """Each bank of the cache takes the register that arrives, or else one result."""
        self._written, self._leaving = (
            Signal(self._entries, name="cache_written"),
            Signal(self._entries, name="cache_left"),
        )
        self._carried = Signal(name="is_carried")  # the register that sets off, by a mover
        values, masks = self._payloads()
        self._served: list[Value] = []
        self._cache_choices: list[Choice] = []
        self._cache_ports: list[WritePort[int, Value]] = []
        for number, cache in enumerate(self._caches):
            fills, offers = (
                Signal(name=f"fills_{number}"),
                Signal(self._writers, name=f"cache_offers_{number}"),
            )
            m.d.comb += [
                fills.eq(self._fills & (self._filled.entry == number)),
                offers.eq(
                    Mux(
                        fills,
                        0,
                        Cat(
                            valid & (find.entry == number)
                            for valid, find in zip(self._to_cache, self._finds, strict=True)
                        ),
                    )
                ),
            ]
            choice = first_from(m, offers, self.first, f"cache_bank_{number}")
            self._cache_choices.append(choice)
            self._served.append(choice.one_hot)
            offset = Array(find.offset for find in self._finds)[choice.index]
            port = cache.write_port(granularity=32)
            self._cache_ports.append(port)
            m.d.comb += [
                self._written[number].eq(fills | choice.any),
                port.addr.eq(Mux(fills, self._filled.offset, offset)),
                port.data.eq(Mux(fills, self._fill_value, values[choice.index])),
                port.en.eq(Mux(fills, -1, Mux(choice.any, masks[choice.index], 0))),
            ]
            if self._probe:
                payloads = Array(Cat(writer.payload.warp, writer.payload.register) for writer in self._all)
                payload: Any = payloads[choice.index]  # the stubs know no slices of a choice
                width = self._config.sub_core.warp_width
                emit(
                    m,
                    self.events.cache_write[number],
                    choice.any,
                    entry=number,
                    offset=offset,
                    warp=payload[:width],
                    register=payload[width:],
                )

    def _clear(self, m: Module) -> None:
        """Zeros go into the place of a register that comes without being moved, where that may happen."""
        blocks, clears = self._blocks, bool(self._main.mapping.released)
        self._cleared = Signal(self._entries if clears else 0, name="cleared")
        m.d.comb += self._cleared.eq(Mux(blocks.goes & ~blocks.leaves & ~self._carried, 1 << blocks.entry, 0))
        for cleared, port in zip(self._cleared, self._cache_ports, strict=False):
            with m.If(cleared):
                m.d.comb += [port.addr.eq(blocks.offset), port.data.eq(0), port.en.eq(-1)]
        if self._probe and clears:
            emit(
                m,
                self.events.cache_zero[0],
                self._cleared.any(),
                entry=blocks.entry,
                offset=blocks.offset,
                warp=blocks.warp,
                register=blocks.moved,
            )

    def _keep_metadata(self, m: Module) -> None:
        """A bank's metadata follow a cycle after its value: of a result, of the register that arrived, of
        zeros."""
        self._notes: list[tuple[Numbers, WritePort[int, Value]]] = []
        size, main = self._metadata.size, self._main
        if not size:
            return
        arrived = Signal(size, name="arrived_note")
        m.d.sync += arrived.eq(
            Array(access.metadata.as_value() for access in main.access)[self._fill_choice.index]
        )
        offsets, noted = Array(find.offset for find in self._finds), Array(self._noted)
        zeros_row = Signal.like(self._blocks.offset)
        m.d.sync += zeros_row.eq(self._blocks.offset)
        for number, choice in enumerate(self._cache_choices):
            memory = m.submodules[f"cache_notes_{number}"] = Memory(
                shape=size, depth=max(2, self._config.sub_core.active_warps), init=[]
            )
            written, fills, cleared = (
                Signal(name=f"noting_{name}{number}") for name in ("", "fill_", "zeros_")
            )
            index = Signal.like(choice.index, name=f"noted_writer_{number}")
            offset = Signal.like(self._filled.offset, name=f"noted_row_{number}")
            filled = self._fills & (self._filled.entry == number)
            m.d.sync += [
                written.eq(self._written[number]),
                index.eq(choice.index),
                fills.eq(filled),
                offset.eq(Mux(filled, self._filled.offset, offsets[choice.index])),
                cleared.eq(self._cleared[number : number + 1]),
            ]
            port = memory.write_port()
            m.d.comb += [
                port.en.eq(written),
                port.addr.eq(offset),
                port.data.eq(Mux(fills, arrived, noted[index])),
            ]
            with m.If(cleared):
                m.d.comb += [port.en.eq(1), port.addr.eq(zeros_row), port.data.eq(main.storage.zeros)]
            self._notes.append((memory, port))
        for number, (given, writer, mover) in enumerate(
            zip(main.given, main.writer, self._movers, strict=True)
        ):
            result, index = Signal(name=f"told_result_{number}"), Signal.like(writer, name=f"teller_{number}")
            m.d.sync += [result.eq(~main.access[number].granted), index.eq(writer)]
            m.d.comb += given.as_value().eq(Mux(result, noted[index], mover.known))

    def _payloads(self) -> tuple[Array, Array]:
        """The writers' values, and the lanes they write."""
        values, masks = [keep.value for keep in self.keep], [result.payload.mask for result in self.result]
        for evicted in self.evicted:
            values.append(evicted.payload.value)
            masks.append(Const(self._config.lane_mask, self._config.lanes))
        return Array(values), Array(masks)

    # --- What is moved, and the main register file.

    def _move(self, m: Module) -> None:
        """The register whose turn it is sets off, if it can."""
        blocks, moved = self._blocks, self._main.moved
        idle, moves = Signal(), Signal()
        m.d.comb += [
            moved.warp.eq(blocks.warp),
            moved.register.eq(blocks.moved),
            moved.goes.eq(moves),
            self._carried.eq(self._has_home()),
            idle.eq(Array(mover.idle for mover in self._movers)[moved.bank]),
            blocks.goes.eq(
                blocks.works
                & (~self._carried | idle)
                & ~(self._needs_cache() & self._written.bit_select(blocks.entry, 1))
            ),
            moves.eq(blocks.goes & self._carried),
            self._leaving.eq(Mux(moves & blocks.leaves, 1 << blocks.entry, 0)),
        ]
        for number, mover in enumerate(self._movers):
            mine = moves & (moved.bank == number)
            order, moving = mover.order, self._main.moving[number]
            m.d.comb += [
                mover.fetch.eq(mine & ~blocks.leaves),
                mover.store.eq(mine & blocks.leaves),
                order.warp.eq(blocks.warp),
                order.register.eq(blocks.moved),
                order.entry.eq(blocks.entry),
                order.offset.eq(blocks.offset),
                order.row.eq(moved.row),
                moving.valid.eq(~mover.idle),
                moving.warp.eq(mover.move.warp),
                moving.register.eq(mover.move.register),
            ]

    def _has_home(self) -> Value:
        """Whether the register whose turn it is has content in the main register file, or shall have: else it
        is dead, or has none there."""
        return self._blocks.live & self._main.moved.content

    def _needs_cache(self) -> Value:
        """Whether that register needs its bank of the cache when it sets off: it leaves, or zeros come."""
        zeros = ~self._blocks.leaves & ~self._carried if self._main.mapping.released else Const(0, 1)
        return self._blocks.leaves & self._carried | zeros

    def _write_main(self, m: Module) -> None:
        """Each bank of the main register file takes a result, or else what its mover wants."""
        main = self._main
        values = Array(keep.value for keep in self.keep)
        for number, (port, access, mover) in enumerate(
            zip(main.write, main.access, self._movers, strict=True)
        ):
            m.d.comb += [
                port.value.eq(values[main.writer[number][: bits(UNITS)]]),
                access.read.eq(mover.reads),
                access.write.eq(mover.writes),
                access.row.eq(mover.move.row),
                access.value.eq(mover.carried),
                access.warp.eq(mover.move.warp),
                access.register.eq(mover.move.register),
                mover.access.eq(access.granted),
                mover.cycles.eq(access.cycles),
            ]
            if self._probe:
                inside = self._blocks.may_issue.bit_select(mover.move.warp, 1)
                emit(
                    m,
                    self.events.interval_read[LOOKUPS + number],
                    access.granted & mover.reads & inside,
                    warp=mover.move.warp,
                    register=mover.move.register,
                )

    def _land(self, m: Module) -> None:
        """Results that are taken in this cycle, by the cache or by the main register file."""
        served = Signal(self._writers)
        m.d.comb += served.eq(reduce(or_, self._served))
        for number, (writer, offer) in enumerate(zip(self._all, self._offers, strict=True)):
            m.d.comb += writer.ready.eq(served[number] | offer.valid & offer.ready)
        for keep, result in zip(self.keep, self.result, strict=True):
            m.d.comb += keep.valid.eq(result.valid & result.ready)
            m.d.comb += [
                getattr(keep, name).eq(getattr(result.payload, name))
                for name in ("warp", "seq", "register", "mask")
            ]
        for finished, landed in zip(self.finished, self.landed, strict=True):
            wiring.connect(m, wiring.flipped(finished), wiring.flipped(landed))
