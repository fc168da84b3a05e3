"""Plain storage: a row of a bank is a warp register, written with a mask per lane."""

from __future__ import annotations

import numpy as np

from warpbank.arch.parameters import SubCoreConfig
from warpbank.golden.values import Value, merge


class Banks:
    """Single-ported banks with lane write masks. A row holds anything before it is first written (zeros
    here).

    Latency: a read is registered (address in one cycle, data in the next); a write is there in the next
    cycle.

    Parameters
    ----------
    config : banks and rows.
    lanes : lanes of a warp register.
    """

    def __init__(self, config: SubCoreConfig, lanes: int) -> None:
        blank: Value = np.zeros(lanes, np.uint32)
        self._rows: list[list[Value]] = [[blank] * config.rows for _ in range(config.banks)]
        self._all = (1 << lanes) - 1

    def read(self, bank: int, row: int) -> Value:
        """Content of a row."""
        return self._rows[bank][row]

    def write(self, bank: int, row: int, mask: int, value: Value) -> None:
        """Replace the lanes of `mask`."""
        rows = self._rows[bank]
        rows[row] = value if mask == self._all else merge(rows[row], value, mask)

    def poison(self, bank: int, row: int, value: Value) -> None:
        """Poison a row that is of no use any more: it reads as `value`."""
        self._rows[bank][row] = value
