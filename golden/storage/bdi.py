"""Base-delta-immediate compression of a warp register, what G-Scalar is compared with."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from warpbank.golden.values import Value, packed, packed_lanes, packed_word, unpacked

#: Bytes of one array of a bank.
ARRAY_BYTES: Final = 16


class Delta(IntEnum):
    """Packing of a register: as it is, or a base and a difference of 0, 1 or 2 bytes per lane."""

    RAW = 0
    NONE = 1
    BYTE = 2
    HALF = 3

    @property
    def width(self) -> int:
        """Bits of a lane's difference (of a lane, where packed as it is)."""
        return (32, 0, 8, 16)[self]

    def arrays(self, lanes: int) -> int:
        """Arrays of a bank that hold a register packed so."""
        size = lanes * self.width + (0 if self is Delta.RAW else 32)
        return -(-size // (8 * ARRAY_BYTES))


class _Lanes:
    """Adder of a word to every lane of a register that is given as one number, lane 0 lowest.

    The lanes of even and of odd number are added to apart, so that a carry leaves its lane into the other's
    place, where it is dropped.

    Parameters
    ----------
    lanes : lanes of a warp register.
    """

    def __init__(self, lanes: int) -> None:
        self.every = packed_word(lanes)  # 1 in every lane
        self._pairs = sum(1 << 64 * pair for pair in range((lanes + 1) // 2))
        self._even = 0xFFFFFFFF * self._pairs

    def plus(self, bits: int, word: int) -> int:
        """The lanes, each plus a word, modulo 2**32."""
        words = (word & 0xFFFFFFFF) * self._pairs
        even = (bits & self._even) + words & self._even
        odd = (bits >> 32 & self._even) + words & self._even
        return even | odd << 32


class BdiCompressor:
    """Base: lane 0. Differences of the other lanes in 0, 1 or 2 bytes, signed; the narrowest that holds all
    active lanes.

    What G-Scalar's section 2.2 describes and its Fig. 12 calls W-C: base-delta-immediate with a base of 4
    bytes, applied to warp registers. An inactive lane never changes the outcome; with lane 0 inactive (the
    threads of a warp fill its lanes from 0 on) the register stays as it is.

    Parameters
    ----------
    lanes : lanes of a warp register.
    """

    def __init__(self, lanes: int) -> None:
        self._count = lanes
        self._lanes = _Lanes(lanes)
        #: Narrow packings: half of what a signed difference holds; the bits that a small number lacks, in
        #: every lane.
        self._narrow = [
            (delta, 1 << delta.width - 1, (0xFFFFFFFF >> delta.width << delta.width) * self._lanes.every)
            for delta in (Delta.BYTE, Delta.HALF)
        ]

    def compress(self, value: Value, mask: int) -> tuple[Delta, int]:
        """Pack the lanes of `mask`: their packing, and the packed bits."""
        bits = packed(value)
        kind = self.kind(bits, mask)
        return kind, self.pack(bits, kind)

    def kind(self, bits: int, mask: int) -> Delta:
        """Packing of the lanes of `mask` of a register that is given as one number."""
        if not mask & 1:
            return Delta.RAW
        active = packed_lanes(mask, self._count)
        differences = self._differences(bits)
        if not differences & active:
            return Delta.NONE
        for delta, half, above in self._narrow:
            if not self._lanes.plus(differences, half) & above & active:
                return delta
        return Delta.RAW

    def pack(self, bits: int, kind: Delta) -> int:
        """The packed bits: the base lowest, then lane 0's difference, lane 1's, ..."""
        if kind is Delta.RAW:
            return bits
        width = kind.width // 8
        lanes = (self._differences(bits) & (1 << 32 * self._count) - 1).to_bytes(4 * self._count, "little")
        fields = bytearray(width * self._count)
        for byte in range(width):
            fields[byte::width] = lanes[byte::4]
        return bits & 0xFFFFFFFF | int.from_bytes(fields, "little") << 32

    def _differences(self, bits: int) -> int:
        """Differences of the lanes from lane 0."""
        return self._lanes.plus(bits, -(bits & 0xFFFFFFFF))


class BdiDecompressor:
    """Base plus difference in every lane.

    Parameters
    ----------
    lanes : lanes of a warp register.
    """

    def __init__(self, lanes: int) -> None:
        self._count = lanes
        self._lanes = _Lanes(lanes)

    def decompress(self, kind: Delta, packed: int) -> Value:
        """The register of these packed bits."""
        return unpacked(self.decode(kind, packed), self._count)

    def decode(self, kind: Delta, packed: int) -> int:
        """The register of these packed bits, as one number."""
        if kind is Delta.RAW:
            return packed
        base, every = packed & 0xFFFFFFFF, self._lanes.every
        if kind is Delta.NONE:
            return base * every
        width = kind.width // 8
        fields = (packed >> 32 & (1 << kind.width * self._count) - 1).to_bytes(width * self._count, "little")
        lanes = bytearray(4 * self._count)
        for byte in range(width):
            lanes[byte::4] = fields[byte::width]
        sign = 1 << kind.width - 1  # flipped and subtracted, it goes on to the left
        differences = int.from_bytes(lanes, "little") ^ sign * every
        return self._lanes.plus(differences, base - sign) & (1 << 32 * self._count) - 1
