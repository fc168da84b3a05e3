"""Events of LTRF's register file cache."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Signal, Value

from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.interfaces import AlwaysInterface
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.probe import EventsInterface, Reporter, emit, gather
from warpbank.hdl.typed import Record

#: Registers whose place in the cache is looked up in a cycle.
LOOKUPS = 2


class LtrfEvents:
    """The events of `Ltrf`, apart from those that come with what they tell of."""

    _arbiter: Arbiter
    _blocks: WarpControlBlocks
    _banks: int
    _entries: int
    _writers: int
    _main: MainRegisterFile
    _filled: Record
    _fills: Value
    events: EventsInterface
    prefetch: Signal
    prefetching: Signal
    issue: AlwaysInterface

    def _reporters(self) -> Sequence[Reporter]:
        """The units inside that have events."""
        return [self._arbiter, self._main]

    def _own_events(self) -> dict[str, int]:
        """Events of the hierarchy itself, and how many of each there may be in a cycle."""
        return {
            **({"cache_zero": 1} if self._main.mapping.released else {}),
            "prefetch": 1,
            "cache_allocate": 1,
            "cache_release": 1,
            "cache_fill": 1,
            "cache_write": self._entries,
            "interval_read": LOOKUPS + self._banks,
            "row_free": 1,
            "write_wait": self._writers,
        }

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
