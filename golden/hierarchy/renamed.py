"""The flat hierarchy over renamed registers: operands have names before they are requested, and registers
come and go."""

from __future__ import annotations

from warpbank.arch.parameters import SmConfig
from warpbank.golden.hierarchy.flat import Flat
from warpbank.golden.hierarchy.renaming_hooks import RenamingHooks
from warpbank.golden.interfaces import SharedStorage
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.mapping.operand_lookup import Group
from warpbank.golden.mapping.renaming import Renaming
from warpbank.golden.probe import Probe
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value


class RenamedFlat(RenamingHooks, Flat):
    """Flat hierarchy over renamed registers: a source that was never written is delivered as zeros, and a
    value that a collector evicts from a register which has been released is dropped.

    Parameters
    ----------
    config, mapping, storage, arbiter, probe : as in `Flat`.
    """

    def __init__(
        self, config: SmConfig, mapping: Renaming, storage: SharedStorage, arbiter: Arbiter, probe: Probe
    ) -> None:
        super().__init__(config, mapping, storage, arbiter, probe)
        self._rename(config.lanes, mapping, storage)
        self._blank: set[tuple[int, int, int]] = (
            set()
        )  # (collector, slot, tag) of sources that were never written
        self._banks = config.sub_core.banks
        self.may_issue = -1

    def look(self, first: list[TraceUop | None], here: int) -> bool:
        """Show the mapping the warps' first uops; sets `may_issue`, too."""
        settled = super().look(first, here)
        self.may_issue = ~self.lacking
        return settled

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        return self._renaming.busy or super().busy

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """Request an operand (operand read interface)."""
        self._renaming.read(collector, slot, warp, register, tag)

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts, unless its register has been released."""
        return self._dropped(warp, register) or super().write_back(warp, register, value)

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""
        super().issue(uop)
        self._renaming.issue(uop)

    def step(self) -> list[tuple[int, int, int, Value]]:
        """One cycle of reads, after its writes; returns the operands that arrive at the collectors."""
        arrived = super().step()
        if not self._blank:
            return arrived
        found = []
        for collector, slot, tag, value in arrived:
            key = (collector, slot, tag)
            found.append((collector, slot, tag, self._zeros if key in self._blank else value))
            self._blank.discard(key)
        return found

    def _named(self, group: Group | None) -> None:
        if group is None:
            return
        for slot, _ in group.sources:
            place = self._renaming.place(group, slot)
            if place is None:
                self._blank.add((group.collector, slot, group.tag))
                place = slot % self._banks, 0
            self._arbiter.request(*place, group.collector, slot, group.tag)
