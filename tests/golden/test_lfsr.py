"""The shift register: all its numbers, in the order that the polynomial says, and fair choices by them."""

from __future__ import annotations

from collections import Counter

import pytest

from warpbank.golden.lfsr import STRIDE, Lfsr

#: x^16 + x^14 + x^13 + x^11 + 1.
POLYNOMIAL = 1 << 16 | 1 << 14 | 1 << 13 | 1 << 11 | 1
PERIOD = 65535


def _times_x(state: int) -> int:
    """The product with x, where bit i is the coefficient of x^i."""
    product = state << 1
    return product ^ POLYNOMIAL if product >> 16 else product


@pytest.mark.parametrize("seed", [1, 2, 0xACE1, 0x8000, 65535])
def test_shifts_divide_by_x(seed: int) -> None:
    lfsr = Lfsr(seed)
    for _ in range(200):
        before = lfsr.state
        lfsr.advance()
        again = lfsr.state
        for _ in range(STRIDE):
            again = _times_x(again)
        assert again == before != lfsr.state


def test_every_number_comes_once_in_a_period() -> None:
    lfsr = Lfsr(1)
    seen = Counter[int]()
    for _ in range(PERIOD):
        seen[lfsr.state] += 1
        lfsr.advance()
    assert lfsr.state == 1
    assert set(seen) == set(range(1, PERIOD + 1))
    assert set(seen.values()) == {1}


def test_it_moves_only_when_told() -> None:
    lfsr = Lfsr(7)
    assert [lfsr.choose(0b11) for _ in range(3)] == [0, 0, 0]
    assert lfsr.state == 7


@pytest.mark.parametrize("width", [1, 2, 3])
def test_neighbouring_numbers_are_unrelated(width: int) -> None:
    """Every pair of successive cuts comes about as often as any other."""
    lfsr, pairs, before = Lfsr(1), Counter[tuple[int, int]](), 0
    for _ in range(PERIOD):
        now = lfsr.state & (1 << width) - 1
        pairs[before, now] += 1
        lfsr.advance()
        before = now
    even = PERIOD / 4**width
    assert len(pairs) == 4**width
    assert all(abs(count - even) <= 2 for count in pairs.values())


@pytest.mark.parametrize("mask", [0b1, 0b1000_0000, 0b11, 0b1000_0001, 0b1110_0000, 0b1010_1101, 0b111_1111])
def test_each_set_bit_is_as_likely(mask: int) -> None:
    """Over all numbers."""
    register, chosen = Lfsr(1), Counter[int]()
    for number in range(1, 1 << 16):
        register.state = number
        chosen[register.choose(mask)] += 1
    assert sum(1 << bit for bit in chosen) == mask
    assert max(chosen.values()) - min(chosen.values()) <= 2
    assert sum(chosen.values()) == 65535


def test_choices_one_after_the_other_are_independent() -> None:
    """Of three lines, every pair of choices comes in one of nine cases."""
    register, pairs = Lfsr(0xACE1), Counter[tuple[int, int]]()
    before = register.choose(0b111)
    for _ in range(9000):
        register.advance()
        now = register.choose(0b111)
        pairs[before, now] += 1
        before = now
    assert len(pairs) == 9
    assert min(pairs.values()) > 900
    assert max(pairs.values()) < 1100


@pytest.mark.parametrize("seed", [0, -1, 65536])
def test_seeds_that_cannot_be(seed: int) -> None:
    with pytest.raises(ValueError, match=f"An LFSR of 16 bits needs a seed from 1 to 65535, not {seed}"):
        Lfsr(seed)
