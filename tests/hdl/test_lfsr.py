"""The shift register gives golden's numbers."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Const

import warpbank.golden.lfsr
from tests.hdl.bench import simulate
from tests.hdl.wrapped import wrapped
from warpbank.hdl.lfsr import STRIDE, TAPS, WIDTH, Lfsr

CHOICES = (1, 2, 0xACE1, 0x8000, 65535)


def lockstep(seed: int, draw: int = 1, unit: Any = None, cycles: int = 400) -> None:
    """`seed` of the register; `draw` of the cycles in which it moves."""
    rng = random.Random(draw)
    rtl, model = unit or Lfsr(seed), warpbank.golden.lfsr.Lfsr(seed)

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            assert ctx.get(rtl.state) == model.state, f"cycle {cycle}"
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
    assert (TAPS, WIDTH, STRIDE) == (
        warpbank.golden.lfsr.TAPS,
        warpbank.golden.lfsr.WIDTH,
        warpbank.golden.lfsr.STRIDE,
    )


def test_mutants_are_caught() -> None:
    restless = wrapped(Lfsr(1), advance=lambda value, _: Const(1))
    for unit in (Lfsr(2), restless, wrapped(Lfsr(1), state=lambda value, _: value ^ 4)):
        with pytest.raises(AssertionError):
            lockstep(1, unit=unit)


@pytest.mark.parametrize("seed", [0, -1, 65536])
def test_seeds_that_cannot_be(seed: int) -> None:
    with pytest.raises(ValueError, match=f"An LFSR of 16 bits needs a seed from 1 to 65535, not {seed}"):
        Lfsr(seed)
