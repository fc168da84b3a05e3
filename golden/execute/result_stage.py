"""Result stage: the place of a result is found in the cycle before it is offered."""

from __future__ import annotations

from warpbank.arch.uop import Unit
from warpbank.golden.execute.pipelines import Pipelines
from warpbank.golden.interfaces import Hierarchy
from warpbank.golden.stream import TraceUop


class ResultStage:
    """Stage between the units' result queues and the result arbiter, under a hierarchy that has to find where
    a result goes (`Hierarchy.looks_ahead`).

    A uop comes into its unit's stage in the cycle before its result is there, if the unit has two cycles or
    more; in the cycle behind that in which it could be offered without the stage, if it comes from the
    load/store unit or a unit of one cycle. In that cycle the place of its first register is found, and while
    a register is offered that of the next one. So a register that is not taken when it is offered has no
    place that is known: it is looked up again, and offered in the cycle behind that.

    Parameters
    ----------
    pipelines : units whose uops come.
    registers : hierarchy that finds the places.

    Attributes
    ----------
    offering : mask of the units that offer a register in this cycle, or a uop without registers.
    """

    def __init__(self, pipelines: Pipelines, registers: Hierarchy) -> None:
        self._pipelines, self._registers = pipelines, registers
        self._staged = 0  # mask of the units whose oldest uop is in the stage
        self._uops: list[TraceUop | None] = [None] * len(Unit)
        self.offering = 0

    def next_cycle(self, unit: int, cycle: int) -> int:
        """Return the next cycle in which something happens to a unit that has a uop."""
        if self._staged >> unit & 1:
            return cycle + 1
        pipelines = self._pipelines
        return pipelines.results[unit][0][0] - pipelines.early[unit]

    def step(self, cycle: int, taken: int) -> None:
        """Look for the places of what may be offered in the next cycle; `taken`: mask of the units of which a
        register, or a uop, was taken in this one."""
        results, early = self._pipelines.results, self._pipelines.early
        units = self._pipelines.pending | self._staged
        while units:
            bit = units & -units
            units ^= bit
            unit = bit.bit_length() - 1
            queue = results[unit]
            if self._staged & bit:
                uop = self._uops[unit]
                assert uop is not None
                if queue and queue[0][1] is uop:
                    if self.offering & bit and not taken & bit:
                        self.offering &= ~bit
                    else:
                        self._registers.find(uop, uop.destination + uop.written)
                        self.offering |= bit
                    continue
                self._staged &= ~bit
                self.offering &= ~bit
            if queue and queue[0][0] <= cycle + early[unit]:
                uop = self._uops[unit] = queue[0][1]
                self._staged |= bit
                self.offering |= bit
                if uop.count:
                    self._registers.find(uop, uop.destination)
