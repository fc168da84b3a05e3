"""The flat hierarchy: collectors read the banks, results are written into them, nothing is in between."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.parameters import SmConfig
from warpbank.golden.interfaces import Arrival, Hierarchy
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.probe import Probe
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value


class Flat(Hierarchy):
    """Flat hierarchy: all that is asked of it the main register file does. Every warp may issue and be active
    as far as its registers are concerned.

    Parameters
    ----------
    main : the main register file.
    """

    def __init__(self, main: MainRegisterFile) -> None:
        self._main, self._mapping, self._storage = main, main.mapping, main.storage
        self.may_issue = -1
        self.landing = main.storage.landing

    @property
    def may_activate(self) -> int:
        """Every warp."""
        return -1

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        return self._main.busy

    def launch(self, registers: int, exempt: int, slots: int, kept: int) -> None:
        """A launch begins."""
        self._mapping.launch(registers, exempt, slots, kept)

    def start(self, warp: int, rows: int) -> None:
        """Start a warp of a launch whose warps have `rows` rows of every bank each."""
        self._mapping.start(warp, rows)

    def activate(self, warp: int) -> None:
        """Nothing follows from it."""

    def deactivate(self, warp: int, ended: bool) -> None:
        """Nothing follows from it."""

    def before(self, uop: TraceUop) -> TraceUop | None:
        """The move that must issue in the place of a uop: before one that writes some lanes."""
        return self._main.before(uop) if uop.part else None

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""
        self._main.issue(uop)

    def prefetch(self, uop: TraceUop) -> None:
        """Nothing follows from it."""

    def begin(self) -> None:
        """Begin a cycle in which the storage is busy."""
        self._main.begin()

    def bank_of(self, writer: int, warp: int, register: int) -> int:
        """The bank a write goes to."""
        return self._main.bank_of(warp, register)

    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Write one result register (result interface); False: its bank takes no other write in this
        cycle."""
        return self._main.write(uop, register, value)

    def keep(self, warp: int, mask: int) -> None:
        """Result registers are taken by a collector only."""
        self._storage.keep(warp, mask)

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts; False: its bank takes no other write in this cycle."""
        return self._main.write_back(warp, register, value)

    def step(self) -> list[Arrival]:
        """Grant reads; returns the operands that arrive."""
        return self._main.step()

    def read(self, collector: int, slot: int, uop: TraceUop, register: int, tag: int = 0) -> None:
        """Request an operand (operand read interface)."""
        self._main.read(collector, slot, uop.warp, register, tag)

    def edge(self) -> None:
        """End a cycle in which the mapping is busy."""
        self._main.edge()


def flat(config: SmConfig, main: MainRegisterFile, quiet: Callable[[int], bool], probe: Probe) -> Flat:
    """Flat hierarchy over a main register file, which reports nothing."""
    return Flat(main)
