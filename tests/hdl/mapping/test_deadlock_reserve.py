"""Golden's warp is served first, and golden's registers are kept for it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, simulate
from tests.hdl.wrapped import wrapped
from warpbank.golden.mapping.deadlock_reserve import DeadlockReserve as Golden
from warpbank.hdl.mapping.deadlock_reserve import DeadlockReserve


def lockstep(machine: str, seed: int, unit: Any = DeadlockReserve, cycles: int = 120) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    warps = config.sub_core.warps
    rtl, model = unit(config), Golden(warps)
    kept = 0

    async def bench(ctx: Any) -> None:
        nonlocal kept
        here = 0
        for cycle in range(cycles):
            launch, needs, everybody = (
                not cycle or rng.random() < 0.03,
                rng.randrange(256),
                rng.random() < 0.2,
            )
            if rng.random() < 0.4:
                here = rng.getrandbits(warps)
            for name, value in (
                ("launch", launch),
                ("needs", needs),
                ("everybody", everybody),
                ("here", here),
            ):
                ctx.set(getattr(rtl, name), value)
            assert (ctx.get(rtl.first), ctx.get(rtl.floor)) == model.look(here)
            kept += model.look(here)[1] > 0
            model.first = model.served(here)
            for port, sign in ((rtl.taken, 1), (rtl.given, -1)):
                warp = rng.randrange(warps)
                count = min(rng.randrange(5), 250 - model.held[warp] if sign > 0 else model.held[warp])
                ctx.set(port.warp, warp)
                ctx.set(port.count, count)
                model.held[warp] += sign * count
            if launch:
                model.launch(needs, everybody)
            await ctx.tick()

    simulate(rtl, bench)
    assert kept


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


def test_warps_at_a_barrier_must_count() -> None:
    def blind(config: Any) -> Any:
        return wrapped(DeadlockReserve(config), here=lambda value, _: value & 0)

    assert fails(lambda seed: lockstep("tiny", seed, blind))


def test_the_configuration_must_be_one() -> None:
    with pytest.raises(TypeError, match="Reserve needs the machine's configuration, an SmConfig, not 8"):
        DeadlockReserve(8)  # type: ignore[arg-type]
