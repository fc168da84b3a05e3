"""Events of LTRF's register file cache."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring

from warpbank.arch.parameters import bits
from warpbank.hdl.interfaces import UNITS
from warpbank.hdl.probe import emit, gather

#: Registers whose place in the cache is looked up in a cycle.
LOOKUPS = 2


class LtrfEvents:
    """The events of `Ltrf`, apart from those that come with what they tell of."""

    _arbiter: Any
    _blocks: Any
    _banks: int
    _entries: int
    _writers: int
    _evicts: bool
    _movers: list[Any]
    _storage: Any
    _filled: Any
    _fills: Value
    events: Any
    evicted: Any
    result: Any
    prefetch: Any
    prefetching: Any
    issue: Any

    def _reporters(self) -> list[wiring.Component]:
        """The units inside that have events."""
        return [self._arbiter]

    def _own_events(self) -> dict[str, int]:
        """Events of the hierarchy itself, and how many of each there may be in a cycle."""
        return {
            "prefetch": 1,
            "cache_allocate": 1,
            "cache_release": 1,
            "fetch": self._banks,
            "cache_fill": 1,
            "cache_write": self._entries,
            "interval_read": LOOKUPS + self._banks,
            "row_free": 1,
            "write": self._banks,
            "write_back": self._banks,
            "write_wait": self._writers,
        }

    def _bank_events(self, m: Module, number: int, choice: Any) -> None:
        events, mover, bank = self.events, self._movers[number], self._storage.bank[number]
        move = mover.move
        evicted = choice.one_hot[UNITS] if self._evicts else Const(0, 1)
        payload = Signal(self.result[0].payload.shape(), name=f"written_{number}")
        m.d.comb += payload.as_value().eq(
            Array(result.payload.as_value() for result in self.result)[choice.index[: bits(UNITS)]]
        )
        emit(
            m,
            events.write[number],
            choice.any & ~evicted,
            bank=number,
            row=bank.row,
            warp=payload.warp,
            seq=payload.seq,
            register=payload.register,
            mask=payload.mask,
        )
        warp: Value = move.warp
        register: Value = move.register
        if self._evicts:
            warp = Mux(evicted, self.evicted.payload.warp, warp)
            register = Mux(evicted, self.evicted.payload.register, register)
        emit(
            m,
            events.write_back[number],
            evicted | (mover.access & mover.writes),
            bank=number,
            row=bank.row,
            warp=warp,
            register=register,
        )
        fetched = {"warp": move.warp, "register": move.register}
        emit(m, events.fetch[number], mover.access & mover.reads, bank=number, row=move.row, **fetched)
        inside = self._blocks.may_issue.bit_select(move.warp, 1)
        emit(m, events.interval_read[LOOKUPS + number], mover.access & mover.reads & inside, **fetched)

    def _events(self, m: Module) -> None:
        events, blocks, filled = self.events, self._blocks, self._filled
        place = {
            "entry": blocks.entry,
            "offset": blocks.offset,
            "warp": blocks.warp,
            "register": blocks.moved,
        }
        emit(m, events.cache_allocate[0], blocks.goes & ~blocks.leaves, **place)
        emit(m, events.cache_release[0], blocks.goes & blocks.leaves, **place)
        emit(
            m,
            events.cache_fill[0],
            self._fills,
            entry=filled.entry,
            offset=filled.offset,
            warp=filled.warp,
            register=filled.register,
        )
        emit(m, events.row_free[0], blocks.freed, warp=blocks.freed_warp, offset=blocks.freed_offset)
        emit(m, events.prefetch[0], self.prefetch, warp=self.prefetching, seq=self.issue.payload.uop.seq)
        gather(m, self.events, [part.events for part in self._reporters()])
