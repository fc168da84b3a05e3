"""Round robin over bit masks, as hardware does it: the first set bit at or after a pointer, wrapping
around."""

from __future__ import annotations


def first_from(mask: int, pointer: int) -> int:
    """Return the number of the first set bit of `mask` (not 0) at or after bit `pointer`, wrapping around."""
    above = mask >> pointer
    if above:
        return pointer + (above & -above).bit_length() - 1
    return (mask & -mask).bit_length() - 1
