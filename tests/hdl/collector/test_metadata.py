"""Encoding metadata of a collector's values: known from an operand's arrival until a result replaces it."""

from __future__ import annotations

import random
from typing import Any, cast

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from hypothesis import given
from hypothesis import strategies as st

from tests.hdl.bench import FEW, MACHINES, SEEDS, simulate
from warpbank.hdl.collector.metadata import keep_metadata, kept_metadata_layout, metadata_ports
from warpbank.hdl.interfaces import Delivery, DeliveryInterface
from warpbank.hdl.storage.metadata import metadata_layout

CONFIG = MACHINES["tiny"]


class Kept(wiring.Component):
    """The metadata of `count` values, all of which are looked up."""

    operand: Any
    place: Signal
    forgotten: Signal
    found: list[Signal]

    def __init__(self, parts: int, count: int) -> None:
        self._parts, self._count = parts, count
        super().__init__(
            {
                "operand": In(Delivery(CONFIG, metadata=metadata_layout(parts))),
                "place": In(range(max(2, count))),
                "forgotten": In(count),
                "found": Out(kept_metadata_layout(parts).size).array(count),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        places: list[Value] = [Const(number, len(self.place)) for number in range(self._count)]
        operand = cast("DeliveryInterface", self.operand)
        found = keep_metadata(
            m, self._parts, "test", self._count, operand, self.place, self.forgotten, places
        )
        m.d.comb += [port.eq(Cat(value)) for port, value in zip(self.found, found, strict=True)]
        return m


@FEW
@given(parts=st.sampled_from([1, 2]), count=st.sampled_from([1, 2, 6]), seed=SEEDS)
def test_what_is_known(parts: int, count: int, seed: int) -> None:
    """A result that comes in an operand's cycle, for its place, is older than the operand."""
    rng = random.Random(seed)
    rtl = Kept(parts, count)
    size = metadata_layout(parts).size
    notes: list[int] = [0] * count
    known = [False] * count

    async def bench(ctx: Any) -> None:
        for cycle in range(150):
            valid, place, note = rng.random() < 0.5, rng.randrange(count), rng.getrandbits(size)
            forgotten = rng.getrandbits(count) & rng.getrandbits(count)
            ctx.set(rtl.operand.valid, valid)
            ctx.set(rtl.operand.metadata.as_value(), note)
            ctx.set(rtl.place, place)
            ctx.set(rtl.forgotten, forgotten)
            for number, port in enumerate(rtl.found):
                found = ctx.get(port)
                assert found & 1 == known[number], f"cycle {cycle}, value {number}"
                if known[number]:
                    assert found >> 1 == notes[number], f"cycle {cycle}, value {number}"
            for number in range(count):
                known[number] &= not forgotten >> number & 1
            if valid:
                notes[place], known[place] = note, True
            await ctx.tick()

    simulate(rtl, bench)


def test_ports() -> None:
    """Per collector and slot a bit that says whether they are known, and the metadata; without parts none."""
    core = CONFIG.sub_core
    ports = metadata_ports(CONFIG, 2)["kept"]
    assert ports.dimensions == (core.collectors, core.collector.slots)
    assert kept_metadata_layout(2).size == 1 + metadata_layout(2).size
    assert metadata_ports(CONFIG, 0)["kept"].dimensions == (0, core.collector.slots)
