"""Address allocation gives out what golden's does."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, strategies

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from warpbank.golden.hierarchy.allocation import AddressAllocation as Golden
from warpbank.hdl.hierarchy.allocation import AddressAllocation


def lockstep(count: int, seed: int, unit: Any = AddressAllocation, cycles: int = 200) -> None:
    rng = random.Random(seed)
    rtl, model = unit(count), Golden(count)

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            assert ctx.get(rtl.available) == bool(model.unused), f"cycle {cycle}"
            assert ctx.get(rtl.occupied) == model.occupied, f"cycle {cycle}"
            if model.unused:
                assert ctx.get(rtl.head) == model.unused[0], f"cycle {cycle}"
            given_out = [address for address in range(count) if model.occupied >> address & 1]
            takes = bool(model.unused) and rng.random() < (0.7 if cycle // 20 % 2 else 0.3)
            back = bool(given_out) and rng.random() < (0.3 if cycle // 20 % 2 else 0.7)
            ctx.set(rtl.allocate, takes)
            ctx.set(rtl.release, back)
            if takes:
                model.allocate()
            if back:
                address = rng.choice(given_out)
                ctx.set(rtl.address, address)
                model.release(address)
            await ctx.tick()

    simulate(rtl, bench)


@FEW
@given(count=strategies.sampled_from([1, 2, 3, 6, 8, 16]), seed=SEEDS)
def test_equals_golden(count: int, seed: int) -> None:
    lockstep(count, seed)


class Leaks(AddressAllocation):
    """What is given back while an address is taken is lost."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        with m.If(self.allocate & self.release):
            m.d.sync += self.occupied.eq(self.occupied | 1 << self.head)
        return m


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: lockstep(8, seed, Leaks))


def test_needs_a_number() -> None:
    with pytest.raises(TypeError, match="AddressAllocation needs a number of addresses of at least 1, not 0"):
        AddressAllocation(0)
