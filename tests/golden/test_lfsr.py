"""The shift register: all its numbers, in the order that the polynomial says."""

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


def test_bits_are_cut_out_of_the_number() -> None:
    lfsr = Lfsr(0b1011_0000_1110_0101)
    assert (lfsr.bits(0, 3), lfsr.bits(2, 3), lfsr.bits(12, 4), lfsr.bits(5, 0)) == (0b101, 0b001, 0b1011, 0)


def test_it_moves_only_when_told() -> None:
    lfsr = Lfsr(7)
    assert [lfsr.bits(0, 16) for _ in range(3)] == [7, 7, 7]
    assert lfsr.state == 7


@pytest.mark.parametrize("width", [1, 2, 3])
def test_neighbouring_numbers_are_unrelated(width: int) -> None:
    """Every pair of successive cuts comes about as often as any other."""
    lfsr, pairs, before = Lfsr(1), Counter[tuple[int, int]](), 0
    for _ in range(PERIOD):
        now = lfsr.bits(0, width)
        pairs[before, now] += 1
        lfsr.advance()
        before = now
    even = PERIOD / 4**width
    assert len(pairs) == 4**width
    assert all(abs(count - even) <= 2 for count in pairs.values())


@pytest.mark.parametrize("seed", [0, -1, 65536])
def test_seeds_that_cannot_be(seed: int) -> None:
    with pytest.raises(ValueError, match=f"An LFSR of 16 bits needs a seed from 1 to 65535, not {seed}"):
        Lfsr(seed)
