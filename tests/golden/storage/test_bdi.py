"""Base-delta-immediate: what comes back, and that the narrowest packing is taken."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from tests.similar import similar
from warpbank.golden.storage.bdi import BdiCompressor, BdiDecompressor, Delta
from warpbank.golden.values import merge

SEEDS = strategies.integers(0, 2**32 - 1)


@settings(max_examples=300, deadline=None)
@given(seed=SEEDS)
def test_active_lanes_come_back(seed: int) -> None:
    value, mask = similar(random.Random(seed), 32)
    kind, packed = BdiCompressor(32).compress(value, mask)
    assert packed >> (1024 if kind is Delta.RAW else 32 + 32 * kind.width) == 0
    back = BdiDecompressor(32).decompress(kind, packed)
    assert all(back[lane] == value[lane] for lane in range(32) if mask >> lane & 1)


@settings(max_examples=300, deadline=None)
@given(seed=SEEDS)
def test_inactive_lanes_do_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    value, mask = similar(rng, 32)
    other = merge(np.array([rng.getrandbits(32) for _ in range(32)], np.uint32), value, mask)
    assert BdiCompressor(32).compress(value, mask)[0] == BdiCompressor(32).compress(other, mask)[0]


@pytest.mark.parametrize(
    ("difference", "kind"),
    [
        (0, Delta.NONE),
        (1, Delta.BYTE),
        (-1, Delta.BYTE),
        (127, Delta.BYTE),
        (-128, Delta.BYTE),
        (128, Delta.HALF),
        (-129, Delta.HALF),
        (32767, Delta.HALF),
        (-32768, Delta.HALF),
        (32768, Delta.RAW),
        (-32769, Delta.RAW),
        (1 << 31, Delta.RAW),
    ],
)
@pytest.mark.parametrize("base", [0, 5, 0xFFFFFFFF, 0x80000000])
def test_the_narrowest(base: int, difference: int, kind: Delta) -> None:
    value = np.full(4, base, np.uint32)
    value[2] = (base + difference) & 0xFFFFFFFF
    assert BdiCompressor(4).compress(value, 0b1111)[0] is kind
    assert BdiCompressor(4).compress(value, 0b1011)[0] is Delta.NONE


def test_the_first_lane_is_the_base() -> None:
    assert BdiCompressor(2).compress(np.array([7, 7], np.uint32), 0b10)[0] is Delta.RAW


def test_arrays() -> None:
    """Of eight arrays of 16 bytes: Warped-Compression's one, three and five."""
    assert [kind.arrays(32) for kind in Delta] == [8, 1, 3, 5]
