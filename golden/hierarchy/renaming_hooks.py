"""Renaming hooks: the members that hierarchies over renamed registers share."""

from __future__ import annotations

import numpy as np

from warpbank.golden.interfaces import SharedStorage
from warpbank.golden.mapping.operand_lookup import Group
from warpbank.golden.mapping.renaming import Renaming
from warpbank.golden.probe import Probe
from warpbank.golden.stream import PREDICATE_BIT, TraceUop
from warpbank.golden.values import Value

#: What a released physical register holds, so that who still reads it is found out.
POISON = 0xDEADBEEF
_REGISTERS = (1 << PREDICATE_BIT) - 1


class RenamingHooks:
    """Renaming hooks of a hierarchy: what the front end tells it, and which warps
    lack registers.

    Attributes
    ----------
    lacking : mask of the warps whose first uop cannot issue for want of physical registers
        (`Renaming.short`).
    """

    _renaming: Renaming
    _shared: SharedStorage
    _probe: Probe

    def _rename(self, lanes: int, renaming: Renaming, storage: SharedStorage) -> None:
        """Registers of so many lanes are renamed from now on."""
        self._renaming, self._shared = renaming, storage
        self._zeros: Value = np.zeros(lanes, np.uint32)
        self._poison: Value = np.full(lanes, POISON, np.uint32)
        self.lacking = 0

    def launch(self, registers: int, exempt: int, slots: int) -> None:
        """A launch begins: registers per thread, mask of those that are not renamed, warp slots that it may
        use."""
        self._renaming.launch(registers, exempt, slots)

    def look(self, first: list[TraceUop | None], here: int) -> bool:
        """The first uops of the warps, and those that have uops to issue and do not wait at a barrier: sets
        `lacking`. Returns whether the same warp is served first as in the cycle before."""
        self.lacking = self._renaming.short(first, here)
        return self._renaming.settled(here)

    def settle(self, here: int) -> None:
        """The cycle is one in which these warps were there."""
        self._renaming.settle(here)

    def held(self, warp: int) -> int:
        """Physical registers that the warp has."""
        return self._renaming.reserve.held[warp]

    def missing(self, uop: TraceUop) -> int:
        """Mask of the destinations of a uop that have no physical register, the first one lowest."""
        return sum(1 << register - uop.destination for register in self._renaming.new(uop))

    def operand_read(self, warp: int, register: int) -> None:
        """Release an operand that has been read (scoreboard release interface)."""
        self._renaming.operand_read(warp, register)

    def result_written(self, warp: int, mask: int) -> None:
        """Release registers and predicates that have been written (scoreboard release interface)."""
        self._renaming.written(warp, mask & _REGISTERS)

    def end(self, warp: int) -> None:
        """The warp's last uop retires in this cycle."""
        self._renaming.end(warp)

    def _dropped(self, warp: int, register: int) -> bool:
        """Whether a value that a collector evicts is dropped, since its register has been released."""
        if self._renaming.find(warp, register) is not None:
            return False
        self._probe.counters["renaming.dead_values"] += 1
        if self._probe.sink is not None:
            self._probe.emit("dead_value", warp, register)
        return True

    def edge(self) -> None:
        """End the cycle: names, then releases, whose rows are poisoned."""
        self._named(self._renaming.edge())
        for bank, row in self._renaming.released:
            self._shared.poison(bank, row, self._poison)

    def _named(self, group: Group | None) -> None:
        """The operands of this uop, if any, have names."""
