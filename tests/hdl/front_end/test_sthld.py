"""The STHLD machine moves as golden's does: the value in every cycle, the event at the end of every
interval."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Const

from tests.hdl.bench import fails, seen, simulate
from tests.hdl.wrapped import wrapped
from warpbank.arch.config import preset, with_overrides
from warpbank.golden.front_end import sthld as model_of
from warpbank.hdl.front_end import sthld as rtl_of
from warpbank.hdl.front_end.sthld import Sthld

#: State, step, next state.
DecompressMoves = set[tuple[int, int, int]]

#: Interval, upper bound, sub-cores.
SHAPES = [(16, 32, 1), (17, 2, 4), (20, 0, 2), (24, 255, 3)]


def overrides(interval: int, limit: int, cores: int) -> list[str]:
    """The configuration."""
    return [
        f"sub_core.collector.sthld_interval={interval}",
        f"sub_core.collector.sthld_max={limit}",
        f"sub_cores={cores}",
    ]


def lockstep(paths: Sequence[str], seed: int, unit: Any = None, intervals: int = 120) -> DecompressMoves:
    """Returns the moves made. Rates are those of a program of many phases."""
    rng = random.Random(seed)
    config = with_overrides(preset("tiny"), list(paths))
    shape, cores = config.sub_core.collector, config.sub_cores
    rtl = unit or Sthld(config, probe=True)
    model = model_of.Sthld(shape.sthld_interval, shape.sthld_max)
    moves: DecompressMoves = set()

    async def bench(ctx: Any) -> None:
        issued, cycle, rate = 0, 0, rng.random()
        for _ in range(rng.randrange(20)):  # issues before the launch count nothing
            ctx.set(rtl.issues, rng.getrandbits(cores))
            assert not seen(ctx, rtl.events)
            await ctx.tick()
        ctx.set(rtl.launch, 1)
        ctx.set(rtl.issues, rng.getrandbits(cores))
        await ctx.tick()
        while cycle < intervals * shape.sthld_interval:
            ctx.set(rtl.launch, rng.random() < 0.05)  # later ones change nothing
            if cycle % shape.sthld_interval == 0 and rng.random() < 0.4:
                rate = rng.choice((0, 1, rng.random()))
            issues = sum((rng.random() < rate) << core for core in range(cores))
            ctx.set(rtl.issues, issues)
            issued += issues.bit_count()
            assert ctx.get(rtl.value) == model.value, f"seed {seed}, cycle {cycle}"
            expected = []
            if cycle + 1 == model.due:
                state, value = model.state, model.value
                model.end(issued)
                moves.add((state, model.value - value, model.state))
                expected.append(("sthld", (model.state, model.value)))
            assert seen(ctx, rtl.events) == expected, f"seed {seed}, cycle {cycle}"
            await ctx.tick()
            cycle += 1

    simulate(rtl, bench)
    return moves


@pytest.mark.parametrize("shape", SHAPES)
def test_equals_golden(shape: tuple[int, int, int]) -> None:
    moves = lockstep(overrides(*shape), 1) | lockstep(overrides(*shape), 2)
    assert {(state, following) for state, _, following in moves} == {
        (1, 2),
        (2, 2),
        (2, 3),
        (3, 2),
        (3, 4),
        (4, 4),
        (4, 5),
        (5, 4),
        (5, 6),
        (6, 6),
        (6, 3),
    }
    if shape[1] >= 32:
        assert {(2, 1, 3), (3, -2, 4), (4, -1, 4), (4, 0, 5), (6, 0, 6), (6, 1, 3)} <= moves


@pytest.mark.parametrize("cores", [1, 3])
def test_the_first_intervals(cores: int) -> None:
    """Counters begin with values of their own, which decide the first intervals alone."""
    for seed in range(40):
        lockstep(overrides(16, 32, cores), seed, intervals=3)


def test_the_same_machine() -> None:
    assert rtl_of.TRANSITIONS == model_of.TRANSITIONS
    assert (rtl_of.State.START, rtl_of.LARGE) == (model_of.START, model_of.LARGE)


@pytest.mark.parametrize(("state", "large"), list(product(range(1, 7), (0, 1)))[1:])
def test_every_wrong_edge_is_caught(state: int, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Save for a small change in the first interval, that of a machine which issued nothing."""
    edges = list(rtl_of.TRANSITIONS[state])
    edges[large] = (edges[large][0] + 1, edges[large][1])
    monkeypatch.setitem(rtl_of.TRANSITIONS, state, tuple(edges))
    assert fails(lambda seed: lockstep(overrides(16, 32, 1), seed))


def test_mutants_are_caught() -> None:
    config = with_overrides(preset("tiny"), overrides(16, 32, 2))
    for changes in (
        {"launch": lambda value, _: Const(1)},
        {"issues": lambda value, _: value & 1},
        {"issues": lambda value, ports: value & ~ports.launch.replicate(2)},
    ):
        with pytest.raises(AssertionError):
            lockstep(overrides(16, 32, 2), 1, wrapped(Sthld(config, probe=True), **changes))


def test_needs_a_configuration() -> None:
    with pytest.raises(TypeError, match="Sthld needs the machine's configuration, an SmConfig, not 3"):
        Sthld(3)  # type: ignore[arg-type]
