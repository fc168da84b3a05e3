"""LTRF: a register file cache that holds what the active warps' intervals need, over a large and slow main
register file."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.hierarchy.ltrf_events import LOOKUPS, LtrfEvents
from warpbank.hdl.hierarchy.mover import Mover
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.interfaces import (
    UNITS,
    Delivery,
    Start,
    WriteBack,
    evicted_stream,
    issue_stream,
    read_layout,
    read_stream,
    result_stream,
)
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.bank_timing import FractionalLatency
from warpbank.hdl.probe import Events, emit, total
from warpbank.hdl.round_robin import chosen, first_from


class Ltrf(LtrfEvents, wiring.Component):
    """Register file hierarchy of LTRF: a cache between the collectors and the banks. LTRF, section 4.

    See `warpbank.golden.hierarchy.ltrf.Ltrf` for what happens in a cycle.

    Parameters
    ----------
    config : the machine: cache, main register file.
    mapping, storage : the other rooms' units; the mapping with a port per writer and one for the register
        that is moved.
    entries, tags : uops that can be in collection; in one collector.
    evicts : the collectors evict values: they are a writer behind the units.
    probe : generate `events`.

    Members
    -------
    start : In(Start). As in `warpbank.hdl.hierarchy.flat.Flat`, as all that follow up to `first`.
    read : In(read_stream). Operands are requested.
    deliver : Out(Delivery) per collector. They arrive.
    result : In(result_stream) per unit. A result register is offered.
    evicted : In(evicted_stream), if `evicts`. A value that a collector evicts.
    first : In(bits(units)). Unit whose offer goes first.
    keep : Out(WriteBack) per unit. Its result is written, into the cache or into the main register file; its
        value comes in.
    activate, activated, deactivate, ended, quiet, issue, prefetch, prefetching, registers : In, as in
        `warpbank.hdl.hierarchy.wcb.WarpControlBlocks`.
    may_issue, may_activate : Out(warps). Likewise.

    Latency: an operand requested in t as its uop's first or second is looked up in t + 1 if no other uop
    waits for that, granted in t + 2 at the earliest, and delivered in the cycle after its grant.
    """

    #: Dead registers are moved like others.
    liveness = False
    #: It wants to be told of activations, of what issues, and of PREFETCHes.
    follows, prefetches, renames, notes = True, True, False, False

    def __init__(
        self,
        config: SmConfig,
        mapping: wiring.Component,
        storage: wiring.Component,
        entries: int,
        tags: int = 1,
        evicts: bool = False,
        probe: bool = False,
    ) -> None:
        self._config, self._mapping, self._storage = config, mapping, storage
        self._uops, self._tags, self._evicts, self._probe = entries, tags, evicts, probe
        core = config.sub_core
        self._banks, self._entries = core.banks, core.cache.registers
        self._writers = UNITS + evicts
        self._blocks = WarpControlBlocks(config, LOOKUPS + self._writers, self.liveness)
        self._arbiter = Arbiter(config, MAX_SOURCES // LOOKUPS * entries, tags, probe, cache=True)
        passed = (
            "activate",
            "activated",
            "deactivate",
            "ended",
            "quiet",
            "prefetch",
            "prefetching",
            "registers",
            "may_issue",
            "may_activate",
        )
        members: dict[str, Any] = {
            "start": In(Start(config)),
            "read": In(read_stream(config, tags)),
            "deliver": Out(Delivery(config, tags)).array(core.collectors),
            "result": In(result_stream(config)).array(UNITS),
            "first": In(bits(self._writers)),
            "keep": Out(WriteBack(config)).array(UNITS),
            "issue": In(issue_stream(config)),
            **{name: self._blocks.signature.members[name] for name in passed},
        }
        if evicts:
            members["evicted"] = In(evicted_stream(config))
        if probe:
            inner = [part.events.signature for part in self._reporters()]
            members["events"] = Out(Events(config, total([Events(config, self._own_events()), *inner])))
        self._passed = passed
        super().__init__(members | self._more_members())

    def _more_members(self) -> dict[str, Any]:
        """What a hierarchy made from this one has besides."""
        return {}

    def _mover(self) -> Mover:
        """One of the movers."""
        return Mover(self._config)

    @staticmethod
    def ports(config: SmConfig, evicts: bool = False) -> int:
        """Registers that the mapping locates in a cycle."""
        return UNITS + evicts + 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        for name in ("mapping", "storage", "arbiter", "blocks"):
            m.submodules[name] = getattr(self, f"_{name}")
        wiring.connect(m, wiring.flipped(self.start), self._mapping.start)
        self._movers = [self._mover() for _ in range(self._banks)]
        self._paces = [FractionalLatency(config.sub_core.bank_latency) for _ in range(self._banks)]
        self._caches = [
            Memory(shape=config.value_width, depth=max(2, config.sub_core.active_warps), init=[])
            for _ in range(self._entries)
        ]
        for number, (mover, pace) in enumerate(zip(self._movers, self._paces, strict=True)):
            m.submodules[f"mover_{number}"], m.submodules[f"pace_{number}"] = self._build(mover), pace
        for number, cache in enumerate(self._caches):
            m.submodules[f"cache_{number}"] = cache
        self._pass(m)
        self._look_up(m)
        self._find_results(m)
        self._fill(m)
        self._write_cache(m)
        self._move(m)
        self._main(m)
        self._read_cache(m)
        if self._probe:
            self._events(m)
        return m

    def _build(self, mover: Mover) -> Elaboratable:
        """What is built of a mover."""
        return mover

    def _pass(self, m: Module) -> None:
        """What concerns the warps goes to the control blocks."""
        blocks = self._blocks
        m.d.comb += blocks.start.eq(self.start.warps)
        for name in self._passed:
            if name.startswith("may_"):
                m.d.comb += getattr(self, name).eq(getattr(blocks, name))
            else:
                m.d.comb += getattr(blocks, name).eq(getattr(self, name))
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
        head = Signal(layout)
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
        """What the arbiter grants, and the register that leaves; the crossbar to the collectors."""
        blocks, arbiter = self._blocks, self._arbiter
        contents = []
        for number, (cache, grant) in enumerate(zip(self._caches, arbiter.read, strict=True)):
            port = cache.read_port()
            leaves = self._leaving[number]
            m.d.comb += [
                port.en.eq(grant.valid | leaves),
                port.addr.eq(Mux(leaves, blocks.offset, grant.row)),
            ]
            contents.append(port.data)
        m.d.comb += arbiter.written.eq(self._taken())
        values = Array(contents)
        for number, (grant, delivery) in enumerate(zip(arbiter.grant, self.deliver, strict=True)):
            source = Signal.like(grant.bank, name=f"source_{number}")
            m.d.sync += [delivery.valid.eq(grant.valid), delivery.slot.eq(grant.slot), source.eq(grant.bank)]
            if self._tags > 1:
                m.d.sync += delivery.tag.eq(grant.tag)
            m.d.comb += delivery.value.eq(values[source])
        left = Signal.like(blocks.entry, name="entry_left")
        m.d.sync += left.eq(blocks.entry)
        moved = Signal(self._config.value_width)
        m.d.comb += moved.eq(values[left])
        m.d.comb += [mover.value.eq(moved) for mover in self._movers]

    def _taken(self) -> Value:
        """Banks of the cache that have no time for an operand."""
        return self._written | self._leaving

    # --- Results.

    def _find_results(self, m: Module) -> None:
        """Where each writer's register is: in the cache, in the main register file, or on its way."""
        self._all = [*self.result, self.evicted] if self._evicts else list(self.result)
        self._places = list(self._mapping.locate)[: self._writers]
        self._finds = list(self._blocks.find)[LOOKUPS:]
        carried = Array(Cat(mover.idle, mover.move.warp, mover.move.register) for mover in self._movers)
        self._to_cache, self._to_main = [], []
        for number, (writer, place, find) in enumerate(
            zip(self._all, self._places, self._finds, strict=True)
        ):
            warp, register = writer.payload.warp, writer.payload.register
            here, moving = Signal(name=f"here_{number}"), Signal(name=f"moving_{number}")
            m.d.comb += [
                place.warp.eq(warp),
                place.register.eq(register),
                find.warp.eq(warp),
                find.register.eq(register),
                moving.eq(carried[place.bank] == Cat(Const(0, 1), warp, register)),
                here.eq(find.placed & ~moving),
            ]
            self._to_cache.append(writer.valid & here)
            self._to_main.append(writer.valid & ~here & ~moving)
            if self._probe:
                emit(
                    m,
                    self.events.write_wait[number],
                    writer.valid & ~writer.ready,
                    unit=number,
                    bank=Mux(here, find.entry, place.bank),
                )

    def _fill(self, m: Module) -> None:
        """The register that arrives from the narrow crossbar's one port."""
        arrives, pointer = Signal(self._banks), Signal(range(self._banks), name="fill_pointer")
        m.d.comb += arrives.eq(Cat(mover.arrives for mover in self._movers))
        choice = self._fill_choice = first_from(m, arrives, pointer, "fill")
        with m.If(choice.any):
            m.d.sync += pointer.eq(choice.after)
        m.d.comb += [mover.filled.eq(choice.one_hot[number]) for number, mover in enumerate(self._movers)]
        self._filled = Signal(self._movers[0].move.shape(), name="filled_move")
        self._fill_value = Signal(self._config.value_width)
        self._fills = choice.any
        m.d.comb += [
            self._filled.as_value().eq(Array(mover.move.as_value() for mover in self._movers)[choice.index]),
            self._fill_value.eq(Array(bank.data for bank in self._storage.bank)[choice.index]),
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
        self._cache_choices, self._cache_ports = [], []
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
                payload = payloads[choice.index]
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

    def _payloads(self) -> tuple[Array, Array]:
        """The writers' values, and the lanes they write."""
        values, masks = [keep.value for keep in self.keep], [result.payload.mask for result in self.result]
        if self._evicts:
            values.append(self.evicted.payload.value)
            masks.append(Const(self._config.lane_mask, self._config.lanes))
        return Array(values), Array(masks)

    # --- What is moved, and the main register file.

    def _move(self, m: Module) -> None:
        """The register whose turn it is sets off, if it can."""
        blocks, place = self._blocks, self._mapping.locate[-1]
        idle = Signal()
        m.d.comb += [
            place.warp.eq(blocks.warp),
            place.register.eq(blocks.moved),
            self._carried.eq(self._has_home()),
            idle.eq(Array(mover.idle for mover in self._movers)[place.bank]),
            blocks.goes.eq(
                blocks.works
                & (~self._carried | idle)
                & ~(self._needs_cache() & self._written.bit_select(blocks.entry, 1))
            ),
        ]
        moves = Signal()
        m.d.comb += [
            moves.eq(blocks.goes & self._carried),
            self._leaving.eq(Mux(moves & blocks.leaves, 1 << blocks.entry, 0)),
        ]
        for number, mover in enumerate(self._movers):
            mine = moves & (place.bank == number)
            order = mover.order
            m.d.comb += [
                mover.fetch.eq(mine & ~blocks.leaves),
                mover.store.eq(mine & blocks.leaves),
                order.warp.eq(blocks.warp),
                order.register.eq(blocks.moved),
                order.entry.eq(blocks.entry),
                order.offset.eq(blocks.offset),
                order.row.eq(place.row),
            ]

    def _has_home(self) -> Value:
        """Whether the register whose turn it is has content in the main register file, or shall have: else it
        is dead."""
        return self._blocks.live

    def _needs_cache(self) -> Value:
        """Whether that register needs its bank of the cache when it sets off."""
        return self._blocks.leaves & self._carried

    def _main(self, m: Module) -> None:
        """Each bank of the main register file takes a result, or else what its mover wants."""
        values, masks = self._payloads()
        rows = Array(place.row for place in self._places)
        self._accessing, self._bank_choices = [], []
        for number, (bank, mover, pace) in enumerate(
            zip(self._storage.bank, self._movers, self._paces, strict=True)
        ):
            left, free = Signal(len(pace.cycles), name=f"accessing_{number}"), Signal(name=f"free_{number}")
            self._accessing.append(left)
            offers = Signal(self._writers, name=f"offers_{number}")
            m.d.comb += [
                free.eq(left == 0),
                offers.eq(
                    Mux(
                        free,
                        Cat(
                            valid & (place.bank == number)
                            for valid, place in zip(self._to_main, self._places, strict=True)
                        ),
                        0,
                    )
                ),
            ]
            choice = first_from(m, offers, self.first, f"bank_{number}")
            self._bank_choices.append(choice)
            self._served.append(choice.one_hot)
            m.d.comb += [
                mover.access.eq(free & ~choice.any & (mover.reads | mover.writes)),
                mover.cycles.eq(pace.cycles),
                pace.access.eq(choice.any | mover.access),
                bank.row.eq(Mux(choice.any, rows[choice.index], mover.move.row)),
                bank.read.eq(mover.access & mover.reads),
                bank.write.eq(choice.any | (mover.access & mover.writes)),
                bank.mask.eq(Mux(choice.any, masks[choice.index], -1)),
                bank.value.eq(Mux(choice.any, values[choice.index], mover.carried)),
            ]
            with m.If(pace.access):
                m.d.sync += left.eq(pace.cycles - 1)
            with m.Elif(~free):
                m.d.sync += left.eq(left - 1)
            if self._probe:
                self._bank_events(m, number, choice)
        served = Signal(self._writers)
        m.d.comb += served.eq(reduce(or_, self._served))
        m.d.comb += [writer.ready.eq(served[number]) for number, writer in enumerate(self._all)]
        for number, (keep, result) in enumerate(zip(self.keep, self.result, strict=True)):
            m.d.comb += keep.valid.eq(result.valid & served[number])
            m.d.comb += [
                getattr(keep, name).eq(getattr(result.payload, name))
                for name in ("warp", "seq", "register", "mask")
            ]


class LtrfPlus(Ltrf):
    """LTRF+: LTRF with a liveness bit-vector, so that dead registers are not moved. LTRF, section 3.2."""

    liveness = True
