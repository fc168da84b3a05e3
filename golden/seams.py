"""What crosses the seams of a register file: the interfaces that the units of each room fulfil (DESIGN, section 4).

A scheme is another class behind one of these, entered in `golden.rooms`.
"""

from __future__ import annotations

from typing import Protocol

from .stream import TraceUop
from .values import Value


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


class Hierarchy(Protocol):
    """Seams 2 and 4: operands for the collectors, results from the execution units."""

    def start(self, warp: int, row: int) -> None:
        """A new warp's registers may lie from `row` of every bank on."""

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""

    def read(self, collector: int, slot: int, warp: int, register: int) -> None:
        """Request an operand."""

    def bank_of(self, warp: int, register: int) -> int:
        """The bank a write goes to."""

    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Offer one result register; whether it was taken in this cycle."""

    def step(self) -> list[tuple[int, int, Value]]:
        """One cycle of reads, after its writes; returns what arrives at the collectors: (collector, slot, value), at most one
        per collector."""


class Units(Protocol):
    """Seam 3: what a collector sees of the execution units."""

    def accepts(self, unit: int, cycle: int) -> bool:
        """Whether the unit takes a uop in this cycle."""

    def next_cycle(self, unit: int, cycle: int) -> int:
        """The next cycle after `cycle` in which it does."""

    def dispatch(self, uop: TraceUop, collector: int, cycle: int) -> None:
        """Take a uop; its operands are in `uop.operands`."""


class Collector(Protocol):
    """Seams 1 and 3: from issue to dispatch."""

    any_ready: int  # units for which a complete uop waits

    @property
    def may_issue(self) -> int:
        """Mask of the warps whose next uop would be taken in this cycle."""

    @property
    def holds(self) -> int:
        """Mask of the warps that have cached values here."""

    def edge(self) -> int:
        """The clock edge at the end of a cycle. Returns how many collectors are occupied from now on."""

    def allocate(self, uop: TraceUop) -> None:
        """Take an issued uop."""

    def deliver(self, collector: int, slot: int, value: Value) -> tuple[int, int]:
        """An operand arrives. Returns (warp, register), which the scoreboard counts as read."""

    def dispatch(self, cycle: int, pipelines: Units) -> bool:
        """Give complete uops to their units. Returns whether a unit refused one."""

    def next_cycle(self, cycle: int, pipelines: Units) -> int:
        """The next cycle after `cycle` in which a complete uop finds its unit free."""
