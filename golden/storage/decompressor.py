"""Decompression: the bytes that were kept once are put back into every lane."""

from __future__ import annotations

import numpy as np

from warpbank.golden.storage.compressor import BYTES
from warpbank.golden.values import Value


def spread(enc: int) -> int:
    """Encoding bits as a mask of the 32 bits they stand for."""
    return sum(0xFF << 8 * byte for byte in range(BYTES) if enc >> byte & 1)


class Decompressor:
    """Shared bytes from the base value, the others from the banks. G-Scalar, section 3.2, figure 5.

    Parameters
    ----------
    lanes : lanes of a warp register.
    parts : 1, or 2 if each half was encoded by itself.
    """

    def __init__(self, lanes: int, parts: int = 1) -> None:
        self._size = lanes // parts

    def decompress(self, data: Value, enc: tuple[int, ...], base: tuple[int, ...]) -> Value:
        """The register; of `data` the bytes whose encoding bit is set are not looked at."""
        chosen = np.repeat(np.array([spread(bits) for bits in enc], np.uint32), self._size)
        return data & ~chosen | np.repeat(np.array(base, np.uint32), self._size) & chosen
