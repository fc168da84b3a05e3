"""The flat hierarchy over renamed registers in a storage that compresses."""

from __future__ import annotations

from typing import Any

from warpbank.golden.hierarchy.compressed import Compressed
from warpbank.golden.hierarchy.renamed import RenamedFlat
from warpbank.golden.storage.compressor import SCALAR
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value


class RenamedCompressed(RenamedFlat, Compressed):
    """Flat hierarchy over renamed registers in compressed banks. A source that was never written is known to
    be scalar: it is delivered as zeros.

    Whether a register is compressed is remembered by its own number, not that of its physical register. What
    is remembered of a register that is nowhere is of the value before its release, and counts no more.

    A source that was never written is read from a row that may be anybody's, also in the cycle after a write
    of it, when its note is still that from before.

    Parameters
    ----------
    config, mapping, storage, arbiter, probe : as in `Flat`.
    """

    def __init__(self, *rooms: Any) -> None:
        super().__init__(*rooms)
        parts = self._noting.parts
        self._blank_note = Metadata(False, (SCALAR,) * parts, True, (0,) * parts)
        self._now: dict[tuple[int, int], Metadata] = {}  # notes before the writes of this cycle
        self._before: dict[tuple[int, int], Metadata] = {}  # ... of the previous one

    def _store(self, bank: int, row: int, uop: TraceUop, register: int, value: Value) -> None:
        self._now[bank, row] = self._noting.note(bank, row)
        super()._store(bank, row, uop, register, value)

    def _store_back(self, bank: int, row: int, warp: int, register: int, value: Value) -> None:
        self._now[bank, row] = self._noting.note(bank, row)
        super()._store_back(bank, row, warp, register, value)

    def _read(self, bank: int, row: int) -> tuple[int, Metadata, Value]:
        _, note, value = super()._read(bank, row)
        return bank, self._before.get((bank, row), note), value

    def step(self) -> list[tuple[int, int, int, Value]]:
        """One cycle of reads, after its writes; returns the operands that arrive at the collectors."""
        arrived = super().step()
        self._before, self._now = self._now, {}
        return arrived

    def _content(self, operand: tuple[int, int, int], note: Metadata, value: Value) -> tuple[Metadata, Value]:
        if operand not in self._blank:
            return note, value
        self._blank.discard(operand)
        return self._blank_note, self._zeros
