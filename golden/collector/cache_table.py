"""Cache table of a caching collector unit: register values that its warp may read again."""

from __future__ import annotations

from warpbank.golden.lfsr import Lfsr
from warpbank.golden.storage.metadata import EMPTY, Metadata
from warpbank.golden.values import Value, merge


class Line:
    """Line of the cache table: a register of the unit's owner.

    Parameters
    ----------
    number : number of the line.
    register, value, metadata : number of the register, and its content once it is `filled`.
    valid : the line holds that register, or waits for it.
    near : its next reuse is near, by the compiler's word.
    locked : a source of the uop in collection: not to be replaced.
    """

    __slots__ = ("filled", "locked", "metadata", "near", "number", "register", "valid", "value")

    def __init__(self, number: int) -> None:
        self.number = number
        self.register = 0
        self.value: Value | None = None
        self.metadata = EMPTY
        self.valid = self.filled = self.near = self.locked = False

    @property
    def notes(self) -> tuple[str, ...]:
        """State of the line in words, for a drawing."""
        return ("near" if self.near else "far", *(("locked",) if self.locked else ()))


class CacheTable:
    """Cache table, fully associative. Malekeh, sections III-C and IV-A.

    Replaced is the first line that holds nothing; else one of the unlocked lines whose reuse is far, at
    random, each with the same chance; else the unlocked line that was used least recently.

    Parameters
    ----------
    lines : size.
    seed : of the shift register; it moves once in a cycle in which lines are taken.
    far_first : prefer lines whose reuse is far; else plain least recently used.
    """

    def __init__(self, lines: int, seed: int, far_first: bool) -> None:
        self.lines = [Line(number) for number in range(lines)]
        self._random = Lfsr(seed)
        self._far_first = far_first
        self._order = list(self.lines)  # least recently used first

    @property
    def any_near(self) -> bool:
        """Whether the table keeps a value whose reuse is near."""
        return any(line.valid and line.near for line in self.lines)

    @property
    def used(self) -> int:
        """Number of lines that hold or wait for a value."""
        return sum(line.valid for line in self.lines)

    def flush(self) -> None:
        """Drop all lines; the banks have every value."""
        for line in self.lines:
            line.valid = False

    def find(self, register: int) -> Line | None:
        """Return the line of a register, or None."""
        for line in self.lines:
            if line.valid and line.register == register:
                return line
        return None

    def touch(self, line: Line) -> None:
        """Make the line the most recently used."""
        self._order.remove(line)
        self._order.append(line)

    def take(self, register: int, near: bool, turn: int = 0) -> Line | None:
        """Give a line to a register; `turn`: number of lines taken before in this cycle. Returns None if all
        are locked."""
        line = self._victim(turn)
        if line is not None:
            line.register, line.near = register, near
            line.valid, line.filled = True, False
            self.touch(line)
        return line

    def _victim(self, turn: int) -> Line | None:
        open_ = [line for line in self.lines if not line.locked]
        for line in open_:
            if not line.valid:
                return line
        far = sum(1 << line.number for line in open_ if not line.near)
        if self._far_first and far:
            return self.lines[self._random.choose(far, turn)]
        return next((line for line in self._order if not line.locked), None)

    def taken(self) -> None:
        """Move the shift register on, at the end of a cycle in which lines were taken."""
        self._random.advance()

    def write(self, line: Line, value: Value, mask: int, every_lane: int, metadata: Metadata = EMPTY) -> None:
        """Write a value into a line: an operand with its metadata, or a result on the lanes of `mask`."""
        if mask != every_lane:
            assert line.filled
            assert line.value is not None
            value = merge(line.value, value, mask)
        line.value, line.metadata = value, metadata
        line.filled = True
