"""Slow banks take as long as golden's, and on average what was asked for."""

from __future__ import annotations

import random
from typing import Any

import pytest

from golden.storage.pace import Pace as Golden
from hdl.storage.pace import Pace
from tests.hdl.bench import simulate


@pytest.mark.parametrize("percent", [100, 125, 160, 280, 530, 630, 3200])
def test_equals_golden_and_meets_its_mean(percent: int) -> None:
    rng = random.Random(percent)
    rtl, model = Pace(percent), Golden(percent)
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


def test_needs_a_latency() -> None:
    with pytest.raises(TypeError, match="Pace needs a latency of at least 100 percent, not 99"):
        Pace(99)
