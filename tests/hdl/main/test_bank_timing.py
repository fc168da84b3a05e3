"""Slow banks take as long as golden's, and on average what was asked for."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.hdl.bench import fails, simulate
from warpbank.golden.main.bank_timing import BankTiming as GoldenBanks
from warpbank.golden.main.bank_timing import FractionalLatency as Golden
from warpbank.hdl.main.bank_timing import BankTiming, FractionalLatency


@pytest.mark.parametrize("percent", [100, 125, 160, 280, 530, 630, 3200])
def test_equals_golden_and_meets_its_mean(percent: int) -> None:
    rng = random.Random(percent)
    rtl, model = FractionalLatency(percent), Golden(percent)
    taken: list[int] = []

    async def bench(ctx: Any) -> None:
        while len(taken) < 200:
            begins = rng.random() < 0.6
            ctx.set(rtl.access, begins)
            if begins:
                taken.append(model.access())
                assert ctx.get(rtl.cycles) == taken[-1], f"access {len(taken)}"
            await ctx.tick()

    simulate(rtl, bench)
    assert sum(taken) * 100 == percent * len(taken)
    assert max(taken) - min(taken) <= 1


def banks_lockstep(
    percent: int, seed: int, unit: Any = BankTiming, banks: int = 3, cycles: int = 300
) -> None:
    """Writes only where a bank takes one; reads wait until they are served."""
    rng = random.Random(seed)
    rtl, model = unit(banks, percent), GoldenBanks(banks, percent)
    waiting = 0

    async def bench(ctx: Any) -> None:
        nonlocal waiting
        for cycle in range(cycles):
            assert ctx.get(rtl.busy) == model.busy, f"cycle {cycle}"
            written = rng.getrandbits(banks) & rng.getrandbits(banks) & ~model.busy
            ctx.set(rtl.written, written)
            ctx.set(rtl.waiting, waiting)
            opening = model.step(written, waiting)
            assert ctx.get(rtl.opening) == opening, f"cycle {cycle}"
            granted = waiting & ~opening & ~written & (rng.getrandbits(banks) | rng.getrandbits(banks))
            ctx.set(rtl.granted, granted)
            model.granted(granted)
            model.edge()
            waiting = waiting & ~granted | rng.getrandbits(banks) & rng.getrandbits(banks)
            await ctx.tick()

    simulate(rtl, bench)


@pytest.mark.parametrize("percent", [125, 280, 630])
def test_banks_equal_golden(percent: int) -> None:
    banks_lockstep(percent, percent)


class ForgetsReads(BankTiming):
    """A read that was begun does not keep its bank."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.busy.eq(self.opening)
        return m


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: banks_lockstep(280, seed, ForgetsReads))


def test_needs_a_latency() -> None:
    with pytest.raises(TypeError, match="Pace needs a latency of at least 100 percent, not 99"):
        FractionalLatency(99)
