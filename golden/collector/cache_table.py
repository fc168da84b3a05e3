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
    register, value, metadata : number of the register, and its content.
    valid : the line holds that register.
    near : its next reuse is near, by the compiler's word.
    locked : a source of the uop in collection: not to be replaced.
    """

    __slots__ = ("locked", "metadata", "near", "number", "register", "valid", "value")

    def __init__(self, number: int) -> None:
        self.number = number
        self.register = 0
        self.value: Value | None = None
        self.metadata = EMPTY
        self.valid = self.near = self.locked = False

    @property
    def notes(self) -> tuple[str, ...]:
        """State of the line in words, for a drawing."""
        return ("near" if self.near else "far", *(("locked",) if self.locked else ()))


class CacheTable:
    """Cache table, fully associative. Malekeh, sections III-C and IV-A.

    Replaced is the first line that holds nothing; else one of the unlocked lines whose reuse is far, at
    random, each with the same chance; else the unlocked line that was used least recently. Which one that is
    is chosen a cycle ahead, on what the table is then.

    Parameters
    ----------
    lines : size.
    seed : of the shift register; it moves in a cycle in which a line is taken.
    far_first : prefer lines whose reuse is far; else plain least recently used.

    Attributes
    ----------
    victim : line that is replaced in this cycle if one is, unless it has been locked meanwhile; None: there
        is none.
    """

    def __init__(self, lines: int, seed: int, far_first: bool) -> None:
        self.lines = [Line(number) for number in range(lines)]
        self._random = Lfsr(seed)
        self._far_first = far_first
        self._order = list(self.lines)  # least recently used first
        self.victim: Line | None = self.lines[0]

    @property
    def any_near(self) -> bool:
        """Whether the table keeps a value whose reuse is near."""
        return any(line.valid and line.near for line in self.lines)

    @property
    def used(self) -> int:
        """Number of lines that hold a value."""
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

    def take(self, register: int, near: bool) -> Line:
        """Give the `victim` to a register."""
        line = self.victim
        assert line is not None
        line.register, line.near, line.valid = register, near, True
        self.touch(line)
        return line

    def next_victim(self, spared: list[Line]) -> Line | None:
        """Choose the line that is replaced in the next cycle if one is: none that is locked or `spared`."""
        open_ = [line for line in self.lines if not line.locked and line not in spared]
        for line in open_:
            if not line.valid:
                return line
        far = sum(1 << line.number for line in open_ if not line.near)
        if self._far_first and far:
            return self.lines[self._random.choose(far)]
        return next((line for line in self._order if line in open_), None)

    def taken(self) -> None:
        """Move the shift register on, at the end of a cycle in which a line was taken."""
        self._random.advance()

    def write(self, line: Line, value: Value, mask: int, every_lane: int, metadata: Metadata = EMPTY) -> None:
        """Write a value into a line: an operand with its metadata, or a result on the lanes of `mask`."""
        if mask != every_lane:
            assert line.value is not None
            value = merge(line.value, value, mask)
        line.value, line.metadata = value, metadata
