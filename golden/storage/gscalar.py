"""Storage of G-Scalar: registers compressed byte by byte, and what was found out about each beside them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from arch.rooms import SubCoreConfig
from arch.uop import Scalar

from ..values import Value, lane_select
from .compressor import BYTES, SCALAR, Compressor
from .decompressor import Decompressor, spread

#: Lanes whose bytes of one position an array of 128 bits holds, and lanes that it holds whole where bytes are not reordered.
BYTE_LANES, WORD_LANES = 16, 4


class Fill(IntEnum):
    """How a result fills its register: all threads of the warp; some of them (divergent); moved, as it is."""

    WHOLE = 0
    PART = 1
    MOVED = 2


@dataclass(frozen=True)
class Note:
    """A row of the base and encoding array. G-Scalar, sections 3.2, 4.2 and 4.3.

    Parameters
    ----------
    divergent : D: the last write was of some lanes; nothing is compressed, and `enc` and `full` are about these lanes.
    enc : per part, encoding bits.
    full : FS: all lanes of the last write were equal.
    base : per part, the shared bytes; with D, the first holds the lanes of the last write.
    """

    divergent: bool
    enc: tuple[int, ...]
    full: bool
    base: tuple[int, ...]

    @property
    def compressed(self) -> bool:
        """Some bytes are not in the banks."""
        return not self.divergent and any(self.enc)

    def kept(self) -> tuple[int, ...]:
        """Per part, the bytes that are not in the banks. With D the encoding bits say nothing about that."""
        return tuple(0 for _ in self.enc) if self.divergent else self.enc

    def scalar(self, mask: int) -> bool:
        """Whether the lanes of `mask` are known to be equal."""
        return self.full and (not self.divergent or self.base[0] == mask)

    def scalar_parts(self) -> int:
        """Mask of the parts that are known to be equal in themselves, for a uop of all threads."""
        return 0 if self.divergent else sum(1 << part for part, enc in enumerate(self.enc) if enc == SCALAR)


class Noted(np.ndarray):
    """A register's value together with its note: what a compressing storage delivers. A collector may keep it; whoever changes
    the value makes one without a note."""

    note: Note


def noted(value: Value, note: Note) -> Noted:
    """The value with what is known of it."""
    made = value.view(Noted)
    made.note = note
    return made


class GScalar:
    """Banks whose arrays hold bytes of one position, and an array of notes.

    A byte that a register's lanes share is not written into the banks, and not read. Divergent writes are not compressed.

    Latency: a read is granted in t, its note is there in t + 1, the arrays are read in t + 1, their bytes decompressed in t + 2
    and delivered in t + 3. A write is compressed in t, written in t + 1 and there for a read that is granted in t + 2. The model
    takes and gives values at once; `golden.hierarchy.compressed` keeps the time.

    Parameters
    ----------
    config : banks and rows.
    lanes : lanes of a warp register.
    parts : 2: each half of a register is compressed by itself.
    """

    parts = 1
    #: Kinds of scalar execution that follow from its notes.
    executes = frozenset(Scalar)

    def __init__(self, config: SubCoreConfig, lanes: int) -> None:
        blank: Value = np.zeros(lanes, np.uint32)
        note = Note(False, (0,) * self.parts, False, (0,) * self.parts)
        self._rows: list[list[Value]] = [[blank] * config.rows for _ in range(config.banks)]
        self._notes = [[note] * config.rows for _ in range(config.banks)]
        self._poisoned: set[tuple[int, int]] = set()
        self._lanes = lanes
        self._compressor = Compressor(lanes, self.parts)
        self._decompressor = Decompressor(lanes, self.parts)

    def note(self, bank: int, row: int) -> Note:
        """What is noted of a row."""
        return self._notes[bank][row]

    def read(self, bank: int, row: int) -> Value:
        """Content of a row."""
        if (bank, row) in self._poisoned:
            return self._rows[bank][row]
        note = self._notes[bank][row]
        return self._decompressor.decompress(self._rows[bank][row], note.kept(), note.base)

    def write(self, bank: int, row: int, mask: int, value: Value, fill: Fill = Fill.WHOLE) -> None:
        """Replace the lanes of `mask`."""
        code = self._compressor.compress(value, mask)
        if fill is Fill.MOVED:
            note = Note(False, (0,) * self.parts, False, code.base)
        elif fill is Fill.PART:
            note = Note(True, code.enc, code.full, (mask, *code.base[1:]))
        else:
            note = Note(False, code.enc, code.full, code.base)
        enable = self._spread(note.kept(), stored=True) * lane_select(mask, self._lanes)
        rows = self._rows[bank]
        rows[row] = rows[row] & ~enable | value & enable
        self._notes[bank][row] = note
        self._poisoned.discard((bank, row))

    def poison(self, bank: int, row: int, value: Value) -> None:
        """What the row held is of no use any more: it reads as `value`. Its note stays, as in hardware."""
        self._rows[bank][row] = value
        self._poisoned.add((bank, row))

    def _spread(self, enc: tuple[int, ...], *, stored: bool) -> Value:
        """Encoding bits as bits of every lane; `stored`: of the bytes that are in the banks."""
        masks = [spread(bits) ^ (0xFFFFFFFF if stored else 0) for bits in enc]
        return np.repeat(np.array(masks, np.uint32), self._lanes // self.parts)

    def arrays_read(self, note: Note) -> int:
        """Arrays that a read of such a register activates."""
        return self._arrays(note, (1 << self._lanes) - 1)

    def arrays_written(self, note: Note, mask: int) -> int:
        """Arrays that such a write of the lanes of `mask` activates."""
        return self._arrays(note, mask)

    def _arrays(self, note: Note, mask: int) -> int:
        """Arrays of stored bytes with a lane of `mask`."""
        size = self._lanes // self.parts
        return sum(
            (BYTES - enc.bit_count()) * groups(mask >> part * size & ((1 << size) - 1), BYTE_LANES)
            for part, enc in enumerate(note.kept())
        )


class GScalarHalf(GScalar):
    """The same with an encoding for each half of a register. G-Scalar, section 4.3."""

    parts = 2


def groups(mask: int, lanes: int) -> int:
    """Groups of so many neighbouring lanes that have one of `mask`."""
    count = 0
    while mask:
        count += bool(mask & ((1 << lanes) - 1))
        mask >>= lanes
    return count
