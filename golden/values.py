"""Warp register values: rows of the trace, moved by reference and never changed in place."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Final

import numpy as np

#: One warp register: `lanes` unsigned 32-bit numbers.
Value = np.ndarray

#: Cycle that never comes: nothing to wake for. Compiled, a larger number would no longer fit a machine word.
NEVER: Final = 1 << 60

#: Every lane of a row that nobody is to read, so that who still reads it is found out.
POISON: Final = 0xDEADBEEF


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


#: A lane's word in `packed`.
_WORD: Final = np.dtype("<u4")
_LITTLE: Final = sys.byteorder == "little"


def packed(value: Value) -> int:
    """Bits of a register as one number, lane 0 lowest."""
    return int.from_bytes((value if _LITTLE else value.astype(_WORD)).tobytes(), "little")


def unpacked(bits: int, lanes: int) -> Value:
    """Register of these `packed` bits."""
    return np.frombuffer(bits.to_bytes(4 * lanes, "little"), _WORD)


@lru_cache(maxsize=4096)
def packed_lanes(mask: int, lanes: int) -> int:
    """Return all 32 bits of the lanes of `mask`, and no others, as one number."""
    return packed(lane_bits(mask, lanes))


@lru_cache(maxsize=64)
def packed_word(lanes: int) -> int:
    """Return 1 in every lane, as one number: times a word it has that word in every lane."""
    return sum(1 << 32 * lane for lane in range(lanes))


def merge(old: Value, new: Value, mask: int) -> Value:
    """Return a new value: `new` on the lanes of `mask`, `old` elsewhere."""
    merged = old.copy()
    np.putmask(merged, lane_select(mask, len(new)), new)
    return merged
