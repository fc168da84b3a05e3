"""Registers that are not renamed: they have a physical register of their own at an address that is
computed."""

from __future__ import annotations


class Exempt:
    """The exempt registers of a launch. Renaming, section 7.1.

    The first physical registers are theirs: those of warp slot w begin at w x count, in the order of their
    numbers. A register's place in that order is its name; the names of a launch are a table of 256 numbers.
    Warp slots that a launch leaves unused get none.
    """

    def __init__(self) -> None:
        self._names = [0] * 256
        self.mask = 0
        self.count = 0
        self.reserved = 0  # physical registers that are theirs

    def launch(self, mask: int, slots: int) -> None:
        """A launch begins; `mask`: its registers that are not renamed; `slots`: warp slots that it may
        use."""
        self.mask = mask
        self.count = mask.bit_count()
        self.reserved = slots * self.count
        self._names = [(mask & ((1 << register) - 1)).bit_count() for register in range(256)]

    def find(self, warp: int, register: int) -> int | None:
        """The physical register; None: it is renamed."""
        return warp * self.count + self._names[register] if self.mask >> register & 1 else None
