"""Golden model of the zero-register storage."""

from __future__ import annotations

from warpbank.arch.parameters import SmConfig
from warpbank.golden.probe import Probe
from warpbank.golden.storage.arrays import WORD_LANES, groups
from warpbank.golden.storage.banks import Banks
from warpbank.golden.storage.compressor import SCALAR
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.values import Value, lane_select


class ZeroRegisters(Banks):
    """Plain banks with a bit per row that tells that all lanes are zero.

    A row of zeros is written and read without its arrays. A write of some lanes into such a row, if not all
    of them are zero, writes the zeros of the other lanes as well, since the arrays hold an older value.

    Latency: that of `Banks`.

    Parameters
    ----------
    config : the machine.
    probe : receives `array_read`, `array_write`.
    """

    def __init__(self, config: SmConfig, probe: Probe) -> None:
        super().__init__(config.sub_core, config.lanes)
        self._zero = [0] * config.sub_core.banks  # by bank: mask of the rows of zeros
        self._lanes, self._probe = config.lanes, probe

    def operand(self, bank: int, row: int) -> tuple[Value, Metadata]:
        """Content of a row, for a collector."""
        self._count("array_read", bank, self._is_zero(bank, row), self._all, self._all)
        return super().operand(bank, row)

    def fetch(self, bank: int, row: int) -> tuple[Value, Metadata]:
        """Content of a row, for a cache."""
        self._count("array_read", bank, self._is_zero(bank, row), self._all, self._all)
        return super().fetch(bank, row)

    def write(self, bank: int, row: int, mask: int, value: Value) -> None:
        """Replace the lanes of `mask`, and follow whether all lanes are zero."""
        before = self._is_zero(bank, row)
        zero = not value[lane_select(mask, self._lanes)].any() and (before or mask == self._all)
        self._zero[bank] = self._zero[bank] & ~(1 << row) | zero << row
        self._count("array_write", bank, zero, self._all if before else mask, mask)
        super().write(bank, row, mask, value)

    def write_back(self, bank: int, row: int, warp: int, register: int, value: Value, compress: bool) -> None:
        """Replace all lanes."""
        self.write(bank, row, self._all, value)

    def _is_zero(self, bank: int, row: int) -> bool:
        return bool(self._zero[bank] >> row & 1)

    def _count(self, event: str, bank: int, zero: bool, lanes: int, plain: int) -> None:
        """Report an access: the arrays of `lanes`, none if it is one of zeros; `plain` in plain banks."""
        arrays = 0 if zero else groups(lanes, WORD_LANES)
        cycle = self._probe.cycle + self.late
        code = SCALAR if zero else 0
        self._probe.emit_at(cycle, event, bank, False, code, arrays, groups(plain, WORD_LANES))
