"""Arrays of a bank: memories of 128 bits that stand side by side and are accessed one by one."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Value

#: Lanes whose bytes of one position an array of 128 bits holds, and lanes that it holds whole where bytes are
#: not reordered.
BYTE_LANES, WORD_LANES = 16, 4


def groups(mask: Value, lanes: int) -> list[Value]:
    """Per group of so many neighbouring lanes, whether it has one of `mask`."""
    return [mask[at : at + lanes].any() for at in range(0, len(mask), lanes)]


def count(bits: Iterable[Value]) -> Value:
    """Number of bits that are 1."""
    return sum(bits, start=Value.cast(0))
