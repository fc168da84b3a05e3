"""The shift register gives golden's numbers."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Const, Elaboratable, Module, Signal

import warpbank.golden.lfsr
from tests.hdl.bench import simulate
from tests.hdl.wrapped import wrapped
from warpbank.hdl.lfsr import STRIDE, TAPS, WIDTH, Lfsr, any_of

CHOICES = (1, 2, 0xACE1, 0x8000, 65535)


def lockstep(seed: int, draw: int = 1, unit: Any = None, cycles: int = 400) -> None:
    """`seed` of the register; `draw` of the cycles in which it moves."""
    rng = random.Random(draw)
    rtl, model = unit or Lfsr(seed, 8), warpbank.golden.lfsr.Lfsr(seed)

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            assert ctx.get(rtl.state) == model.state, f"cycle {cycle}"
            ranks = [ctx.get(rank) for rank in rtl.ranks]
            assert ranks == [model.choose((1 << count) - 1) for count in range(1, len(ranks) + 1)], (
                f"cycle {cycle}"
            )
            advance = rng.random() < 0.6
            ctx.set(rtl.advance, advance)
            if advance:
                model.advance()
            await ctx.tick()

    simulate(rtl, bench)


@pytest.mark.parametrize("seed", CHOICES)
def test_equals_golden(seed: int) -> None:
    lockstep(seed, draw=seed)


def test_the_same_polynomial() -> None:
    model = warpbank.golden.lfsr
    assert (TAPS, WIDTH, STRIDE) == (model.TAPS, model.WIDTH, model.STRIDE)


def test_mutants_are_caught() -> None:
    restless = wrapped(Lfsr(1, 8), advance=lambda value, _: Const(1))
    for unit in (Lfsr(2, 8), restless, wrapped(Lfsr(1, 8), state=lambda value, _: value ^ 4)):
        with pytest.raises(AssertionError):
            lockstep(1, unit=unit)


class Chooser(Elaboratable):
    """The choices of a cycle by themselves."""

    def __init__(self, width: int) -> None:
        self.mask, self.choice = Signal(width), Signal(width)
        self.ranks = [Signal(range(count), name=f"rank_{count}") for count in range(1, width + 1)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += Signal().eq(0)
        m.d.comb += self.choice.eq(any_of(m, self.mask, self.ranks, "choice"))
        return m


@pytest.mark.parametrize("width", [1, 2, 3, 8])
def test_choices_equal_golden(width: int) -> None:
    rng, rtl, model = random.Random(width), Chooser(width), warpbank.golden.lfsr.Lfsr(1)

    async def bench(ctx: Any) -> None:
        for _ in range(400):
            mask = rng.randrange(1 << width)
            model.state = rng.choice((1, 0xFFFF, rng.randrange(1, 1 << WIDTH)))
            ctx.set(rtl.mask, mask)
            for count, rank in enumerate(rtl.ranks, 1):
                ctx.set(rank, model.state * count >> WIDTH)
            assert ctx.get(rtl.choice) == (1 << model.choose(mask) if mask else 0)

    simulate(rtl, bench)


@pytest.mark.parametrize("seed", [0, -1, 65536])
def test_seeds_that_cannot_be(seed: int) -> None:
    with pytest.raises(ValueError, match=f"An LFSR of 16 bits needs a seed from 1 to 65535, not {seed}"):
        Lfsr(seed)
