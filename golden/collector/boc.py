"""Bypassing operand collectors (BOC): a warp's last values stay where its next uops collect their
operands."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Unit
from warpbank.golden.collector.window import Collected, Entry, Insertion, Window
from warpbank.golden.contents import Kept, Shelf
from warpbank.golden.interfaces import Collector, Hierarchy, Units
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import NEVER, Value


class Boc(Collector):
    """Bypassing operand collectors of a sub-core, one per warp. BOW, section IV.

    A collector holds up to `window` uops in collection, in program order; the next one is taken when the uop
    `window` before it has been dispatched. An issued uop is inserted by the forwarding logic: its sources are
    looked for in the window, those found cost no bank read, entries are taken for the others and for its
    results. One uop a cycle is inserted: the one that issues, or, in turn, one that waits because its
    collector's entries were short. While a uop waits the oldest entries are squeezed out, and its warp issues
    nothing.

    A collector has one port for operands and one for results. Of several results for one collector the first
    unit in rotating order goes. A result goes into the entry that was kept for it, and with write-back
    nowhere else; if that entry has left, it goes to the banks. Dirty values that leave are written to the
    banks over one bus of the sub-core.

    An operand hinders a younger write of its register until its uop is dispatched: the value stands in an
    entry, not in a slot of the uop's own.

    Issue interface: `may_issue`, `may_slide`, `holds`, `allocate`, `slide`. Operand read interface:
    `deliver`. Dispatch interface: `dispatch`. Result interface: `claim`, `result`, `evicted`, `written_back`.

    Parameters
    ----------
    config : the machine: window, entries; one collector per warp.
    registers : where operands are read.
    read : scoreboard release interface, called with (warp, register) for every source of a uop that is
        dispatched.
    probe : receives `allocate`, `forward`, `reserve`, `discard`, `squeeze`, `insert_wait`, `deliver`,
        `collector_write`, `port_wait`, `window`.
    write_through : results are written into the banks at once as well: BOW without write-back (BOW, section
        IV-A).

    Latency: inserted in t (the cycle of issue, if nothing waits), a uop that finds all it needs can be
    dispatched in t + 1; requests reach the banks in t + 1, an operand granted in g is delivered in g + 1, and
    its uop can be dispatched in g + 2. A result written in t is found from t + 1 on.
    """

    caches = True
    adapts = False

    def __init__(
        self,
        config: SmConfig,
        registers: Hierarchy,
        read: Callable[[int, int], None],
        probe: Probe,
        write_through: bool = False,
    ) -> None:
        self.write_through = write_through
        core = config.sub_core
        shape = core.collector
        self._warps = core.warps
        self._window = shape.window
        self._every_lane = config.lane_mask
        self._registers = registers
        self._read = read
        self._probe = probe
        ports = probe.ports
        self._allocates = ports["allocate"]
        self._forwards = ports["forward"]
        self._reserves = ports["reserve"]
        self._discards = ports["discard"]
        self._delivers = ports["deliver"]
        self._writes = ports["collector_write"]
        self.windows = [
            Window(shape.window_entries, shape.window, self.write_through, config.lane_mask)
            for _ in range(core.warps)
        ]
        self._collected: list[list[Collected]] = [[] for _ in range(core.warps)]  # in program order
        # Uops in collection by their tags, which count up to the window.
        self._tags: list[list[Collected | None]] = [[None] * shape.window for _ in range(core.warps)]
        self._next = [0] * core.warps  # tag of the next uop
        self._used = [0] * core.warps
        self._reported = [0] * core.warps  # of `_used`
        self._resized = 0  # warps of which it has to be reported in the next cycle
        everyone = (1 << core.warps) - 1
        self.may_issue = everyone
        self.may_slide = everyone
        self.holds = 0
        self._waiting = 0  # warps with a uop that waits to be inserted
        self._turn = False  # a waiting uop goes before one that issues
        self._pointer = 0  # waiting warp that goes next
        self._allocated = -1  # warp whose uop was issued in this cycle
        self._changed = 0  # warps in whose collector anything happened in this cycle
        self._gone: list[tuple[int, Collected]] = []  # dispatched in this cycle
        self.ready = [0] * len(Unit)  # per unit, collectors whose oldest complete uop is for it
        self.any_ready = 0
        self._pointers = [0] * len(Unit)
        self._leaving = 0  # warps with a value to be written back
        self._bus = 0  # warp that goes first
        self._claims: dict[int, Entry] = {}
        self._offer: tuple[int, Entry, Value] | None = None
        self._fresh = False  # the offered entry has received a result in this cycle
        self._taken = False  # the offer was written

    @property
    def busy(self) -> bool:
        """Whether the collectors have something to do in the next cycle."""
        return bool(self._waiting or self._leaving or self._resized)

    def waits(self, ready: int) -> bool:
        """Return False: no warp waits while a collector is free."""
        return False

    def wait(self) -> None:
        """Do nothing: no warp waits while a collector is free."""

    def adapt(self, sthld: int) -> None:
        """Ignore the waiting time: no warp waits while a collector is free."""

    def start(self, warp: int) -> None:
        """Drop the values of the slot's last warp, since a new warp starts."""
        self.windows[warp].clear()
        self._update(warp, 1 << warp)

    # --- Issue and insertion.

    def allocate(self, uop: TraceUop) -> None:
        """Take an issued uop."""
        warp = uop.warp
        tag = self._next[warp]
        self._next[warp] = (tag + 1) % self._window
        collected = Collected(uop, tag)
        self._tags[warp][tag] = collected
        self._collected[warp].append(collected)
        self._allocated = warp
        self._changed |= 1 << warp
        self._allocates.emit(warp, warp, uop.seq)

    def slide(self, warp: int) -> None:
        """Move the warp's window, since the warp issues a uop that needs no collector."""
        self._discard(warp, 0, self.windows[warp].slide())
        self._changed |= 1 << warp

    def _insert_one(self) -> None:
        """Choose the uop that the forwarding logic inserts in this cycle, and insert it."""
        waiting = self._waiting
        if waiting:
            self._probe.emit("insert_wait", waiting.bit_count())
        if self._allocated >= 0 and not (waiting and self._turn):
            warp = self._allocated
            self._turn = bool(waiting)
        elif waiting:
            warp = first_from(waiting, self._pointer)
            self._pointer = (warp + 1) % self._warps
            self._turn = False
        else:
            return
        self._insert(warp)

    def _insert(self, warp: int) -> None:
        """Give the youngest uop of a warp its entries, or make room for it."""
        self._changed |= 1 << warp
        collected = self._collected[warp][-1]
        window = self.windows[warp]
        done = window.insert(collected)
        probe = self._probe
        if isinstance(done, Insertion):
            uop = collected.uop
            self._report(collected, done)
            for slot in done.read:
                self._registers.read(warp, slot, uop, uop.sources[slot], collected.tag)
        elif done is not None:
            probe.emit("squeeze", warp, done.register, done.dirty)
            window.squeeze(done)

    def _report(self, collected: Collected, done: Insertion) -> None:
        uop = collected.uop
        if done.found:
            self._forwards.emit(
                uop.warp, uop.warp, uop.seq, sum(1 << slot for slot in done.found), len(done.found)
            )
        if done.reserved:
            self._reserves.emit(uop.warp, uop.warp, uop.seq, done.reserved)
        self._discard(uop.warp, done.overwritten, done.transient)

    def _discard(self, warp: int, overwritten: int, transient: int) -> None:
        if overwritten or transient:
            self._discards.emit(warp, overwritten, transient)

    # --- Operands and dispatch.

    def deliver(self, collector: int, slot: int, tag: int, value: Value, metadata: Metadata) -> None:
        """Take an operand that arrives."""
        collected = self._tags[collector][tag]
        assert collected is not None
        for waiting in self.windows[collector].fill(collected.entries[slot], value, metadata):
            waiting.missing -= 1
        self._changed |= 1 << collector
        self._delivers.emit(collector, slot)

    def dispatch(self, cycle: int, pipelines: Units) -> bool:
        """Dispatch, for each unit, one collector's oldest complete uop, by rotating priority. Returns whether
        a unit refused one."""
        refused = False
        units = self.any_ready
        while units:
            unit = (units & -units).bit_length() - 1
            units &= units - 1
            if not pipelines.accepts(unit, cycle):
                refused = True
                continue
            warp = first_from(self.ready[unit], self._pointers[unit])
            self._pointers[unit] = (warp + 1) % self._warps
            collected = _oldest_complete(self._collected[warp])
            assert collected is not None
            self._gone.append((warp, collected))
            uop = collected.uop
            uop.operands = [entry.value for entry in collected.entries]
            uop.metadata = [entry.metadata for entry in collected.entries]
            pipelines.dispatch(uop, warp, cycle)
        return refused

    def next_cycle(self, cycle: int, pipelines: Units) -> int:
        """Return the next cycle after `cycle` in which a complete uop finds its unit free."""
        best = NEVER
        units = self.any_ready
        while units:
            unit = (units & -units).bit_length() - 1
            units &= units - 1
            best = min(best, pipelines.next_cycle(unit, cycle))
        return best

    # --- Results and write-back.

    def claim(self, offers: list[tuple[int, TraceUop, int]]) -> tuple[int, int]:
        """Choose one result per collector and cycle. Returns two masks of units: those that wait for the
        port, and those that need no bank."""
        held = absorbed = taken = 0
        self._choose_offer()
        for unit, uop, register in offers:
            entry = self.windows[uop.warp].expecting(register)
            if entry is None:
                continue
            if taken >> uop.warp & 1:
                held |= 1 << unit
                self._probe.emit("port_wait", unit, uop.warp)
                continue
            taken |= 1 << uop.warp
            entry.claimed = True
            self._claims[unit] = entry
            if not self.write_through:
                absorbed |= 1 << unit
        return held, absorbed

    def result(self, unit: int, uop: TraceUop, register: int, value: Value) -> None:
        """Keep a unit's result that is written in this cycle."""
        entry = self._claims.get(unit)
        if entry is None:
            return
        self.windows[uop.warp].write(entry, uop.lane_mask, value)
        if self._offer is not None and self._offer[1] is entry:
            self._fresh = True
        self._changed |= 1 << uop.warp
        self._writes.emit(uop.warp, uop.warp, uop.seq, register)

    def _choose_offer(self) -> None:
        """Choose the value that the bus carries in this cycle."""
        self._offer = None
        if self._leaving:
            warp = first_from(self._leaving, self._bus)
            entry = self.windows[warp].leaving()
            assert entry is not None
            assert entry.value is not None
            self._offer = warp, entry, entry.value

    @property
    def evicted(self) -> tuple[int, int, Value] | None:
        """Value that the bus offers to the banks: (warp, register, value)."""
        if self._offer is None:
            return None
        warp, entry, value = self._offer
        return warp, entry.register, value

    def written_back(self) -> None:
        """Take note that the banks took the evicted value. A partial result that joins the value in this
        cycle was not written with it."""
        assert self._offer is not None
        self._taken = True
        self._bus = (self._offer[0] + 1) % self._warps

    def contents(self) -> list[Shelf]:
        """Window of every warp: its valid entries."""
        return [
            Shelf(
                warp,
                "window",
                len(window.entries),
                [
                    Kept(warp, entry.register, entry.value if entry.filled else None, entry.notes)
                    for entry in window.entries
                    if entry.valid
                ],
            )
            for warp, window in enumerate(self.windows)
        ]

    # --- The clock edge.

    def edge(self) -> int:
        """End the cycle at the clock edge. Returns the number of uops in collection from the next cycle
        on."""
        if self._resized:
            self._report_sizes()
        if self._waiting or self._allocated >= 0:
            self._insert_one()
            self._allocated = -1
        for warp, collected in self._gone:
            self._collected[warp].remove(collected)
            self._tags[warp][collected.tag] = None
            for entry, register in zip(collected.entries, collected.uop.sources, strict=True):
                entry.users -= 1
                self._read(warp, register)
            self._changed |= 1 << warp
        self._gone.clear()
        for entry in self._claims.values():
            entry.claimed = False
        self._claims.clear()
        if self._taken and self._offer is not None:
            warp, entry, _ = self._offer
            entry.dirty = self._fresh
            self._changed |= 1 << warp
        self._offer = None
        self._fresh = self._taken = False
        changed = self._changed
        self._changed = 0
        while changed:
            bit = changed & -changed
            changed ^= bit
            self._update(bit.bit_length() - 1, bit)
        return sum(map(len, self._collected))

    def _update(self, warp: int, bit: int) -> None:
        """Recompute the per-warp masks of a collector."""
        collected, window = self._collected[warp], self.windows[warp]
        waits = bool(collected) and not collected[-1].inserted
        room = self._tags[warp][self._next[warp]] is None and not waits
        self._waiting = self._waiting | bit if waits else self._waiting & ~bit
        self.may_slide = self.may_slide & ~bit if waits else self.may_slide | bit
        self.may_issue = self.may_issue | bit if room else self.may_issue & ~bit
        self._leaving = self._leaving | bit if window.leaving() is not None else self._leaving & ~bit
        oldest = _oldest_complete(collected)
        for unit in range(len(Unit)):
            self.ready[unit] &= ~bit
        if oldest is not None:
            self.ready[oldest.uop.unit] |= bit
        self.any_ready = sum(1 << unit for unit, mask in enumerate(self.ready) if mask)
        used = window.used
        self.holds = self.holds | bit if used else self.holds & ~bit
        if used != self._used[warp]:
            self._used[warp] = used
            if self._probe.sink is not None:
                self._resized |= bit

    def _report_sizes(self) -> None:
        """Report the collectors whose number of used entries has changed at the last clock edge."""
        for warp, used in enumerate(self._used):
            if used != self._reported[warp]:
                self._reported[warp] = used
                self._probe.emit("window", warp, used)
        self._resized = 0


def _oldest_complete(collected: list[Collected]) -> Collected | None:
    """Return the first uop, in program order, whose operands have all arrived."""
    for candidate in collected:
        if candidate.inserted and not candidate.missing:
            return candidate
    return None
