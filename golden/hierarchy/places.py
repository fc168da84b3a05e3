"""Places of a row of the register file cache: which are unused, and which are given next (LTRF, figure 8)."""

from __future__ import annotations


class Places:
    """The set of a row's banks that no register has. LTRF, section 4.2.

    Several places may be given and several given back in a cycle, so the unused ones are a mask instead of
    the paper's queue. The lowest are given first.

    Parameters
    ----------
    count : places; all of them are unused at first.

    Latency: a place given back in cycle t can be given in t + 1.
    """

    def __init__(self, count: int) -> None:
        self._every = (1 << count) - 1
        self.occupied = 0

    @property
    def unused(self) -> int:
        """Mask of the places that no register has."""
        return self._every & ~self.occupied

    def give(self, place: int) -> None:
        """Give a place to a register."""
        assert self.unused >> place & 1, f"place {place} is given twice"
        self.occupied |= 1 << place

    def take_back(self, place: int) -> None:
        """Take the place of a register that has left."""
        assert self.occupied >> place & 1, f"place {place} is taken back although it is unused"
        self.occupied &= ~(1 << place)
