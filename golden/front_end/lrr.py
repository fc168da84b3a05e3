"""Loose round-robin scheduler."""

from __future__ import annotations

from warpbank.arch.parameters import SubCoreConfig
from warpbank.golden.front_end.scheduler import Scheduler
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from


class Lrr(Scheduler):
    """Loose round-robin scheduler: picks the first eligible warp after the one that issued last, in slot
    order, wrapping around.

    Parameters
    ----------
    warps : warp slots.
    """

    def __init__(self, warps: int) -> None:
        self._warps = warps
        self._pointer = 0

    def start(self, warp: int) -> None:
        """Ignore a new warp: age does not matter."""

    def pick(self, eligible: int, holds: int = 0) -> int:
        """Pick the warp to issue."""
        warp = first_from(eligible, self._pointer)
        self._pointer = (warp + 1) % self._warps
        return warp


def lrr(config: SubCoreConfig, probe: Probe) -> Lrr:
    """Loose round-robin scheduler of a sub-core, which reports nothing."""
    return Lrr(config.warps)
