"""Storage with a scalar bank: a register whose lanes are all equal is one word there, and not in its own
bank."""

from __future__ import annotations

import numpy as np

from warpbank.arch.parameters import SubCoreConfig
from warpbank.arch.uop import Scalar
from warpbank.golden.values import Value, merge, poison


class ScalarRf:
    """Plain banks, a scalar bank with a word for every register, and a bit for each that tells where it is.
    G-Scalar, section 4.1, on the scalar register file that it is compared with.

    Latency: as `Banks`.

    Parameters
    ----------
    config : banks and rows.
    lanes : lanes of a warp register.
    """

    #: Kinds of scalar execution.
    executes: frozenset[Scalar] = frozenset({Scalar.ALU})

    def __init__(self, config: SubCoreConfig, lanes: int) -> None:
        blank: Value = np.zeros(lanes, np.uint32)
        self._rows: list[list[Value]] = [[blank] * config.rows for _ in range(config.banks)]
        self._words = [[0] * config.rows for _ in range(config.banks)]
        self._scalar = [[False] * config.rows for _ in range(config.banks)]
        self._lanes = lanes
        self._pattern = poison(lanes)

    def holds(self, bank: int, row: int) -> bool:
        """Whether the register of this row is in the scalar bank."""
        return self._scalar[bank][row]

    def read(self, bank: int, row: int) -> Value:
        """Content of a row."""
        return self._rows[bank][row]

    def read_scalar(self, bank: int, row: int) -> Value:
        """The word of this row's register, in all lanes."""
        return np.full(self._lanes, self._words[bank][row], np.uint32)

    def write(self, bank: int, row: int, mask: int, value: Value) -> None:
        """Replace the lanes of `mask`."""
        self._rows[bank][row] = merge(self._rows[bank][row], value, mask)
        self._scalar[bank][row] = False

    def poison(self, bank: int, row: int) -> None:
        """Nobody is to read this row before it is written again: it reads as `POISON`, from the bank that had
        its register."""
        self._rows[bank][row] = self._pattern
        self._words[bank][row] = int(self._pattern[0])

    def write_scalar(self, bank: int, row: int, word: int) -> None:
        """Replace all lanes by one word."""
        self._words[bank][row] = word
        self._scalar[bank][row] = True
