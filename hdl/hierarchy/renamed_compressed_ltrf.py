"""LTRF over renamed registers in a main register file that compresses."""

from __future__ import annotations

from amaranth.hdl import Module, Signal

from warpbank.hdl.hierarchy.compressed_ltrf import CompressedLtrf
from warpbank.hdl.hierarchy.renamed_ltrf import RenamedLtrf, RenamedLtrfPlus


class RenamedCompressedLtrf(RenamedLtrf, CompressedLtrf):
    """LTRF's register cache over renamed registers in compressed banks. The zeros that come into the cache
    for a register without a physical one are noted as what they are, so that a source which was never written
    is known to be scalar.

    Parameters
    ----------
    config, mapping, storage, entries, tags, evicts, probe : as in `RenamedLtrf`; the storage is `told` its
        notes.

    Members: those of `RenamedLtrf` and of `CompressedLtrf`.
    """

    def _write_cache(self, m: Module) -> None:
        """Zeros are noted in the cycle after they are written, as other values are."""
        super()._write_cache(m)
        for number, (_, port) in enumerate(self._note_memories):
            cleared, offset = (
                Signal(name=f"noting_zeros_{number}"),
                Signal.like(self._blocks.offset, name=f"zeros_row_{number}"),
            )
            m.d.sync += [cleared.eq(self._cleared[number]), offset.eq(self._blocks.offset)]
            with m.If(cleared):
                m.d.comb += [port.en.eq(1), port.addr.eq(offset), port.data.eq(self._storage.zeros)]


class RenamedCompressedLtrfPlus(RenamedCompressedLtrf, RenamedLtrfPlus):
    """LTRF+ over renamed registers: dead registers are not moved. LTRF, section 3.2."""
