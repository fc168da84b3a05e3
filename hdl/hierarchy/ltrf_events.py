"""Events of LTRF's register file cache."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Signal, Value, ValueLike

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.hierarchy.engine import Engine
from warpbank.hdl.hierarchy.lookups import LOOKUPS
from warpbank.hdl.hierarchy.wcb import SettingInterface, WarpControlBlocks
from warpbank.hdl.interfaces import AlwaysInterface
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.probe import EventsInterface, Reporter, emit, gather


class LtrfEvents:
    """The events of `Ltrf`, apart from those that come with what they tell of."""

    _config: SmConfig
    _arbiter: Arbiter
    _blocks: WarpControlBlocks
    _banks: int
    _entries: int
    _writers: int
    _main: MainRegisterFile
    engine: Engine
    events: EventsInterface
    prefetch: Signal
    prefetching: Signal
    issue: AlwaysInterface

    def _reporters(self) -> Sequence[Reporter]:
        """The units inside that have events."""
        return [self._arbiter, self._main]

    def _own_events(self) -> dict[str, int]:
        """Events of the hierarchy itself, and how many of each there may be in a cycle."""
        transfers = len(self._blocks.setting)
        return {
            **({"cache_zero": transfers} if self._main.mapping.released else {}),
            **({} if self._config.takes_bits else {"prefetch": 1}),  # else of the instruction buffers
            "cache_allocate": transfers,
            "cache_release": transfers + self._entries,
            "cache_fill": self._entries,
            "cache_write": self._entries,
            "interval_read": 2 * LOOKUPS + self._banks,
            "row_free": 1,
            "write_wait": self._writers,
        }

    def _setting_events(
        self, m: Module, number: int, setting: SettingInterface, alone: Value, clears: bool
    ) -> None:
        """A register that is given a place, or that loses its place without being carried."""
        events, blocks = self.events, self._blocks
        goes = setting.valid & setting.goes
        place = {
            "entry": setting.entry,
            "offset": blocks.offset,
            "warp": blocks.warp,
            "register": setting.register,
        }
        emit(m, events.cache_allocate[number], goes & ~blocks.leaves, **place)
        emit(m, events.cache_release[number], alone & blocks.leaves, **place)
        if clears:
            emit(m, events.cache_zero[number], alone & ~blocks.leaves, **place)

    def _events(self, m: Module) -> None:
        events, blocks, transfers = self.events, self._blocks, len(self._blocks.setting)
        for number, access in enumerate(self.engine.cache):
            transfer = access.transfer
            place: dict[str, ValueLike] = {
                "entry": number,
                "offset": transfer.offset,
                "warp": transfer.warp,
                "register": transfer.register,
            }
            emit(m, events.cache_release[transfers + number], access.reads, **place)
            emit(m, events.cache_fill[number], access.fills, **place)
        emit(m, events.row_free[0], blocks.freed, warp=blocks.freed_warp, offset=blocks.freed_offset)
        if not self._config.takes_bits:
            seq = self.issue.payload.uop.seq
            emit(m, events.prefetch[0], self.prefetch, warp=self.prefetching, seq=seq)
        gather(m, self.events, [part.events for part in self._reporters()])
