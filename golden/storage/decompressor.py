"""Decompression: the bytes that were kept once are put back into every lane."""

from __future__ import annotations

from functools import lru_cache

from warpbank.golden.storage.compressor import BYTES
from warpbank.golden.values import Value, packed, packed_word, unpacked


@lru_cache(maxsize=1 << BYTES)
def spread(enc: int) -> int:
    """Encoding bits as a mask of the 32 bits they stand for."""
    return sum(0xFF << 8 * byte for byte in range(BYTES) if enc >> byte & 1)


@lru_cache(maxsize=1 << 2 * BYTES)
def stored_bits(enc: tuple[int, ...], size: int) -> int:
    """Bits of a register whose bytes are in the banks; each part has `size` lanes."""
    return sum(
        (~spread(bits) & 0xFFFFFFFF) * packed_word(size) << 32 * size * part for part, bits in enumerate(enc)
    )


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
        return unpacked(self.decode(packed(data), enc, base), len(data))

    def decode(self, data: int, enc: tuple[int, ...], base: tuple[int, ...]) -> int:
        """The register as its `packed` bits, from those of `data`."""
        if not any(enc):
            return data
        size, shared = self._size, 0
        for part in range(len(enc)):
            shared |= (base[part] & spread(enc[part])) * packed_word(size) << 32 * size * part
        return data & stored_bits(enc, size) | shared
