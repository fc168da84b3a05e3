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
    comes : a warp that has been picked has its turn in a later cycle.
    chosen : mask of the warp that was picked before this cycle and has its turn now: none.
    """

    def __init__(self, pick: Pick) -> None:
        self._pick = pick
        self.picks = self.comes = False
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
    """Issue stages: registers between what is known of the warps and the issue of a uop
    (`front_end.issue_stages`).

    The scheduler picks among all warps that are active and have no hazard, and does not ask whether a
    collector would take the uop. That is asked when the warp has its turn: its uop issues, or, if no
    collector takes it or the warp is not active any more, stays in its buffer. A warp that was picked is not
    picked again up to the cycle of its turn, after which the scoreboard knows what it issued: with n stages a
    warp issues in every (n + 1)th cycle at most. The first stage stands behind the choice, the second one
    behind the read of the uop, the third one in front of the choice.

    Latency: with one stage or two, picked in cycle t, a warp has its turn in t + 1 or t + 2; with three,
    without hazard in cycle t, it is picked in t + 1 at the earliest and has its turn in t + 3. It can be
    picked again in the cycle after its turn, with three stages in the one after that.

    Parameters
    ----------
    pick : of the scheduler.
    stages : 1 to 3.
    """

    def __init__(self, pick: Pick, stages: int = 1) -> None:
        super().__init__(pick)
        self._reads, self._looks = stages > 1, stages > 2  # there is a second stage, and a third
        self._coming = 0  # mask of the warp whose turn is the next one; with two stages
        self._known = 0  # warps that could be picked in the cycle before; with three

    def step(self, ready: int, eligible: int, holds: int) -> int:
        """Return the warp that issues in this cycle, picked before; -1: none."""
        turn, coming = self.chosen, self._coming
        free = ~(turn | coming)
        candidates = (self._known if self._looks else ready) & free
        self._known = ready & free if self._looks else 0
        self.picks = candidates != 0
        self.comes = self.picks or coming != 0
        picked = 1 << self._pick(candidates, holds) if candidates else 0
        self.chosen, self._coming = (coming, picked) if self._reads else (picked, 0)
        return turn.bit_length() - 1 if turn & eligible else -1

    def busy(self, ready: int, eligible: int) -> bool:
        """Whether a warp is picked or comes to its turn in one of the next cycles, in the first of which
        `ready` holds."""
        return (ready | self.chosen | self._coming | self._known) != 0
