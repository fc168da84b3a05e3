"""A register file cache beside the main register file: each operand is in one of the two, and is read where
it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.hierarchy.allocation import AddressAllocation
from warpbank.hdl.interfaces import (
    UNITS,
    Delivery,
    Start,
    WriteBack,
    issue_stream,
    read_stream,
    result_stream,
)
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.bank_timing import BankTiming
from warpbank.hdl.probe import Events, emit, gather, total
from warpbank.hdl.round_robin import Choice, chosen, encode, first_from


@dataclass
class Operands:
    """Operands that are asked for in a cycle: uop, its row of the cache, which are there, and in which bank
    of it."""

    valid: Value
    payload: Any
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


class ResultCache(wiring.Component, ABC):
    """Register file hierarchy with a cache that is filled by results.

    It is what the caches managed by hardware (`Rfc`) and by the compiler (`SwRfc`) share.

    See `warpbank.golden.hierarchy.result_cache.ResultCache` for what happens in a cycle.

    Parameters
    ----------
    config : the machine: cache, main register file.
    mapping, storage : the other rooms' units; the mapping with a port per source slot, per unit, and those of
        `ports`.
    entries : uops that can be in collection.
    tags, evicts : of the collectors; 1 and False, since they keep no values.
    probe : generate `events`.

    Members
    -------
    start : In(Start). As in `warpbank.hdl.hierarchy.flat.Flat`, as all that follow up to `first`.
    read : In(read_stream). Operands are requested.
    deliver : Out(Delivery) per collector. They arrive.
    result : In(result_stream) per unit. A result register is offered.
    first : In(bits(units)). Unit whose offer goes first.
    keep : Out(WriteBack) per unit. Its result is written, wherever it goes; its value comes in.
    issue : In(issue_stream). The uop that issues, whose operands `read` requests in the same cycle.
    activate : In(1). `activated` gets an empty row; only if `may_activate` has it.
    activated : In.
    deactivate, ended : In(warps). These warps are not active any more; those of the second mask have issued
        their last uop.
    quiet : In(warps). All operands of the warp's issued uops have been read.
    may_issue, may_activate : Out(warps). All; the warps that could be given a row. From registers.

    Raises
    ------
    ValueError : collectors that keep values.
    """

    #: It wants to be told of activations and of what issues; there is no PREFETCH.
    follows, prefetches, renames, notes = True, False, False, False

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
        if tags > 1 or evicts:
            raise ValueError(f"{type(self).__name__} is built for collectors that keep no values.")
        self._config, self._mapping, self._storage, self._probe = config, mapping, storage, probe
        core = config.sub_core
        self._banks, self._entries, self._rows, self._uops = (
            core.banks,
            core.cache.registers,
            core.active_warps,
            entries,
        )
        self._cache = Arbiter(config, entries, probe=probe, cache=True)
        self._main = Arbiter(config, entries, probe=probe, shared=True)
        warps = core.warps
        members: dict[str, Any] = {
            "start": In(Start(config)),
            "read": In(read_stream(config)),
            "deliver": Out(Delivery(config)).array(core.collectors),
            "result": In(result_stream(config)).array(UNITS),
            "first": In(bits(UNITS)),
            "keep": Out(WriteBack(config)).array(UNITS),
            "issue": In(issue_stream(config)),
            "activate": In(1),
            "activated": In(core.warp_width),
            "deactivate": In(warps),
            "ended": In(warps),
            "quiet": In(warps),
            "may_issue": Out(warps),
            "may_activate": Out(warps),
        }
        if probe:
            own = Events(
                config,
                {
                    "cache_write": self._entries,
                    "row_free": 1,
                    "write": self._banks,
                    "write_wait": UNITS,
                    **self._more_events(),
                },
            )
            arbiters = [part.events.signature for part in (self._cache, self._main)]
            members["events"] = Out(Events(config, total([own, *arbiters])))
        super().__init__(members)

    def _more_events(self) -> dict[str, int]:
        """What happens in this cache besides."""
        return {}

    @staticmethod
    def ports(config: SmConfig, evicts: bool = False) -> int:
        """Registers that the mapping locates in a cycle."""
        return config.sub_core.collector.slots + UNITS

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = self._config.sub_core
        for name in ("mapping", "storage", "cache", "main"):
            m.submodules[name] = getattr(self, f"_{name}")
        wiring.connect(m, wiring.flipped(self.start), self._mapping.start)
        self._memories = [
            Memory(shape=self._config.value_width, depth=max(2, self._rows), init=[])
            for _ in range(self._entries)
        ]
        for number, memory in enumerate(self._memories):
            m.submodules[f"cache_{number}"] = memory
        self._busy: Value = Const(0, self._banks)
        if core.bank_latency != 100:
            slow = m.submodules.slow = BankTiming(core.banks, core.bank_latency)
            m.d.comb += [
                slow.written.eq(self._main.written),
                slow.waiting.eq(self._main.waiting),
                slow.granted.eq(Cat(read.valid for read in self._main.read)),
                self._main.opening.eq(slow.opening),
            ]
            self._busy = slow.busy
        self._places = list(self._mapping.locate)[core.collector.slots : core.collector.slots + UNITS]
        self._warps(m)
        self._locked(m)
        self._request(m, self._operands(m))
        self._results(m, self._offers(m))
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
            self.may_issue.eq(-1),
            self.may_activate.eq(Mux(offsets.available, ~here, 0)),
        ]
        if self._probe:
            emit(
                m,
                self.events.row_free[0],
                choice.any,
                warp=Array(self._owner)[choice.index],
                offset=choice.index,
            )

    def _row_of(self, m: Module, warp: Value, name: str) -> Signal:
        """The row of a warp, one-hot; 0 if it has none."""
        row = Signal(self._rows, name=f"row_of_{name}")
        m.d.comb += row.eq(
            Cat(self._held[number] & (owner == warp) for number, owner in enumerate(self._owner))
        )
        return row

    def _locked(self, m: Module) -> None:
        """How many operands are still to be read from each place; `_comes`: masks of those asked for in this
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
        payload = asked.payload
        found = Signal(len(payload.source_valid), name="found_sources")
        m.d.comb += found.eq(payload.source_valid & asked.hits)
        for arbiter, slots in ((self._cache, found), (self._main, payload.source_valid & ~found)):
            request = arbiter.request
            m.d.comb += [
                request.valid.eq(asked.valid),
                request.collector.eq(payload.collector),
                request.slots.eq(slots),
            ]
        for slot, entry in enumerate(asked.entries):
            place = self._mapping.locate[slot]
            cache, main = self._cache.request, self._main.request
            m.d.comb += [
                place.warp.eq(payload.warp),
                place.register.eq(payload.sources[slot]),
                main.banks[slot].eq(place.bank),
                main.rows[slot].eq(place.row),
                cache.banks[slot].eq(entry),
                cache.rows[slot].eq(asked.offset),
            ]

    def _deliver(self, m: Module) -> None:
        """The crossbar: from a bank of the cache or of the main register file, the cache first."""
        m.d.comb += self._main.ports.eq(Cat(grant.valid for grant in self._cache.grant))
        banks = Array(bank.data for bank in self._storage.bank)
        kept = Array(self._contents)
        for number, delivery in enumerate(self.deliver):
            near, far = self._cache.grant[number], self._main.grant[number]
            here = Signal(name=f"from_cache_{number}")
            entry, bank = (
                Signal.like(near.bank, name=f"entry_{number}"),
                Signal.like(far.bank, name=f"bank_of_{number}"),
            )
            m.d.sync += [
                here.eq(near.valid),
                entry.eq(near.bank),
                bank.eq(far.bank),
                delivery.valid.eq(near.valid | far.valid),
                delivery.slot.eq(Mux(near.valid, near.slot, far.slot)),
            ]
            m.d.comb += delivery.value.eq(Mux(here, kept[entry], banks[bank]))

    # --- Results.

    @abstractmethod
    def _offers(self, m: Module) -> list[Offer]:
        """Where each unit's result goes."""

    def _drains(self, m: Module, free: Value) -> tuple[Value, list[Value], list[Value]]:
        """Registers that go from the cache into their banks where these are `free`: banks, rows, values."""
        nothing = [Const(0, 1)] * self._banks
        return Const(0, self._banks), nothing, nothing

    def _left(self) -> tuple[Value, Value]:
        """Banks of the cache that a register leaves in this cycle, and the row it is in."""
        return Const(0, self._entries), Const(0, 1)

    def _results(self, m: Module, offers: list[Offer]) -> None:
        """Give banks to units. A result for both places needs both; one that gets the main bank only leaves
        that unused."""
        for place, result in zip(self._places, self.result, strict=True):
            m.d.comb += [place.warp.eq(result.payload.warp), place.register.eq(result.payload.register)]
        far = [
            self._choose(
                m,
                Cat(
                    offer.to_main & (place.bank == number) & ~self._busy[number]
                    for offer, place in zip(offers, self._places, strict=True)
                ),
                f"bank_{number}",
            )
            for number in range(self._banks)
        ]
        won = Signal(UNITS, name="main_won")
        m.d.comb += won.eq(reduce(or_, (choice.one_hot for choice in far)))
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
                    bank=self._places[unit].bank,
                )
        self._write_cache(m, near, offers)
        self._write_main(m, far, ready)

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
        self._writes: list[tuple[Value, Value, Any]] = []  # per bank: whether, row, result
        self._contents = []
        for number, (memory, choice) in enumerate(zip(self._memories, near, strict=True)):
            payload = Signal(self.result[0].payload.shape(), name=f"cached_{number}")
            offset = Signal(bits(self._rows), name=f"cached_row_{number}")
            write = memory.write_port(granularity=32)
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
        m.d.comb += self._cache.written.eq(self._written | left)
        for number, (memory, read) in enumerate(zip(self._memories, self._cache.read, strict=True)):
            port = memory.read_port()
            m.d.comb += [
                port.en.eq(read.valid | left[number]),
                port.addr.eq(Mux(left[number], leaving_row, read.row)),
            ]
            self._contents.append(port.data)

    def _write_main(self, m: Module, far: list[Choice], ready: Value) -> None:
        """A bank's one access: a result, or else a register that has left the cache, or else the read that is
        granted."""
        values, rows = Array(keep.value for keep in self.keep), Array(place.row for place in self._places)
        payloads = Array(result.payload.as_value() for result in self.result)
        results = Signal(self._banks, name="main_results")
        m.d.comb += results.eq(Cat((choice.one_hot & ready).any() for choice in far))
        drains, drained_rows, drained = self._drains(m, ~results & ~self._busy)
        for number, (bank, choice, read) in enumerate(
            zip(self._storage.bank, far, self._main.read, strict=True)
        ):
            payload = Signal(self.result[0].payload.shape(), name=f"written_{number}")
            written = results[number] | drains[number]
            m.d.comb += [
                payload.as_value().eq(payloads[choice.index]),
                self._main.written[number].eq(written),
                bank.write.eq(written),
                bank.read.eq(read.valid),
                bank.row.eq(
                    Mux(
                        results[number],
                        rows[choice.index],
                        Mux(drains[number], drained_rows[number], read.row),
                    )
                ),
                bank.mask.eq(Mux(results[number], payload.mask, -1)),
                bank.value.eq(Mux(results[number], values[choice.index], drained[number])),
            ]
            if self._probe:
                emit(
                    m,
                    self.events.write[number],
                    results[number],
                    bank=number,
                    row=rows[choice.index],
                    warp=payload.warp,
                    seq=payload.seq,
                    register=payload.register,
                    mask=payload.mask,
                )

    def _number(self, m: Module, one_hot: Value, name: str) -> Signal:
        """The only bit of a mask."""
        number = Signal(bits(len(one_hot)), name=name)
        m.d.comb += number.eq(encode(one_hot))
        return number
