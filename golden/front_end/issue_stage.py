"""Choice of the warp that issues: the one that the scheduler picks in the cycle, or picked a cycle before."""

from __future__ import annotations

from collections.abc import Callable

#: A scheduler's pick of one warp of a mask, told which warps have values in a collector.
Pick = Callable[[int, int], int]


class Choice:
    """Choice of the warp that issues, where choice and issue share a cycle.

    Parameters
    ----------
    pick : of the scheduler.

    Attributes
    ----------
    picks : the scheduler picks a warp in this cycle.
    chosen : mask of the warp that was picked before this cycle and has its turn now: none.
    """

    def __init__(self, pick: Pick) -> None:
        self._pick = pick
        self.picks = False
        self.chosen = 0

    def step(self, ready: int, eligible: int, holds: int) -> int:
        """Return the warp that issues in this cycle; -1: none.

        Parameters
        ----------
        ready : mask of the active warps whose next uop has no hazard.
        eligible : mask of those whose uop would be taken in this cycle.
        holds : mask of the warps that have values in a collector.
        """
        self.picks = eligible != 0
        return self._pick(eligible, holds) if eligible else -1

    def busy(self, ready: int, eligible: int) -> bool:
        """Whether a warp has its turn in the next cycle, in which `ready` and `eligible` hold."""
        return eligible != 0


class IssueStage(Choice):
    """Issue stage: a register between the choice of a warp and the issue of its uop
    (`front_end.issue_stages`).

    The scheduler picks among all warps that are active and have no hazard, and does not ask whether a
    collector would take the uop. That is asked in the next cycle, in which the warp has its turn: its uop
    issues, or, if no collector takes it or the warp is not active any more, stays in its buffer. What the
    scoreboard knows of a warp that has its turn is a cycle old, so it is not picked in that cycle: a warp
    issues in every second cycle at most.

    Latency: picked in cycle t, a warp has its turn in t + 1, and can be picked again in t + 2.
    """

    def step(self, ready: int, eligible: int, holds: int) -> int:
        """Return the warp that issues in this cycle, picked in the cycle before; -1: none."""
        turn = self.chosen
        candidates = ready & ~turn
        self.picks = candidates != 0
        self.chosen = 1 << self._pick(candidates, holds) if candidates else 0
        return turn.bit_length() - 1 if turn & eligible else -1

    def busy(self, ready: int, eligible: int) -> bool:
        """Whether a warp is picked or has its turn in the next cycle, in which `ready` holds."""
        return ready != 0 or self.chosen != 0
