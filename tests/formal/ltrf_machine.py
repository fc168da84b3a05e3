"""Machine of LTRF's proofs: a register file cache so small that an induction over it closes, with memories
whose rows claims can see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any
from unittest import mock

from amaranth.hdl import Fragment, Module, Mux, Value

from tests.formal.test_allocation import opened as opened_allocation
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import CacheConfig, SmConfig
from warpbank.hdl.async_memory import read_at
from warpbank.hdl.hierarchy.allocation import AddressAllocation
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.mapping.direct import Direct
from warpbank.hdl.storage.banks import Banks

#: Registers of a warp, of an interval; warps, and those that may be active. Others would differ in their
#: number only.
REGISTERS, ENTRIES, WARPS, ROWS, BANKS = 4, 2, 3, 2, 2
#: Transfers that wait at a bank.
QUEUE = 2
#: Rows of each bank that a warp's registers take.
PER_WARP = REGISTERS // BANKS


class Few(CacheConfig):
    """The cache's sizes without their lower bounds."""

    def __post_init__(self) -> None:
        pass


def machine(latency: int = 150, crossing: int = 1, write_back: str = "all") -> SmConfig:
    """One lane, and banks whose accesses take `latency` percent of a cycle."""
    config = with_overrides(
        preset("tiny"),
        [
            "lanes=1",
            f"sub_core.warps={WARPS}",
            f"sub_core.active_warps={ROWS}",
            f"sub_core.banks={BANKS}",
            "sub_core.rows=8",
            "sub_core.collectors=1",
            f"sub_core.bank_latency={latency}",
        ],
    )
    cache = Few(registers=ENTRIES, crossing=crossing, write_back=write_back)
    return replace(config, sub_core=replace(config.sub_core, cache=cache))


class Placed(Direct):
    """The mapping of a launch that has begun: warps have `PER_WARP` rows of each bank."""

    def _home(self, warp: Value, register: Value) -> tuple[Value, Value]:
        return register + warp, warp * PER_WARP + (register >> 1)


class OpenedBanks(Banks):
    """`contents`: the rows of every bank."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        memories: list[Any] = [m.submodules[f"bank_{number}"] for number in range(BANKS)]
        self.contents = [[read_at(m, memory, row) for row in range(WARPS * PER_WARP)] for memory in memories]
        return m


def opened_blocks(blocks: type[WarpControlBlocks]) -> type[WarpControlBlocks]:
    """Control blocks of `REGISTERS` registers, with the rows of their memories as signals."""

    class Opened(blocks):  # type: ignore[misc, valid-type]
        registers_per_warp = REGISTERS

        def elaborate(self, platform: object) -> Module:
            with mock.patch(
                "warpbank.hdl.hierarchy.wcb.AddressAllocation", opened_allocation(AddressAllocation)
            ):
                m = super().elaborate(platform)
            classes = len(self._tables)
            self.tables = [
                [
                    read_at(m, self._tables[register % classes][row], register // classes)
                    for register in range(REGISTERS)
                ]
                for row in range(ROWS)
            ]
            saved = [read_at(m, self._saved, warp) for warp in range(WARPS)]
            self.saved = [(vectors[:REGISTERS], vectors[REGISTERS:]) for vectors in saved]
            self.loaded = Value.cast(self._loads.data)
            # The vectors of each row, in the cycle in which they come from their memory, too.
            self.vectors = [
                [Mux(loading, came, vector) for came, vector in zip(self._back, vectors, strict=True)]
                for loading, *vectors in zip(self._loading, self._working, self._alive, strict=True)
            ]
            return m

    return Opened


def opened(unit: type[Ltrf]) -> type[Ltrf]:
    """The cache with the rows of its banks as signals."""

    class Opened(unit):  # type: ignore[misc, valid-type]
        def elaborate(self, platform: object) -> Module:
            m = super().elaborate(platform)
            self.contents = [[read_at(m, cache, row) for row in range(ROWS)] for cache in self._caches]
            return m

    return Opened


def any_of(values: list[Value]) -> Value:
    """One of them is true."""
    return reduce(or_, values)


@contextmanager
def short_queues() -> Iterator[None]:
    """While units are made and elaborated: fewer transfers wait at a bank."""
    with (
        mock.patch("warpbank.hdl.hierarchy.link.TRANSFER_QUEUE", QUEUE),
        mock.patch("warpbank.hdl.hierarchy.ltrf.TRANSFER_QUEUE", QUEUE),
    ):
        yield


def elaborated(unit: Any, platform: object) -> Any:
    """The fragment of a cache, whose inner signals exist from now on, those of its links and ports, too."""
    with short_queues():
        for part in (*unit.engine.links, *unit.engine.ports):
            part.elaborate = _once(part.elaborate)
            part.elaborate(platform)
        return Fragment.get(unit, platform)


def _once(elaborate: Any) -> Any:
    """Elaborates once: who asks again gets the same module."""
    made: list[Module] = []

    def again(platform: object) -> Module:
        if not made:
            made.append(elaborate(platform))
        return made[0]

    return again
