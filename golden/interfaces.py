"""What crosses the seams of a register file: the interfaces that the units of each room fulfil (DESIGN,
section 4).

A scheme is another class behind one of these, entered in `warpbank.golden.registry`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from warpbank.arch.uop import Scalar
from warpbank.golden.storage.decompress_moves import DecompressMoves
from warpbank.golden.storage.metadata import Fill, Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value


class Mapping(Protocol):
    """Seam 5, first half: where a register is."""

    def start(self, warp: int, row: int) -> None:
        """A new warp's registers may lie from `row` of every bank on."""

    def locate(self, warp: int, register: int) -> tuple[int, int]:
        """(bank, row) of a register."""


class Storage(Protocol):
    """Seam 5, second half: the banks. One access per bank and cycle; the caller sees to it."""

    def read(self, bank: int, row: int) -> Value:
        """Content of a row at the clock edge."""

    def write(self, bank: int, row: int, mask: int, value: Value) -> None:
        """Replace the lanes of `mask`."""


class SharedStorage(Storage, Protocol):
    """Banks whose rows change hands."""

    def poison(self, bank: int, row: int, value: Value) -> None:
        """Nobody is to read this row before it is written again: from now on it reads as `value`."""


class CompressedStorage(Storage, Protocol):
    """Banks that keep a register in fewer bytes where they can, and note how."""

    parts: int  # of a register, which are compressed by themselves
    executes: frozenset[Scalar]  # kinds of scalar execution that follow from its notes

    def note(self, bank: int, row: int) -> Metadata:
        """What is noted of a row."""

    def write(self, bank: int, row: int, mask: int, value: Value, fill: Fill = Fill.WHOLE) -> None:
        """Replace the lanes of `mask`."""

    def describe(self, value: Value, mask: int, fill: Fill) -> Metadata:
        """What is to be noted of the lanes of `mask`, which fill their register so."""

    def keep(self, bank: int, row: int, mask: int, value: Value, note: Metadata) -> None:
        """Replace the lanes of `mask`; the row is noted as `note`."""

    def arrays_read(self, note: Metadata) -> int:
        """Arrays that a read of a register with this note activates."""

    def arrays_written(self, note: Metadata, mask: int) -> int:
        """Arrays that a write of the lanes of `mask` with this note activates."""


class Hierarchy(Protocol):
    """Seams 2 and 4: operands for the collectors, results from the execution units."""

    moves: DecompressMoves | None  # moves that must issue before some uops
    land: (
        Callable[[], list[tuple[int, int]]] | None
    )  # first of a cycle, where results take longer: (warp, register) now written
    dispatched: (
        Callable[[TraceUop, int], bool] | None
    )  # called with every uop dispatched and its collector: does one lane do it?
    # wants to be told of activations and of what issues: `activate`, `deactivate`, `prefetch`, `issue`
    follows: bool

    @property
    def may_issue(self) -> int:
        """Mask of the warps whose registers are where they have to be."""

    @property
    def may_activate(self) -> int:
        """Mask of the warps that could be activated."""

    def activate(self, warp: int) -> None:
        """The warp becomes active."""

    def deactivate(self, warp: int, ended: bool) -> None:
        """The warp is not active any more; `ended`: it has issued its last uop."""

    def prefetch(self, uop: TraceUop) -> None:
        """A PREFETCH issues."""

    def issue(self, uop: TraceUop) -> None:
        """Any other uop issues."""

    def start(self, warp: int, row: int) -> None:
        """A new warp's registers may lie from `row` of every bank on."""

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """Request an operand; `tag`: which of the collector's uops it is for."""

    def bank_of(self, warp: int, register: int) -> int:
        """The bank a write goes to."""

    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Offer one result register; whether it was taken in this cycle."""

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Offer a value that a collector evicts, all lanes; whether it was taken in this cycle."""

    def step(self) -> list[tuple[int, int, int, Value]]:
        """One cycle of reads, after its writes; returns what arrives at the collectors: (collector, slot,
        tag, value), at most one per collector."""


class Units(Protocol):
    """Seam 3: what a collector sees of the execution units."""

    def accepts(self, unit: int, cycle: int) -> bool:
        """Whether the unit takes a uop in this cycle."""

    def next_cycle(self, unit: int, cycle: int) -> int:
        """The next cycle after `cycle` in which it does."""

    def dispatch(self, uop: TraceUop, collector: int, cycle: int) -> None:
        """Take a uop; its operands are in `uop.operands`."""


class Collector(Protocol):
    """Seams 1, 3 and 4: from issue to dispatch, and what of the results is kept."""

    any_ready: int  # units for which a complete uop waits
    caches: bool  # takes results, and evicts values; else `claim` and what follows it are not called
    busy: bool  # something happens here in the next cycle, whatever else does

    @property
    def may_issue(self) -> int:
        """Mask of the warps whose next uop would be taken in this cycle."""

    @property
    def may_slide(self) -> int:
        """Mask of the warps that may issue a uop that needs no collector."""

    @property
    def holds(self) -> int:
        """Mask of the warps that have cached values here."""

    def waits(self, ready: int) -> bool:
        """Whether a warp of the mask `ready`, whose next uop needs a collector, is kept from one that is
        free."""

    def wait(self) -> None:
        """Nothing issues in a cycle in which somebody `waits`."""

    def adapt(self, sthld: int) -> None:
        """From now on `waits` holds for so many cycles."""

    def start(self, warp: int) -> None:
        """A new warp starts in this slot."""

    def edge(self) -> int:
        """The clock edge at the end of a cycle. Returns how many uops are in collection from now on."""

    def allocate(self, uop: TraceUop) -> None:
        """Take an issued uop."""

    def slide(self, warp: int) -> None:
        """The warp issues a uop that needs no collector."""

    def deliver(self, collector: int, slot: int, tag: int, value: Value) -> None:
        """An operand arrives."""

    def dispatch(self, cycle: int, pipelines: Units) -> bool:
        """Give complete uops to their units. Returns whether a unit refused one."""

    def claim(self, offers: list[tuple[int, TraceUop, int]]) -> tuple[int, int]:
        """Results that are offered in this cycle, as (unit, uop, register) in the order in which units are
        looked at. Returns masks of units: those that have to wait, and those whose result goes nowhere but
        here."""

    def result(self, unit: int, uop: TraceUop, register: int, value: Value) -> None:
        """A unit's result is written in this cycle (also into its bank, unless `claim` said otherwise)."""

    @property
    def evicted(self) -> tuple[int, int, Value] | None:
        """The value that is offered to the banks in this cycle: (warp, register, value)."""

    def written_back(self) -> None:
        """The banks took `evicted`."""

    def next_cycle(self, cycle: int, pipelines: Units) -> int:
        """The next cycle after `cycle` in which a complete uop finds its unit free."""
