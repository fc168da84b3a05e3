"""Cache tags and miss-status holding registers (MSHRs)."""

from __future__ import annotations

from warpbank.golden.stream import TraceUop


class Tags:
    """Set-associative tag array with true LRU replacement (hardware: an age matrix per set). It holds no
    data.

    A line has a valid bit per sector. A cache that fetches whole lines has lines of one sector.

    Parameters
    ----------
    sets, ways : geometry. The low bits of a line's number are its set.
    """

    def __init__(self, sets: int, ways: int) -> None:
        self._mask = sets - 1
        self._ways = ways
        self._sets: list[list[int]] = [[] for _ in range(sets)]  # most recently used last
        self._there: dict[int, int] = {}  # line -> mask of its valid sectors

    def clear(self) -> None:
        """Invalidate all lines."""
        for lines in self._sets:
            lines.clear()
        self._there.clear()

    def there(self, line: int) -> int:
        """Return the mask of the line's sectors that are there; 0: the line is absent."""
        return self._there.get(line, 0)

    def hit(self, line: int, sectors: int = 1) -> bool:
        """Look sectors of a line up and return whether all are there; a hit makes the line the most recently
        used of its set."""
        if sectors & ~self._there.get(line, 0):
            return False
        self._renew(line)
        return True

    def insert(self, line: int, sectors: int = 1) -> None:
        """Put sectors of a line into its set. A line that is absent comes in place of the least recently used
        one; the line becomes the most recently used."""
        there = self._there.get(line, 0)
        if there:
            self._renew(line)
        else:
            lines = self._sets[line & self._mask]
            if len(lines) == self._ways:
                del self._there[lines.pop(0)]
            lines.append(line)
        self._there[line] = there | sectors

    def remove(self, line: int) -> None:
        """Invalidate a line, all of its sectors, if it is there."""
        if self._there.pop(line, 0):
            self._sets[line & self._mask].remove(line)

    def _renew(self, line: int) -> None:
        """Make a line that is there the most recently used of its set."""
        lines = self._sets[line & self._mask]
        if lines[-1] != line:
            lines.remove(line)
            lines.append(line)


class Missing:
    """Entry of the MSHRs: a request for sectors of a line, and the uops that wait for it.

    Parameters
    ----------
    line, sectors : what was asked for.
    """

    __slots__ = ("line", "sectors", "waiting")

    def __init__(self, line: int, sectors: int) -> None:
        self.line = line
        self.sectors = sectors
        self.waiting: list[TraceUop] = []


class Mshrs:
    """Miss-status holding registers: requests for missing sectors, and the uops that wait for each.

    Several requests for sectors of one line may be on their way, but none for the same sector.

    Parameters
    ----------
    entries : requests that may be on their way at a time.
    merges : uops that may wait for one request.
    """

    def __init__(self, entries: int, merges: int) -> None:
        self._entries = entries
        self._merges = merges
        self._count = 0
        self._lines: dict[int, list[Missing]] = {}

    def coming(self, line: int) -> int:
        """Return the mask of the line's sectors that are on their way."""
        found = 0
        for entry in self._lines.get(line, ()):
            found |= entry.sectors
        return found

    def find(self, line: int, sectors: int) -> Missing | None:
        """Return the request that brings the lowest of these sectors, or None."""
        lowest = sectors & -sectors
        for entry in self._lines.get(line, ()):
            if entry.sectors & lowest:
                return entry
        return None

    def can_merge(self, entry: Missing) -> bool:
        """Return whether one more uop may wait for a request."""
        return len(entry.waiting) < self._merges

    @property
    def full(self) -> bool:
        """Whether no further request may be on its way."""
        return self._count == self._entries

    def ask(self, line: int, sectors: int) -> Missing:
        """Return the new entry of a request for these sectors of a line, none of which is on its way."""
        entry = Missing(line, sectors)
        self._lines.setdefault(line, []).append(entry)
        self._count += 1
        return entry

    def fill(self, entry: Missing) -> list[TraceUop]:
        """Free the entry of a request that has been answered. Returns the uops that waited for it."""
        entries = self._lines[entry.line]
        entries.remove(entry)
        if not entries:
            del self._lines[entry.line]
        self._count -= 1
        return entry.waiting
