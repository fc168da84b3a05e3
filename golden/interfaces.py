"""Interfaces of a register file: one abstract class for the units of each room, declared in full.

A scheme is another class behind one of these, entered in `warpbank.golden.registry`. A hook that a unit has
no use for does nothing there; nobody asks a unit what it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from warpbank.golden.contents import Shelf
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.probe import Probe
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import NEVER, Value

#: Bank and row.
Home = tuple[int, int]
#: An operand at a collector: (collector, slot, tag, value, metadata).
Arrival = tuple[int, int, int, Value, Metadata]


class Mapping(ABC):
    """Register mapping, first half of the bank interface. What a register without a home holds is zeros, and
    what is written back to one is dropped.

    Attributes
    ----------
    busy : something happens here at the end of this cycle, or in the next one; else `edge` has nothing to do.
    lacking : mask of the warps whose first uop cannot issue for want of physical registers.
    choosing : mask of those whose first uop waits until physical registers have been chosen for it.
    blanks : a register that comes into a cache without content is written there as zeros.
    served : mask of the warps of the CTA that is served first.
    released : homes that became free in this cycle.
    dropped : (warp, register) that had them.
    """

    busy: bool
    lacking: int
    choosing: int
    blanks: bool
    served: int
    released: list[Home]
    dropped: list[tuple[int, int]]

    @abstractmethod
    def launch(self, registers: int, exempt: int, slots: int, kept: int) -> bool:
        """A launch begins: registers per thread, mask of those that are not renamed, warp slots that it may
        use, physical registers that are kept for one CTA. Returns whether what is still on its way, of warps
        that have ended, has lost its home."""

    @abstractmethod
    def start(self, warp: int, rows: int) -> None:
        """Start a warp of a launch whose warps have `rows` rows of every bank each."""

    @abstractmethod
    def serve(self, warps: int) -> bool:
        """Serve the CTA of these warps first, from the next cycle on. Returns whether that changes what any
        warp lacks."""

    @abstractmethod
    def end(self, warp: int) -> None:
        """The warp drains in this cycle."""

    @abstractmethod
    def home(self, warp: int, register: int) -> Home | None:
        """Bank and row of a register; None: it has none."""

    @abstractmethod
    def content(self, warp: int, register: int) -> Home | None:
        """Bank and row of a register whose content is wanted in a cache, or leaves one; None: there is
        nothing to be moved."""

    @abstractmethod
    def ask(self, collector: int, slot: int, warp: int, register: int, tag: int) -> Home | None:
        """An operand is wanted. Returns where it is; None: `edge` will say."""

    @abstractmethod
    def look(self, first: list[list[TraceUop]], here: int, new: int = 0) -> bool:
        """Look at the warps' first uops, and at the mask of those that have uops to issue and do not wait at
        a barrier: sets `lacking` and `choosing`. `new`: mask of the warps that have issued, or whose buffer
        was empty, in the cycle before. Returns whether the next cycle would see the same."""

    @abstractmethod
    def settle(self, here: int) -> None:
        """The cycle is one in which these warps were there."""

    @abstractmethod
    def missing(self, uop: TraceUop) -> int:
        """Mask of a uop's destinations that have no home, the first one lowest."""

    @abstractmethod
    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""

    @abstractmethod
    def cached(self, uop: TraceUop) -> None:
        """A uop issues whose sources are all read in a cache."""

    @abstractmethod
    def operand_read(self, warp: int, register: int) -> None:
        """An operand no longer hinders a write (scoreboard release interface)."""

    @abstractmethod
    def result_written(self, warp: int, mask: int) -> None:
        """Registers and predicates have been written (scoreboard release interface)."""

    @abstractmethod
    def moved(self, registers: list[int]) -> None:
        """Registers set off between their homes and a cache, in one cycle."""

    @abstractmethod
    def hold(self, warp: int, register: int) -> None:
        """From now on the register is on its way: its home is not released."""

    @abstractmethod
    def let_go(self, warp: int, register: int) -> None:
        """The register has arrived."""

    @abstractmethod
    def dead_value(self, warp: int, register: int) -> None:
        """A value of a register without a home has been dropped."""

    @abstractmethod
    def edge(self) -> Sequence[tuple[int, int, int, Home | None]]:
        """End the cycle at the clock edge. Returns the operands that have been found, as
        (collector, slot, tag, home)."""

    @abstractmethod
    def holding(self, warp: int) -> str:
        """Description of the registers that a warp has, for the message of a deadlock."""

    def contents(self) -> list[Shelf]:
        """Entries of the mapping's table, by warp, for a drawing; none if places are computed."""
        return []


class Storage(ABC):
    """Register storage, second half of the bank interface: the banks, and the stages before and behind them.
    One access per bank and cycle; the main register file sees to it.

    Attributes
    ----------
    busy : something is in its stages; else `begin` and `step` have nothing to do.
    read_delay : cycles by which an operand comes later than its bank delivers it.
    write_delay : cycles from taking a write to its end, if it waits for nothing.
    late : cycles by which a bank is accessed after it has been given out, for a storage that reports its
        accesses.
    landing : (warp, mask) of registers that no longer hinder anybody, once this cycle's results are written;
        whoever takes note of it clears it.
    """

    busy: bool
    read_delay: int
    write_delay: int
    late: int
    landing: list[tuple[int, int]]

    @abstractmethod
    def arbiter(self, probe: Probe) -> Arbiter:
        """The read queues of its banks."""

    # --- Reads.

    @abstractmethod
    def operand(self, bank: int, row: int) -> tuple[Value, Metadata]:
        """A read that the arbiter granted."""

    @abstractmethod
    def fetch(self, bank: int, row: int) -> tuple[Value, Metadata]:
        """A read for a cache."""

    # --- Writes.

    @abstractmethod
    def begin(self) -> int:
        """A cycle begins in which the storage is busy. Returns the mask of the banks that take no result in
        it."""

    @abstractmethod
    def describe(self, uop: TraceUop, value: Value) -> Metadata:
        """The metadata of a result."""

    @abstractmethod
    def encode(self, value: Value, compress: bool) -> Metadata:
        """The metadata of a value of all lanes, which is kept as it is unless `compress`."""

    @abstractmethod
    def result(self, bank: int, row: int, uop: TraceUop, register: int, value: Value) -> None:
        """A result of a uop is taken."""

    @abstractmethod
    def keep(self, warp: int, mask: int) -> None:
        """Results are taken by a collector and by no bank."""

    @abstractmethod
    def write_back(self, bank: int, row: int, warp: int, register: int, value: Value, compress: bool) -> None:
        """A value that leaves a collector or a cache is taken, all lanes; kept as it is unless `compress`."""

    @abstractmethod
    def put(self, bank: int, row: int, mask: int, value: Value, metadata: Metadata) -> None:
        """Lanes of a register come from a cache, or in its place, with their metadata."""

    @abstractmethod
    def written(self, taken: int) -> int:
        """Mask of the banks that are written in this cycle; `taken`: of those that took something."""

    @abstractmethod
    def poison(self, bank: int, row: int) -> None:
        """Nobody is to read this row before it is written again."""

    @abstractmethod
    def poisoned(self, value: Value) -> Value:
        """Value that a cache holds in the place of a register that nobody is to read."""

    @abstractmethod
    def step(self) -> None:
        """The end of a cycle's accesses."""

    # --- Uops.

    @abstractmethod
    def before(self, uop: TraceUop, missing: int) -> TraceUop | None:
        """The move that must issue in the place of a uop that has no hazard; `missing`: mask of its
        destinations that have nothing to lose in the banks."""

    @abstractmethod
    def issue(self, uop: TraceUop, missing: int) -> None:
        """A uop issues; `missing`: mask of its destinations that were nowhere, the first one lowest."""

    @abstractmethod
    def dispatched(self, uop: TraceUop) -> bool:
        """A uop goes to its unit. Returns whether one lane executes it."""

    def content(self, bank: int, row: int) -> tuple[Value, str] | None:
        """Value of a row and how it is encoded ("" if as it is), for a drawing; None: the storage does not
        tell."""
        return None


class Hierarchy(ABC):
    """Register hierarchy: serves the operand read interface, and takes results by the result interface.

    Attributes
    ----------
    may_issue : mask of the warps whose registers are where they have to be, at the clock edge.
    landing : (warp, mask) of registers that no longer hinder anybody, once this cycle's results are written;
        whoever takes note of it clears it.
    looks_ahead : the place of a result is found (`find`) in the cycle before it is offered (`write`).
    strands : the compiler says what the cache holds, so that a warp keeps its row until its strand ends.
    """

    looks_ahead: bool = False
    strands: bool = False
    may_issue: int
    landing: list[tuple[int, int]]

    @property
    @abstractmethod
    def may_activate(self) -> int:
        """Mask of the warps that could be activated."""

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether the hierarchy has something to do in the next cycle."""

    def next_cycle(self, soon: int) -> int:
        """The first cycle from `soon`, the next one, on in which the hierarchy may do anything by itself."""
        return soon if self.busy else NEVER

    # --- Warps and uops.

    @abstractmethod
    def launch(self, registers: int, exempt: int, slots: int, kept: int) -> None:
        """A launch begins (see `Mapping.launch`)."""

    @abstractmethod
    def start(self, warp: int, rows: int) -> None:
        """Start a warp of a launch whose warps have `rows` rows of every bank each."""

    @abstractmethod
    def activate(self, warp: int) -> None:
        """The warp becomes active."""

    @abstractmethod
    def deactivate(self, warp: int, ended: bool) -> None:
        """The warp is not active any more; `ended`: it has issued its last uop."""

    @abstractmethod
    def before(self, uop: TraceUop) -> TraceUop | None:
        """The move that must issue in the place of a uop that has no hazard."""

    @abstractmethod
    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""

    @abstractmethod
    def prefetch(self, uop: TraceUop) -> None:
        """A PREFETCH issues, besides; or the uop's extra bit is served."""

    # --- A cycle, in order.

    @abstractmethod
    def begin(self) -> None:
        """A cycle begins in which the storage is busy."""

    def find(self, uop: TraceUop, register: int) -> None:
        """Find where a result register goes that its unit may offer in the next cycle, if the hierarchy
        `looks_ahead`."""

    @abstractmethod
    def bank_of(self, writer: int, warp: int, register: int) -> int:
        """Return the bank that a unit's offer asks for, or, behind the units, that of an evicted value."""

    @abstractmethod
    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Offer one result register. Returns whether it was written in this cycle."""

    @abstractmethod
    def keep(self, warp: int, mask: int) -> None:
        """Result registers are taken by a collector only."""

    @abstractmethod
    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Offer a value that a collector evicts, all lanes. Returns whether it was written in this cycle."""

    @abstractmethod
    def step(self) -> list[Arrival]:
        """The cycle's reads, after its writes; returns what arrives at the collectors, at most one operand
        per collector."""

    @abstractmethod
    def read(self, collector: int, slot: int, uop: TraceUop, register: int, tag: int = 0) -> None:
        """Request the operand of a uop's slot; `tag`: which of the collector's uops it is."""

    @abstractmethod
    def edge(self) -> None:
        """End a cycle in which the mapping is busy, at the clock edge."""

    def contents(self) -> list[Shelf]:
        """Registers in the cache, by row, for a drawing; none if there is no cache."""
        return []


class Units(ABC):
    """Execution units as a collector sees them through the dispatch interface."""

    @abstractmethod
    def accepts(self, unit: int, cycle: int) -> bool:
        """Return whether the unit takes a uop in this cycle."""

    @abstractmethod
    def next_cycle(self, unit: int, cycle: int) -> int:
        """Return the next cycle after `cycle` in which the unit takes a uop, if nothing else happens
        before."""

    @abstractmethod
    def dispatch(self, uop: TraceUop, collector: int, cycle: int) -> None:
        """Take a uop; its operands are in `uop.operands`, with `uop.metadata`."""


class Collector(ABC):
    """Operand collectors of a sub-core: from issue to dispatch, and the results that they keep.

    Attributes
    ----------
    any_ready : units for which a complete uop waits.
    may_issue : mask of the warps whose next uop would be taken in this cycle.
    may_slide : mask of the warps that may issue a uop that needs no collector.
    holds : mask of the warps that have cached values here.
    caches : takes results, and evicts values; else `claim` and what follows it are not called.
    adapts : the time that warps wait for it can follow the IPC (`adapt`).
    """

    any_ready: int
    may_issue: int
    may_slide: int
    holds: int
    caches: bool
    adapts: bool

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Something happens here in the next cycle, whatever else does."""

    @abstractmethod
    def waits(self, ready: int) -> bool:
        """Return whether a warp of the mask `ready`, whose next uop needs a collector, is kept from a free
        one."""

    @abstractmethod
    def wait(self) -> None:
        """Count a cycle in which nothing issues and a warp `waits`."""

    @abstractmethod
    def adapt(self, sthld: int) -> None:
        """Set the number of cycles for which `waits` holds."""

    @abstractmethod
    def start(self, warp: int) -> None:
        """Take note that a new warp starts in this slot."""

    def launch(self) -> None:
        """A launch begins, and all warps of the one before have ended. Whoever evicts values drops them,
        since their rows may be somebody else's from now on."""

    @abstractmethod
    def edge(self) -> int:
        """End the cycle at the clock edge. Returns the number of uops in collection from the next cycle
        on."""

    @abstractmethod
    def allocate(self, uop: TraceUop) -> None:
        """Take an issued uop."""

    @abstractmethod
    def slide(self, warp: int) -> None:
        """Take note that the warp issues a uop that needs no collector."""

    @abstractmethod
    def deliver(self, collector: int, slot: int, tag: int, value: Value, metadata: Metadata) -> None:
        """An operand arrives."""

    @abstractmethod
    def dispatch(self, cycle: int, pipelines: Units) -> bool:
        """Dispatch complete uops to their units. Returns whether a unit refused one."""

    @abstractmethod
    def claim(self, offers: list[tuple[int, TraceUop, int]]) -> tuple[int, int]:
        """Choose among the results that are offered in this cycle, given as (unit, uop, register) in the
        order in which units are looked at. Returns two masks of units: those that have to wait, and those
        whose result is written into a collector only."""

    @abstractmethod
    def result(self, unit: int, uop: TraceUop, register: int, value: Value) -> None:
        """Take a unit's result that is written in this cycle. It goes into its bank as well, unless `claim`
        said otherwise."""

    @property
    @abstractmethod
    def evicted(self) -> tuple[int, int, Value] | None:
        """Value that is offered to the banks in this cycle: (warp, register, value)."""

    @abstractmethod
    def written_back(self) -> None:
        """Take note that the banks took `evicted`."""

    @abstractmethod
    def next_cycle(self, cycle: int, pipelines: Units) -> int:
        """Return the next cycle after `cycle` in which a complete uop finds its unit free."""

    def contents(self) -> list[Shelf]:
        """Values that the collectors keep for later uops, by collector, for a drawing; none if they keep
        none."""
        return []
