"""Compression: what comes back, what inactive lanes must not do, and the paper's examples."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from tests.similar import similar
from warpbank.golden.storage.compressor import SCALAR, Compressor
from warpbank.golden.storage.decompressor import Decompressor, spread
from warpbank.golden.values import merge

SEEDS = strategies.integers(0, 2**32 - 1)
PARTS = strategies.sampled_from((1, 2))


def active(mask: int, lanes: int = 32) -> list[int]:
    return [lane for lane in range(lanes) if mask >> lane & 1]


@settings(max_examples=300, deadline=None)
@given(seed=SEEDS, parts=PARTS)
def test_active_lanes_come_back(seed: int, parts: int) -> None:
    rng = random.Random(seed)
    value, mask = similar(rng, 32)
    code = Compressor(32, parts).compress(value, mask)
    # The bytes that are not stored may be anything.
    stored = value.copy()
    for lane in range(32):
        stored[lane] ^= np.uint32(rng.getrandbits(32) & spread(code.enc[lane * parts // 32]))
    back = Decompressor(32, parts).decompress(stored, code.enc, code.base)
    assert [back[lane] for lane in active(mask)] == [value[lane] for lane in active(mask)]


@settings(max_examples=300, deadline=None)
@given(seed=SEEDS, parts=PARTS)
def test_inactive_lanes_do_not_matter(seed: int, parts: int) -> None:
    rng = random.Random(seed)
    value, mask = similar(rng, 32)
    other = merge(np.array([rng.getrandbits(32) for _ in range(32)], np.uint32), value, mask)
    assert Compressor(32, parts).compress(value, mask) == Compressor(32, parts).compress(other, mask)


@settings(max_examples=300, deadline=None)
@given(seed=SEEDS, parts=PARTS)
def test_finds_all_there_is(seed: int, parts: int) -> None:
    value, mask = similar(random.Random(seed), 32)
    code = Compressor(32, parts).compress(value, mask)
    assert code.full == (len({int(value[lane]) for lane in active(mask)}) <= 1)
    for part, enc in enumerate(code.enc):
        lanes = [f"{int(value[lane]):08x}" for lane in active(mask) if lane * parts // 32 == part]
        shared = next((count for count in (4, 3, 2, 1) if len({text[: 2 * count] for text in lanes}) <= 1), 0)
        assert enc == (0, 0b1000, 0b1100, 0b1110, SCALAR)[shared]
        if lanes and shared:
            assert f"{code.base[part]:08x}"[: 2 * shared] == lanes[0][: 2 * shared]


def test_every_case_is_drawn() -> None:
    """The values that the tests above draw have every encoding, and scalar halves that differ."""
    codes = [Compressor(32, 2).compress(*similar(random.Random(seed), 32)) for seed in range(400)]
    assert {code.enc[0] for code in codes} == {0, 0b1000, 0b1100, 0b1110, SCALAR}
    assert {code.full for code in codes if code.enc == (SCALAR, SCALAR)} == {False, True}


def test_the_paper_s_example() -> None:
    """Section 3.1, figure 2."""
    value = np.array([0xC04039C0 + 8 * lane for lane in range(8)], np.uint32)
    code = Compressor(8).compress(value, 0xFF)
    assert code.enc == (0b1110,)
    assert code.base[0] >> 8 == 0xC04039


def test_the_paper_s_divergent_scalar() -> None:
    """Figure 6: AAABAABC under the mask 10101100, first letter in the first bit."""
    value = np.array([0xA, 0xA, 0xA, 0xB, 0xA, 0xA, 0xB, 0xC], np.uint32)
    mask = int("10101100"[::-1], 2)
    assert Compressor(8).compress(value, mask).full
    assert not Compressor(8).compress(value, 0xFF).full


@pytest.mark.parametrize("parts", [1, 2])
def test_no_active_lane(parts: int) -> None:
    code = Compressor(4, parts).compress(np.array([1, 2, 3, 4], np.uint32), 0)
    assert (set(code.enc), set(code.base), code.full) == ({SCALAR}, {0}, True)


@pytest.mark.parametrize(
    ("equal", "enc"), [(0b0111, 0), (0b1000, 8), (0b1011, 8), (0b1101, 12), (0b1110, 14), (0b1111, 15)]
)
def test_prefix_code(equal: int, enc: int) -> None:
    """Two lanes whose bytes are equal where `equal` says so."""
    other = sum(0x40 << 8 * byte for byte in range(4) if not equal >> byte & 1)
    assert Compressor(2).compress(np.array([0, other], np.uint32), 0b11).enc == (enc,)


def test_parts_must_be_equal() -> None:
    with pytest.raises(
        ValueError, match="3 lanes cannot be compressed in 2 equal parts; 1 and, for an even number, 2 work"
    ):
        Compressor(3, 2)
    with pytest.raises(ValueError, match="8 lanes cannot be compressed in 4 equal parts"):
        Compressor(8, 4)
