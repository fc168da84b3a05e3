"""LTRF over renamed registers in a main register file that compresses."""

from __future__ import annotations

from typing import Any

from warpbank.golden.hierarchy.compressed_ltrf import CompressedLtrf
from warpbank.golden.hierarchy.renamed_ltrf import RenamedLtrf, RenamedLtrfPlus
from warpbank.golden.storage.metadata import Fill, with_metadata
from warpbank.golden.values import Value


class RenamedCompressedLtrf(RenamedLtrf, CompressedLtrf):
    """LTRF's register cache over renamed registers in compressed banks. The zeros that come into the cache
    for a register without a physical one are noted as what they are, so that a source which was never written
    is known to be scalar.

    Parameters
    ----------
    config, mapping, storage, quiet, probe : as in `RenamedLtrf`.
    """

    def __init__(self, *rooms: Any) -> None:
        super().__init__(*rooms)
        note = self._noting.describe(self._zeros, self._every_lane, Fill.WHOLE)
        self._zeros = with_metadata(self._zeros, note)

    def _poisoned(self, before: Value) -> Value:
        """It stays as it is, as in hardware: collectors merge what they evict with dead lanes, and notes are
        about all lanes."""
        return before


class RenamedCompressedLtrfPlus(RenamedCompressedLtrf, RenamedLtrfPlus):
    """LTRF+ over renamed registers: dead registers are not moved. LTRF, section 3.2."""
