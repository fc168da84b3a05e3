"""Warp register values: rows of the trace, moved by reference and never changed in place."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

#: One warp register: `lanes` unsigned 32-bit numbers.
Value = np.ndarray

#: Cycle that never comes: nothing to wake for.
NEVER = 1 << 62

#: Every lane of a row that nobody is to read, so that who still reads it is found out.
POISON = 0xDEADBEEF


def poison(lanes: int) -> Value:
    """A register of so many lanes that nobody is to read."""
    return np.full(lanes, POISON, np.uint32)


@lru_cache(maxsize=4096)
def lane_select(mask: int, lanes: int) -> np.ndarray:
    """Return `mask` as a boolean array of `lanes` elements."""
    return (np.uint64(mask) >> np.arange(lanes, dtype=np.uint64)) & np.uint64(1) != 0


@lru_cache(maxsize=4096)
def lane_bits(mask: int, lanes: int) -> Value:
    """Return all 32 bits of the lanes of `mask`, and no others."""
    return lane_select(mask, lanes) * np.uint32(0xFFFFFFFF)


def merge(old: Value, new: Value, mask: int) -> Value:
    """Return a new value: `new` on the lanes of `mask`, `old` elsewhere."""
    return np.where(lane_select(mask, len(new)), new, old)
