"""The operand checker: an architectural state of its own, built in program order, against what the register
file delivers."""

from __future__ import annotations

import numpy as np

from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value
from warpbank.program.trace.schema import Trace


class OperandMismatch(Exception):
    """The register file under test delivered a wrong operand. The message names everything that identifies
    it."""

    def __init__(
        self,
        kernel: str,
        cta: int,
        warp: int,
        uop: TraceUop,
        register: int,
        lane: int,
        expected: int,
        found: int,
        text: str,
    ) -> None:
        super().__init__(
            f"Operand mismatch in kernel {kernel}, CTA {cta}, warp {warp} (sub-core {uop.sub_core}, slot "
            f"{uop.warp}), pc {uop.pc} ({text.strip()}): register R{register}, lane {lane}: expected "
            f"{expected:#010x}, found {found:#010x}."
        )
        self.kernel, self.cta, self.warp, self.pc = kernel, cta, warp, uop.pc
        self.register, self.lane, self.expected, self.found = register, lane, expected, found


class Checker:
    """Compares nothing: what runs without a check has.

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
    """Compares every operand at dispatch with the value that program order gives it.

    Uops issue in program order, so the state at a uop's issue is the state it must read, whatever the
    register file does later. Compared are the active lanes that the warp has written before: a register that
    was never written has no defined value.

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
        self._rows = [[0] * warps for _ in range(sub_cores)]

    def start(self, sub_core: int, warp: int, row: int) -> None:
        """A warp (row of `trace.warps`) starts in this slot: nothing is written yet."""
        self._values[sub_core][warp] = [None] * 256
        self._written[sub_core][warp] = [0] * 256
        self._rows[sub_core][warp] = row

    def issue(self, uop: TraceUop) -> None:
        """Note what the uop must read, then let it write."""
        values = self._values[uop.sub_core][uop.warp]
        written = self._written[uop.sub_core][uop.warp]
        uop.expected = [(values[register], written[register]) for register in uop.sources]
        mask = uop.lane_mask
        register = uop.destination
        for value in uop.values:
            before = values[register]
            if before is not None and written[register] & ~mask:
                value = _overlay(before, value, mask)
            values[register] = value
            written[register] |= mask
            register += 1

    def dispatch(self, uop: TraceUop) -> None:
        """Compare the operands that were collected. Raises OperandMismatch."""
        self.checked += len(uop.operands)
        for slot, found in enumerate(uop.operands):
            expected, written = uop.expected[slot]
            if found is expected:
                continue
            lanes = uop.lane_mask & written
            if lanes and expected is not None:
                self._compare(uop, slot, lanes, expected, found)

    def _compare(self, uop: TraceUop, slot: int, lanes: int, expected: Value, found: Value) -> None:
        different = np.flatnonzero(found != expected).tolist()
        for lane in different:
            if lanes >> lane & 1:
                trace = self._trace
                row = trace.warps[self._rows[uop.sub_core][uop.warp]]
                kernel = trace.kernels[int(trace.launches[int(row["launch"])]["kernel"])]
                raise OperandMismatch(
                    kernel,
                    int(row["cta"]),
                    int(row["index"]),
                    uop,
                    uop.sources[slot],
                    lane,
                    int(expected[lane]),
                    int(found[lane]),
                    trace.text[uop.pc],
                )


def _overlay(before: Value, value: Value, mask: int) -> Value:
    """`value` over `before` on the lanes of `mask`; written apart from the banks' merge, so that one does not
    hide the other."""
    result = before.copy()
    for lane in range(len(result)):
        if mask >> lane & 1:
            result[lane] = value[lane]
    return result
