"""The register file cache of LTRF over renamed registers: only what has a physical register is moved."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.parameters import SmConfig
from warpbank.golden.hierarchy.ltrf import Ltrf
from warpbank.golden.hierarchy.renaming_hooks import RenamingHooks
from warpbank.golden.hierarchy.wcb import WarpControlBlock
from warpbank.golden.interfaces import SharedStorage
from warpbank.golden.mapping.cache_renaming import CacheRenaming
from warpbank.golden.probe import Probe
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value


class RenamedLtrf(RenamingHooks, Ltrf):
    """LTRF's register cache over renamed registers: a register is moved to and from its physical register, by
    a name that is looked up when its turn comes.

    A register that has no physical one, or whose last read has issued, has nothing to be moved: it leaves the
    cache without that, and when it comes zeros are written into its place, in the cycle in which it is given
    it, if its bank of the cache is free then. It keeps its place in the cache when its physical register is
    released, since its interval may write it again. A register is not released while it is moved, so that
    what leaves the cache goes into no register of somebody else.

    Parameters
    ----------
    config, mapping, storage, quiet, probe : as in `Ltrf`.
    """

    def __init__(
        self,
        config: SmConfig,
        mapping: CacheRenaming,
        storage: SharedStorage,
        quiet: Callable[[int], bool],
        probe: Probe,
    ) -> None:
        super().__init__(config, mapping, storage, quiet, probe)
        self._rename(config.lanes, mapping, storage)
        self._names = mapping
        mapping.release.moving = lambda warp: self.blocks[warp].moving

    def launch(self, registers: int, exempt: int, slots: int) -> None:
        """Begin a launch. What is still on its way, of warps that have ended, is forgotten: its
        physical registers are free."""
        super().launch(registers, exempt, slots)
        for mover in self._movers:
            mover.done()
        for block in self.blocks:
            block.moving = 0

    @property
    def may_issue(self) -> int:
        """Mask of the warps whose registers are where they have to be, and which find the physical registers
        they need."""
        return super().may_issue & ~self.lacking

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        return self._renaming.busy or super().busy

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""
        super().issue(uop)
        self._renaming.issue(uop)

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts, unless its register has been released."""
        return self._dropped(warp, register) or super().write_back(warp, register, value)

    def _home(self, warp: int, block: WarpControlBlock, register: int) -> tuple[int, int] | None:
        return self._names.content(warp, register) if block.live >> register & 1 else None

    def _leave(self, warp: int, block: WarpControlBlock, offset: int, register: int) -> None:
        before = block.moving
        super()._leave(warp, block, offset, register)
        if block.moving != before:
            self._names.moved(register)

    def _come(self, warp: int, block: WarpControlBlock, offset: int, register: int) -> None:
        if self._home(warp, block, register) is None:
            entry = block.unused.unused[0]
            if self._cache_written >> entry & 1:
                return
            self._cache_written |= 1 << entry
            self._values[entry][offset] = self._zeros
            self._probe.counters["cache.zeros"] += 1
            if self._probe.sink is not None:
                self._probe.emit("cache_zero", entry, offset, warp, register)
        before = block.moving
        super()._come(warp, block, offset, register)
        if block.moving != before:
            self._names.moved(register)

    def edge(self) -> None:
        """End the cycle with its releases. What a register that is released has in the cache is poisoned,
        too."""
        super().edge()
        for warp, register in self._names.dropped:
            block = self.blocks[warp]
            if block.placed >> register & 1:
                assert block.offset is not None
                entry = self._values[block.table[register]]
                entry[block.offset] = self._poisoned(entry[block.offset])

    def _poisoned(self, before: Value) -> Value:
        """What is in the place of a register that is released."""
        return self._poison


class RenamedLtrfPlus(RenamedLtrf):
    """LTRF+ over renamed registers: dead registers are not moved. LTRF, section 3.2."""

    liveness = True
