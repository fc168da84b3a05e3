"""Base-delta-immediate compression of a warp register, what G-Scalar is compared with."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from warpbank.golden.values import Value, lane_select

#: Bytes of one array of a bank.
ARRAY_BYTES = 16


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


#: How differences stand in the packed bits.
_FIELDS = {Delta.BYTE: "<i1", Delta.HALF: "<i2"}


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
        self._lanes = lanes

    def compress(self, value: Value, mask: int) -> tuple[Delta, int]:
        """Pack the lanes of `mask`: their packing, and the packed bits."""
        kind = self.kind(value, mask)
        return kind, self.pack(value, kind)

    def kind(self, value: Value, mask: int) -> Delta:
        """Packing of the lanes of `mask`."""
        if not mask & 1:
            return Delta.RAW
        active = _differences(value)[lane_select(mask, self._lanes)]
        low, high = int(active.min()), int(active.max())
        if not (low or high):
            return Delta.NONE
        for delta in (Delta.BYTE, Delta.HALF):
            limit = 1 << (delta.width - 1)
            if -limit <= low and high < limit:  # all are signed numbers of so many bits
                return delta
        return Delta.RAW

    def pack(self, value: Value, kind: Delta) -> int:
        """The packed bits: the base lowest, then lane 0's difference, lane 1's, ..."""
        if kind is Delta.RAW:
            return int.from_bytes(value.astype("<u4").tobytes(), "little")
        packed = b"" if kind is Delta.NONE else _differences(value).astype(_FIELDS[kind]).tobytes()
        return int(value[0]) | int.from_bytes(packed, "little") << 32


def _differences(value: Value) -> np.ndarray:
    """Signed differences of the lanes from lane 0."""
    return (value - value[0]).view(np.int32)


class BdiDecompressor:
    """Base plus difference in every lane.

    Parameters
    ----------
    lanes : lanes of a warp register.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes

    def decompress(self, kind: Delta, packed: int) -> Value:
        """The register of these packed bits."""
        if kind is Delta.RAW:
            return np.frombuffer(packed.to_bytes(4 * self._lanes, "little"), "<u4").astype(np.uint32)
        base = np.full(self._lanes, packed & 0xFFFFFFFF, np.uint32)
        if kind is Delta.NONE:
            return base
        size = self._lanes * kind.width // 8
        fields = (packed >> 32 & (1 << 8 * size) - 1).to_bytes(size, "little")
        return base + np.frombuffer(fields, _FIELDS[kind]).astype(np.uint32)
