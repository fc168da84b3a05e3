"""Byte-wise compression of a warp register: the leading bytes that all active lanes share are kept once."""

from __future__ import annotations

from typing import Final, NamedTuple

from warpbank.golden.values import Value, packed, packed_lanes

#: Bytes of a lane.
BYTES: Final = 4
#: Encoding bits of a register whose lanes are all equal.
SCALAR: Final = 0b1111


#: Encoding bits by the number of bytes from the lowest to the highest one that is not shared: bit i says that
#: byte i and all bytes above it are equal. G-Scalar, section 3.2.
_PREFIX: Final = (0b1111, 0b1110, 0b1100, 0b1000, 0b0000)


class Encoding(NamedTuple):
    """Encoding that compression found for a value.

    Parameters
    ----------
    enc : per part of the lanes, which leading bytes are shared: 0000, 1000, 1100, 1110 or 1111.
    base : per part, the shared bytes. A byte that is not shared holds the OR of the active lanes' bytes and
        means nothing.
    full : all active lanes of all parts are equal (FS).
    """

    enc: tuple[int, ...]
    base: tuple[int, ...]
    full: bool


class Compressor:
    """Equality of every byte over the active lanes. G-Scalar, sections 3.1, 4.2 and 4.3, figures 3 and 7.

    An inactive lane never changes the outcome. Where no lane is active everything counts as equal, with base
    0.

    Parameters
    ----------
    lanes : lanes of a warp register.
    parts : 1: the whole register is encoded; 2: each half by itself, and FS tells whether both hold one
        scalar.

    Raises
    ------
    ValueError : the lanes cannot be cut into so many parts.
    """

    def __init__(self, lanes: int, parts: int = 1) -> None:
        if parts not in (1, 2) or lanes % parts:
            raise ValueError(
                f"{lanes} lanes cannot be compressed in {parts} equal parts; 1 and, for an even number, 2 "
                "work."
            )
        self._lanes = lanes
        self._size = size = lanes // parts
        self._every = (1 << size) - 1
        self._folds: list[int] = []  # by which the lanes of a part are laid on each other, until one is left
        while size > 1:
            half = (size + 1) // 2
            self._folds.append(32 * (size - half))
            size = half

    def compress(self, value: Value, mask: int) -> Encoding:
        """Encode the lanes of `mask`."""
        return Encoding(*self.encode(packed(value), mask))

    def encode(self, bits: int, mask: int) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
        """Encode the lanes of `mask` of a register that is given as its `packed` bits. Returns the fields of
        an `Encoding`."""
        enc: tuple[int, ...] = ()
        base: tuple[int, ...] = ()
        zeros, ones, width = 0, 0, 32 * self._size  # bits that are 0, and 1, in an active lane of any part
        for at in range(0, self._lanes, self._size):
            active = mask >> at & self._every
            if not active:
                enc += (SCALAR,)
                base += (0,)
                continue
            lanes = packed_lanes(active, self._size)
            found = bits >> 32 * at & lanes
            # The lanes, and above them their inverse, are folded together.
            both = found | (found ^ lanes) << width
            for distance in self._folds:
                both |= both >> distance
            found, inverse = both & 0xFFFFFFFF, both >> width & 0xFFFFFFFF
            enc += (_PREFIX[((found & inverse).bit_length() + 7) // 8],)
            base += (found,)
            zeros |= inverse
            ones |= found
        return enc, base, not zeros & ones
