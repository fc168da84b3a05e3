"""Golden's physical registers are taken, and given back."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from hypothesis import given
from hypothesis import strategies as st

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from warpbank.arch.uop import MAX_DESTINATIONS
from warpbank.golden.mapping.availability import POLICIES
from warpbank.golden.mapping.availability import Availability as Golden
from warpbank.hdl.mapping.availability import Availability

#: Registers, registers of a sub-array.
SIZES = [(4, 1), (5, 2), (12, 3), (64, 16), (100, 25), (512, 128)]


def lockstep(
    registers: int,
    policy: str,
    distance: int,
    seed: int,
    unit: Any = Availability,
    cycles: int = 120,
    late: bool = False,
) -> None:
    """`late`: the number of free registers is that of the cycle before, but for a launch."""
    rng = random.Random(seed)
    rtl = unit(registers, policy, distance, **({"late": True} if late else {}))
    model = Golden(registers, policy, distance)
    held: list[int] = []
    took, hungry = 0, 1.0
    free = registers

    async def bench(ctx: Any) -> None:
        nonlocal took, hungry, free
        for cycle in range(cycles):
            ready = model.ahead[:MAX_DESTINATIONS]
            assert ctx.get(rtl.ready) == (1 << len(ready)) - 1
            assert ctx.get(rtl.free) == (free if late else model.free)
            free = model.free
            assert [ctx.get(choice) for choice in rtl.choice[: len(ready)]] == ready
            if rng.random() < (0.02 if cycle else 0.5):
                reserved = rng.randrange(rng.choice((registers // 2, registers + 1)))
                ctx.set(rtl.launch, 1)
                ctx.set(rtl.reserved, reserved)
                # What is taken and given while a launch begins counts for nothing; a late count needs quiet.
                ctx.set(rtl.take, 0 if late else rng.randint(0, len(ready)))
                for port in rtl.give:
                    ctx.set(port.valid, not late and bool(held) and rng.random() < 0.5)
                    ctx.set(port.number, rng.choice(held or [0]))
                await ctx.tick()
                ctx.set(rtl.launch, 0)
                model.launch(reserved)
                free = model.free
                held.clear()
                hungry = rng.choice((0.2, 0.5, 1))
                continue
            take = rng.randint(0, len(ready)) if rng.random() < hungry else 0
            ctx.set(rtl.take, take)
            numbers = model.take(take)
            if rng.random() < 0.1:
                hungry = rng.choice((0.2, 0.5, 1))
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
@given(size=st.sampled_from(SIZES), seed=SEEDS, late=st.booleans())
def test_equals_golden(policy: str, size: tuple[int, int], seed: int, late: bool) -> None:
    lockstep(size[0], policy, size[1], seed, late=late)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("late", [False, True])
def test_small_ones_equal_golden(late: bool, seed: int) -> None:
    for policy in POLICIES:
        lockstep(12, policy, 3, seed, late=late)


def test_the_other_policy_is_caught() -> None:
    def other(registers: int, policy: str, distance: int) -> Availability:
        return Availability(registers, "consolidate", distance)

    assert fails(lambda seed: lockstep(64, "wear_level", 16, seed, other))


class KeepsWhatIsTaken(Availability):
    """A register that is being taken is given up for a lower one as well."""

    def _choose(self, m: Module, word: Signal, found: Signal) -> Any:
        chosen = super()._choose(m, word, found)
        valid, number = self._returned
        self._returned = valid | (self.take == MAX_DESTINATIONS) & self._there[-1], number
        return chosen


class NeverExchanges(Availability):
    """What has been chosen stays in the queue, whatever is released."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._rotates, self._step = True, 0


class TwiceChosen(Availability):
    """A register is read again in the cycle in which it is chosen."""

    def _search(
        self, m: Module, some: Any, flags: Any, word: Any, found: Any, accepted: Any, bit: Any
    ) -> None:
        super()._search(m, some, flags, word, found, accepted & 0, bit)


@pytest.mark.parametrize("unit", [KeepsWhatIsTaken, NeverExchanges, TwiceChosen])
def test_mutants_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep(64, "consolidate", 16, seed, unit))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0, "consolidate", 1), TypeError, "a number of registers of at least 1, not 0"),
        ((8, "consolidate", 0), TypeError, "a number of distance of at least 1, not 0"),
        ((8.5, "consolidate", 1), TypeError, "a number of registers of at least 1, not 8.5"),
        ((8, "best", 1), ValueError, "knows the policies consolidate, wear_level, not 'best'"),
    ],
)
def test_bad_parameters(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Availability(*arguments)
