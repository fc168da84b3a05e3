"""Greedy-then-oldest scheduler."""

from __future__ import annotations

from warpbank.arch.parameters import SubCoreConfig
from warpbank.golden.front_end.scheduler import Scheduler
from warpbank.golden.probe import Probe


class Gto(Scheduler):
    """Greedy-then-oldest scheduler: picks the warp that issued last as long as it is eligible, then the
    oldest eligible one.

    Age is the order in which warps were started in their slots (hardware: an age matrix). Which slot issued
    last is remembered beyond its warp: one that starts there goes first, although it is the youngest.

    Parameters
    ----------
    warps : warp slots.
    """

    def __init__(self, warps: int) -> None:
        self._order: list[int] = list(range(warps))
        self._last = 0

    def start(self, warp: int) -> None:
        """Make the warp in this slot the youngest."""
        self._order.remove(warp)
        self._order.append(warp)

    def pick(self, eligible: int, holds: int = 0) -> int:
        """Pick the warp to issue."""
        if not eligible >> self._last & 1:
            for warp in self._order:
                if eligible >> warp & 1:
                    self._last = warp
                    break
        return self._last


def gto(config: SubCoreConfig, probe: Probe) -> Gto:
    """Greedy-then-oldest scheduler of a sub-core, which reports nothing."""
    return Gto(config.warps)
