"""Two-level scheduler: only a few active warps may issue, and a warp that waits for memory makes room for
another."""

from __future__ import annotations

from warpbank.arch.parameters import SubCoreConfig
from warpbank.golden.front_end.issue import Status
from warpbank.golden.front_end.lrr import Lrr
from warpbank.golden.front_end.scheduler import Scheduler
from warpbank.golden.interfaces import Hierarchy
from warpbank.golden.probe import Probe


def _away(status: Status, lacking: int, registers: Hierarchy) -> int:
    """Mask of the warps that have nothing to do."""
    return status.away if registers.strands else status.away | (status.ready | status.enters) & lacking


class TwoLevel(Scheduler):
    """Two-level scheduler: picks among the active warps by loose round robin, and replaces active warps that
    wait. LTRF, section 3.2; Malekeh, section II.

    At the clock edge every active warp that is away becomes pending, and one pending warp that is not away,
    the oldest, becomes active if there was room before the edge. A warp that starts is pending. Age is the
    order in which warps were started.

    With `replacement` `on_demand` an active warp that is away stays active until a pending warp that is not
    away finds no room: then one of them, the oldest, becomes pending. One that is over does so at once.

    Parameters
    ----------
    config : warp slots, active warps, replacement.
    probe : receives `activate`, `deactivate`.
    """

    def __init__(self, config: SubCoreConfig, probe: Probe) -> None:
        self._room = config.active_warps
        self._on_demand = config.replacement == "on_demand"
        self._probe = probe
        self._inner = Lrr(config.warps)
        self._order = list(range(config.warps))
        self._everyone = (1 << config.warps) - 1
        self.active = 0
        self._count = 0  # active warps

    def start(self, warp: int) -> None:
        """Make the warp in this slot the youngest."""
        self._order.remove(warp)
        self._order.append(warp)

    def pick(self, eligible: int, holds: int = 0) -> int:
        """Pick the warp to issue; all in the mask `eligible` are active."""
        return self._inner.pick(eligible)

    def activate(self, status: Status, lacking: int, registers: Hierarchy) -> tuple[int, int]:
        """Warps that cannot issue for long become pending, those that lack only physical registers among
        them, unless they would lose their row in the middle of a strand."""
        away = _away(status, lacking, registers)
        return self.edge(away, registers.may_activate, ~status.live)

    def activates(self, status: Status, lacking: int, registers: Hierarchy) -> bool:
        """Whether `activate` would change anything."""
        away = _away(status, lacking, registers)
        return self.moves(away, registers.may_activate, ~status.live)

    def moves(self, away: int, may_activate: int = -1, over: int = 0) -> bool:
        """Return whether `edge` would change anything."""
        return bool(self._leaving(away, over) or self._candidates(away, may_activate))

    def _candidates(self, away: int, may_activate: int) -> int:
        """Return the mask of the warps one of which becomes active."""
        return self._everyone & may_activate & ~away & ~self.active if self._count < self._room else 0

    def _leaving(self, away: int, over: int) -> int:
        """Return the mask of the warps that become pending."""
        idle = self.active & away
        if not self._on_demand:
            return idle
        needed = self._count == self._room and self._everyone & ~away & ~self.active
        return idle & over | (self._oldest(idle) if needed else 0)

    def _oldest(self, warps: int) -> int:
        """Return the oldest of a mask of warps, as a mask."""
        if warps:
            for warp in self._order:
                if warps >> warp & 1:
                    return 1 << warp
        return 0

    def edge(self, away: int, may_activate: int = -1, over: int = 0) -> tuple[int, int]:
        """End the cycle at the clock edge: replace active warps that have nothing to do.

        Parameters
        ----------
        away : mask of the warps that have nothing to do among the active ones: they wait for memory or at a
            barrier, or are over.
        may_activate : mask of the warps that could become active, were they not away.
        over : mask of the warps that have issued their last uop.

        Returns the masks of the warps that become active and pending.
        """
        gone = self._leaving(away, over)
        came = self._oldest(self._candidates(away, may_activate))
        if came | gone:
            self.active = self.active & ~gone | came
            self._count = self.active.bit_count()
            self._report(came, gone)
        return came, gone

    def _report(self, came: int, gone: int) -> None:
        for name, mask in (("activate", came), ("deactivate", gone)):
            for warp in range(mask.bit_length()):
                if mask >> warp & 1:
                    self._probe.emit(name, warp)
