"""Result arbitration: which units' results are written in a cycle."""

from __future__ import annotations

from collections.abc import Callable

from arch.uop import Unit

from ..priority import first_from
from ..probe import Probe
from ..seams import Hierarchy
from ..stream import PREDICATE_BIT, TraceUop
from ..values import NEVER
from .pipelines import Pipelines


class ResultArbiter:
    """The head of each unit's result queue offers one register per cycle to its bank; a bank takes one write per cycle.

    Units are looked at in rotating order, starting after the first one that was served in the last cycle that served any.
    A wide result takes one cycle per register; one without registers retires without a bank.

    Parameters
    ----------
    pipelines : whose results are written.
    registers : where they go.
    written : called with (warp, hazard mask) for every register and predicate written (seam 6).
    retired : called with every uop whose last write is done.
    probe : receives `retire`, `write_wait`.
    """

    def __init__(self, pipelines: Pipelines, registers: Hierarchy, written: Callable[[int, int], None],
                 retired: Callable[[TraceUop], None], probe: Probe) -> None:
        self._pipelines = pipelines
        self._registers = registers
        self._written = written
        self._retired = retired
        self._probe = probe
        self._pointer = 0

    def next_cycle(self, cycle: int) -> int:
        """The next cycle after `cycle` in which a result can be written."""
        best = NEVER
        for queue in self._pipelines.results:
            if queue and queue[0][0] < best:
                best = queue[0][0]
        return max(best, cycle + 1)

    def step(self, cycle: int) -> None:
        """Write what can be written."""
        results = self._pipelines.results
        units = self._pipelines.pending
        unit = self._pointer
        served = False
        while units:
            unit = first_from(units, unit)
            units &= ~(1 << unit)
            queue = results[unit]
            ready, uop = queue[0]
            if ready > cycle:
                continue
            if uop.written < uop.count:
                register = uop.destination + uop.written
                if not self._registers.write(uop, register, uop.values[uop.written]):
                    self._wait(unit, uop, register)
                    continue
                uop.written += 1
                self._written(uop.warp, 1 << register)
            if not served:
                self._pointer = (unit + 1) % len(Unit)
                served = True
            if uop.written == uop.count:
                self._pipelines.finish(unit, cycle)
                if uop.predicates_written:
                    self._written(uop.warp, uop.predicates_written << PREDICATE_BIT)
                self._retired(uop)

    def _wait(self, unit: int, uop: TraceUop, register: int) -> None:
        self._probe.counters["rf.write_wait"] += 1
        if self._probe.sink is not None:
            self._probe.emit("write_wait", unit, self._registers.bank_of(uop.warp, register))
