"""Direct mapping: a warp's registers lie in rows of their own, spread over the banks."""

from __future__ import annotations

from collections.abc import Sequence

from warpbank.arch.parameters import SubCoreConfig
from warpbank.golden.interfaces import Home, Mapping
from warpbank.golden.probe import Probe
from warpbank.golden.stream import TraceUop


class Direct(Mapping):
    """Bank (register + warp) mod banks; row: warp times the rows of a warp + register / banks. Combinational.

    Adding the warp number puts the same register of neighbouring warps into different banks (GPGPU-Sim's
    swizzle). Every register has its home from start to end, so that nothing follows from what uops do.

    Parameters
    ----------
    config : warps, banks.
    probe : receives nothing.
    """

    def __init__(self, config: SubCoreConfig, probe: Probe) -> None:
        self._bank_mask = config.banks - 1
        self._shift = config.banks.bit_length() - 1
        self._rows = 0  # of a warp, in the launch whose warps started last
        self.busy = False
        self.lacking = self.choosing = 0
        self.blanks = False
        self.served = 0
        self.released = []
        self.dropped = []

    def launch(self, registers: int, exempt: int, slots: int, kept: int) -> bool:
        """Begin a launch; what is on its way goes on."""
        return False

    def start(self, warp: int, rows: int) -> None:
        """Start a warp of a launch whose warps have `rows` rows of every bank each. They hold for all warp
        slots."""
        self._rows = rows

    def serve(self, warps: int) -> bool:
        """Serve every warp alike: none lacks anything."""
        return False

    def end(self, warp: int) -> None:
        """Nothing follows from it."""

    def home(self, warp: int, register: int) -> Home | None:
        """(bank, row) of a register."""
        return (register + warp) & self._bank_mask, warp * self._rows + (register >> self._shift)

    def content(self, warp: int, register: int) -> Home | None:
        """(bank, row) of a register."""
        return self.home(warp, register)

    def ask(self, collector: int, slot: int, warp: int, register: int, tag: int) -> Home | None:
        """(bank, row) of a register, at once."""
        return self.home(warp, register)

    def look(self, first: list[list[TraceUop]], here: int, new: int = 0) -> bool:
        """Nobody lacks anything."""
        return True

    def settle(self, here: int) -> None:
        """Nothing follows from it."""

    def missing(self, uop: TraceUop) -> int:
        """Every destination has a home."""
        return 0

    def issue(self, uop: TraceUop) -> None:
        """Nothing follows from it."""

    def cached(self, uop: TraceUop) -> None:
        """Nothing follows from it."""

    def operand_read(self, warp: int, register: int) -> None:
        """Nothing follows from it."""

    def result_written(self, warp: int, mask: int) -> None:
        """Nothing follows from it."""

    def moved(self, registers: list[int]) -> None:
        """Take note of a register that sets off: its home is computed."""

    def hold(self, warp: int, register: int) -> None:
        """Nothing is released."""

    def let_go(self, warp: int, register: int) -> None:
        """Nothing is released."""

    def dead_value(self, warp: int, register: int) -> None:
        """Every value has a home."""

    def edge(self) -> Sequence[tuple[int, int, int, Home | None]]:
        """Every operand has been found already."""
        return ()

    def holding(self, warp: int) -> str:
        """Nothing that others lack."""
        return ""
