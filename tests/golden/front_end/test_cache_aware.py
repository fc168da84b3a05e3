"""The cache-aware scheduler: the same warp, then warps with cached values by age, then the rest by age.
Malekeh, IV-B1."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.events import Record
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import Unit
from warpbank.golden.front_end.cache_aware import CacheAware
from warpbank.golden.sm import simulate
from warpbank.program.trace.builder import TraceBuilder, alu, barrier


def _aged(order: tuple[int, ...]) -> CacheAware:
    """A scheduler whose warps started in this order, the oldest first; the oldest issued last."""
    policy = CacheAware(len(order))
    for warp in order:
        policy.start(warp)
    policy.pick(1 << order[0])
    return policy


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_three_classes_each_by_age(order: tuple[int, ...]) -> None:
    for eligible in range(1, 16):
        for holds in range(16):
            first, second, third = (
                [warp for warp in order if mask >> warp & 1]
                for mask in (eligible & 1 << order[0], eligible & holds, eligible)
            )
            assert _aged(order).pick(eligible, holds) == (first + second + third)[0]


def test_the_last_one_goes_on_without_values() -> None:
    """Greedy comes before cached values."""
    policy = _aged((0, 1, 2, 3))
    assert policy.pick(0b1100, 0b1000) == 3
    assert policy.pick(0b1111, 0b0111) == 3
    assert policy.pick(0b0111, 0b0100) == 2


def test_without_values_it_is_greedy_then_oldest() -> None:
    policy = _aged((2, 0, 3, 1))
    assert policy.pick(0b1011) == 0
    assert policy.pick(0b1110, 0b0001) == 2, "values of a warp that is not eligible do not count"
    assert policy.pick(0b1010, 0b0001) == 3


def test_a_new_warp_is_the_youngest() -> None:
    policy = _aged((0, 1, 2, 3))
    policy.start(1)
    assert policy.pick(0b1110, 0b0110) == 2
    assert policy.pick(0b0010) == 1


@pytest.mark.parametrize("warps", [1, 2, 5, 8])
def test_any_history(warps: int) -> None:
    """Beside a list of warps by age."""
    rng, policy = random.Random(warps), CacheAware(warps)
    ages, last = list(range(warps)), 0
    for _ in range(500):
        if rng.random() < 0.2:
            warp = rng.randrange(warps)
            policy.start(warp)
            ages.append(ages.pop(ages.index(warp)))
        eligible, holds = rng.getrandbits(warps), rng.getrandbits(warps)
        if not eligible:
            continue
        cached = [warp for warp in ages if eligible & holds & 1 << warp]
        able = [warp for warp in ages if eligible >> warp & 1]
        last = last if eligible >> last & 1 else (cached or able)[0]
        assert policy.pick(eligible, holds) == last


@pytest.mark.parametrize(("scheduler", "first"), [("scheme", 2), ("gto", 1)])
def test_on_the_machine(scheduler: str, first: int) -> None:
    """Three warps leave a barrier. When the one that came last has ended, the one with values goes, or the
    oldest."""
    free = [alu(register, mask=0) for register in range(4)]
    slow = [alu(9, unit=Unit.SFU), alu(10, 9)]
    trace = (
        TraceBuilder()
        .launch([[*slow, barrier()], [barrier(), *free], [alu(1), alu(2, 1), barrier(), *free]])
        .build()
    )
    config = with_overrides(
        preset("tiny"),
        [
            "sub_core.front_end.buffer_entries=9",
            "sub_core.execute.sfu.latency=40",
            f"sub_core.front_end.scheduler={scheduler}",
        ],
    )
    events: list[Record] = []
    simulate(trace, config, parse_scheme("malekeh-pr"), events=events)
    opened = next(cycle for cycle, _, name, _ in events if name == "barrier_open")
    after = [values[0] for cycle, _, name, values in events if name == "issue" and cycle > opened]
    assert after == [0, *[first] * 5, *[3 - first] * 5]
