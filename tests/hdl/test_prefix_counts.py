"""Bits of a mask by their number, against counting them one by one: every mask of some widths."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.sim import Simulator

from warpbank.hdl.prefix_counts import at_least, exactly, nth


@pytest.mark.parametrize(("width", "most"), [(1, 1), (2, 1), (3, 5), (5, 3), (8, 8), (9, 4)])
def test_every_mask(width: int, most: int) -> None:
    m = Module()
    mask = Signal(width)
    found, counts = nth(m, mask, most), at_least(m, mask, most)
    least, exact = Cat(counts), Cat(exactly(counts))

    async def bench(ctx: Any) -> None:
        for value in range(2**width):
            ctx.set(mask, value)
            numbers = [bit for bit in range(width) if value >> bit & 1]
            assert ctx.get(exact) == 1 << min(len(numbers), most)
            assert ctx.get(least) == (2 << min(len(numbers), most)) - 1
            assert [ctx.get(one) for one in found] == [1 << bit for bit in numbers[:most]] + [0] * (
                most - len(numbers[:most])
            )

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
