"""Interfaces between the rooms of a register file, as protocols that the units of each room fulfil.
docs/architecture.md defines them.

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
    """Register mapping, first half of the bank interface: finds the bank and row of a register."""

    def start(self, warp: int, row: int) -> None:
        """Place a new warp's registers from `row` of every bank on."""

    def locate(self, warp: int, register: int) -> tuple[int, int]:
        """Return the (bank, row) of a register."""


class Storage(Protocol):
    """Register storage, second half of the bank interface: the banks, with one access per bank and cycle. The
    caller keeps to that."""

    def read(self, bank: int, row: int) -> Value:
        """Return the content of a row at the clock edge."""

    def write(self, bank: int, row: int, mask: int, value: Value) -> None:
        """Write the lanes of `mask` of a row."""


class SharedStorage(Storage, Protocol):
    """Storage whose rows pass from register to register."""

    def poison(self, bank: int, row: int, value: Value) -> None:
        """Make a row read as `value` until it is written again: its content is nobody's."""


class CompressedStorage(Storage, Protocol):
    """Storage that keeps a register in fewer bytes where it can, with encoding metadata for each row."""

    parts: int  # parts of a register that are compressed each by itself
    executes: frozenset[Scalar]  # kinds of scalar execution that follow from its metadata

    def note(self, bank: int, row: int) -> Metadata:
        """Return the encoding metadata of a row."""

    def write(self, bank: int, row: int, mask: int, value: Value, fill: Fill = Fill.WHOLE) -> None:
        """Write the lanes of `mask` of a row; `fill`: how far they fill their register."""

    def describe(self, value: Value, mask: int, fill: Fill) -> Metadata:
        """Return the encoding metadata for a write of the lanes of `mask`; `fill`: how far they fill their
        register."""

    def keep(self, bank: int, row: int, mask: int, value: Value, note: Metadata) -> None:
        """Write the lanes of `mask` of a row, and keep `note` as the row's metadata."""

    def arrays_read(self, note: Metadata) -> int:
        """Return the number of arrays that a read of a register with this metadata activates."""

    def arrays_written(self, note: Metadata, mask: int) -> int:
        """Return the number of arrays that a write of the lanes of `mask` with this metadata activates."""


class Hierarchy(Protocol):
    """Register file below the collectors: serves the operand read interface, and takes results and evicted
    values by the result interface.

    Members
    -------
    moves : decompress moves that must issue before some uops; None: there are none.
    land : called first in a cycle where results take longer than one; returns each (warp, register) that has
        now been written. None: a result is written in the cycle in which it is taken.
    dispatched : called with every dispatched uop and its collector; returns whether one lane executes the
        uop. None: nobody is told.
    follows : the sub-core reports activations, and every uop that issues (`activate`, `deactivate`, `issue`).
    """

    moves: DecompressMoves | None
    land: Callable[[], list[tuple[int, int]]] | None
    dispatched: Callable[[TraceUop, int], bool] | None
    follows: bool

    @property
    def may_issue(self) -> int:
        """Mask of the warps whose registers are where an issued uop can read them."""

    @property
    def may_activate(self) -> int:
        """Mask of the warps that could be activated."""

    def activate(self, warp: int) -> None:
        """Take note that a warp becomes active."""

    def deactivate(self, warp: int, ended: bool) -> None:
        """Take note that a warp is no longer active; `ended`: it has issued its last uop."""

    def prefetch(self, uop: TraceUop) -> None:
        """Take a PREFETCH that issues."""

    def issue(self, uop: TraceUop) -> None:
        """Take note of a uop that issues, PREFETCH included."""

    def start(self, warp: int, row: int) -> None:
        """Place a new warp's registers from `row` of every bank on."""

    @property
    def busy(self) -> bool:
        """Whether the hierarchy has something to do in the next cycle."""

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """Request an operand; `tag` names the uop among those of its collector."""

    def bank_of(self, warp: int, register: int) -> int:
        """Return the bank that a write goes to."""

    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Offer one result register. Returns whether it was written in this cycle."""

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Offer a value that a collector evicts, all lanes. Returns whether it was written in this cycle."""

    def step(self) -> list[tuple[int, int, int, Value]]:
        """Do one cycle of reads, after the cycle's writes. Returns the operands that arrive at the collectors
        as (collector, slot, tag, value), at most one per collector."""


class Units(Protocol):
    """Execution units as a collector sees them through the dispatch interface."""

    def accepts(self, unit: int, cycle: int) -> bool:
        """Return whether the unit takes a uop in this cycle."""

    def next_cycle(self, unit: int, cycle: int) -> int:
        """Return the next cycle after `cycle` in which the unit takes a uop, if nothing else happens
        before."""

    def dispatch(self, uop: TraceUop, collector: int, cycle: int) -> None:
        """Take a uop whose operands are in `uop.operands`."""


class Collector(Protocol):
    """Operand collectors of a sub-core: take uops by the issue interface, give them to the units by the
    dispatch interface, and may keep results from the result interface."""

    any_ready: int  # mask of the units for which a complete uop waits
    caches: bool  # keeps results and evicts values; else `claim` and the members after it are not called
    busy: bool  # has something to do in the next cycle, whatever else happens

    @property
    def may_issue(self) -> int:
        """Mask of the warps whose next uop would be taken in this cycle."""

    @property
    def may_slide(self) -> int:
        """Mask of the warps that may issue a uop that needs no collector."""

    @property
    def holds(self) -> int:
        """Mask of the warps that have values in a collector."""

    def waits(self, ready: int) -> bool:
        """Return whether a warp of the mask `ready`, whose next uop needs a collector, is kept from a free
        one."""

    def wait(self) -> None:
        """Count a cycle in which nothing issues and a warp `waits`."""

    def adapt(self, sthld: int) -> None:
        """Set the number of cycles for which `waits` holds."""

    def start(self, warp: int) -> None:
        """Take note that a new warp starts in this slot."""

    def edge(self) -> int:
        """End the cycle at the clock edge. Returns the number of uops in collection from the next cycle
        on."""

    def allocate(self, uop: TraceUop) -> None:
        """Take an issued uop."""

    def slide(self, warp: int) -> None:
        """Take note that the warp issues a uop that needs no collector."""

    def deliver(self, collector: int, slot: int, tag: int, value: Value) -> None:
        """Take an operand that arrives; `tag` names the uop among those of the collector."""

    def dispatch(self, cycle: int, pipelines: Units) -> bool:
        """Dispatch complete uops to their units. Returns whether a unit refused one."""

    def claim(self, offers: list[tuple[int, TraceUop, int]]) -> tuple[int, int]:
        """Choose among the results that are offered in this cycle, given as (unit, uop, register) in the
        order in which units are looked at. Returns two masks of units: those that have to wait, and those
        whose result is written into a collector only."""

    def result(self, unit: int, uop: TraceUop, register: int, value: Value) -> None:
        """Take a unit's result that is written in this cycle. It goes into its bank as well, unless `claim`
        said otherwise."""

    @property
    def evicted(self) -> tuple[int, int, Value] | None:
        """Value that is offered to the banks in this cycle: (warp, register, value)."""

    def written_back(self) -> None:
        """Take note that the banks took `evicted`."""

    def next_cycle(self, cycle: int, pipelines: Units) -> int:
        """Return the next cycle after `cycle` in which a complete uop finds its unit free."""
