"""The reserve: physical registers that are kept for one warp, so that it can always go on."""

from __future__ import annotations

from warpbank.golden.round_robin import first_from


class DeadlockReserve:
    """Deadlock reserve: keeps the last free registers for one warp, where there are fewer than all might
    need.

    One warp is served first: the same until it has issued its last uop or waits at a barrier, then the next
    one in rotating order that does not. The others leave as many registers free as it can still need. So it
    never waits for registers, and when it ends there are enough for any other warp. (Warps that wait at a
    barrier may hold what the others need: then nobody can proceed, and the run stops with an error.)

    Parameters
    ----------
    warps : warp slots.
    """

    def __init__(self, warps: int) -> None:
        self._warps = warps
        self._needs = 0
        self.first = 0  # the warp that was served first in the cycle before
        self.held = [0] * warps  # registers that each warp has

    def launch(self, needs: int, everybody: bool) -> None:
        """A launch begins: a warp can have `needs` renamed registers. `everybody`: there are enough for all
        warps."""
        self._needs = 0 if everybody else needs
        self.held = [0] * self._warps

    def served(self, here: int) -> int:
        """The warp that is served first. `here`: mask of the warps that have uops to issue and do not wait at
        a barrier."""
        return first_from(here, self.first) if here and not here >> self.first & 1 else self.first

    def look(self, here: int) -> tuple[int, int]:
        """The warp that is served first, and how many registers the others leave free."""
        first = self.served(here)
        return first, max(0, self._needs - self.held[first])
