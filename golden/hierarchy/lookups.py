"""Look-ups of operands in the warps' address tables (LTRF, section 4.1): which are looked up in a cycle."""

from __future__ import annotations

from typing import Final

#: Registers of a warp whose place in the cache is looked up in a cycle.
LOOKUPS: Final = 2
#: An operand that a uop asks for: (collector, slot, tag, warp, register).
Operand = tuple[int, int, int, int, int]


class OperandLookups:
    """Queue of the operands whose places in the cache are not known yet. LTRF, section 4.1.

    A warp's table has two read ports. Two operands of the newest uop are looked up in a cycle, and two of the
    oldest one that has more, if that is of another warp.

    Latency: an operand that is asked for in t is looked up in t + 1 as the first or second of its uop.
    """

    def __init__(self) -> None:
        self._asked: list[Operand] = []  # by one uop, in this cycle
        self._more: list[list[Operand]] = []

    @property
    def pending(self) -> bool:
        """Some operand waits."""
        return bool(self._asked or self._more)

    def ask(self, operand: Operand) -> None:
        """An operand is asked for."""
        self._asked.append(operand)

    def step(self) -> tuple[list[Operand], list[Operand]]:
        """Find the operands that are looked up in this cycle: of the newest uop, and of the oldest one that
        has more."""
        newest, self._asked = self._asked, []
        late: list[Operand] = []
        if self._more and not (newest and newest[0][3] == self._more[0][0][3]):
            oldest = self._more[0]
            late = oldest[:LOOKUPS]
            del oldest[:LOOKUPS]
            if not oldest:
                self._more.pop(0)
        if len(newest) > LOOKUPS:
            self._more.append(newest[LOOKUPS:])
        return newest[:LOOKUPS], late
