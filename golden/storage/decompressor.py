"""Decompression: the bytes that were kept once are put back into every lane."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from warpbank.golden.storage.compressor import BYTES
from warpbank.golden.values import Value


@lru_cache(maxsize=1 << BYTES)
def spread(enc: int) -> int:
    """Encoding bits as a mask of the 32 bits they stand for."""
    return sum(0xFF << 8 * byte for byte in range(BYTES) if enc >> byte & 1)


@lru_cache(maxsize=1 << 2 * BYTES)
def stored_bits(enc: tuple[int, ...], size: int) -> Value:
    """Per lane, the bits of the bytes that are in the banks; each part has `size` lanes."""
    return np.repeat(np.array([~spread(bits) & 0xFFFFFFFF for bits in enc], np.uint32), size)


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
        if not any(enc):
            return data
        shared = [word & spread(bits) for word, bits in zip(base, enc, strict=True)]
        return data & stored_bits(enc, self._size) | np.repeat(np.array(shared, np.uint32), self._size)
