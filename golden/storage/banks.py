"""Plain storage: a row of a bank is a warp register, written with a mask per lane."""

from __future__ import annotations

import numpy as np

from warpbank.arch.parameters import SmConfig, SubCoreConfig
from warpbank.golden.interfaces import Storage
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.probe import Probe
from warpbank.golden.storage.metadata import EMPTY, Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge, poison


class Banks(Storage):
    """Single-ported banks with lane write masks. A row holds anything before it is first written (zeros
    here). Nothing is known of a value besides.

    Latency: a read is registered (address in one cycle, data in the next); a write is there in the next
    cycle.

    Parameters
    ----------
    config : banks and rows.
    lanes : lanes of a warp register.
    """

    def __init__(self, config: SubCoreConfig, lanes: int) -> None:
        blank: Value = np.zeros(lanes, np.uint32)
        self.busy = False
        self.read_delay = self.write_delay = self.late = 0
        self.landing = []
        self._banks = config.banks
        self._rows: list[list[Value]] = [[blank] * config.rows for _ in range(config.banks)]
        self._all = (1 << lanes) - 1
        self._pattern = poison(lanes)

    def arbiter(self, probe: Probe) -> Arbiter:
        """A queue per bank."""
        return Arbiter(self._banks, probe)

    def read(self, bank: int, row: int) -> Value:
        """Content of a row."""
        return self._rows[bank][row]

    def operand(self, bank: int, row: int) -> tuple[Value, Metadata]:
        """Content of a row, for a collector."""
        return self._rows[bank][row], EMPTY

    def fetch(self, bank: int, row: int) -> tuple[Value, Metadata]:
        """Content of a row, for a cache."""
        return self._rows[bank][row], EMPTY

    def write(self, bank: int, row: int, mask: int, value: Value) -> None:
        """Replace the lanes of `mask`."""
        rows = self._rows[bank]
        rows[row] = value if mask == self._all else merge(rows[row], value, mask)

    def begin(self) -> int:
        """Every bank takes a result."""
        return 0

    def describe(self, uop: TraceUop, value: Value) -> Metadata:
        """Nothing is known of a result."""
        return EMPTY

    def encode(self, value: Value, compress: bool) -> Metadata:
        """Nothing is known of a value."""
        return EMPTY

    def result(self, bank: int, row: int, uop: TraceUop, register: int, value: Value) -> None:
        """Replace the lanes of a uop, at once."""
        self.write(bank, row, uop.lane_mask, value)
        self.landing.append((uop.warp, 1 << register))

    def keep(self, warp: int, mask: int) -> None:
        """A result that no bank takes is no later than one that a bank does."""
        self.landing.append((warp, mask))

    def write_back(self, bank: int, row: int, warp: int, register: int, value: Value, compress: bool) -> None:
        """Replace all lanes."""
        self._rows[bank][row] = value

    def put(self, bank: int, row: int, mask: int, value: Value, metadata: Metadata) -> None:
        """Replace the lanes of `mask`."""
        self.write(bank, row, mask, value)

    def written(self, taken: int) -> int:
        """Mask of the banks that are written: what a bank takes it writes at once."""
        return taken

    def content(self, bank: int, row: int) -> tuple[Value, str]:
        """Content of a row, which is encoded in no way."""
        return self._rows[bank][row], ""

    def poison(self, bank: int, row: int) -> None:
        """The row reads as `POISON`."""
        self._rows[bank][row] = self._pattern

    def poisoned(self, value: Value) -> Value:
        """`POISON` in every lane."""
        return self._pattern

    def step(self) -> None:
        """Nothing is left of a cycle."""

    def before(self, uop: TraceUop, missing: int) -> TraceUop | None:
        """No lane can be lost."""
        return None

    def issue(self, uop: TraceUop, missing: int) -> None:
        """Nothing follows from it."""

    def dispatched(self, uop: TraceUop) -> bool:
        """Every lane works."""
        return False


def banks(config: SmConfig, probe: Probe) -> Banks:
    """Plain storage of a machine, which reports nothing."""
    return Banks(config.sub_core, config.lanes)
