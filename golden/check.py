"""Operand checker: compares what the register file delivers with an architectural state built in program
order."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from warpbank.arch.uop import MOVE
from warpbank.golden.errors import OperandMismatch
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value
from warpbank.program.trace.schema import Trace


class Checker:
    """Checker that compares nothing, of a machine that runs without a check.

    Attributes
    ----------
    checked : operands that were compared.
    """

    def __init__(self) -> None:
        self.checked = 0

    def start(self, sub_core: int, warp: int, row: int) -> None:
        """A warp (row of `trace.warps`) starts in this slot."""

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""

    def dispatch(self, uop: TraceUop) -> None:
        """A uop goes to its unit with its operands."""


class OperandChecker(Checker):
    """Checker that compares every operand at dispatch with the value that program order gives it.

    Uops issue in program order, so the state at a uop's issue is the state it must read, whatever the
    register file does later. Compared are the active lanes that the warp has written before: a register that
    was never written has no defined value.

    A decompress move copies all lanes, whether or not anybody needs them. Of a register that was declared
    dead it is compared on those that have been written since: the others may be gone with a physical register
    that was released. A partial write that no lane needs the old value of takes no move, so that the other
    lanes may be gone, too. A uop of the program is compared on all of them nevertheless, since it reads what
    it needs.

    Parameters
    ----------
    trace : for the names in messages.
    sub_cores, warps : sub-cores and warp slots of each.
    """

    def __init__(self, trace: Trace, sub_cores: int, warps: int) -> None:
        super().__init__()
        self._trace = trace
        self._values: list[list[list[Value | None]]] = [[[None] * 256] * warps for _ in range(sub_cores)]
        self._written: list[list[list[int]]] = [[[0] * 256] * warps for _ in range(sub_cores)]
        #: Lanes of them that were written before the register was last declared dead, or written by a uop
        #: that nobody needs the old value behind, and not since.
        self._lost: list[list[dict[int, int]]] = [[{} for _ in range(warps)] for _ in range(sub_cores)]
        self._rows = [[0] * warps for _ in range(sub_cores)]

    def start(self, sub_core: int, warp: int, row: int) -> None:
        """Forget the values of a slot, in which a warp (row of `trace.warps`) starts."""
        self._values[sub_core][warp] = [None] * 256
        self._written[sub_core][warp] = [0] * 256
        self._lost[sub_core][warp] = {}
        self._rows[sub_core][warp] = row

    def issue(self, uop: TraceUop) -> None:
        """Record the values that an issued uop must read, then apply its writes."""
        values = self._values[uop.sub_core][uop.warp]
        written = self._written[uop.sub_core][uop.warp]
        uop.expected = [(values[register], written[register]) for register in uop.sources]
        lost = self._lost[uop.sub_core][uop.warp]
        if lost or uop.dead or uop.releases or uop.fresh:
            self._lose(uop, written, lost)
        mask = uop.lane_mask
        register = uop.destination
        for value in uop.values:
            before = values[register]
            if before is not None and written[register] & ~mask:
                value = _overlay(before, value, mask)
            values[register] = value
            written[register] |= mask
            register += 1

    def _lose(self, uop: TraceUop, written: list[int], lost: dict[int, int]) -> None:
        """Note the lanes that a uop's dead registers lose, and those that it writes anew, but for the lanes
        that it writes; take them off what a move is compared on."""
        if uop.seq & MOVE:
            register = uop.destination
            uop.expected = [(uop.expected[0][0], written[register] & ~lost.get(register, 0))]
            return
        for slot, register in enumerate(uop.sources):
            if uop.dead >> slot & 1:
                lost[register] = written[register]
        if uop.releases and uop.mask:
            for register in range(uop.releases.bit_length()):
                if uop.releases >> register & 1:
                    lost[register] = written[register]
        for register in range(uop.destination, uop.destination + uop.count):
            gone = (written[register] if uop.fresh else lost.get(register, 0)) & ~uop.lane_mask
            if gone:
                lost[register] = gone
            else:
                lost.pop(register, None)

    def dispatch(self, uop: TraceUop) -> None:
        """Compare the operands of a dispatched uop. Raises OperandMismatch."""
        self.checked += len(uop.operands)
        for slot, found in enumerate(uop.operands):
            expected, written = uop.expected[slot]
            if found is expected:
                continue
            lanes = uop.lane_mask & written
            if lanes and expected is not None:
                self._compare(uop, slot, lanes, expected, found)

    def _compare(self, uop: TraceUop, slot: int, lanes: int, expected: Value, found: Value) -> None:
        different = (_number(found) ^ _number(expected)) & _words(lanes)
        if not different:
            return
        lane = ((different & -different).bit_length() - 1) // 32
        trace = self._trace
        row = trace.warps[self._rows[uop.sub_core][uop.warp]]
        kernel = trace.kernels[int(trace.launches[int(row["launch"])]["kernel"])]
        raise OperandMismatch(
            kernel,
            int(row["cta"]),
            int(row["index"]),
            uop.sub_core,
            uop.warp,
            uop.pc,
            uop.sources[slot],
            lane,
            int(expected[lane]),
            int(found[lane]),
            trace.text[uop.pc],
        )


# What follows is written apart from what the register file does with values (`warpbank.golden.values`), so
# that neither hides a fault of the other.


def _number(value: Value) -> int:
    """Return a register as one number, lane 0 lowest."""
    return int.from_bytes(value.astype("<u4", copy=False).tobytes(), "little")


@lru_cache(maxsize=4096)
def _words(mask: int) -> int:
    """Return all 32 bits of the lanes of a mask, as one number."""
    return sum(0xFFFFFFFF << 32 * lane for lane in range(mask.bit_length()) if mask >> lane & 1)


def _overlay(before: Value, value: Value, mask: int) -> Value:
    """Return `value` over `before` on the lanes of `mask`."""
    result = before.copy()
    lanes = _lanes(mask & (1 << len(result)) - 1)
    result[lanes] = value[lanes]
    return result


@lru_cache(maxsize=4096)
def _lanes(mask: int) -> np.ndarray:
    """Return the numbers of the lanes of a mask."""
    return np.array([lane for lane in range(mask.bit_length()) if mask >> lane & 1], np.intp)
