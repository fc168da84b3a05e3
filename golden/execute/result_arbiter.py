"""Result arbiter: chooses the units whose results are written in a cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from warpbank.arch.uop import Unit
from warpbank.golden.execute.pipelines import Pipelines
from warpbank.golden.execute.result_stage import ResultStage
from warpbank.golden.interfaces import Collector, Hierarchy
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.stream import PREDICATE_BIT, TraceUop
from warpbank.golden.values import NEVER

#: What the collectors evict is a writer behind the units.
_EVICTED: Final = len(Unit)
_WRITERS: Final = len(Unit) + 1


class ResultArbiter:
    """Result arbiter of a sub-core: the head of each unit's result queue offers one register per cycle to its
    bank, and a bank takes one write per cycle.

    Units are looked at in rotating order, starting after the first one that was served in the last cycle that
    served any. A wide result takes one cycle per register; one without registers retires without a bank.

    Collectors that keep results (BOC, CCU) are asked first, all of them at once: a result that cannot have
    its collector's port waits and does not ask for a bank; one that goes into the collector only needs no
    bank. What such collectors evict is one more writer, the last in the rotation.

    Over a hierarchy that looks ahead (`Hierarchy.looks_ahead`) units offer what has passed a `ResultStage`.

    Parameters
    ----------
    pipelines : whose results are written.
    registers, collectors : where they go.
    written : scoreboard release interface, called with (warp, hazard mask, whether into a collector only) for
        every register and predicate written.
    retired : called with every uop whose last write is done.
    probe : receives `retire`, `write_wait`.
    """

    def __init__(
        self,
        pipelines: Pipelines,
        registers: Hierarchy,
        collectors: Collector,
        written: Callable[[int, int, bool], None],
        retired: Callable[[TraceUop], None],
        probe: Probe,
    ) -> None:
        self._pipelines = pipelines
        self._registers = registers
        self._collectors = collectors
        self._written = written
        self._retired = retired
        self._probe = probe
        self._pointer = 0
        self._stage = ResultStage(pipelines, registers) if registers.looks_ahead else None

    def next_cycle(self, cycle: int) -> int:
        """Return the next cycle after `cycle` in which a result can be written."""
        best, stage = NEVER, self._stage
        for unit, queue in enumerate(self._pipelines.results):
            if queue:
                best = min(best, queue[0][0] if stage is None else stage.next_cycle(unit, cycle))
        return max(best, cycle + 1)

    def step(self, cycle: int) -> None:
        """Write the results that find their bank or collector free."""
        results = self._pipelines.results
        collectors, stage = self._collectors, self._stage
        units = self._pipelines.pending if stage is None else stage.offering
        held = absorbed = served = 0
        if collectors.caches:
            held, absorbed = collectors.claim(self._offers(cycle, units))
            units &= ~held
            if collectors.evicted is not None:
                units |= 1 << _EVICTED
        unit = self._pointer
        while units:
            unit = first_from(units, unit)
            units &= ~(1 << unit)
            if unit == _EVICTED:
                taken = self._evict()
            else:
                ready, uop = results[unit][0]
                taken = ready <= cycle and self._write(unit, uop, cycle, bool(absorbed >> unit & 1))
            if taken:
                if not served:
                    self._pointer = (unit + 1) % _WRITERS
                served |= 1 << unit
        if stage is not None:
            stage.step(cycle, served)

    def _offers(self, cycle: int, units: int) -> list[tuple[int, TraceUop, int]]:
        """The registers that these units offer, in the order in which they are looked at."""
        offers = []
        unit = self._pointer
        while units:
            unit = first_from(units, unit)
            units &= ~(1 << unit)
            ready, uop = self._pipelines.results[unit][0]
            if ready <= cycle and uop.written < uop.count:
                offers.append((unit, uop, uop.destination + uop.written))
        return offers

    def _evict(self) -> bool:
        """Write what the collectors evict."""
        evicted = self._collectors.evicted
        assert evicted is not None
        warp, register, value = evicted
        if self._registers.write_back(warp, register, value):
            self._collectors.written_back()
            return True
        self._wait(_EVICTED, warp, register)
        return False

    def _write(self, unit: int, uop: TraceUop, cycle: int, absorbed: bool) -> bool:
        """Write the next register of a unit's oldest uop; `absorbed`: into its collector only. Returns
        whether it was."""
        if uop.written < uop.count:
            register = uop.destination + uop.written
            value = uop.values[uop.written]
            if not absorbed and not self._registers.write(uop, register, value):
                self._wait(unit, uop.warp, register)
                return False
            if self._collectors.caches:
                self._collectors.result(unit, uop, register, value)
            uop.written += 1
            self._written(uop.warp, 1 << register, absorbed)
        if uop.written == uop.count:
            self._pipelines.finish(unit, cycle)
            if uop.predicates_written:
                self._written(uop.warp, uop.predicates_written << PREDICATE_BIT, False)
            self._retired(uop)
        return True

    def _wait(self, unit: int, warp: int, register: int) -> None:
        self._probe.emit("write_wait", unit, self._registers.bank_of(unit, warp, register))
