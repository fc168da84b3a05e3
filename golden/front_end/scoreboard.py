"""Scoreboard: the registers and predicates of each warp that are still to be written or read."""

from __future__ import annotations

from typing import Final

from warpbank.arch.events import Hazard
from warpbank.arch.parameters import SubCoreConfig
from warpbank.arch.uop import DISTANT, Control, Unit
from warpbank.golden.stream import PREDICATE_BIT, TraceUop

_REGISTERS: Final = (1 << PREDICATE_BIT) - 1
_PREFETCH: Final = Control.PREFETCH
_LSU: Final = Unit.LSU


class Scoreboard:
    """Scoreboard of a sub-core's warps: pending writes (RAW, WAW) and pending operand reads (WAR). Among the
    writes it tells apart those that the load/store unit owes, and those that come from beyond the SM.

    A register has at most one pending write (a second one would be a WAW hazard), but any number of pending
    reads, which are counted. Predicates are read at issue, so they have no WAR hazard.

    Latency: what is set or released in cycle t counts from t + 1.
    """

    def __init__(self, config: SubCoreConfig) -> None:
        self.writes = [0] * config.warps
        self.memory = [0] * config.warps
        self.distant = [0] * config.warps
        self.reads = [0] * config.warps
        self._readers = [[0] * PREDICATE_BIT for _ in range(config.warps)]
        # Compiled, `masks[warp] |= bits` works on boxed numbers, so below the item is read and written.

    def quiet(self, warp: int) -> bool:
        """Return whether all operands of the warp's issued uops have been read."""
        return not self.reads[warp]

    def pending(self, warp: int) -> int:
        """Return the mask of the warp's registers and predicates that are still to be written."""
        return self.writes[warp]

    def hazard(self, uop: TraceUop) -> Hazard:
        """Return the hazard that keeps the uop from issuing."""
        warp = uop.warp
        pending = self.writes[warp] & uop.hazard
        if pending:
            if pending & self.distant[warp]:
                return Hazard.DISTANT
            return Hazard.MEMORY if pending & self.memory[warp] else Hazard.SCOREBOARD
        if uop.control is _PREFETCH:  # places change under the operands that are still to be read
            return Hazard.SCOREBOARD if self.reads[warp] else Hazard.NONE
        return Hazard.SCOREBOARD if self.reads[warp] & uop.writes else Hazard.NONE

    def issue(self, uop: TraceUop) -> None:
        """Reserve the registers and predicates that the uop reads and writes."""
        warp = uop.warp
        writes, readers, reads = uop.writes, self._readers[warp], self.reads[warp]
        if writes:
            self.writes[warp] = self.writes[warp] | writes
            if uop.unit is _LSU:
                self.memory[warp] = self.memory[warp] | writes
                if uop.memory in DISTANT:
                    self.distant[warp] = self.distant[warp] | writes & _REGISTERS
        for register in uop.sources:
            readers[register] = readers[register] + 1
            reads |= 1 << register
        self.reads[warp] = reads

    def read(self, warp: int, register: int) -> None:
        """Release an operand that has been read (scoreboard release interface)."""
        readers = self._readers[warp]
        left = readers[register] - 1
        readers[register] = left
        if not left:
            self.reads[warp] = self.reads[warp] & ~(1 << register)

    def written(self, warp: int, mask: int) -> None:
        """Release the registers and predicates in `mask`, which have been written (scoreboard release
        interface)."""
        self.writes[warp] = self.writes[warp] & ~mask
        if self.memory[warp]:
            self.memory[warp] = self.memory[warp] & ~mask
            self.distant[warp] = self.distant[warp] & ~mask
