"""A register file cache beside the main register file: each operand is in one of the two, and is read where
it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MOVE
from warpbank.hdl.hierarchy.allocation import AddressAllocation
from warpbank.hdl.hierarchy.ports import Hierarchy, HierarchyPorts
from warpbank.hdl.layouts import UNITS, Collection
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.mapping.ports import follow
from warpbank.hdl.probe import Events, emit, gather, total
from warpbank.hdl.round_robin import Choice, chosen, encode, first_from
from warpbank.hdl.typed import Numbers, Record, record


@dataclass
class Operands:
    """Operands that are asked for in a cycle: uop, its row of the cache, which are there, and in which bank
    of it."""

    valid: Value
    payload: Record
    offset: Value
    hits: Value
    entries: list[Value]


@dataclass
class Offer:
    """Destination of a unit's result: bank and row of the cache, or the main register file."""

    to_cache: Value
    entry: Value
    offset: Value
    to_main: Value


class ResultCache(Hierarchy, ABC):
    """Register file hierarchy with a cache that is filled by results.

    It is what the caches managed by hardware (`Rfc`) and by the compiler (`SwRfc`) share.

    See `warpbank.golden.hierarchy.result_cache.ResultCache` for what happens in a cycle.

    Parameters
    ----------
    config : the machine: cache, main register file.
    main : the main register file, `cached`, with `operands`.
    collection : the collectors. Their requests carry hints, and they evict nothing.
    probe : generate `events`.

    Members
    -------
    those of `warpbank.hdl.hierarchy.ports.HierarchyPorts`. An activated warp gets an empty row.

    Raises
    ------
    ValueError : other collectors.
    """

    hinted = True
    #: Collectors read the main register file, beside the cache.
    main_needs: Mapping[str, bool] = {"operands": True, "cached": True}

    @staticmethod
    def moved(config: SmConfig) -> tuple[int, int]:
        """Registers that are located in a cycle because they leave, and those that may be on their way to a
        bank of the main register file."""
        return 1, 1

    def __init__(
        self, config: SmConfig, main: MainRegisterFile, collection: Collection, probe: bool = False
    ) -> None:
        if collection.evicts:
            raise ValueError(f"{type(self).__name__} stands under collectors that evict nothing.")
        if not collection.hinted:
            raise ValueError(f"{type(self).__name__} needs requests of operands that carry their hints.")
        self._config, self._main, self.collection, self._probe = config, main, collection, probe
        core = config.sub_core
        self._banks, self._entries, self._rows, self._uops = (
            core.banks,
            core.cache.registers,
            core.active_warps,
            collection.entries,
        )
        self._tagged = collection.tags > 1
        self._cache = Arbiter(config, self._uops, collection.tags, probe, cache=True)
        self._metadata, self._late = main.layout, main.storage.write_delay > 0
        ports = HierarchyPorts(
            config,
            collection,
            main.layout,
            keeps=UNITS,
            landed=UNITS * (2 if self._late else 1),
            stored=len(main.stored),
            owed=len(main.owed),
        )
        members: dict[str, Any] = dict(ports.members)
        if probe:
            own = {"cache_write": self._entries, "row_free": 1, "write_wait": UNITS, **self._more_events()}
            inner = [part.events.signature for part in (self._cache, main)]
            members["events"] = Out(Events(config, total([Events(config, own), *inner])))
        super().__init__(members)
        self.parts, self.executes = main.storage.parts, main.storage.executes

    def _more_events(self) -> dict[str, int]:
        """Add the parts that only this cache has."""
        return {}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name in ("main", "cache"):
            m.submodules[name] = getattr(self, f"_{name}")
        follow(m, self, self._main, self._config, self._uops)
        self._memories: list[Numbers] = [
            memory.Memory(shape=self._config.value_width, depth=max(2, self._rows), init=[])
            for _ in range(self._entries)
        ]
        for number, bank in enumerate(self._memories):
            m.submodules[f"cache_{number}"] = bank
        self._warps(m)
        self._locked(m)
        self._request(m, self._operands(m))
        self._results(m, self._offers(m))
        for name in ("stored", "owed"):
            for outer, inner in zip(getattr(self, name), getattr(self._main, name), strict=True):
                wiring.connect(m, wiring.flipped(outer), inner)
        self._deliver(m)
        if self._probe:
            gather(m, self.events, [self._cache.events, self._main.events])
        return m

    # --- Warps.

    def _warps(self, m: Module) -> None:
        """Rows are given out and given back."""
        core, rows = self._config.sub_core, self._rows
        m.submodules.offsets = offsets = AddressAllocation(rows)
        self._held = offsets.occupied
        self._owner = [Signal(core.warp_width, name=f"owner_{row}", reset_less=True) for row in range(rows)]
        self._leaving, self._over = Signal(rows, name="leaving"), Signal(rows, name="over")
        self._empty = Signal(rows, name="empty")  # driven by the cache of either kind
        self._quiet_rows = Signal(rows, name="quiet_rows")
        here: Value = Const(0, core.warps)
        for row, owner in enumerate(self._owner):
            here = here | Mux(self._held[row], 1 << owner, 0)
            m.d.comb += self._quiet_rows[row].eq(self.quiet.bit_select(owner, 1))
            with m.If(self._held[row] & self.deactivate.bit_select(owner, 1)):
                m.d.sync += [self._leaving[row].eq(1), self._over[row].eq(self.ended.bit_select(owner, 1))]
            with m.If(self.activate & (offsets.head == row)):
                m.d.sync += [owner.eq(self.activated), self._leaving[row].eq(0), self._over[row].eq(0)]
        choice = chosen(m, self._held & self._leaving & self._empty, "freed_row")
        self._freed = choice.one_hot
        for row in range(rows):
            with m.If(choice.one_hot[row]):
                m.d.sync += self._leaving[row].eq(0)
        m.d.comb += [
            offsets.allocate.eq(self.activate),
            offsets.release.eq(choice.any),
            offsets.address.eq(choice.index),
            self.may_activate.eq(Mux(offsets.available, self._candidates(m, ~here), 0)),
        ]
        if self._probe:
            emit(
                m,
                self.events.row_free[0],
                choice.any,
                warp=Array(self._owner)[choice.index],
                offset=choice.index,
            )

    def _candidates(self, m: Module, others: Value) -> Value:
        """Mask of the warps that may get a free row, of the `others`, which have none."""
        return others

    def _row_of(self, m: Module, warp: Value, name: str) -> Signal:
        """The row of a warp, one-hot; 0 if it has none."""
        row = Signal(self._rows, name=f"row_of_{name}")
        m.d.comb += row.eq(
            Cat(self._held[number] & (owner == warp) for number, owner in enumerate(self._owner))
        )
        return row

    def _locked(self, m: Module) -> None:
        """Counts of operands still to be read from each place; `_comes`: masks of those asked for in this
        cycle."""
        self._comes = [Signal(self._entries, name=f"comes_{row}") for row in range(self._rows)]
        self._locks = [Signal(self._entries, name=f"locks_{row}") for row in range(self._rows)]
        for row in range(self._rows):
            for entry, read in enumerate(self._cache.read):
                count = Signal(range(self._uops + 1), name=f"to_be_read_{row}_{entry}")
                m.d.comb += self._locks[row][entry].eq(count != 0)
                m.d.sync += count.eq(count + self._comes[row][entry] - (read.valid & (read.row == row)))

    # --- Operands.

    @abstractmethod
    def _operands(self, m: Module) -> Operands:
        """Operands that are asked for in this cycle, and where they are."""

    def _request(self, m: Module, asked: Operands) -> None:
        """Send a uop's requests to the two arbiters."""
        payload, request, read = asked.payload, self._cache.request, self._main.read
        found = Signal(len(payload.source_valid), name="found_sources")
        m.d.comb += [
            found.eq(payload.source_valid & asked.hits),
            request.valid.eq(asked.valid),
            request.collector.eq(payload.collector),
            request.slots.eq(found),
            read.valid.eq(asked.valid),
            read.payload.collector.eq(payload.collector),
            read.payload.warp.eq(payload.warp),
            read.payload.sources.eq(payload.sources),
            read.payload.source_valid.eq(payload.source_valid & ~found),
        ]
        if self._tagged:
            m.d.comb += [request.tag.eq(payload.tag), read.payload.tag.eq(payload.tag)]
        for slot, entry in enumerate(asked.entries):
            m.d.comb += [request.banks[slot].eq(entry), request.rows[slot].eq(asked.offset)]

    def _deliver(self, m: Module) -> None:
        """The crossbar: from a bank of the cache or of the main register file, the cache first."""
        m.d.comb += self._main.ports.eq(Cat(grant.valid for grant in self._cache.grant))
        kept, known = Array(self._contents), Array(self._known)
        for number, (near, far, delivery) in enumerate(
            zip(self._cache.grant, self._main.deliver, self.deliver, strict=True)
        ):
            entry = Signal.like(near.bank, name=f"entry_{number}")
            m.d.sync += entry.eq(near.bank)
            names = ("valid", "slot", *(("tag",) if self._tagged else ()))
            cached: dict[str, Value] = {}
            for name in names:
                granted = getattr(near, name)
                cached[name] = Signal(len(granted), name=f"from_cache_{name}_{number}")
                m.d.sync += cached[name].eq(granted)
            cached["value"] = kept[entry]
            if self._metadata.size:
                cached["metadata"] = known[entry]
            for stage in range(self._main.storage.read_delay):
                ahead, cached = cached, {}
                for name, before in ahead.items():
                    cached[name] = Signal(len(before), name=f"cached_{name}_{number}_{stage}")
                    m.d.sync += cached[name].eq(before)
            comes = cached.pop("valid")
            m.d.comb += delivery.valid.eq(comes | far.valid)
            for name, value in cached.items():
                port, other = (Value.cast(getattr(each, name)) for each in (delivery, far))
                m.d.comb += port.eq(Mux(comes, value, other))

    # --- Results.

    @abstractmethod
    def _offers(self, m: Module) -> list[Offer]:
        """Destination of each unit's result."""

    def _left(self) -> tuple[Value, Value]:
        """Banks of the cache that a register leaves in this cycle, and the row it is in."""
        return Const(0, self._entries), Const(0, 1)

    def _results(self, m: Module, offers: list[Offer]) -> None:
        """Give banks to units. A result for both places needs both; one that gets the main bank only leaves
        that unused."""
        main = self._main
        for offer, taker, result in zip(offers, main.result, self.result, strict=True):
            m.d.comb += [taker.valid.eq(offer.to_main), taker.payload.eq(result.payload)]
        won = Signal(UNITS, name="main_won")
        m.d.comb += [main.first.eq(self.first), won.eq(Cat(taker.ready for taker in main.result))]
        near = [
            self._choose(
                m,
                Cat(
                    offer.to_cache & (offer.entry == number) & (~offer.to_main | won[unit])
                    for unit, offer in enumerate(offers)
                ),
                f"cache_bank_{number}",
            )
            for number in range(self._entries)
        ]
        cached, ready = Signal(UNITS, name="cache_won"), Signal(UNITS, name="served")
        m.d.comb += cached.eq(reduce(or_, (choice.one_hot for choice in near)))
        for unit, (offer, result, keep) in enumerate(zip(offers, self.result, self.keep, strict=True)):
            m.d.comb += [
                ready[unit].eq(
                    (offer.to_main | offer.to_cache)
                    & (~offer.to_main | won[unit])
                    & (~offer.to_cache | cached[unit])
                ),
                result.ready.eq(ready[unit]),
                keep.valid.eq(ready[unit]),
            ]
            m.d.comb += [
                getattr(keep, name).eq(getattr(result.payload, name))
                for name in ("warp", "seq", "register", "mask")
            ]
            if self._probe:
                emit(
                    m,
                    self.events.write_wait[unit],
                    result.valid & ~ready[unit],
                    unit=unit,
                    bank=self._main.bank_of[unit],
                )
        m.d.comb += main.spoiled.eq(~ready)
        values = Array(keep.value for keep in self.keep)
        for port, writer in zip(main.write, main.writer, strict=True):
            m.d.comb += port.value.eq(values[writer])
        self._land(m, ready & ~Cat(offer.to_main for offer in offers))
        self._write_cache(m, near, offers)
        self._keep_metadata(m, near, offers)

    def _land(self, m: Module, cached: Value) -> None:
        """Registers of results are free of hazards: at once where a cache alone takes them (`cached`), else
        as late as banks take them."""
        for unit, (finished, landed) in enumerate(zip(self.finished, self.landed, strict=False)):
            if not self._late:
                wiring.connect(m, wiring.flipped(finished), wiring.flipped(landed))
                continue
            late = self.landed[UNITS + unit]
            m.d.comb += landed.valid.eq(finished.valid & cached[unit])
            m.d.sync += late.valid.eq(finished.valid & ~cached[unit])
            for name in ("warp", "register"):
                m.d.comb += getattr(landed, name).eq(getattr(finished, name))
                m.d.sync += getattr(late, name).eq(getattr(finished, name))

    def _keep_metadata(self, m: Module, near: list[Choice], offers: list[Offer]) -> None:
        """A bank's metadata follow a cycle after its value, and are read with it."""
        self._known: list[Value] = []
        if not self._metadata.size:
            return
        noted: list[Value] = []
        for unit, (result, keep) in enumerate(zip(self.result, self.keep, strict=True)):
            noter = m.submodules[f"noter_{unit}"] = self._main.storage.noter()
            moved = Signal(name=f"noted_move_{unit}")
            m.d.sync += moved.eq(result.payload.seq[MOVE.bit_length() - 1])
            m.d.comb += [
                noter.enable.eq(result.valid),
                noter.value.eq(keep.value),
                noter.mask.eq(result.payload.mask),
                noter.part.eq(result.payload.part),
            ]
            told = record(self._metadata, name=f"told_{unit}")
            m.d.comb += told.eq(noter.note)
            with m.If(moved):  # kept as it is, so that the base says nothing
                m.d.comb += [told.divergent.eq(0), told.enc.as_value().eq(0), told.full.eq(0)]
            noted.append(told.as_value())
        rows, found = Array(offer.offset for offer in offers), Array(noted)
        for number, (choice, port) in enumerate(zip(near, self._reads, strict=True)):
            notes = m.submodules[f"cache_notes_{number}"] = memory.Memory(
                shape=self._metadata.size, depth=max(2, self._rows), init=[]
            )
            write = notes.write_port()
            read = notes.read_port(transparent_for=(write,))
            writer, row = Signal.like(choice.index, name=f"noted_unit_{number}"), Signal.like(write.addr)
            m.d.sync += [write.en.eq(choice.any), writer.eq(choice.index), row.eq(rows[choice.index])]
            m.d.comb += [
                write.addr.eq(row),
                write.data.eq(found[writer]),
                read.en.eq(port.en),
                read.addr.eq(port.addr),
            ]
            self._known.append(read.data)

    def _choose(self, m: Module, offers: Value, name: str) -> Choice:
        mask = Signal(UNITS, name=f"offers_{name}")
        m.d.comb += mask.eq(offers)
        return first_from(m, mask, self.first, name)

    def _write_cache(self, m: Module, near: list[Choice], offers: list[Offer]) -> None:
        """Write and read the banks of the cache."""
        values, masks = (
            Array(keep.value for keep in self.keep),
            Array(result.payload.mask for result in self.result),
        )
        payloads = Array(result.payload.as_value() for result in self.result)
        offsets = Array(offer.offset for offer in offers)
        self._written = Signal(self._entries, name="cache_written")
        self._writes: list[tuple[Value, Value, Record]] = []  # per bank: whether, row, result
        self._contents: list[Value] = []
        for number, (bank, choice) in enumerate(zip(self._memories, near, strict=True)):
            payload = record(self.result[0].payload.shape(), name=f"cached_{number}")
            offset = Signal(bits(self._rows), name=f"cached_row_{number}")
            write = bank.write_port(granularity=32)
            m.d.comb += [
                payload.as_value().eq(payloads[choice.index]),
                offset.eq(offsets[choice.index]),
                self._written[number].eq(choice.any),
                write.addr.eq(offset),
                write.data.eq(values[choice.index]),
                write.en.eq(Mux(choice.any, masks[choice.index], 0)),
            ]
            self._writes.append((choice.any, offset, payload))
            if self._probe:
                emit(
                    m,
                    self.events.cache_write[number],
                    choice.any,
                    entry=number,
                    offset=offset,
                    warp=payload.warp,
                    register=payload.register,
                )
        left, leaving_row = self._left()
        self._reads = []
        m.d.comb += self._cache.written.eq(self._written | left)
        for number, (bank, read) in enumerate(zip(self._memories, self._cache.read, strict=True)):
            port = bank.read_port()
            m.d.comb += [
                port.en.eq(read.valid | left[number]),
                port.addr.eq(Mux(left[number], leaving_row, read.row)),
            ]
            self._contents.append(port.data)
            self._reads.append(port)

    def _number(self, m: Module, one_hot: Value, name: str) -> Signal:
        """The only bit of a mask."""
        number = Signal(bits(len(one_hot)), name=name)
        m.d.comb += number.eq(encode(one_hot))
        return number
