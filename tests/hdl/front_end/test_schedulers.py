"""The schedulers pick what golden's pick."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Const, Signal
from hypothesis import given
from hypothesis import strategies as st

import warpbank.golden.front_end.cache_aware
import warpbank.golden.front_end.gto
import warpbank.golden.front_end.lrr
from tests.hdl.bench import FEW, SEEDS, simulate
from warpbank.hdl.front_end.cache_aware import CacheAware
from warpbank.hdl.front_end.gto import Gto
from warpbank.hdl.front_end.lrr import Lrr

PAIRS = {
    "lrr": (Lrr, warpbank.golden.front_end.lrr.Lrr),
    "gto": (Gto, warpbank.golden.front_end.gto.Gto),
    "cache_aware": (CacheAware, warpbank.golden.front_end.cache_aware.CacheAware),
}


def lockstep(policy: str, warps: int, seed: int, unit: Any = None, cycles: int = 150) -> None:
    rng = random.Random(seed)
    made, specification = PAIRS[policy]
    rtl, model = (unit or made)(warps), specification(warps)

    async def bench(ctx: Any) -> None:
        for _ in range(cycles):
            eligible = rng.getrandbits(warps) & rng.choice((-1, rng.getrandbits(warps)))
            starts = rng.getrandbits(warps) & rng.getrandbits(warps) if rng.random() < 0.3 else 0
            ctx.set(rtl.eligible, eligible)
            ctx.set(rtl.start, starts)
            holds = rng.getrandbits(warps)
            if isinstance(getattr(rtl, "holds", None), Signal):
                ctx.set(rtl.holds, holds)
            if eligible:
                assert ctx.get(rtl.pick) == model.pick(eligible, holds)
            for warp in range(warps):
                if starts >> warp & 1:
                    model.start(warp)
            await ctx.tick()

    simulate(rtl, bench)


@pytest.mark.parametrize("policy", PAIRS)
@FEW
@given(warps=st.sampled_from([1, 2, 3, 4, 8, 48, 64]), seed=SEEDS)
def test_equals_golden(policy: str, warps: int, seed: int) -> None:
    lockstep(policy, warps, seed)


@pytest.mark.parametrize("policy", ["gto", "cache_aware"])
def test_the_first_slot_goes_first_although_its_warp_is_the_youngest(policy: str) -> None:
    """Before anything has issued, slot 0 counts as the one that issued last."""
    made, specification = PAIRS[policy]
    rtl, model = made(4), specification(4)

    async def bench(ctx: Any) -> None:
        ctx.set(rtl.start, 1)
        model.start(0)
        await ctx.tick()
        ctx.set(rtl.eligible, 0b1111)
        assert ctx.get(rtl.pick) == model.pick(0b1111, 0) == 0

    simulate(rtl, bench)


@pytest.mark.parametrize("policy", [Lrr, Gto, CacheAware])
@pytest.mark.parametrize("warps", [0, -1, 2.0, "8", None])
def test_warps_must_be_a_number(policy: Any, warps: Any) -> None:
    with pytest.raises(TypeError, match=f"{policy.__name__} needs a number of warp slots of at least 1, not"):
        policy(warps)


@pytest.mark.parametrize("policy", ["lrr", "gto"])
def test_the_other_policy_is_caught(policy: str) -> None:
    other = PAIRS["gto" if policy == "lrr" else "lrr"][0]
    with pytest.raises(AssertionError):
        lockstep(policy, 4, 1, other)


def test_values_in_collectors_must_count() -> None:
    class Deaf(CacheAware):
        """Greedy then oldest: nobody's values count."""

        def elaborate(self, platform: object) -> Any:
            unheard = self.holds
            self.holds = Const(0, len(unheard))
            return super().elaborate(platform)

    with pytest.raises(AssertionError):
        lockstep("cache_aware", 4, 1, Deaf)
