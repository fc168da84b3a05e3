"""Execution unit pipelines of a sub-core. They do no arithmetic: they time when a uop may enter and when its
result comes out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Unit
from warpbank.golden.check import Checker
from warpbank.golden.interfaces import Units
from warpbank.golden.probe import Probe
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import NEVER

_LSU: Final = Unit.LSU


class Pipelines(Units):
    """Execution unit pipelines with latency and initiation interval, and their result queues.

    A unit takes a uop if its interval has passed and it has a credit left at the clock edge: a unit may have
    `result_queue` uops between dispatch and last write, so that a pipeline never has to stop. A memory
    uop is taken if the queue to the load/store unit has room; that unit is offered the oldest one while fewer
    than `lsu.unwritten` of those that it has taken are to be written.

    Parameters
    ----------
    config : latencies, intervals, queue sizes.
    checker : compares operands at dispatch.
    wake_lsu : called with the cycle in which the load/store unit has to look at its queue.
    probe : receives `dispatch`.
    dispatched : called with every uop that is dispatched; returns whether one lane executes it.

    Attributes
    ----------
    results : per unit, (first cycle in which the result may be written, uop), in order.
    pending : mask of the units that have any.
    early : per unit, cycles before that one in which a result stage may see the uop: 1, or 0 of the
        load/store unit and of units of one cycle.

    Latency: a uop dispatched in t is first offered to the banks in t + latency.
    """

    def __init__(
        self,
        config: SmConfig,
        checker: Checker,
        wake_lsu: Callable[[int], None],
        probe: Probe,
        dispatched: Callable[[TraceUop], bool],
    ) -> None:
        units = [config.sub_core.execute.unit(unit) for unit in Unit]
        self._latency = [unit.latency for unit in units]
        self._interval = [unit.interval for unit in units]
        self._short = Unit.SFU if config.sub_core.execute.scalar_sfu == "one" else None
        self._credits = config.sub_core.execute.result_queue
        self._queue_depth = config.lsu.queue
        self._lsu_credits = config.lsu.unwritten
        self._checker = checker
        self._wake_lsu = wake_lsu
        self._dispatched = dispatched
        self._dispatches = probe.ports["dispatch"]
        self._free_at = [0] * len(Unit)
        #: Cycle in which a result last left; its credit counts from the next cycle on.
        self._freed = [-1] * len(Unit)
        self.early = [int(latency > 1) for latency in self._latency]
        self.early[_LSU] = 0
        self.results: list[list[tuple[int, TraceUop]]] = [[] for _ in Unit]
        self.pending = 0
        #: Input queue of the load/store unit: (cycle of dispatch, uop).
        self.lsu_queue: deque[tuple[int, TraceUop]] = deque()
        self._unwritten = 0  # uops that the load/store unit has taken and whose last write is not done

    def accepts(self, unit: int, cycle: int) -> bool:
        """Return whether the unit takes a uop in this cycle."""
        if unit == _LSU:
            return len(self.lsu_queue) < self._queue_depth
        return (
            self._free_at[unit] <= cycle
            and len(self.results[unit]) + (self._freed[unit] == cycle) < self._credits
        )

    def next_cycle(self, unit: int, cycle: int) -> int:
        """Return the next cycle after `cycle` in which the unit takes a uop, if nothing else happens
        before."""
        if unit == _LSU:
            return cycle + 1 if len(self.lsu_queue) < self._queue_depth else NEVER
        if len(self.results[unit]) >= self._credits:
            return NEVER
        return max(cycle + 1, self._free_at[unit])

    def dispatch(self, uop: TraceUop, collector: int, cycle: int) -> None:
        """Take a uop with its operands (dispatch interface)."""
        self._checker.dispatch(uop)
        unit = uop.unit
        self._dispatches.emit(collector, unit, uop.warp, uop.seq)
        alone = self._dispatched(uop)
        if unit == _LSU:
            self.lsu_queue.append((cycle, uop))
            self._wake_lsu(cycle + 1)
        else:
            self._free_at[unit] = cycle + (1 if alone and unit == self._short else self._interval[unit])
            self.results[unit].append((cycle + self._latency[unit], uop))
            self.pending |= 1 << unit

    def offers(self, cycle: int) -> bool:
        """Return whether there is a uop for the load/store unit in this cycle."""
        queue = self.lsu_queue
        if not queue or queue[0][0] >= cycle:
            return False
        return self._unwritten + (self._freed[_LSU] == cycle) < self._lsu_credits

    def take(self) -> TraceUop:
        """Remove the uop that is offered to the load/store unit, which takes it."""
        self._unwritten += 1
        return self.lsu_queue.popleft()[1]

    def finish(self, unit: int, cycle: int) -> None:
        """Remove the unit's oldest uop, whose last write is done."""
        self._freed[unit] = cycle
        if unit == _LSU:
            self._unwritten -= 1
        queue = self.results[unit]
        del queue[0]
        if not queue:
            self.pending &= ~(1 << unit)

    def returned(self, uop: TraceUop, cycle: int) -> None:
        """Take a uop that the load/store unit returns, to be written from `cycle` on."""
        self.results[_LSU].append((cycle, uop))
        self.pending |= 1 << _LSU
