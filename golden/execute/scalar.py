"""Scalar execution: the lanes that an execution unit has to clock for a uop."""

from __future__ import annotations

from typing import Final

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Scalar, Unit
from warpbank.golden.probe import Probe
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop

#: Units whose scalar uops are counted by themselves; all others are arithmetic.
_KINDS: Final = {Unit.SFU: Scalar.SFU, Unit.LSU: Scalar.MEMORY}
_ALU: Final = Scalar.ALU
_DIVERGENT: Final = Scalar.DIVERGENT
_HALF: Final = Scalar.HALF
_NONE: Final = Scalar.NONE


class ScalarLanes:
    """Lane clocking: decides from the encoding metadata of a dispatched uop's operands how many lanes execute
    it. G-Scalar, sections 4.1 to 4.3.

    One lane does if all operands are equal in the lanes of the uop. An operand whose last write was divergent
    is that only for the very lanes of that write. If each half is compressed by itself, a uop of all threads
    is executed by one lane of a half in which all operands are equal. A result that its collector has kept
    has no note (`EMPTY`): it is not known to be equal.

    Parameters
    ----------
    config : the machine.
    parts : parts of a register that are compressed each by itself.
    executes : kinds of scalar execution that the storage allows.
    probe : receives `lanes`.
    """

    def __init__(self, config: SmConfig, parts: int, executes: frozenset[Scalar], probe: Probe) -> None:
        self._parts = parts
        self._executes = executes
        self._size = config.lanes // parts
        self._clocked = probe.ports["lanes"]

    def dispatch(self, uop: TraceUop) -> bool:
        """Count the lanes of a uop that goes to its unit. Returns whether one lane executes it for all."""
        kind, lanes = self._decide(uop)
        self._clocked.emit(uop.warp, uop.seq, lanes, kind)
        return kind is not _NONE and kind is not _HALF

    def _decide(self, uop: TraceUop) -> tuple[Scalar, int]:
        mask, notes = uop.lane_mask, uop.metadata
        if uop.scalar and mask:
            kind = _DIVERGENT if uop.part else _KINDS.get(uop.unit, _ALU)
            equal = kind in self._executes
            for note in notes:
                equal = equal and note.scalar(mask)
            if equal:
                return kind, 1
            if self._parts > 1 and not uop.part:
                return self._halves(mask, notes)
        return _NONE, mask.bit_count()

    def _halves(self, mask: int, notes: list[Metadata]) -> tuple[Scalar, int]:
        """Decide for each half by itself."""
        equal = (1 << self._parts) - 1
        for note in notes:
            equal &= note.scalar_parts()
        lanes, found = 0, False
        for part in range(self._parts):
            count = (mask >> part * self._size & ((1 << self._size) - 1)).bit_count()
            alone = count > 0 and bool(equal >> part & 1)
            found |= alone
            lanes += 1 if alone else count
        return (_HALF if found else _NONE), lanes
