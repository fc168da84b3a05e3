"""Bypassing operand collectors (BOC): a warp's last values stay where its next uops collect their
operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from warpbank.arch.parameters import BOC_READS, BOC_RESULTS, SmConfig
from warpbank.arch.uop import Unit
from warpbank.golden.collector.window import Collected, Entry, Insertion, Window
from warpbank.golden.contents import Kept, Shelf
from warpbank.golden.interfaces import Collector, Hierarchy, Units
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import NEVER, Value

_LSU: Final = Unit.LSU
_UNITS: Final = len(Unit)


class Chosen:
    """Uop that a unit has chosen, and where it stands.

    Parameters
    ----------
    warp : of the uop, and number of its collector.
    collected : the uop.

    Attributes
    ----------
    reads : cycles in which its operands are still to be read, the one of its dispatch included.
    """

    __slots__ = ("collected", "reads", "warp")

    def __init__(self, warp: int, collected: Collected) -> None:
        self.warp = warp
        self.collected = collected
        self.reads = max(1, -(-len(collected.uop.sources) // BOC_READS))


class Late:
    """Result that a collector has taken, on its way into its entry.

    Parameters
    ----------
    warp : whose collector it is.
    entry : where it goes.
    mask, value : lanes that it has, and their values.
    """

    __slots__ = ("entry", "mask", "value", "warp")

    def __init__(self, warp: int, entry: Entry, mask: int, value: Value) -> None:
        self.warp, self.entry, self.mask, self.value = warp, entry, mask, value


class Boc(Collector):
    """Bypassing operand collectors of a sub-core, one per warp. BOW, section IV.

    A collector holds up to `window` uops in collection, in program order; the next one is taken when the uop
    `window` before it has been dispatched. An issued uop is inserted by the forwarding logic: its sources are
    looked for in the window, those found cost no bank read, entries are taken for the others and for its
    results. One uop a cycle is inserted: the one that issues, or, in turn, one that waits because its
    collector's entries were short. While a uop waits the oldest entries are squeezed out, and its warp issues
    nothing.

    Values stand in a memory of each collector that reads `BOC_READS` and writes one in a cycle.

    One result a cycle goes to the collectors: of several the one of the first unit in rotating order. It goes
    into the entry that was kept for it, and with write-back nowhere else; if that entry has left, it goes to
    the banks. It waits until no operand arrives at its collector, for which it is behind at most one other;
    until it is written its entry is in use, and not filled. While `BOC_RESULTS` wait no other is taken.

    Dirty values that leave are written to the banks over one bus of the sub-core. The bus chooses a value,
    reads it in the next cycle, and offers it from then on, until the banks take it or a uop wants it.

    Each unit chooses a uop one cycle ahead. Where it has none, or its uop leaves, it chooses by rotating
    priority a collector that will have a complete uop for it, and takes the oldest of these. Where none will
    have one, it takes the uop that issues in this cycle, if that is for it, and lets go of it if it is not
    complete in the next cycle. A unit that is free reads the operands of its uop, `BOC_READS` in a cycle,
    and dispatches it with the last of them. A collector reads for one unit in a cycle: for the bus first,
    and then for the last of the units in the order of `Unit`. Uops of one warp for different units may leave
    in any order; its memory uops leave in program order.

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
    dispatched in t + 1, one cycle later for every `BOC_READS` sources more than these, and one later if its
    unit had another uop to choose. Requests reach the banks in t + 1, an operand granted in g is delivered in
    g + 1, and its uop can be dispatched in g + 2. A result taken in t is found from t + 1 on, and its entry
    filled from t + 2 on, if no operand arrives at its collector in t + 1.
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
        self.ready = [0] * len(Unit)  # per unit, collectors with a complete uop for it
        self.any_ready = 0
        self._chosen: list[Chosen | None] = [None] * len(Unit)
        self._choosing = 0  # units that have chosen a uop
        self._dropped: list[Collected] = []  # uops that units have let go of in this cycle
        self._pointers = [0] * len(Unit)
        self._leaving = 0  # warps with a value to be written back
        self._bus = 0  # warp that goes first
        self._victim: tuple[int, Entry] | None = None  # what the bus has chosen
        self._next_victim: tuple[int, Entry] | None = None
        self._read_out = False  # the bus has the value
        self._reading = 0  # collector that reads for the bus in this cycle, as a mask
        self._stays = False  # what the bus has chosen is still to be written
        self._late: list[Late] = []  # results that wait to be written
        self._came: Late | None = None  # taken in this cycle
        self._delivered = 0  # collectors at which an operand has arrived in this cycle
        self._claims: dict[int, Entry] = {}
        self._offer: tuple[int, Entry, Value] | None = None
        self._fresh = False  # the offered entry has received a result in this cycle
        self._taken = False  # the offer was written

    @property
    def busy(self) -> bool:
        """Whether the collectors have something to do in the next cycle."""
        return bool(self._waiting or self._leaving or self._resized or self._late or self._victim)

    def waits(self, ready: int) -> bool:
        """Return False: no warp waits while a collector is free."""
        return False

    def wait(self) -> None:
        """Do nothing: no warp waits while a collector is free."""

    def adapt(self, sthld: int) -> None:
        """Ignore the waiting time: no warp waits while a collector is free."""

    def launch(self) -> None:
        """Drop every value, since a launch begins: what would leave has no row of its own any more."""
        if not self.write_through:
            for warp in range(self._warps):
                self.start(warp)

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
        self._delivered |= 1 << collector
        self._delivers.emit(collector, slot)

    def dispatch(self, cycle: int, pipelines: Units) -> bool:
        """Dispatch the uops that units have chosen and that are free, as far as the collectors' reads allow.
        Returns whether a unit refused one."""
        refused = False
        reading = self._reading  # collectors that read for somebody
        units = self._choosing
        while units:
            unit = units.bit_length() - 1
            units ^= 1 << unit
            chosen = self._chosen[unit]
            assert chosen is not None
            if not chosen.collected.complete:
                self._chosen[unit] = None
                self._dropped.append(chosen.collected)
                if pipelines.accepts(unit, cycle):
                    reading |= 1 << chosen.warp
                continue
            if not pipelines.accepts(unit, cycle):
                refused = True
                continue
            warp = chosen.warp
            if reading >> warp & 1:
                continue
            reading |= 1 << warp
            chosen.reads -= 1
            if chosen.reads:
                continue
            self._chosen[unit] = None
            collected = chosen.collected
            self._gone.append((warp, collected))
            uop = collected.uop
            uop.operands = [entry.value for entry in collected.entries]
            uop.metadata = [entry.metadata for entry in collected.entries]
            pipelines.dispatch(uop, warp, cycle)
        return refused

    def _choose(self) -> None:
        """Let each unit that has no uop choose one for the next cycle."""
        for unit, ready in enumerate(self.ready):
            if ready and self._chosen[unit] is None:
                warp = first_from(ready, self._pointers[unit])
                self._pointers[unit] = (warp + 1) % self._warps
                self._take(warp, self._oldest_complete(warp, unit))
        warp = self._allocated
        if warp >= 0:
            collected = self._collected[warp][-1]
            unit = collected.uop.unit
            if self._chosen[unit] is None and (
                unit != _LSU or all(other.uop.unit != _LSU for other in self._collected[warp][:-1])
            ):
                self._take(warp, collected)
        for collected in self._dropped:
            collected.chosen = False
            self._changed |= 1 << collected.uop.warp
        self._dropped.clear()

    def _take(self, warp: int, collected: Collected) -> None:
        """Note that its unit has chosen a uop."""
        collected.chosen = True
        self._chosen[collected.uop.unit] = Chosen(warp, collected)
        self._changed |= 1 << warp

    def _oldest_complete(self, warp: int, unit: int) -> Collected:
        """Return the first uop of a collector, in program order, that is for this unit and whose operands
        have all arrived."""
        return next(
            collected
            for collected in self._collected[warp]
            if collected.complete and not collected.chosen and collected.uop.unit == unit
        )

    def next_cycle(self, cycle: int, pipelines: Units) -> int:
        """Return the next cycle after `cycle` in which a unit takes, chooses or lets go of a uop."""
        best = NEVER
        for unit, ready in enumerate(self.ready):
            if ready and self._chosen[unit] is None:
                return cycle + 1
        units = self._choosing
        while units:
            unit = (units & -units).bit_length() - 1
            units &= units - 1
            chosen = self._chosen[unit]
            if chosen is not None and not chosen.collected.complete:
                return cycle + 1
            best = min(best, pipelines.next_cycle(unit, cycle))
        return best

    # --- Results and write-back.

    def claim(self, offers: list[tuple[int, TraceUop, int]]) -> tuple[int, int]:
        """Choose one result a cycle. Returns two masks of units: those that wait for their turn, and those
        that need no bank."""
        held = absorbed = 0
        taken = len(self._late) == BOC_RESULTS
        self._choose_offer()
        for unit, uop, register in offers:
            entry = self.windows[uop.warp].expecting(register)
            if entry is None:
                continue
            if taken:
                held |= 1 << unit
                self._probe.emit("port_wait", unit, uop.warp)
                continue
            taken = True
            entry.claimed = True
            self._claims[unit] = entry
            if not self.write_through:
                absorbed |= 1 << unit
        return held, absorbed

    def result(self, unit: int, uop: TraceUop, register: int, value: Value) -> None:
        """Take a unit's result for its entry."""
        entry = self._claims.get(unit)
        if entry is None:
            return
        self._came = Late(uop.warp, entry, uop.lane_mask, value)
        if self._offer is not None and self._offer[1] is entry:
            self._fresh = True
        self._changed |= 1 << uop.warp
        self._writes.emit(uop.warp, uop.warp, uop.seq, register)

    def _choose_offer(self) -> None:
        """Find out whether the bus carries the value chosen for it, and choose the next one."""
        leaving, besides = self._leaving, None
        if self._victim is not None:
            warp, besides = self._victim
            window = self.windows[warp]
            self._reading = 0 if self._read_out else 1 << warp
            self._stays = window.leaves(besides)
            if self._stays:
                assert besides.value is not None
                if self._read_out:
                    self._offer = warp, besides, besides.value
                if window.leaving(besides) is None:
                    leaving &= ~(1 << warp)
        if leaving:
            warp = first_from(leaving, self._bus)
            entry = self.windows[warp].leaving(besides)
            assert entry is not None
            self._next_victim = warp, entry

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
        written = self._write_late()
        changed = self._changed
        while changed:
            bit = changed & -changed
            changed ^= bit
            self._show(bit.bit_length() - 1, bit)
        self._choose()
        if self._waiting or self._allocated >= 0:
            self._insert_one()
            self._allocated = -1
        if written is not None:
            written.entry.users -= 1
        if self._came is not None:
            self._late.append(self._came)
            self.windows[self._came.warp].expect_write(self._came.entry)
            self._came = None
        for warp, collected in self._gone:
            self._collected[warp].remove(collected)
            self._tags[warp][collected.tag] = None
            for entry in collected.entries:
                entry.users -= 1
            for register in collected.uop.sources:
                self._read(warp, register)
            self._changed |= 1 << warp
        self._gone.clear()
        if self._claims:
            for entry in self._claims.values():
                entry.claimed = False
            self._claims.clear()
        if self._taken and self._offer is not None:
            warp, entry, _ = self._offer
            entry.dirty = self._fresh
            self._changed |= 1 << warp
        if self._taken or not self._stays:
            self._victim = self._next_victim
            self._read_out = False
            if self._victim is not None:
                self._bus = (self._victim[0] + 1) % self._warps
        else:
            self._read_out = True
        self._reading, self._stays = 0, False
        self._offer = self._next_victim = None
        self._fresh = self._taken = False
        choosing = collecting = 0
        for unit in range(_UNITS):
            if self._chosen[unit] is not None:
                choosing |= 1 << unit
        self._choosing = choosing
        changed = self._changed
        self._changed = 0
        while changed:
            bit = changed & -changed
            changed ^= bit
            self._update(bit.bit_length() - 1, bit)
        for uops in self._collected:
            collecting += len(uops)
        return collecting

    def _write_late(self) -> Late | None:
        """Write the first of the results that wait, unless an operand arrives at its collector."""
        delivered, self._delivered = self._delivered, 0
        if not self._late or delivered >> self._late[0].warp & 1:
            return None
        late = self._late.pop(0)
        self._changed |= 1 << late.warp
        last = all(other.entry is not late.entry for other in self._late)
        for collected in self.windows[late.warp].write(late.entry, late.mask, late.value, last):
            collected.missing -= 1
        return late

    def _update(self, warp: int, bit: int) -> None:
        """Recompute the per-warp masks of a collector."""
        collected, window = self._collected[warp], self.windows[warp]
        waits = bool(collected) and not collected[-1].inserted
        room = self._tags[warp][self._next[warp]] is None and not waits
        self._waiting = self._waiting | bit if waits else self._waiting & ~bit
        self.may_slide = self.may_slide & ~bit if waits else self.may_slide | bit
        self.may_issue = self.may_issue | bit if room else self.may_issue & ~bit
        self._leaving = self._leaving | bit if window.leaving() is not None else self._leaving & ~bit
        self._show(warp, bit)
        any_ready = self._choosing
        for unit in range(_UNITS):
            if self.ready[unit]:
                any_ready |= 1 << unit
        self.any_ready = any_ready
        used = window.used
        self.holds = self.holds | bit if used else self.holds & ~bit
        if used != self._used[warp]:
            self._used[warp] = used
            if self._probe.sink is not None:
                self._resized |= bit

    def _show(self, warp: int, bit: int) -> None:
        """Recompute for which units a collector has a complete uop that no unit has chosen yet."""
        collected = self._collected[warp]
        for unit in range(_UNITS):
            self.ready[unit] = self.ready[unit] & ~bit
        overtakes = False  # a memory uop would pass one that is not complete
        for candidate in collected:
            unit = candidate.uop.unit
            if candidate.chosen:
                continue
            if candidate.complete and not (overtakes and unit == _LSU):
                self.ready[unit] = self.ready[unit] | bit
            elif unit == _LSU:
                overtakes = True

    def _report_sizes(self) -> None:
        """Report the collectors whose number of used entries has changed at the last clock edge."""
        for warp, used in enumerate(self._used):
            if used != self._reported[warp]:
                self._reported[warp] = used
                self._probe.emit("window", warp, used)
        self._resized = 0
