"""Names of operands: a uop's sources are looked up in the renaming table before they are requested at the
banks."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from warpbank.golden.mapping.exempt import Exempt
from warpbank.golden.mapping.table import TABLE_BANKS, RenamingTable


@dataclass
class Group:
    """The sources of a uop: for which collector, and which of its uops; whose registers; (slot, register) of
    each; those that are still to be looked up; where those are that have been: slot -> physical register, or
    None for one that has none."""

    collector: int
    tag: int
    warp: int
    sources: list[tuple[int, int]] = field(default_factory=list)
    left: list[tuple[int, int]] = field(default_factory=list)
    places: dict[int, int | None] = field(default_factory=dict)


class OperandLookup:
    """Looks up the sources of uops, one uop after the other. Renaming, section 6.1.

    A bank of the table answers for one source per cycle; sources in one bank are looked up one after the
    other, in slot order. The look-up is fast enough for the cycle in which the operands are requested, so
    without such a conflict it costs no time. A uop's requests go to the banks together, when all its names
    are known; uops behind it wait. Exempt registers need no look-up.

    Parameters
    ----------
    table, exempt : where to look.
    """

    def __init__(self, table: RenamingTable, exempt: Exempt) -> None:
        self._table = table
        self._exempt = exempt
        self._groups: deque[Group] = deque()

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """A source of a uop, in slot order; those of one uop come in one cycle, and of at most one uop in a
        cycle."""
        last = self._groups[-1] if self._groups else None
        if (
            last is None
            or (last.collector, last.tag) != (collector, tag)
            or last.places
            or last.left[-1][0] >= slot
        ):
            last = Group(collector, tag, warp)
            self._groups.append(last)
        last.sources.append((slot, register))
        last.left.append((slot, register))

    @property
    def busy(self) -> bool:
        """A uop waits."""
        return bool(self._groups)

    def step(self) -> tuple[int, Group | None]:
        """One cycle. Returns how many sources were looked up, and the uop whose names are known with that."""
        if not self._groups:
            return 0, None
        group = self._groups[0]
        asked = 0
        later = []
        for slot, register in group.left:
            bank = register % TABLE_BANKS
            own = self._exempt.find(group.warp, register)
            if own is not None:
                group.places[slot] = own
            elif asked >> bank & 1:
                later.append((slot, register))
            else:
                asked |= 1 << bank
                group.places[slot] = self._table.find(group.warp, register)
        group.left = later
        if later:
            return asked.bit_count(), None
        return asked.bit_count(), self._groups.popleft()
