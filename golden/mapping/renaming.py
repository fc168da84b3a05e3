"""Register renaming: registers share the banks' rows, each has one only from its first write to its last
read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from warpbank.arch.parameters import SubCoreConfig
from warpbank.arch.uop import MAX_DESTINATIONS
from warpbank.golden.contents import Kept, Shelf
from warpbank.golden.interfaces import Home, Mapping
from warpbank.golden.mapping.availability import Availability
from warpbank.golden.mapping.deadlock_reserve import DeadlockReserve
from warpbank.golden.mapping.exempt import Exempt
from warpbank.golden.mapping.operand_lookup import OperandLookup
from warpbank.golden.mapping.release import Release
from warpbank.golden.mapping.table import RenamingTable
from warpbank.golden.probe import Probe
from warpbank.golden.stream import PREDICATE_BIT, TraceUop

_REGISTERS: Final = (1 << PREDICATE_BIT) - 1
#: Cycles in which the exempt registers of a launch are counted; one more where there are stages.
COUNTED: Final = 2


class Renaming(Mapping):
    """The mapping of a sub-core by renaming. Jeon and Annavaram, CENG-2014-05, section 6.

    A register gets a physical register when a uop that writes it issues and it has none; it loses it after it
    was declared dead (`Release`). Physical register p is row p / banks of bank p mod banks. Exempt registers
    are never renamed. A source without a physical register was never written: it reads as zeros.

    Within a cycle: results are located; a uop that issues takes registers and declares others dead; names of
    operands are looked up; registers are released. All of it works on the state of the clock edge.

    Where names are looked up in cycles of their own and warps issue from a stage, what a first uop lacks is
    looked up in the cycle before its turn. In the cycle after a warp has issued, and in the first one of an
    empty buffer's uop, it is not known, and the warp may be picked; whether it lacks anything is asked again
    at its turn. How many registers are free, and how many of them are kept for whom, is what it was in the
    cycle before, less those that were taken then. A cycle later than without, registers that are taken and
    given back are counted, those of a warp that drains begin to die, and a launch's exempt ones have been
    counted.

    Parameters
    ----------
    config : warps, banks, rows, policy; whether there are stages.
    probe : receives `map`, `unmap`, `lookup`, `unwritten`.
    """

    def __init__(self, config: SubCoreConfig, probe: Probe) -> None:
        self._banks = config.banks
        self._registers = config.warp_registers
        self._probe = probe
        self._map, self._unmap, self._lookup = probe.ports["map"], probe.ports["unmap"], probe.ports["lookup"]
        self.table = RenamingTable(config.warps)
        self.exempt = Exempt()
        self.names = OperandLookup(self.table, self.exempt, config.mapping.lookup_stages)
        self.availability = Availability(
            config.warp_registers, config.mapping.policy, config.subarray_registers
        )
        self.release = Release(config.warps)
        self.reserve = DeadlockReserve(config.warps)
        self._ahead = config.mapping.lookup_stages > 0 and config.front_end.issue_stages > 0
        #: Warps served first, registers that the others leave free, free registers: those that first uops are
        #: compared with, and those of this cycle.
        self._limit = self._now = 0, 0, 0
        self._takes = 0, 0  # warp that takes registers in this cycle, and how many
        #: Warps that took or gave back registers in the cycle before, and how many, where that counts late.
        self.uncounted: list[tuple[int, int]] = []
        #: Warps that drain in this cycle, and those that drained in the one before, where that is told late.
        self._drain: list[int] = []
        self._drained: list[int] = []
        self.busy = False
        self.lacking = self.choosing = 0
        self._counting = 0  # cycles until the exempt registers of a launch have been counted
        self._launched = 0, True, 0  # what the reserve is told of it then
        self.blanks = True
        self.served = 0
        self.released = []
        self.dropped = []

    def launch(self, registers: int, exempt: int, slots: int, kept: int) -> bool:
        """A launch begins after this cycle: registers per thread, the mask of those that are not renamed,
        warp slots that it may use, registers that are kept for one CTA. All physical registers are free."""
        self.exempt.launch(exempt, slots)
        self._counting = COUNTED + self._ahead
        needs = registers - self.exempt.count
        self._launched = needs, slots * needs <= self._registers - self.exempt.reserved, kept
        self.table.launch()
        self.release.launch()
        self.busy = True
        return True

    def start(self, warp: int, rows: int) -> None:
        """A new warp: its registers are nowhere yet."""

    def serve(self, warps: int) -> bool:
        """Serve the CTA of these warps first, from the next cycle on. Returns whether that is a change."""
        changed = self.served != warps
        self.served = self.reserve.members = warps
        self.busy |= changed
        return changed

    def _place(self, physical: int) -> tuple[int, int]:
        return physical % self._banks, physical // self._banks

    def home(self, warp: int, register: int) -> Home | None:
        """(bank, row) of a register; None: it has none."""
        physical = self.exempt.find(warp, register)
        if physical is None:
            physical = self.table.find(warp, register)
        return None if physical is None else self._place(physical)

    def content(self, warp: int, register: int) -> Home | None:
        """(bank, row) of a register whose content is wanted; None: it has no physical register, or is about
        to lose it."""
        return None if self.release.dying[warp] >> register & 1 else self.home(warp, register)

    def ask(self, collector: int, slot: int, warp: int, register: int, tag: int) -> Home | None:
        """A source of a uop is asked for, in slot order: it gets its name."""
        self.names.read(collector, slot, warp, register, tag)
        self.busy = True
        return None

    def look(self, first: list[list[TraceUop]], here: int, new: int = 0) -> bool:
        """Look at the first uops of the warps, and at those that have uops to issue and do not wait at a
        barrier. What the first uops of the `new` warps lack is not known yet, where that is looked up a cycle
        ahead. Returns whether the next cycle would see the same: the warp that is served first is the one of
        the cycle before, and everything is known."""
        self._now = (*self.reserve.look(here), self.availability.free)
        if not self._ahead:
            self._limit, new = self._now, 0
        elif self._limit != self._now:
            self.busy = True
        self.lacking, self.choosing = self.short(first, new)
        return self.reserve.served(here) == self.reserve.first and not new and self._limit == self._now

    def missing(self, uop: TraceUop) -> int:
        """Mask of the destinations of a uop that have no physical register, the first one lowest."""
        have = self.table.mapped[uop.warp] | self.exempt.mask
        return ((1 << uop.count) - 1) & ~(have >> uop.destination)

    def new(self, uop: TraceUop) -> list[int]:
        """Destinations of a uop that need a physical register."""
        missing = self.missing(uop)
        return [uop.destination + place for place in range(uop.count) if missing >> place & 1]

    def short(self, first: list[list[TraceUop]], unknown: int) -> tuple[int, int]:
        """Masks of the warps whose first uop cannot issue: there is no physical register for its result, or
        those of the slot's last warp are still being released; too few have been chosen for it.

        Parameters
        ----------
        first : the uops in the warps' buffers.
        unknown : warps whose first uop has not been looked up yet; taken as one that needs no register.
        """
        served, floor, free = self._limit
        ready = self.availability.ready
        mask, choosing = self.release.ended, 0
        if free >= floor + MAX_DESTINATIONS and ready >= MAX_DESTINATIONS:
            return mask, choosing  # enough for any uop
        for warp, entries in enumerate(first):
            if entries and entries[0].count and not unknown >> warp & 1:
                count = self.missing(entries[0]).bit_count()
                if count and count + (0 if served >> warp & 1 else floor) > free:
                    mask |= 1 << warp
                if count > ready:
                    choosing |= 1 << warp
        return mask, choosing

    def settle(self, here: int) -> None:
        """The warp that is served first in this cycle goes on being that."""
        self.reserve.first = self.reserve.served(here)

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""
        self.busy = True
        warp = uop.warp
        new = self.new(uop)
        for register, physical in zip(new, self.availability.take(len(new)), strict=True):
            self.table.enter(warp, register, physical)
            bank, row = self._place(physical)
            self._map.emit(warp, register, bank, row)
        self._takes = warp, len(new)
        dead = uop.releases if uop.mask else 0
        for slot, register in enumerate(uop.sources):
            dead |= (uop.dead >> slot & 1) << register
        writes = ((1 << uop.count) - 1) << uop.destination
        self.release.issue(warp, uop.sources, writes, dead & self.table.mapped[warp])

    def operand_read(self, warp: int, register: int) -> None:
        """Release an operand that has been read (scoreboard release interface)."""
        self.release.read(warp, register)
        self.busy = True

    def result_written(self, warp: int, mask: int) -> None:
        """Release registers that have been written (scoreboard release interface)."""
        self.release.written(warp, mask & _REGISTERS)
        self.busy = True

    def cached(self, uop: TraceUop) -> None:
        """Take note of a uop that issues and reads all its sources in a cache."""
        unwritten = sum(self.home(uop.warp, register) is None for register in uop.sources)
        if unwritten:
            self._probe.emit("unwritten", unwritten)

    def moved(self, registers: list[int]) -> None:
        """Take note of registers with content that set off: they have been looked up, unless they are not
        renamed."""
        renamed = sum(not self.exempt.mask >> register & 1 for register in registers)
        if renamed:
            self._probe.emit("lookup", renamed)

    def hold(self, warp: int, register: int) -> None:
        """Hold a register: it is not released before it has arrived."""
        self.release.moving[warp] |= 1 << register

    def let_go(self, warp: int, register: int) -> None:
        """Let go of a register that has arrived."""
        self.release.moving[warp] &= ~(1 << register)

    def dead_value(self, warp: int, register: int) -> None:
        """Report a value of a released register, which is dropped."""
        self._probe.emit("dead_value", warp, register)

    def end(self, warp: int) -> None:
        """The warp drains in this cycle."""
        if self._ahead:
            self._drain.append(warp)
        else:
            self.release.end(warp, self.table.mapped[warp])
        self.busy = True

    def edge(self) -> Sequence[tuple[int, int, int, Home | None]]:
        """End the cycle at the clock edge. Returns the operands of the uop whose names are
        known."""
        looked_up, group = self.names.step()
        if looked_up:
            self._lookup.emit(looked_up)
        named: list[tuple[int, int, int, Home | None]] = []
        if group is not None:
            unwritten = 0
            for slot, _ in group.sources:
                physical = group.places[slot]
                unwritten += physical is None
                home = None if physical is None else self._place(physical)
                named.append((group.collector, slot, group.tag, home))
            if unwritten:
                self._probe.emit("unwritten", unwritten)
        for warp in self._drained:
            self.release.end(warp, self.table.mapped[warp])
        self._drain, self._drained = [], self._drain
        self.dropped = self.release.released()
        self.released = []
        self._count()
        for warp, register in self.dropped:
            physical = self.table.drop(warp, register)
            self.availability.give(physical)
            bank, row = self._place(physical)
            self.released.append((bank, row))
            self._unmap.emit(warp, register, bank, row)
        self.reserve.edge()
        self.table.edge()
        if self._counting:
            self._counting -= 1
            if not self._counting:
                self.availability.launch(self.exempt.reserved)
                self.reserve.launch(*self._launched)
        else:
            self.availability.edge()
        self.release.edge(self.table.mapped)
        self.busy = (
            self.names.busy
            or self.release.busy
            or self.availability.busy
            or self._counting > 0
            or self.reserve.busy
            or bool(self.uncounted)
            or bool(self._drained)
        )
        return named

    def _count(self) -> None:
        """Count the registers that are taken and given back in this cycle."""
        served, floor, free = self._now
        back = sum(count < 0 for _, count in self.uncounted)
        self._limit = served, floor, free - back - self._takes[1]
        changes = [(warp, -1) for warp, _ in self.dropped]
        if self._takes[1]:
            changes.append(self._takes)
        self._takes = 0, 0
        if self._ahead:
            changes, self.uncounted = self.uncounted, changes
        for warp, count in changes:
            self.reserve.take(warp, count)

    def contents(self) -> list[Shelf]:
        """Renaming table, by warp: which registers have a physical one."""
        shelves = [Shelf(warp, f"warp {warp}", 0, []) for warp in range(len(self.table.mapped))]
        for physical, (warp, register) in sorted(self.table.owners().items(), key=lambda item: item[1]):
            shelves[warp].kept.append(Kept(warp, register, None, (f"P{physical}",)))
        return shelves

    def holding(self, warp: int) -> str:
        """The physical registers of a warp, for the message of a deadlock."""
        return f" and holds {self.reserve.held[warp]} physical registers"
