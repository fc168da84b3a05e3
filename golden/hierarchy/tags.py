"""The tags of one row of a register file cache."""

from __future__ import annotations


class TagRow:
    """Tag row: the registers that a warp has in the cache, one per entry, found by comparing all of them.

    Parameters
    ----------
    entries : registers that there is room for.

    Attributes
    ----------
    registers : register of each entry; None: it is free.
    live : mask of the entries that somebody may still read.
    order : entries, the one that was allocated or used least recently first.
    used : mask of the entries that become the most recent ones at the end of the cycle, the highest last.
    """

    __slots__ = ("live", "order", "registers", "used")

    def __init__(self, entries: int) -> None:
        self.registers: list[int | None] = [None] * entries
        self.order = list(range(entries))
        self.live = self.used = 0

    def find(self, register: int) -> int | None:
        """The entry that holds a register."""
        return self.registers.index(register) if register in self.registers else None

    @property
    def unused(self) -> int | None:
        """The lowest free entry."""
        return self.registers.index(None) if None in self.registers else None

    @property
    def valid(self) -> bool:
        """Some entry holds a register."""
        return any(register is not None for register in self.registers)

    def edge(self) -> None:
        """The end of a cycle."""
        while self.used:
            bit = self.used & -self.used
            self.used ^= bit
            entry = bit.bit_length() - 1
            self.order.remove(entry)
            self.order.append(entry)

    def clear(self) -> None:
        """Nothing is in the row any more."""
        self.registers = [None] * len(self.registers)
        self.live = 0
