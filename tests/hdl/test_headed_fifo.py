"""A queue gives what it was given, in order and a cycle later at the earliest."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from warpbank.hdl.headed_fifo import HeadedFifo


def lockstep(
    depth: int,
    seed: int,
    unit: Any = HeadedFifo,
    changes: bool = False,
    shows: bool = False,
    held: bool = False,
) -> int:
    """The most words that it held. `changes`: the oldest one is replaced now and then; `shows`: what is
    behind it is compared; `held`: of that what waits there."""
    rng = random.Random(seed)
    queue: deque[int] = deque()
    rtl, most = unit(8, depth, changes, shows, held), 0
    eager = rng.random()

    async def bench(ctx: Any) -> None:
        nonlocal most
        for cycle in range(300):
            assert ctx.get(rtl.r_rdy) == bool(queue), f"cycle {cycle}"
            if queue:
                assert ctx.get(rtl.r_data) == queue[0], f"cycle {cycle}"
            reads, writes = bool(queue) and rng.random() < eager, len(queue) < depth and rng.random() < 0.6
            word, before = rng.getrandbits(8), len(queue)
            ctx.set(rtl.r_en, reads)
            ctx.set(rtl.w_may, writes or rng.random() < 0.5)
            ctx.set(rtl.w_en, writes)
            ctx.set(rtl.w_data, word)
            if changes:
                replaces = bool(queue) and not reads and rng.random() < 0.5
                ctx.set(rtl.c_en, replaces)
                ctx.set(rtl.c_data, other := rng.getrandbits(8))
                if replaces:
                    queue[0] = other
            if reads:
                queue.popleft()
            if writes:
                queue.append(word)
            if shows:
                assert ctx.get(rtl.n_en) == (before == 0 or reads), f"cycle {cycle}"
                if held:
                    assert ctx.get(rtl.n_held) == (before > 1), f"cycle {cycle}"
                if before > 1 if held else len(queue) > (before and not reads):
                    behind = queue[0] if reads or not before else queue[1]
                    assert ctx.get(rtl.n_data) == behind, f"cycle {cycle}"
            most = max(most, len(queue))
            await ctx.tick()

    simulate(rtl, bench)
    return most


@settings(FEW, max_examples=10)
@given(
    depth=strategies.integers(1, 6),
    seed=SEEDS,
    changes=strategies.booleans(),
    shows=strategies.sampled_from(["nothing", "next", "held"]),
)
def test_is_a_queue(depth: int, seed: int, changes: bool, shows: str) -> None:
    lockstep(depth, seed, changes=changes, shows=shows != "nothing", held=shows == "held")


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_holds_as_many_as_it_says(depth: int) -> None:
    assert max(lockstep(depth, seed) for seed in range(4)) == depth


class Overtakes(HeadedFifo):
    """A word goes past those behind the head."""

    def _joins(self, waits: Any, empties: Any) -> Any:
        return self.w_en & self.r_rdy & ~self.r_en


class ShowsTheOldest(HeadedFifo):
    """What is behind the oldest word is the oldest word."""

    def elaborate(self, platform: Any) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.n_data.eq(self.r_data)
        return m


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: lockstep(4, seed, Overtakes))
    assert fails(lambda seed: lockstep(4, seed, ShowsTheOldest, shows=True))
    assert fails(lambda seed: lockstep(4, seed, ShowsTheOldest, shows=True, held=True))
