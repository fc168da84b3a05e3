"""Names of operands: a uop's sources are looked up in the renaming table before they are requested at the
banks."""

from __future__ import annotations

from typing import Final

from warpbank.golden.mapping.exempt import Exempt
from warpbank.golden.mapping.table import TABLE_BANKS, RenamingTable

_EVERY_BANK: Final = (1 << TABLE_BANKS) - 1


class Group:
    """The sources of a uop: for which collector, and which of its uops; whose registers; (slot, register) of
    each; those that are still to be looked up; where those are that have been: slot -> physical register, or
    None for one that has none; mask of those that had none when the uop asked."""

    __slots__ = ("collector", "left", "places", "sources", "tag", "unwritten", "warp")

    def __init__(self, collector: int, tag: int, warp: int) -> None:
        self.collector, self.tag, self.warp = collector, tag, warp
        self.sources: list[tuple[int, int]] = []
        self.left: list[tuple[int, int]] = []
        self.places: dict[int, int | None] = {}
        self.unwritten = 0


class OperandLookup:
    """Looks up the sources of all uops that wait for names. Renaming, section 6.1.

    Each bank of the table answers for one source per cycle: the oldest of that bank, over all uops that wait,
    in slot order within a uop. The look-up is fast enough for the cycle in which the operands are requested,
    so a uop whose banks are free loses no time. A uop's requests go to the banks together, when all its names
    are known; one uop goes in a cycle, the oldest that can. Exempt registers need no look-up.

    A register before the look-up and one behind it (`mapping.lookup_stages`) make it as many cycles later:
    section 6.1 has it within the two or three cycles of the operand collector stage. A source that had no
    physical register when the uop asked has none, though the uop itself may have been given one meanwhile, as
    its destination.

    Parameters
    ----------
    table, exempt : where to look.
    stages : registers that there are, the one before the look-up first.
    """

    def __init__(self, table: RenamingTable, exempt: Exempt, stages: int = 0) -> None:
        self._table = table
        self._exempt = exempt
        self._stages = stages
        self._groups: list[Group] = []  # uops that wait, oldest first
        self._new: Group | None = None  # uop of this cycle
        self._asked: Group | None = None  # in the register before the look-up
        self._named: Group | None = None  # in the register behind it

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """A source of a uop, in slot order; those of one uop come in one cycle, and of at most one uop in a
        cycle."""
        if self._new is None:
            self._new = Group(collector, tag, warp)
        self._new.sources.append((slot, register))
        own = self._exempt.find(warp, register)
        if own is None:
            self._new.left.append((slot, register))
            if self._table.find(warp, register) is None:
                self._new.unwritten |= 1 << slot
        else:
            self._new.places[slot] = own

    @property
    def busy(self) -> bool:
        """A uop waits, or is in a register."""
        return bool(self._groups) or self._asked is not None or self._named is not None

    def step(self) -> tuple[int, Group | None]:
        """One cycle. Returns how many sources were looked up, and the uop whose requests go to the banks."""
        new, self._new = self._new, None
        if self._stages > 0:
            new, self._asked = self._asked, new
        if new is not None:
            self._groups.append(new)
        looked_up, group = self._look()
        if self._stages > 1:
            group, self._named = self._named, group
        return looked_up, group

    def _look(self) -> tuple[int, Group | None]:
        """Look names up. Returns how many, and the uop whose names are all known and whose turn it is."""
        asked = 0
        for group in self._groups:
            if asked == _EVERY_BANK:
                break
            later = []
            for slot, register in group.left:
                bank = register % TABLE_BANKS
                if asked >> bank & 1:
                    later.append((slot, register))
                else:
                    asked |= 1 << bank
                    found = None if group.unwritten >> slot & 1 else self._table.find(group.warp, register)
                    group.places[slot] = found
            group.left = later
        for group in self._groups:
            if not group.left:
                self._groups.remove(group)
                return asked.bit_count(), group
        return asked.bit_count(), None
