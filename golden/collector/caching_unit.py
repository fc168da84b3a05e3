"""Caching collector unit (CCU): one uop in collection, and the values of the warp that the unit serves."""

from __future__ import annotations

from typing import Final

from warpbank.arch.parameters import SmConfig
from warpbank.golden.collector.cache_table import CacheTable, Line
from warpbank.golden.probe import Probe
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value

#: Line of a source whose operand has not arrived.
TO_COME: Final = Line(-1)


class Arrived:
    """Result that came through port D, to be written into the table in the next cycle.

    Parameters
    ----------
    uop, register, value : of the result.
    line : line of the register; None: one has to be taken.
    """

    __slots__ = ("line", "register", "uop", "value")

    def __init__(self, uop: TraceUop, register: int, value: Value, line: Line | None) -> None:
        self.uop = uop
        self.register = register
        self.value = value
        self.line = line


class CachingUnit:
    """Caching collector unit: its cache table, its uop in collection, and the line of each source slot.
    Malekeh, sections III-C and IV-A.

    `warpbank.golden.collector.ccu.Ccu` chooses the unit that a uop gets and the uop that is dispatched; the
    unit keeps its warp's values. What a cycle brings is noted as it comes, and `end` carries it out.

    Parameters
    ----------
    config : the machine: lines, seed.
    number : number of the unit.
    far_first : lines whose reuse is far are replaced first.
    probe : receives `collector_write`, `invalidate`.

    Attributes
    ----------
    table : its cache table.
    owner : warp whose values the unit keeps; -1: none.
    uop : uop in collection.
    lines : line of each source slot of it.
    awaits : mask of the slots whose operands are to come.
    took : a uop came in this cycle.
    new : a uop came in the last cycle.
    found : mask of the slots that the uop of the last cycle found in the table.
    forgets : the values go at the end of this cycle.
    delivery : operand of this cycle: slot, value, metadata.
    results : results of this cycle: uop, register, value, whether it has port D.
    arrived : result that is still to be written into the table.
    changed : the table changed in the last cycle, so that another line may be the next victim.
    """

    def __init__(self, config: SmConfig, number: int, far_first: bool, probe: Probe) -> None:
        shape = config.sub_core.collector
        self._number = number
        self._every_lane = config.lane_mask
        self.table = CacheTable(shape.cache_lines, number_seed(shape.seed, number), far_first)
        self._probe = probe
        self._writes = probe.ports["collector_write"]
        self.owner = -1
        self.uop: TraceUop | None = None
        self.lines: list[Line] = []
        self.awaits = 0
        self.took = False
        self.new = False
        self.found = 0
        self.forgets = False
        self.delivery: tuple[int, Value, Metadata] | None = None
        self.results: list[tuple[TraceUop, int, Value, bool]] = []
        self.arrived: Arrived | None = None
        self.changed = False

    def take(self, uop: TraceUop) -> int:
        """Take an issued uop. Returns the mask of the source slots whose values the table has."""
        self.uop, self.took = uop, True
        self.lines, self.awaits = [], 0
        hits = 0
        for slot, register in enumerate(uop.sources):
            line = None if self.forgets else self.find(register)
            if line is None:
                line = TO_COME
                self.awaits |= 1 << slot
            else:
                hits |= 1 << slot
            self.lines.append(line)
        return hits

    @property
    def acts(self) -> bool:
        """Whether something of this cycle changes the unit."""
        return (
            self.took
            or self.new
            or self.forgets
            or self.found != 0
            or self.delivery is not None
            or self.arrived is not None
            or bool(self.results)
        )

    def find(self, register: int) -> Line | None:
        """Return the line of a register, as the table is when the cycle has ended."""
        line, arrived = self.table.find(register), self.arrived
        if arrived is not None and self._takes_line(arrived):
            if arrived.register == register:
                return self.table.victim
            if line is self.table.victim:
                return None
        return line

    def _takes_line(self, arrived: Arrived) -> bool:
        """Return whether a result whose register had no line takes one in this cycle."""
        return arrived.line is None and not self.new and (self.took or not self.awaits)

    # --- The clock edge.

    def end(self) -> None:
        """End the cycle: an earlier result, the last cycle's uop and an operand change the table, and this
        cycle's results come."""
        table, uop, delivery = self.table, self.uop, self.delivery
        kept, found = self.arrived, self.found
        victim = table.next_victim(self._spared())
        takes = kept is not None and self._takes_line(kept)
        waits = not (takes or self.forgets or self.results)
        arrived, dropped = self._arrive()
        self.arrived = None
        if kept is not None:
            if waits and kept.line is None:
                self.arrived = kept
            self._keep(kept, takes)
        if uop is not None and found:
            self._renew(uop)
        if uop is not None and delivery is not None:
            self._operand(uop, *delivery)
        for line, register in dropped:
            if line.register == register:  # not taken in this cycle
                line.valid = False
        if arrived is not None and (arrived.line is None or arrived.line.register == arrived.register):
            self.arrived = arrived
        if self.forgets:
            table.flush()
            self.forgets = False
        self.found = 0
        if self.took:
            self.found = (1 << len(self.lines)) - 1 & ~self.awaits
            for slot, line in enumerate(self.lines):
                line.locked |= bool(self.found >> slot & 1)
        self.delivery, self.took, self.new = None, False, self.took
        table.victim = victim

    def _spared(self) -> list[Line]:
        """Lines that are written in this cycle, or may be."""
        spared: list[Line] = []
        if self.table.victim is not None and (
            self.delivery is not None or (self.arrived is not None and self.arrived.line is None)
        ):
            spared.append(self.table.victim)
        if self.arrived is not None and self.arrived.line is not None:
            spared.append(self.arrived.line)
        return spared

    def _arrive(self) -> tuple[Arrived | None, list[tuple[Line, int]]]:
        """Take this cycle's results. Returns the one that port D takes, and the lines that the others make
        invalid, with their registers."""
        arrived: Arrived | None = None
        dropped: list[tuple[Line, int]] = []
        for uop, register, value, port in self.results:
            if uop.warp != self.owner or self.forgets:
                continue
            line = self.find(register)
            if port and (line is not None or uop.lane_mask == self._every_lane):
                arrived = Arrived(uop, register, value, line)
            elif line is not None:
                dropped.append((line, register))
                self._probe.emit("invalidate", self._number, register)
        self.results.clear()
        return arrived, dropped

    def _keep(self, arrived: Arrived, takes: bool) -> None:
        """Write a result of an earlier cycle into the table; `takes`: it takes a line."""
        table, line = self.table, arrived.line
        if takes:
            line = table.take(arrived.register, True)
            table.taken()
        elif line is None or (self.delivery is not None and line is table.victim):
            return
        else:
            line.near = True
            table.touch(line)
        table.write(line, arrived.value, arrived.uop.lane_mask, self._every_lane)
        self._writes.emit(self._number, arrived.uop.warp, arrived.uop.seq, arrived.register)

    def _renew(self, uop: TraceUop) -> None:
        """Give the lines that the last cycle's uop found its near bits, and make them the last used."""
        for slot, line in enumerate(self.lines):
            if self.found >> slot & 1:
                line.near = bool(uop.near >> slot & 1)
                self.table.touch(line)

    def _operand(self, uop: TraceUop, slot: int, value: Value, metadata: Metadata) -> None:
        """Put an operand that has arrived into a line. There is one: a table has two more lines than a uop
        has sources. Nobody finds it in a unit that the warp has left."""
        assert self.table.victim is not None
        assert not self.table.victim.locked
        line = self.table.take(uop.sources[slot], bool(uop.near >> slot & 1))
        self.table.taken()
        line.locked, line.valid = True, self.owner >= 0
        self.table.write(line, value, self._every_lane, self._every_lane, metadata)
        self.lines[slot] = line
        self.awaits &= ~(1 << slot)

    def leave(self) -> None:
        """Let the uop go that is dispatched in this cycle: its lines may be replaced."""
        for line in self.lines:
            line.locked = False
        self.uop, self.lines = None, []


def number_seed(seed: int, number: int) -> int:
    """Return the seed of unit `number`, which differs from unit to unit."""
    return (seed + 0x1D3 * (number + 1)) % 0xFFFF + 1
