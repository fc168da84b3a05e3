"""The places of a row are given and given back as golden's are."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, strategies

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from warpbank.golden.hierarchy.places import Places as Golden
from warpbank.hdl.hierarchy.places import Places


def lockstep(count: int, registers: int, seed: int, unit: Any = Places, cycles: int = 150) -> None:
    rng = random.Random(seed)
    rtl, model = unit(count, registers), Golden(count)

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            assert ctx.get(rtl.occupied) == model.occupied, f"cycle {cycle}"
            free, taken = model.unused, model.occupied
            wants = given_now = 0
            gives = []
            for register, place in enumerate(rtl.place):
                if not free or rng.random() < 0.4:
                    continue
                wants |= 1 << register
                lowest = (free & -free).bit_length() - 1
                free &= ~(1 << lowest)
                if rng.random() < 0.7:
                    given_now |= 1 << register
                    gives.append((place, lowest))
            back = taken & rng.getrandbits(count) if rng.random() < (0.2 if cycle // 20 % 2 else 0.6) else 0
            for port, mask in ((rtl.wants, wants), (rtl.given, given_now), (rtl.back, back)):
                ctx.set(port, mask)
            for place, lowest in gives:
                assert ctx.get(place) == lowest, f"cycle {cycle}"
                model.give(lowest)
            for place in range(count):
                if back >> place & 1:
                    model.take_back(place)
            await ctx.tick()

    simulate(rtl, bench)


@FEW
@given(count=strategies.sampled_from([1, 2, 8, 16]), registers=strategies.sampled_from([1, 2, 4]), seed=SEEDS)
def test_equals_golden(count: int, registers: int, seed: int) -> None:
    lockstep(count, registers, seed)


class Leaks(Places):
    """What is given back while others are taken is lost."""

    def elaborate(self, platform: object) -> Any:
        given_back, self.back = self.back, self.back & ~self.given.any().replicate(len(self.back))
        m = super().elaborate(platform)
        self.back = given_back
        return m


class TwiceInACycle(Places):
    """Two registers are given one place in a cycle."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        with m.If(self.wants[0]):
            m.d.comb += self.place[1].eq(self.place[0])
        return m


@pytest.mark.parametrize("unit", [Leaks, TwiceInACycle])
def test_mutants_are_caught(unit: type[Places]) -> None:
    assert fails(lambda seed: lockstep(8, 2, seed, unit))


@pytest.mark.parametrize(("count", "registers", "named"), [(0, 1, "places"), (1, 0, "registers")])
def test_needs_numbers(count: int, registers: int, named: str) -> None:
    with pytest.raises(TypeError, match=f"Places needs a number of {named} of at least 1, not 0"):
        Places(count, registers)


def test_golden_gives_no_place_twice() -> None:
    places = Golden(2)
    places.give(0)
    with pytest.raises(AssertionError, match="place 0 is given twice"):
        places.give(0)
    with pytest.raises(AssertionError, match="place 1 is taken back although it is unused"):
        places.take_back(1)
