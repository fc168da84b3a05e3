"""Renaming below a register file cache: names are looked up for the registers that are moved, not for
operands."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.parameters import SubCoreConfig
from warpbank.golden.mapping.operand_lookup import Group
from warpbank.golden.mapping.release import Release
from warpbank.golden.mapping.renaming import Renaming
from warpbank.golden.probe import Probe
from warpbank.golden.stream import TraceUop


class CacheRelease(Release):
    """Release unit below a register cache: a register on its way between cache and banks is not released.

    Parameters
    ----------
    warps : warp slots.

    Attributes
    ----------
    moving : gives the mask of a warp's registers that are on their way, at the clock edge.
    """

    def __init__(self, warps: int) -> None:
        super().__init__(warps)
        self.moving: Callable[[int], int] = lambda warp: 0

    def _in_use(self, warp: int, register: int) -> bool:
        return super()._in_use(warp, register) or bool(self.moving(warp) >> register & 1)


class CacheRenaming(Renaming):
    """Renaming below a register file cache, where operands are read.

    Operands have no names: they are in the cache. A register is looked up when it is moved, one per cycle. A
    source counts as never written if it has no physical register when its uop issues.

    Parameters
    ----------
    config : warps, banks, rows, policy.
    probe : receives `map`, `unmap`, `lookup`, `unwritten`.
    """

    def __init__(self, config: SubCoreConfig, probe: Probe) -> None:
        super().__init__(config, probe)
        self.release: CacheRelease = CacheRelease(config.warps)
        self.dropped: list[tuple[int, int]] = []  # (warp, register) of what was released in this cycle

    def content(self, warp: int, register: int) -> tuple[int, int] | None:
        """(bank, row) of a register whose content is wanted; None: it has no physical register, or is about
        to lose it."""
        return None if self.release.dying[warp] >> register & 1 else self.find(warp, register)

    def moved(self, register: int) -> None:
        """A register with content sets off: it has been looked up, unless it is not renamed."""
        if self.exempt.mask >> register & 1:
            return
        self._probe.counters["renaming.lookups"] += 1
        if self._probe.sink is not None:
            self._probe.emit("lookup", 1)

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""
        unwritten = sum(self.find(uop.warp, register) is None for register in uop.sources)
        if unwritten:
            self._probe.counters["renaming.unwritten"] += unwritten
            if self._probe.sink is not None:
                self._probe.emit("unwritten", unwritten)
        super().issue(uop)

    def edge(self) -> Group | None:
        """End the cycle; no operand has been named."""
        self.dropped = self.release.released()
        return super().edge()
