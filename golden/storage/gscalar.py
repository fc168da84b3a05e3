"""Storage of G-Scalar: registers compressed byte by byte, and what was found out about each beside them."""

from __future__ import annotations

from functools import lru_cache

from warpbank.arch.parameters import SmConfig, SubCoreConfig
from warpbank.arch.uop import Scalar
from warpbank.golden.probe import Probe
from warpbank.golden.storage.arrays import BYTE_LANES, groups
from warpbank.golden.storage.coded import Coded
from warpbank.golden.storage.compressor import BYTES, Compressor
from warpbank.golden.storage.decompressor import Decompressor, stored_bits
from warpbank.golden.storage.metadata import CompressedBanks, Fill, Metadata
from warpbank.golden.values import packed_lanes


class GScalar(CompressedBanks):
    """Banks whose arrays hold bytes of one position, and an array of notes.

    A byte that a register's lanes share is not written into the banks, and not read. Divergent writes are not
    compressed.

    Latency: a read is granted in t, its note is there in t + 1, the arrays are read in t + 1, their bytes
    decompressed in t + 2 and delivered in t + 3. A write is compressed in t, written in t + 1 and there for a
    read that is granted in t + 2. The model takes and gives values at once; `warpbank.golden.storage.coded`
    keeps the time.

    Parameters
    ----------
    config : banks and rows.
    lanes : lanes of a warp register.
    parts : 1; 2: each half of a register has an encoding of its own (G-Scalar, section 4.3).
    """

    executes: frozenset[Scalar] = frozenset(Scalar)

    def __init__(self, config: SubCoreConfig, lanes: int, parts: int = 1) -> None:
        super().__init__(config, lanes, parts)
        self._compressor = Compressor(lanes, self.parts)
        self._decompressor = Decompressor(lanes, self.parts)

    def _decoded(self, content: int, note: Metadata) -> int:
        return self._decompressor.decode(content, note.kept(), note.base)

    def describe(self, value: int, mask: int, fill: Fill) -> Metadata:
        """Metadata of the lanes of `mask`, which fill their register so."""
        enc, base, full = self._compressor.encode(value, mask)
        if fill is Fill.MOVED:
            return Metadata(False, (0,) * self.parts, False, base)
        if fill is Fill.PART:
            return Metadata(True, enc, full, (mask, *base[1:]))
        return Metadata(False, enc, full, base)

    def keep(self, bank: int, row: int, mask: int, value: int, note: Metadata) -> None:
        """Replace the lanes of `mask`; the row is noted as `note`."""
        old = self._rows[bank][row]
        change = (old ^ value) & _enable(note.kept(), mask, self._lanes)
        self._put(bank, row, old ^ change, note)

    def arrays_read(self, note: Metadata) -> int:
        """Arrays that a read of such a register activates."""
        return self._arrays(note, (1 << self._lanes) - 1)

    def arrays_written(self, note: Metadata, mask: int) -> int:
        """Arrays that such a write of the lanes of `mask` activates."""
        return self._arrays(note, mask)

    def _arrays(self, note: Metadata, mask: int) -> int:
        """Arrays of stored bytes with a lane of `mask`."""
        return _activated(note.kept(), mask, self._lanes // self.parts)


@lru_cache(maxsize=4096)
def _enable(enc: tuple[int, ...], mask: int, lanes: int) -> int:
    """Bits of a row that a write of the lanes of `mask` replaces."""
    return stored_bits(enc, lanes // len(enc)) & packed_lanes(mask, lanes)


@lru_cache(maxsize=4096)
def _activated(enc: tuple[int, ...], mask: int, size: int) -> int:
    """Arrays of stored bytes with a lane of `mask`; each part has `size` lanes."""
    return sum(
        (BYTES - bits.bit_count()) * groups(mask >> part * size & ((1 << size) - 1), BYTE_LANES)
        for part, bits in enumerate(enc)
    )


def gscalar(config: SmConfig, probe: Probe, parts: int = 1) -> Coded:
    """Storage of G-Scalar, with the stages around its banks; for `parts` see `GScalar`."""
    return Coded(config, GScalar(config.sub_core, config.lanes, parts), probe)
