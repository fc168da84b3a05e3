"""Golden's release flags hit."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from tests.hdl.wrapped import wrapped
from warpbank.golden.mapping.flag_cache import FlagCache as Golden
from warpbank.hdl.mapping.flag_cache import FlagCache


def lockstep(warps: int, seed: int, unit: Any = FlagCache, cycles: int = 200) -> None:
    rng = random.Random(seed)
    rtl, model = unit(warps), Golden(warps)
    words = [rng.getrandbits(32) for _ in range(rng.choice((1, warps + 2, 3 * warps)))]
    if rng.random() < 0.5:  # the word at 0 is what the tag of an entry without a word looks like
        words[0] = 0
    here = [words[0]] * warps  # warps come back to the words they are among
    hits = misses = 0

    async def bench(ctx: Any) -> None:
        nonlocal hits, misses
        for _ in range(cycles):
            starts = rng.getrandbits(warps) if rng.random() < 0.05 else 0
            ctx.set(rtl.start, starts)
            warp = rng.randrange(warps)
            first = here[warp] = rng.choice(words) if rng.random() < 0.3 else here[warp]
            fills, covered = rng.random() < 0.8 and not starts >> warp & 1, rng.random() < 0.9
            pc = first + rng.choice((0, 1, 17)) & 0xFFFFFFFF
            for name, value in (
                ("fill", fills),
                ("warp", warp),
                ("covered", covered),
                ("first", first),
                ("pc", pc),
            ):
                ctx.set(getattr(rtl, name), value)
            hit = model.fill(warp, pc, first if covered else None) if fills else None
            assert ctx.get(rtl.asks) == (hit is not None)
            if hit is not None:
                assert ctx.get(rtl.hit) == hit
                hits, misses = hits + hit, misses + (not hit)
            for slot in range(warps):
                if starts >> slot & 1:
                    model.start(slot)
            await ctx.tick()

    simulate(rtl, bench)
    assert hits
    assert misses


@FEW
@given(warps=st.sampled_from([1, 2, 3, 8, 48]), seed=SEEDS)
def test_equals_golden(warps: int, seed: int) -> None:
    lockstep(warps, seed)


@pytest.mark.parametrize("warps", [3, 4, 8])
def test_users_of_every_entry_are_counted(warps: int) -> None:
    for seed in range(8):
        lockstep(warps, seed)


def test_a_word_that_somebody_uses_is_not_replaced() -> None:
    """Its user's next look finds it. Golden alone, since the RTL equals it."""
    for seed in range(20):
        rng = random.Random(seed)
        cache = Golden(4)
        where: dict[int, int] = {}
        for _ in range(300):
            warp, first = rng.randrange(4), rng.randrange(9)
            cache.fill(warp, first, first)
            where[warp] = first
            watched = rng.choice(list(where))
            assert cache.fill(watched, where[watched], where[watched]), f"seed {seed}"


def test_a_forgotten_user_is_caught() -> None:
    def forgets(warps: int) -> Any:
        return wrapped(FlagCache(warps), warp=lambda value, _: value & ~1)

    assert fails(lambda seed: lockstep(8, seed, forgets))


@pytest.mark.parametrize("warps", [0, -1, "8"])
def test_warps_must_be_a_number(warps: Any) -> None:
    with pytest.raises(TypeError, match="FlagCache needs a number of warp slots of at least 1, not"):
        FlagCache(warps)
