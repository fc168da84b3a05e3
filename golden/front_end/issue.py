"""Issue: every warp's status, the stall reason of a cycle, and the effects of an issued uop."""

from __future__ import annotations

from typing import Final

from warpbank.arch.events import Hazard, Stall
from warpbank.arch.uop import Memory
from warpbank.golden.front_end.instruction_buffer import InstructionBuffers
from warpbank.golden.front_end.scoreboard import Scoreboard
from warpbank.golden.stream import TraceUop

_FENCE: Final = Memory.FENCE


class Status:
    """Issue status of the warps at the clock edge, as one bit mask per reason: which can issue, and why the
    others cannot.

    In hardware the masks are combinational from registers. Here a warp's bits are recomputed only when
    something has changed for the warp.

    Parameters
    ----------
    buffers, scoreboard : source of the warps' first uops and of their hazards.
    """

    def __init__(self, buffers: InstructionBuffers, scoreboard: Scoreboard) -> None:
        self._buffers = buffers
        self._scoreboard = scoreboard
        self.changed = 0  # warps whose bits must be recomputed
        self.here = 0  # warps that have uops left to issue and do not wait at a barrier
        self.live = 0  # warps that have uops left to issue
        self.at_barrier = 0
        self.fenced = 0  # warps that issue nothing until their fence has retired
        self.ready = 0  # first uop has no hazard
        self.free = 0  # ... and needs no collector
        self.scoreboard = 0
        self.memory = 0
        self.distant = 0  # warps of `memory` that wait for a result from beyond the SM
        self.fetch = 0
        self.enters = 0  # first uop's extra bit can be served: no operand is still to be read

    def update(self) -> None:
        """Recompute the bits of the changed warps."""
        changed = self.changed
        self.changed = 0
        keep = ~changed
        ready, free = self.ready & keep, self.free & keep
        scoreboard, memory, fetch = self.scoreboard & keep, self.memory & keep, self.fetch & keep
        distant, enters = self.distant & keep, self.enters & keep
        here = self.here = self.live & ~self.at_barrier
        changed &= here
        while changed:
            bit = changed & -changed
            changed ^= bit
            warp = bit.bit_length() - 1
            entries = self._buffers.entries[warp]
            if not entries:
                fetch |= bit
            elif self.fenced & bit:
                memory |= bit
            else:
                uop = entries[0]
                if uop.enters:  # its hazards count from when the warp has prefetched
                    scoreboard |= bit
                    if self._scoreboard.quiet(warp):
                        enters |= bit
                    continue
                hazard = self._scoreboard.hazard(uop)
                if hazard is Hazard.NONE:
                    ready |= bit
                    if not uop.collects:
                        free |= bit
                elif hazard is Hazard.SCOREBOARD:
                    scoreboard |= bit
                else:
                    memory |= bit
                    if hazard is Hazard.DISTANT:
                        distant |= bit
        self.ready, self.free = ready, free
        self.scoreboard, self.memory, self.fetch = scoreboard, memory, fetch
        self.distant, self.enters = distant, enters

    @property
    def away(self) -> int:
        """Mask of the warps that cannot issue for long, and of those that have ended: two-level scheduling
        gives their place to others."""
        return self.distant | self.fenced | self.at_barrier | ~self.live

    def stall(self, refused: bool, active: int = -1) -> Stall:
        """Return the reason of a cycle in which nothing issued (see `warpbank.arch.events.STALLS`); `active`:
        mask of the active warps."""
        if self.ready & active:
            return Stall.UNIT_BUSY if refused else Stall.COLLECTOR_FULL
        if self.ready:
            return Stall.PENDING
        if self.scoreboard:
            return Stall.SCOREBOARD
        if self.fetch:
            return Stall.FETCH
        if self.memory:
            return Stall.MEMORY
        return Stall.BARRIER if self.at_barrier else Stall.NO_WARP

    def issue(self, uop: TraceUop) -> None:
        """Update the status for a uop that leaves the front end."""
        bit = 1 << uop.warp
        self.changed |= bit
        if uop.wait:
            self.at_barrier |= bit
        if uop.memory == _FENCE and uop.collects:
            self.fenced |= bit
        if uop.last:
            self.live &= ~bit
