"""Adaptive waiting time (STHLD) of the caching collectors: a state machine that walks to the knee of the IPC
curve."""

from __future__ import annotations

from typing import Final

from warpbank.golden.values import NEVER

#: State -> (after a small change: step, next state), (after a large one). Malekeh, Figure 8, which the
#: paper's text has lost: our reconstruction from section IV-B3. 1 start, 2 climb, 3 speculate, 4 retreat, 5
#: confirm, 6 hold.
TRANSITIONS: dict[int, tuple[tuple[int, int], tuple[int, int]]] = {
    1: ((1, 2), (1, 2)),
    2: ((1, 2), (1, 3)),
    3: ((1, 2), (-2, 4)),
    4: ((0, 5), (-1, 4)),
    5: ((0, 6), (-1, 4)),
    6: ((0, 6), (1, 3)),
}
START: Final = 1
#: A change is large from this part of the previous interval on: 1 / 50 = 0.02.
LARGE: Final = 50


class Sthld:
    """Adaptive waiting time: sets STHLD at the end of every interval from the IPC of the last two. One per
    SM. Malekeh, section IV-B3.

    The uops issued in an interval stand for its IPC, since all intervals have one length. The change
    is small if |now - before| x 50 < before; with nothing before, if nothing was issued now either.

    Parameters
    ----------
    interval : cycles.
    limit : upper bound of STHLD; the lower one is 0.
    adapts : intervals end; otherwise the waiting time stays what it is.

    Latency: what is set at the end of an interval counts from the first cycle of the next one on.
    """

    def __init__(self, interval: int, limit: int, adapts: bool = True) -> None:
        self._interval = interval
        self._limit = limit
        self._issued = 0  # uops up to the last interval's end
        self._before = 0  # uops of the interval before
        self.due = interval if adapts else NEVER  # first cycle of the next interval
        self.state = START
        self.value = 0

    def end(self, issued: int) -> None:
        """End an interval; `issued`: uops issued since the start of the run."""
        now = issued - self._issued
        large = abs(now - self._before) * LARGE >= self._before if self._before else now > 0
        step, self.state = TRANSITIONS[self.state][large]
        self.value = min(max(self.value + step, 0), self._limit)
        self._issued, self._before = issued, now
        self.due += self._interval
