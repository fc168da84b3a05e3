"""Operand collector units (OCU): they hold an issued uop until its operands have come from the banks."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Unit
from warpbank.golden.interfaces import Collector, Hierarchy, Units
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.storage.metadata import EMPTY, Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import NEVER, Value


class Ocu(Collector):
    """Operand collectors of a sub-core. Malekeh, section II; BOW, section II.

    A free collector is chosen by rotating priority (the paper: at random). All reads of a uop are requested
    when it is allocated, in slot order. A collector has a single port: one operand per cycle (the arbiter
    sees to it).

    Issue interface: `may_issue`, `holds`, `allocate`. Operand read interface: `deliver`. Dispatch interface:
    `dispatch`.

    Parameters
    ----------
    config : collectors, slots, allocation.
    registers : where operands are read.
    read : scoreboard release interface, called with (warp, register) for every operand that has been read.
    probe : receives `allocate`, `deliver`.

    Latency: allocated in t, requests at the banks in t + 1, an operand granted in g is delivered in g + 1 and
    its uop can be dispatched in g + 2; a uop without operands in t + 1. A collector dispatched in t can be
    allocated again in t + 1.
    """

    caches = False
    adapts = False

    def __init__(
        self, config: SmConfig, registers: Hierarchy, read: Callable[[int, int], None], probe: Probe
    ) -> None:
        core = config.sub_core
        self._count = core.collectors
        self._per_warp = core.collector.allocation == "per_warp"
        self._everyone = (1 << core.warps) - 1
        self.holds = 0  # an OCU forgets everything
        self.may_slide = self._everyone
        self._registers = registers
        self._read = read
        self._allocated, self._delivered = probe.ports["allocate"], probe.ports["deliver"]
        self._probe = probe
        self._uops: list[TraceUop | None] = [None] * core.collectors
        self.free = (1 << core.collectors) - 1
        self._free_at_edge = self.free
        self._pointer = 0
        self.ready = [0] * len(Unit)  # per unit, collectors whose uop is complete
        self._occupied = 0
        self.any_ready = 0  # units for which a collector is ready
        self._pointers = [0] * len(Unit)
        self.may_issue = self.free if self._per_warp else self._everyone

    @property
    def busy(self) -> bool:
        """Nothing happens here by itself."""
        return False

    def edge(self) -> int:
        """Start the next cycle. Returns the number of collectors that are occupied."""
        free = self.free
        if free != self._free_at_edge:
            self._free_at_edge = free
            self.may_issue = free if self._per_warp else self._everyone if free else 0
            self._occupied = self._count - free.bit_count()
        return self._occupied

    def waits(self, ready: int) -> bool:
        """Return False: no warp waits while a collector is free."""
        return False

    def wait(self) -> None:
        """Do nothing: no warp waits while a collector is free."""

    def adapt(self, sthld: int) -> None:
        """Ignore the waiting time: no warp waits while a collector is free."""

    def start(self, warp: int) -> None:
        """Ignore a new warp: a collector keeps no values."""

    def slide(self, warp: int) -> None:
        """Ignore a uop that needs no collector."""

    def allocate(self, uop: TraceUop) -> None:
        """Take an issued uop and request its operands."""
        if self._per_warp:
            collector = uop.warp
        else:
            collector = first_from(self._free_at_edge, self._pointer)
            self._pointer = (collector + 1) % self._count
        self.free &= ~(1 << collector)
        self._uops[collector] = uop
        sources = uop.sources
        uop.missing = len(sources)
        uop.operands = [None] * len(sources)
        uop.metadata = [EMPTY] * len(sources)
        self._allocated.emit(collector, uop.warp, uop.seq)
        if sources:
            for slot, register in enumerate(sources):
                self._registers.read(collector, slot, uop, register)
        else:
            self._complete(collector, uop)

    def _complete(self, collector: int, uop: TraceUop) -> None:
        self.ready[uop.unit] |= 1 << collector
        self.any_ready |= 1 << uop.unit

    def deliver(self, collector: int, slot: int, tag: int, value: Value, metadata: Metadata) -> None:
        """Take an operand that arrives."""
        uop = self._uops[collector]
        assert uop is not None
        uop.operands[slot] = value
        uop.metadata[slot] = metadata
        uop.missing -= 1
        if not uop.missing:
            self._complete(collector, uop)
        self._delivered.emit(collector, slot)
        self._read(uop.warp, uop.sources[slot])

    def dispatch(self, cycle: int, pipelines: Units) -> bool:
        """Dispatch one complete collector per execution unit, by rotating priority. Returns whether a unit
        refused one."""
        refused = False
        units = self.any_ready
        while units:
            unit = (units & -units).bit_length() - 1
            units &= units - 1
            if pipelines.accepts(unit, cycle):
                collector = first_from(self.ready[unit], self._pointers[unit])
                self._pointers[unit] = (collector + 1) % self._count
                bit = 1 << collector
                self.ready[unit] &= ~bit
                if not self.ready[unit]:
                    self.any_ready &= ~(1 << unit)
                self.free |= bit
                uop = self._uops[collector]
                assert uop is not None
                self._uops[collector] = None
                pipelines.dispatch(uop, collector, cycle)
            else:
                refused = True
        return refused

    def next_cycle(self, cycle: int, pipelines: Units) -> int:
        """Return the next cycle after `cycle` in which a complete collector finds its unit free."""
        best = NEVER
        units = self.any_ready
        while units:
            unit = (units & -units).bit_length() - 1
            units &= units - 1
            best = min(best, pipelines.next_cycle(unit, cycle))
        return best

    def claim(self, offers: list[tuple[int, TraceUop, int]]) -> tuple[int, int]:
        """Return two empty masks: no result is kept."""
        return 0, 0

    def result(self, unit: int, uop: TraceUop, register: int, value: Value) -> None:
        """Ignore a result that is written."""

    @property
    def evicted(self) -> tuple[int, int, Value] | None:
        """Value for the banks: always None, since nothing is evicted."""
        return None

    def written_back(self) -> None:
        """Do nothing: no value is evicted."""
