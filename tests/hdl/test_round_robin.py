"""Rotating priority equals golden's."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from warpbank.golden import round_robin
from warpbank.hdl.round_robin import (
    behind,
    first_from,
    first_number,
    first_reached,
    lowest,
    lowest_by_groups,
    of_lowest,
    soonest,
)


@pytest.mark.parametrize("chooses", [first_from, soonest])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 7])
def test_rotating_priority_is_golden_s(width: int, chooses: Any) -> None:
    m = Module()
    mask, pointer = Signal(width), Signal(range(max(2, width)))
    choice = chooses(m, mask, pointer)
    after = Signal.like(pointer)
    m.d.comb += after.eq(choice.after)

    async def bench(ctx: Any) -> None:
        for value in range(2**width):
            for place in range(width):
                ctx.set(mask, value)
                ctx.set(pointer, place)
                assert ctx.get(choice.any) == bool(value)
                if value:
                    expected = round_robin.first_from(value, place)
                    assert ctx.get(choice.index) == expected
                    assert ctx.get(choice.one_hot) == 1 << expected
                    assert ctx.get(after) == (expected + 1) % width
                else:
                    assert ctx.get(choice.one_hot) == 0

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("width", [1, 2, 3, 5, 7])
def test_rotating_priority_from_a_mask_is_golden_s(width: int) -> None:
    m = Module()
    mask, reached, after = Signal(width), Signal(width), Signal(width)
    choice = first_reached(m, mask, reached)
    m.d.comb += after.eq(choice.after)

    async def bench(ctx: Any) -> None:
        for value in range(2**width):
            for place in range(width):
                ctx.set(mask, value)
                ctx.set(reached, 2**width - (1 << place))
                assert ctx.get(choice.any) == bool(value)
                if value:
                    expected = round_robin.first_from(value, place)
                    assert ctx.get(choice.index) == expected
                    assert ctx.get(choice.one_hot) == 1 << expected
                    assert ctx.get(after) == 2**width - (1 << (expected + 1) % width)
                else:
                    assert ctx.get(choice.one_hot) == 0

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 12])
def test_the_lowest_bit_is_found(width: int) -> None:
    m = Module()
    mask, alone, number = Signal(width), Signal(width), Signal(max(1, (width - 1).bit_length()))
    after = behind(m, mask)
    wide = Signal(width)
    m.d.comb += [alone.eq(lowest(mask)), number.eq(first_number(mask))]
    m.d.comb += wide.eq(lowest_by_groups(m, mask, "wide", 4))
    flags, flag = Signal(width), Signal()
    m.d.comb += flag.eq(of_lowest(mask, flags))

    async def bench(ctx: Any) -> None:
        for value in range(2**width):
            ctx.set(mask, value)
            assert ctx.get(alone) == ctx.get(wide) == value & -value
            assert ctx.get(after) == (2**width - 1 & ~(value ^ (value - 1)) if value else 0)
            assert not value or ctx.get(number) == (value & -value).bit_length() - 1
            for others in (value & -value, ~(value & -value) & 2**width - 1):
                ctx.set(flags, others)
                assert not value or ctx.get(flag) == bool(others & value & -value)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
