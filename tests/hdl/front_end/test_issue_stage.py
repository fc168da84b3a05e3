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


def lockstep(
    warps: int, seed: int, unit: Any = IssueStage, stages: int | None = None, cycles: int = 150
) -> None:
    rng = random.Random(seed)
    stages = stages or rng.randint(1, 3)
    picks: list[int] = []  # by the scheduler, the last one in this cycle
    among: list[int] = []  # those that it picked from

    def pick(mask: int, _: int) -> int:
        among.append(mask)
        picks.append(rng.choice([warp for warp in range(warps) if mask >> warp & 1]))
        return picks[-1]

    model, rtl = Golden(pick, stages), unit(warps, stages)
    chosen = [0] * stages  # masks of the warps that were picked in the last cycles, the latest one first

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            turn = model.chosen
            # A warp that was picked had no hazard then, and has none up to its turn.
            active, takes = rng.choice((-1, rng.getrandbits(warps))), rng.choice((-1, rng.getrandbits(warps)))
            ready = rng.getrandbits(warps) & rng.choice((0, -1, rng.getrandbits(warps)))
            ready = (ready | turn | chosen[0]) & active
            ctx.set(rtl.ready, ready)
            ctx.set(rtl.takes, takes & active & (1 << warps) - 1)
            assert ctx.get(rtl.turn) == bool(turn)
            picks.clear(), among.clear()
            busy = model.busy(ready, ready & takes)
            issues = model.step(ready, ready & takes, 0)
            assert busy or not (picks or turn or model.chosen), f"seed {seed}, cycle {cycle}"
            assert ctx.get(rtl.candidates) == sum(among), f"seed {seed}, cycle {cycle}"
            assert ctx.get(rtl.issued) == (1 << issues if issues >= 0 else 0), f"seed {seed}, cycle {cycle}"
            if turn:
                assert turn == 1 << ctx.get(rtl.warp)
            ctx.set(rtl.pick, picks[-1] if picks else 0)
            assert ctx.get(rtl.comes) == bool(model.chosen)
            if model.chosen:
                assert model.chosen == 1 << ctx.get(rtl.coming)
            assert (model.picks, model.comes) == (bool(picks), bool(picks or (stages > 1 and model.chosen)))
            chosen[:] = [sum(1 << warp for warp in picks), *chosen[:-1]]
            assert model.chosen == chosen[min(stages, 2) - 1]
            await ctx.tick()

    simulate(rtl, bench)


@FEW
@given(warps=st.sampled_from([1, 2, 3, 8, 48, 64]), stages=st.integers(1, 3), seed=SEEDS)
def test_equals_golden(warps: int, stages: int, seed: int) -> None:
    lockstep(warps, seed, stages=stages)


@pytest.mark.parametrize("warps", [0, -1, 2.0, "8", None])
def test_warps_must_be_a_number(warps: Any) -> None:
    with pytest.raises(TypeError, match="IssueStage needs a number of warp slots of at least 1, not"):
        IssueStage(warps)


@pytest.mark.parametrize("stages", [0, 4, None])
def test_there_are_one_to_three_stages(stages: Any) -> None:
    with pytest.raises(ValueError, match="IssueStage has 1 to 3 stages, not"):
        IssueStage(8, stages)


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
