"""The two-level scheduler picks, activates and deactivates what golden's does."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Value
from hypothesis import given
from hypothesis import strategies as st

from tests.hdl.bench import FEW, SEEDS, Log, fails, seen, simulate
from tests.hdl.wrapped import Change, wrapped
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.golden.front_end.two_level import TwoLevel as Golden
from warpbank.hdl.front_end import two_level
from warpbank.hdl.front_end.two_level import TwoLevel

REPLACEMENTS = st.sampled_from(["strict", "on_demand"])


def machine(warps: int, active: int, replacement: str = "strict", stages: int = 0) -> SmConfig:
    """A sub-core of that many warps."""
    values = {"warps": warps, "active_warps": active, "replacement": replacement}
    values |= {"front_end.issue_stages": stages}
    return with_overrides(preset("tiny"), [f"sub_core.{name}={value}" for name, value in values.items()])


def lockstep(
    warps: int,
    active: int,
    seed: int,
    unit: Any = TwoLevel,
    cycles: int = 150,
    probe: bool = True,
    replacement: str = "strict",
    stages: int = 0,
) -> int:
    """How many warps were activated."""
    rng = random.Random(seed)
    config = machine(warps, active, replacement, stages)
    log = Log()
    rtl, model = unit(config, probe) if probe else unit(config), Golden(config.sub_core, log.probe)
    assert ("events" in rtl.signature.members) == probe
    everyone = (1 << warps) - 1
    # Long stretches in which most warps are away, in which few are, and in which the same ones are.
    masks = [everyone, *(rng.getrandbits(warps) for _ in range(3))]
    activated = 0

    async def bench(ctx: Any) -> None:
        nonlocal activated
        away = everyone
        for cycle in range(cycles):
            if rng.random() < 0.5:
                away = rng.choice(masks) & rng.choice((everyone, rng.getrandbits(warps)))
            may_activate = rng.choice((everyone, everyone, rng.getrandbits(warps)))
            start = rng.getrandbits(warps) & away if rng.random() < 0.2 else 0
            ready = rng.getrandbits(warps) & ~away
            over = away & rng.getrandbits(warps) & rng.getrandbits(warps)
            eligible = ready & model.active & rng.choice((0, everyone))
            for name, mask in (
                ("away", away),
                ("over", over),
                ("may_activate", may_activate),
                ("start", start),
                ("ready", ready),
                ("eligible", eligible),
            ):
                ctx.set(getattr(rtl, name), mask)
            assert ctx.get(rtl.active) == model.active, f"cycle {cycle}"
            if eligible:
                assert ctx.get(rtl.pick) == model.pick(eligible), f"cycle {cycle}"
            waiting = (ready & ~model.active).bit_count()
            moves = model.moves(away, may_activate, over)
            came, gone = model.edge(away, may_activate, over)
            assert moves == bool(came | gone)
            activated += came != 0
            assert (ctx.get(rtl.activated), ctx.get(rtl.deactivated)) == (came, gone), f"cycle {cycle}"
            if probe:
                expected = log.take()
                if waiting and not eligible:
                    expected = sorted([*expected, ("ready_pending", (waiting,))])
                assert seen(ctx, rtl.events) == expected, f"cycle {cycle}"
            for warp in range(warps):
                if start >> warp & 1:
                    model.start(warp)
            await ctx.tick()

    simulate(rtl, bench)
    return activated


@FEW
@given(
    size=st.sampled_from([(1, 1), (3, 1), (4, 2), (5, 5), (8, 2), (8, 20), (48, 6), (64, 8)]),
    replacement=REPLACEMENTS,
    stages=st.sampled_from([0, 1]),
    seed=SEEDS,
)
def test_equals_golden(size: tuple[int, int], replacement: str, stages: int, seed: int) -> None:
    lockstep(*size, seed, replacement=replacement, stages=stages)


@pytest.mark.parametrize("replacement", ["strict", "on_demand"])
@pytest.mark.parametrize("size", [(1, 1), (6, 3), (9, 4), (9, 8)])
def test_sizes(size: tuple[int, int], replacement: str) -> None:
    """Where few are pending, and where the active warps fill a group of those that are counted together, with
    and without an issue stage."""
    for seed, stages in product(range(3), (0, 1)):
        lockstep(*size, seed, replacement=replacement, stages=stages)


def test_nothing_is_reported_unasked() -> None:
    assert "events" not in TwoLevel(machine(4, 2)).signature.members


def test_the_stimulus_activates() -> None:
    assert lockstep(8, 2, 1) > 20


#: What a mutant sees as `away`.
AWAY: dict[str, Change] = {
    "promotes a warp that is away": lambda value, ports: value & ports.active,
    "never demotes": lambda value, ports: value & ~ports.active,
}


def test_a_warp_that_waits_stays_until_another_needs_its_place() -> None:
    scheduler = Golden(machine(3, 2, "on_demand").sub_core, Log().probe)
    assert scheduler.edge(away=0b100) == (0b001, 0)
    assert scheduler.edge(away=0b100) == (0b010, 0)
    assert scheduler.edge(away=0b111) == (0, 0)  # nobody needs a place
    assert scheduler.edge(away=0b011) == (0, 0b001)  # warp 2 does, and the oldest makes room for it
    assert scheduler.edge(away=0b011) == (0b100, 0)
    assert scheduler.edge(away=0b011, over=0b010) == (0, 0b010)


@pytest.mark.parametrize("mutant", AWAY)
def test_mutants_are_caught(mutant: str) -> None:
    def unit(config: SmConfig, probe: bool) -> Any:
        return wrapped(TwoLevel(config, probe), away=AWAY[mutant])

    assert fails(lambda seed: lockstep(6, 2, seed, unit))


@pytest.mark.parametrize(
    ("name", "replacement"),
    [
        ("oldest_of", lambda mask, older: mask),  # two at a time
        ("oldest_of", lambda mask, older: mask & (~mask + 1)),  # the lowest slot, whatever its age
        ("population", lambda mask: Value.cast(0)),  # there is always room
    ],
)
def test_mutants_of_parts_are_caught(name: str, replacement: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_level, name, replacement)
    assert fails(lambda seed: lockstep(6, 2, seed))


@pytest.mark.parametrize("config", [None, 8])
def test_needs_a_configuration(config: Any) -> None:
    with pytest.raises(TypeError, match="TwoLevel needs an SmConfig, not"):
        TwoLevel(config)
