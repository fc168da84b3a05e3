"""The scoreboard: which registers and predicates of each warp are still to be written or read."""

from __future__ import annotations

from warpbank.arch.parameters import SubCoreConfig
from warpbank.arch.uop import DISTANT, Control, Unit
from warpbank.golden.stream import PREDICATE_BIT, TraceUop

_REGISTERS = (1 << PREDICATE_BIT) - 1
_PREFETCH, _LSU = Control.PREFETCH, Unit.LSU


class Scoreboard:
    """Per warp: pending writes (RAW, WAW), those of them that the load/store unit owes, registers among these
    that come from beyond the SM, and pending operand reads (WAR).

    A register has at most one pending write (a second one would be a WAW hazard), but any number of pending
    reads, which are counted. Predicates are read at issue, so they have no WAR hazard.

    Latency: what is set or released in cycle t counts from t + 1.
    """

    def __init__(self, config: SubCoreConfig) -> None:
        self.writes = [0] * config.warps
        self.memory = [0] * config.warps
        self.distant = [0] * config.warps
        self.reads = [0] * config.warps
        self._readers: list[dict[int, int]] = [{} for _ in range(config.warps)]

    def quiet(self, warp: int) -> bool:
        """All operands of the warp's issued uops have been read."""
        return not self.reads[warp]

    def pending(self, warp: int) -> int:
        """Mask of the warp's registers and predicates that are still to be written."""
        return self.writes[warp]

    def hazard(self, uop: TraceUop) -> int:
        """What keeps the uop from issuing: 0 nothing, 1 a hazard of the register file and units, 2 one with a
        result of the load/store unit, 3 one with a result from beyond the SM."""
        warp = uop.warp
        pending = self.writes[warp] & uop.hazard
        if pending:
            if pending & self.distant[warp]:
                return 3
            return 2 if pending & self.memory[warp] else 1
        if uop.control is _PREFETCH:  # places change under the operands that are still to be read
            return 1 if self.reads[warp] else 0
        return 1 if self.reads[warp] & uop.writes else 0

    def issue(self, uop: TraceUop) -> None:
        """Reserve what the uop reads and writes."""
        warp = uop.warp
        self.writes[warp] |= uop.writes
        if uop.unit is _LSU:
            self.memory[warp] |= uop.writes
            if uop.memory in DISTANT:
                self.distant[warp] |= uop.writes & _REGISTERS
        readers = self._readers[warp]
        for register in uop.sources:
            readers[register] = readers.get(register, 0) + 1
            self.reads[warp] |= 1 << register

    def read(self, warp: int, register: int) -> None:
        """An operand was read (seam 6)."""
        readers = self._readers[warp]
        readers[register] -= 1
        if not readers[register]:
            self.reads[warp] &= ~(1 << register)

    def written(self, warp: int, mask: int) -> None:
        """Registers and predicates in `mask` have been written (seam 6)."""
        self.writes[warp] &= ~mask
        self.memory[warp] &= ~mask
        self.distant[warp] &= ~mask
