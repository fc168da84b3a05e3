"""The issue stage gives the turn to golden's warps, in golden's cycles."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from hypothesis import given
from hypothesis import strategies as st

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from warpbank.golden.front_end.issue_stage import IssueStage as Golden
from warpbank.hdl.front_end.issue_stage import IssueStage


def lockstep(warps: int, seed: int, unit: Any = IssueStage, cycles: int = 150) -> None:
    rng = random.Random(seed)
    model = Golden(lambda mask, _: rng.choice([warp for warp in range(warps) if mask >> warp & 1]))
    rtl = unit(warps)

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            turn = model.chosen
            # A warp that has its turn had no hazard a cycle ago, and has none now.
            active, takes = rng.choice((-1, rng.getrandbits(warps))), rng.choice((-1, rng.getrandbits(warps)))
            ready = (rng.getrandbits(warps) & rng.choice((0, -1, rng.getrandbits(warps))) | turn) & active
            ctx.set(rtl.ready, ready)
            ctx.set(rtl.takes, takes & active & (1 << warps) - 1)
            assert ctx.get(rtl.candidates) == ready & ~turn, f"cycle {cycle}"
            assert ctx.get(rtl.turn) == bool(turn)
            issues = model.step(ready, ready & takes, 0)
            assert ctx.get(rtl.issued) == (1 << issues if issues >= 0 else 0), f"cycle {cycle}"
            if turn:
                assert turn == 1 << ctx.get(rtl.warp)
            ctx.set(rtl.pick, max(model.chosen.bit_length() - 1, 0))
            await ctx.tick()

    simulate(rtl, bench)


@FEW
@given(warps=st.sampled_from([1, 2, 3, 8, 48, 64]), seed=SEEDS)
def test_equals_golden(warps: int, seed: int) -> None:
    lockstep(warps, seed)


@pytest.mark.parametrize("warps", [0, -1, 2.0, "8", None])
def test_warps_must_be_a_number(warps: Any) -> None:
    with pytest.raises(TypeError, match="IssueStage needs a number of warp slots of at least 1, not"):
        IssueStage(warps)


class Sure(IssueStage):
    """A warp that has its turn issues, whoever would take its uop."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.issued.eq(self.turn << self.warp)
        return m


class Again(IssueStage):
    """A warp that has its turn can be picked."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.candidates.eq(self.ready)
        return m


@pytest.mark.parametrize("mutant", [Sure, Again])
def test_a_mutant_is_caught(mutant: Any) -> None:
    assert fails(lambda seed: lockstep(4, seed, mutant))
