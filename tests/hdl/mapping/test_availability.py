"""Golden's physical registers are taken, and given back."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from tests.hdl.wrapped import wrapped
from warpbank.golden.mapping.availability import POLICIES
from warpbank.golden.mapping.availability import Availability as Golden
from warpbank.hdl.mapping.availability import Availability

#: Registers, registers of a sub-array.
SIZES = [(4, 1), (5, 2), (12, 3), (64, 16), (100, 25), (512, 128)]


def lockstep(
    registers: int, policy: str, distance: int, seed: int, unit: Any = Availability, cycles: int = 120
) -> None:
    rng = random.Random(seed)
    rtl, model = unit(registers, policy, distance), Golden(registers, policy, distance)
    held: list[int] = []
    took = 0

    async def bench(ctx: Any) -> None:
        nonlocal took
        for cycle in range(cycles):
            assert (ctx.get(rtl.taken), ctx.get(rtl.free)) == (model.taken, model.free)
            if not cycle or rng.random() < 0.02:
                reserved = rng.randrange(registers // 2)
                ctx.set(rtl.launch, 1)
                ctx.set(rtl.reserved, reserved)
                await ctx.tick()
                ctx.set(rtl.launch, 0)
                model.launch(reserved)
                held.clear()
                continue
            take = rng.randint(0, min(4, model.free))
            ctx.set(rtl.take, take)
            numbers = model.take(take)
            assert [ctx.get(choice) for choice in rtl.choice[:take]] == numbers
            for port in rtl.give:
                gives = bool(held) and rng.random() < rng.choice((0.1, 0.4, 0.9))
                ctx.set(port.valid, gives)
                if gives:
                    number = held.pop(rng.randrange(len(held)))
                    ctx.set(port.number, number)
                    model.give(number)
            held.extend(numbers)
            took += take
            await ctx.tick()
            model.edge()

    simulate(rtl, bench)
    assert took


@pytest.mark.parametrize("policy", POLICIES)
@FEW
@given(size=st.sampled_from(SIZES), seed=SEEDS)
def test_equals_golden(policy: str, size: tuple[int, int], seed: int) -> None:
    lockstep(size[0], policy, size[1], seed)


def test_the_other_policy_is_caught() -> None:
    def other(registers: int, policy: str, distance: int) -> Availability:
        return Availability(registers, "consolidate", distance)

    assert fails(lambda seed: lockstep(64, "wear_level", 16, seed, other))


def test_a_flag_that_is_free_in_the_same_cycle_is_caught() -> None:
    """What is given back may be taken one cycle early."""

    def early(registers: int, policy: str, distance: int) -> Any:
        def less(taken: Any, ports: Any) -> Any:
            for give in ports.give:
                taken = taken & ~(give.valid << give.number)
            return taken

        return wrapped(Availability(registers, policy, distance), taken=less)

    assert fails(lambda seed: lockstep(12, "consolidate", 3, seed, early))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0, "consolidate", 1), TypeError, "a number of registers of at least 1, not 0"),
        ((8, "consolidate", 0), TypeError, "a number of distance of at least 1, not 0"),
        ((8, "best", 1), ValueError, "knows the policies consolidate, wear_level, not 'best'"),
    ],
)
def test_bad_parameters(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Availability(*arguments)
