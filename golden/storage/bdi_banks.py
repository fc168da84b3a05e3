"""Storage of Warped-Compression: registers packed by base-delta-immediate, what G-Scalar is compared with."""

from __future__ import annotations

from functools import lru_cache

from warpbank.arch.parameters import SmConfig, SubCoreConfig
from warpbank.arch.uop import Scalar
from warpbank.golden.probe import Probe
from warpbank.golden.storage.arrays import WORD_LANES, groups
from warpbank.golden.storage.bdi import BdiCompressor, BdiDecompressor, Delta
from warpbank.golden.storage.coded import Coded
from warpbank.golden.storage.metadata import CompressedBanks, Fill, Metadata
from warpbank.golden.values import packed_lanes


class BdiBanks(CompressedBanks):
    """Banks whose arrays hold 16 neighbouring bytes of a register, packed or as it is, and how it is packed
    beside them.

    A packed register takes the first arrays only; the others are neither written nor read. Divergent writes
    are not packed. G-Scalar, sections 2.2, 3.3 and 5.3, on what its Fig. 12 calls W-C. A note is `Metadata`
    with a `Delta` for encoding bits; nobody learns from it that a register is scalar.

    Latency: as `GScalar`.

    Parameters
    ----------
    config : banks and rows.
    lanes : lanes of a warp register.
    """

    executes: frozenset[Scalar] = frozenset()

    def __init__(self, config: SubCoreConfig, lanes: int) -> None:
        super().__init__(config, lanes)
        self._compressor = BdiCompressor(lanes)
        self._decompressor = BdiDecompressor(lanes)
        #: By packing: arrays that it takes; its note, since there is no more to say of a register.
        self._arrays = [kind.arrays(lanes) for kind in Delta]
        self._notes_of = [Metadata(False, (kind,), False, (0,)) for kind in Delta]

    def _decoded(self, content: int, note: Metadata) -> int:
        (kind,) = note.enc
        return content if kind == Delta.RAW else self._decompressor.decode(Delta(kind), content)

    def describe(self, value: int, mask: int, fill: Fill) -> Metadata:
        """Metadata of the lanes of `mask`, which fill their register so."""
        kind = self._compressor.kind(value, mask) if fill is Fill.WHOLE else Delta.RAW
        return self._notes_of[kind]

    def keep(self, bank: int, row: int, mask: int, value: int, note: Metadata) -> None:
        """Replace the lanes of `mask`; the row is noted as `note`."""
        kind = Delta(note.enc[0])
        if kind is Delta.RAW:
            enable = packed_lanes(mask, self._lanes)
        else:
            value = self._compressor.pack(value, kind)
            enable = packed_lanes(_lanes_of(kind, self._lanes), self._lanes)
        old = self._rows[bank][row]
        self._put(bank, row, old ^ (old ^ value) & enable, note)

    def arrays_read(self, note: Metadata) -> int:
        """Arrays that a read of such a register activates."""
        return self._arrays[note.enc[0]]

    def arrays_written(self, note: Metadata, mask: int) -> int:
        """Arrays that such a write of the lanes of `mask` activates."""
        (kind,) = note.enc
        return groups(mask, WORD_LANES) if kind == Delta.RAW else self._arrays[kind]


@lru_cache(maxsize=256)
def _lanes_of(kind: Delta, lanes: int) -> int:
    """Mask of the lanes that stand in the arrays of a register packed so."""
    return (1 << WORD_LANES * kind.arrays(lanes)) - 1 & (1 << lanes) - 1


def bdi(config: SmConfig, probe: Probe) -> Coded:
    """Storage of Warped-Compression, with the stages around its banks."""
    return Coded(config, BdiBanks(config.sub_core, config.lanes), probe)
