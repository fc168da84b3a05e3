"""Arrays of a bank: memories of 128 bits that stand side by side and are accessed one by one."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

#: Lanes whose bytes of one position an array of 128 bits holds, and lanes that it holds whole where bytes are
#: not reordered.
BYTE_LANES: Final = 16
WORD_LANES: Final = 4


@lru_cache(maxsize=4096)
def groups(mask: int, lanes: int) -> int:
    """Groups of so many neighbouring lanes that have one of `mask`."""
    count = 0
    while mask:
        count += bool(mask & ((1 << lanes) - 1))
        mask >>= lanes
    return count
