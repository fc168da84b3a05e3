"""Encoding metadata: what is noted of a register beside the banks that compress it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import Final

from warpbank.arch.parameters import SubCoreConfig
from warpbank.arch.uop import Scalar
from warpbank.golden.storage.compressor import SCALAR
from warpbank.golden.values import Value, packed, poison, unpacked


class Fill(IntEnum):
    """Fill of a register by a result: all threads of the warp, some of them (divergent), or moved as it
    is."""

    WHOLE = 0
    PART = 1
    MOVED = 2


#: Encoding bits of nothing that is compressed, by number of parts.
_NONE: Final = ((), (0,), (0, 0))


class Metadata:
    """A row of the base and encoding array. G-Scalar, sections 3.2, 4.2 and 4.3. It is never changed.

    Parameters
    ----------
    divergent : D: the last write was of some lanes; nothing is compressed, and `enc` and `full` are about
        these lanes.
    enc : per part, encoding bits.
    full : FS: all lanes of the last write were equal.
    base : per part, the shared bytes; with D, the first holds the lanes of the last write.
    """

    __slots__ = ("base", "divergent", "enc", "full")

    def __init__(self, divergent: bool, enc: tuple[int, ...], full: bool, base: tuple[int, ...]) -> None:
        self.divergent = divergent
        self.enc = enc
        self.full = full
        self.base = base

    def _fields(self) -> tuple[bool, tuple[int, ...], bool, tuple[int, ...]]:
        return self.divergent, self.enc, self.full, self.base

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metadata) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        return "Metadata" + repr(self._fields())

    @property
    def compressed(self) -> bool:
        """Some bytes are not in the banks."""
        return not self.divergent and self.bits() != 0

    def kept(self) -> tuple[int, ...]:
        """Per part, the bytes that are not in the banks. With D the encoding bits say nothing about that."""
        return _NONE[len(self.enc)] if self.divergent else self.enc

    def bits(self) -> int:
        """Encoding bits as one number, part 0 lowest."""
        found = 0
        for part in range(len(self.enc)):
            found |= self.enc[part] << 4 * part
        return found

    def scalar(self, mask: int) -> bool:
        """Whether the lanes of `mask` are known to be equal."""
        return self.full and (not self.divergent or self.base[0] == mask)

    def scalar_parts(self) -> int:
        """Mask of the parts that are known to be equal in themselves, for a uop of all threads."""
        found = 0
        for part in range(0 if self.divergent else len(self.enc)):
            if self.enc[part] == SCALAR:
                found |= 1 << part
        return found


#: What is known of a value of which nothing is: one from plain banks, or a result that a collector has kept.
EMPTY: Final = Metadata(False, (), False, ())


class CompressedBanks(ABC):
    """Banks with a note for every row, and rows that read as they are while they are poisoned. A row is a
    number of 32 bits a lane, lane 0 lowest.

    Parameters
    ----------
    config : banks and rows.
    lanes : lanes of a warp register.
    parts : of a register, which are compressed by themselves.
    """

    #: Kinds of scalar execution that follow from its notes.
    executes: frozenset[Scalar]

    def __init__(self, config: SubCoreConfig, lanes: int, parts: int = 1) -> None:
        self.parts = parts
        self._pattern = packed(poison(lanes))
        note = Metadata(False, (0,) * parts, False, (0,) * parts)
        self._rows: list[list[int]] = [[0] * config.rows for _ in range(config.banks)]
        #: Registers that rows stand for, once they have been read.
        self._read: list[list[Value | None]] = [[None] * config.rows for _ in range(config.banks)]
        self._notes = [[note] * config.rows for _ in range(config.banks)]
        self._poisoned: set[tuple[int, int]] = set()
        self._lanes = lanes

    def note(self, bank: int, row: int) -> Metadata:
        """Metadata of a row."""
        return self._notes[bank][row]

    def read(self, bank: int, row: int) -> Value:
        """Register that a row stands for."""
        found = self._read[bank][row]
        if found is None:
            content = self._rows[bank][row]
            if (bank, row) not in self._poisoned:
                content = self._decoded(content, self._notes[bank][row])
            self._read[bank][row] = found = unpacked(content, self._lanes)
        return found

    @abstractmethod
    def _decoded(self, content: int, note: Metadata) -> int:
        """The register that a row's content and note stand for."""

    @abstractmethod
    def describe(self, value: int, mask: int, fill: Fill) -> Metadata:
        """Metadata of the lanes of `mask`, which fill their register so."""

    @abstractmethod
    def keep(self, bank: int, row: int, mask: int, value: int, note: Metadata) -> None:
        """Replace the lanes of `mask`; the row is noted as `note`."""

    def write(self, bank: int, row: int, mask: int, value: Value, fill: Fill = Fill.WHOLE) -> None:
        """Replace the lanes of `mask`."""
        bits = packed(value)
        self.keep(bank, row, mask, bits, self.describe(bits, mask, fill))

    def _put(self, bank: int, row: int, content: int, note: Metadata) -> None:
        """A row was written."""
        self._rows[bank][row] = content
        self._notes[bank][row] = note
        self._read[bank][row] = None
        if self._poisoned:
            self._poisoned.discard((bank, row))

    @abstractmethod
    def arrays_read(self, note: Metadata) -> int:
        """Arrays that a read of a register with this note activates."""

    @abstractmethod
    def arrays_written(self, note: Metadata, mask: int) -> int:
        """Arrays that a write of the lanes of `mask` with this note activates."""

    def poison(self, bank: int, row: int) -> None:
        """Poison a row that is of no use any more: it reads as `POISON`. Its note stays, as in hardware."""
        self._rows[bank][row], self._read[bank][row] = self._pattern, None
        self._poisoned.add((bank, row))
