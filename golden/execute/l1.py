"""Cache tags and miss-status holding registers (MSHRs)."""

from __future__ import annotations

from warpbank.golden.stream import TraceUop


class Tags:
    """Set-associative tag array with true LRU replacement (hardware: an age matrix per set). It holds no
    data.

    Parameters
    ----------
    sets, ways : geometry. The low bits of a line's number are its set.
    """

    def __init__(self, sets: int, ways: int) -> None:
        self._mask = sets - 1
        self._ways = ways
        self._sets: list[list[int]] = [[] for _ in range(sets)]  # most recently used last

    def clear(self) -> None:
        """Invalidate all lines."""
        for lines in self._sets:
            lines.clear()

    def hit(self, line: int) -> bool:
        """Look a line up and return whether it is there; a hit makes it the most recently used of its set."""
        lines = self._sets[line & self._mask]
        if line in lines:
            if lines[-1] != line:
                lines.remove(line)
                lines.append(line)
            return True
        return False

    def insert(self, line: int) -> None:
        """Put an absent line into its set, in place of the least recently used one."""
        lines = self._sets[line & self._mask]
        if len(lines) == self._ways:
            lines.pop(0)
        lines.append(line)

    def remove(self, line: int) -> None:
        """Invalidate a line if it is there."""
        lines = self._sets[line & self._mask]
        if line in lines:
            lines.remove(line)


class Mshrs:
    """Miss-status holding registers: missing lines, and the uops that wait for each.

    Parameters
    ----------
    entries : lines that may be missing at a time.
    merges : uops that may wait for one line.
    """

    def __init__(self, entries: int, merges: int) -> None:
        self._entries = entries
        self._merges = merges
        self._waiting: dict[int, list[TraceUop]] = {}

    def pending(self, line: int) -> bool:
        """Return whether the line is on its way."""
        return line in self._waiting

    def can_merge(self, line: int) -> bool:
        """Return whether one more uop may wait for the pending `line`."""
        return len(self._waiting[line]) < self._merges

    @property
    def full(self) -> bool:
        """Whether no further line may miss."""
        return len(self._waiting) == self._entries

    def wait(self, line: int, uop: TraceUop) -> None:
        """Let the uop wait for `line`."""
        self._waiting.setdefault(line, []).append(uop)

    def fill(self, line: int) -> list[TraceUop]:
        """Free the entry of a line that has arrived. Returns the uops that waited for it."""
        return self._waiting.pop(line)
