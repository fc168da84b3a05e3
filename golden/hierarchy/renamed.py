"""The flat hierarchy over renamed registers: operands have names before they are requested, and registers come and go."""

from __future__ import annotations

import numpy as np

from arch.rooms import SmConfig

from ..collector.arbiter import Arbiter
from ..mapping.renaming import Renaming
from ..probe import Probe
from ..seams import SharedStorage
from ..stream import PREDICATE_BIT, TraceUop
from ..values import Value
from .flat import Flat

#: What a released physical register holds, so that who still reads it is found out.
POISON = 0xDEADBEEF
_REGISTERS = (1 << PREDICATE_BIT) - 1


class RenamedFlat(Flat):
    """As `Flat`; a source that was never written is delivered as zeros, and a value that a collector evicts from a register which
    has been released is dropped.

    Parameters
    ----------
    config, mapping, storage, arbiter, probe : as in `Flat`.
    """

    def __init__(self, config: SmConfig, mapping: Renaming, storage: SharedStorage, arbiter: Arbiter, probe: Probe) -> None:
        super().__init__(config, mapping, storage, arbiter, probe)
        self._renaming = mapping
        self._shared = storage
        self._blank: set[tuple[int, int, int]] = set()  # (collector, slot, tag) of sources that were never written
        self._banks = config.sub_core.banks
        self._zeros: Value = np.zeros(config.lanes, np.uint32)
        self._poison: Value = np.full(config.lanes, POISON, np.uint32)
        self.may_issue = -1

    def launch(self, registers: int, exempt: int, slots: int) -> None:
        """A launch begins: registers per thread, mask of those that are not renamed, warp slots that it may use."""
        self._renaming.launch(registers, exempt, slots)

    def look(self, first: list[TraceUop | None], here: int) -> bool:
        """The first uops of the warps, and those that have uops to issue and do not wait at a barrier: sets `may_issue`. Returns
        whether the same warp is served first as in the cycle before."""
        self.may_issue = ~self._renaming.short(first, here)
        return self._renaming.settled(here)

    def settle(self, here: int) -> None:
        """The cycle is one in which these warps were there."""
        self._renaming.settle(here)

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        return self._renaming.busy or super().busy

    def held(self, warp: int) -> int:
        """Physical registers that the warp has."""
        return self._renaming.reserve.held[warp]

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """Request an operand (seam 2)."""
        self._renaming.read(collector, slot, warp, register, tag)

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts, unless its register has been released."""
        if self._renaming.find(warp, register) is not None:
            return super().write_back(warp, register, value)
        self._probe.counters["renaming.dead_values"] += 1
        if self._probe.sink is not None:
            self._probe.emit("dead_value", warp, register)
        return True

    def missing(self, uop: TraceUop) -> int:
        """Mask of the destinations of a uop that have no physical register, the first one lowest."""
        return sum(1 << register - uop.destination for register in self._renaming.new(uop))

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""
        super().issue(uop)
        self._renaming.issue(uop)

    def operand_read(self, warp: int, register: int) -> None:
        """An operand no longer hinders a write (seam 6)."""
        self._renaming.operand_read(warp, register)

    def result_written(self, warp: int, mask: int) -> None:
        """Registers and predicates have been written (seam 6)."""
        self._renaming.written(warp, mask & _REGISTERS)

    def end(self, warp: int) -> None:
        """The warp's last uop retires in this cycle."""
        self._renaming.end(warp)

    def step(self) -> list[tuple[int, int, int, Value]]:
        """As in `Flat`."""
        arrived = super().step()
        if not self._blank:
            return arrived
        found = []
        for collector, slot, tag, value in arrived:
            key = (collector, slot, tag)
            found.append((collector, slot, tag, self._zeros if key in self._blank else value))
            self._blank.discard(key)
        return found

    def edge(self) -> None:
        """What is left of the cycle: names, releases."""
        group = self._renaming.edge()
        if group is not None:
            for slot, _ in group.sources:
                place = self._renaming.place(group, slot)
                if place is None:
                    self._blank.add((group.collector, slot, group.tag))
                    place = slot % self._banks, 0
                self._arbiter.request(*place, group.collector, slot, group.tag)
        for bank, row in self._renaming.released:
            self._shared.poison(bank, row, self._poison)
