"""Storage of Warped-Compression: registers packed by base-delta-immediate, what G-Scalar is compared with."""

from __future__ import annotations

import numpy as np

from arch.rooms import SubCoreConfig
from arch.uop import Scalar

from ..values import Value, merge
from .bdi import BdiCompressor, BdiDecompressor, Delta
from .gscalar import WORD_LANES, Fill, Note, groups


class BdiBanks:
    """Banks whose arrays hold 16 neighbouring bytes of a register, packed or as it is, and how it is packed beside them.

    A packed register takes the first arrays only; the others are neither written nor read. Divergent writes are not packed.
    G-Scalar, sections 2.2, 3.3 and 5.3, on what its Fig. 12 calls W-C. A note is `Note` with a `Delta` for encoding bits; nobody
    learns from it that a register is scalar.

    Latency: as `GScalar`.

    Parameters
    ----------
    config : banks and rows.
    lanes : lanes of a warp register.
    """

    parts = 1
    #: Nothing is executed by one lane.
    executes: frozenset[Scalar] = frozenset()

    def __init__(self, config: SubCoreConfig, lanes: int) -> None:
        blank: Value = np.zeros(lanes, np.uint32)
        note = Note(False, (Delta.RAW,), False, (0,))
        self._rows: list[list[Value]] = [[blank] * config.rows for _ in range(config.banks)]
        self._notes = [[note] * config.rows for _ in range(config.banks)]
        self._poisoned: set[tuple[int, int]] = set()
        self._lanes = lanes
        self._compressor = BdiCompressor(lanes)
        self._decompressor = BdiDecompressor(lanes)

    def note(self, bank: int, row: int) -> Note:
        """How a row is packed."""
        return self._notes[bank][row]

    def read(self, bank: int, row: int) -> Value:
        """Content of a row."""
        (kind,) = self._notes[bank][row].enc
        if kind == Delta.RAW or (bank, row) in self._poisoned:
            return self._rows[bank][row]
        return self._decompressor.decompress(Delta(kind), int.from_bytes(self._rows[bank][row].astype("<u4").tobytes(), "little"))

    def write(self, bank: int, row: int, mask: int, value: Value, fill: Fill = Fill.WHOLE) -> None:
        """Replace the lanes of `mask`."""
        kind, packed = self._compressor.compress(value, mask) if fill is Fill.WHOLE else (Delta.RAW, 0)
        rows = self._rows[bank]
        if kind is Delta.RAW:
            rows[row] = merge(rows[row], value, mask)
        else:
            words = np.frombuffer(packed.to_bytes(4 * self._lanes, "little"), "<u4")
            arrays = (1 << WORD_LANES * kind.arrays(self._lanes)) - 1 & (1 << self._lanes) - 1
            rows[row] = merge(rows[row], words, arrays)
        self._notes[bank][row] = Note(False, (kind,), False, (0,))
        self._poisoned.discard((bank, row))

    def poison(self, bank: int, row: int, value: Value) -> None:
        """What the row held is of no use any more: it reads as `value`. Its note stays, as in hardware."""
        self._rows[bank][row] = value
        self._poisoned.add((bank, row))

    def arrays_read(self, note: Note) -> int:
        """Arrays that a read of such a register activates."""
        return Delta(note.enc[0]).arrays(self._lanes)

    def arrays_written(self, note: Note, mask: int) -> int:
        """Arrays that such a write of the lanes of `mask` activates."""
        (kind,) = note.enc
        return groups(mask, WORD_LANES) if kind == Delta.RAW else Delta(kind).arrays(self._lanes)
