"""Caching collector units (CCU) of a sub-core: which of them a uop gets, and which uop is dispatched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES, Unit
from warpbank.golden.collector.caching_unit import CachingUnit
from warpbank.golden.contents import Kept, Shelf
from warpbank.golden.interfaces import Collector, Hierarchy, Units
from warpbank.golden.lfsr import Lfsr
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import NEVER, Value

#: Bit of `TraceUop.near` that speaks of the destination.
NEAR_RESULT: Final = 1 << MAX_SOURCES


class Ccu(Collector):
    """Caching collector units of a sub-core. Malekeh, sections III and IV.

    A unit holds one uop in collection, and the values of one warp, its owner. A warp that owns a unit is
    collected there and nowhere else, so no warp has values in two. Another warp gets a free unit that keeps
    no value whose reuse is near, at random; where all free units keep such values it waits, until the
    sub-core has waited for STHLD cycles in all; then it gets any free unit, at random. A unit that changes
    hands forgets its values.

    Sources that stand in the cache table cost no bank read; each of the others takes a line when it arrives.
    Results always go to the banks. One of them per unit and cycle is kept as well, the first whose reuse is
    near. A cycle later it joins its register's line; a result that is written on all lanes and has none takes
    one in the first cycle in which the unit waits for no operand, unless another result of the warp comes
    before that. Any other result makes its register's line invalid.

    An operand hinders a younger write of its register until its uop is dispatched.

    Issue interface: `may_issue`, `may_slide`, `holds`, `waits`, `wait`, `adapt`, `allocate`, `slide`. Operand
    read interface: `deliver`. Dispatch interface: `dispatch`. Result interface: `claim`, `result`.

    Parameters
    ----------
    config : the machine: collectors, lines, allocation, seed.
    registers : where operands are read.
    read : scoreboard release interface, called with (warp, register) for every source of a uop that is
        dispatched.
    probe : receives `allocate`, `forward`, `flush`, `deliver`, `collector_write`, `invalidate`, `window`.
    far_first : lines and units whose values are not reused soon are given away first; False:
        customary policies, for comparison: least recently used replacement, every result kept, any free unit
        for a warp that owns none, no waiting. Malekeh, section VI-C.
    own_unit : a warp that owns a unit is collected there and nowhere else; False: every uop gets any free
        unit, at random, as in the baseline of Malekeh's section II. If that is another one than the warp's
        last, the warp's values there are forgotten: it has values in one place at most.

    Latency: allocated in t, a uop whose sources are all in the table can be dispatched in t + 1; requests
    reach the banks in t + 1, an operand granted in g is delivered in g + 1, and its uop can be dispatched in
    g + 2. A result written in t is found from t + 1 on at the earliest.
    """

    caches = True
    adapts = True

    def __init__(
        self,
        config: SmConfig,
        registers: Hierarchy,
        read: Callable[[int, int], None],
        probe: Probe,
        far_first: bool = True,
        own_unit: bool = True,
    ) -> None:
        core = config.sub_core
        self.far_first = far_first
        shape = core.collector
        self._count = core.collectors
        self._per_warp = shape.allocation == "per_warp"
        self._own_unit = own_unit or self._per_warp
        self._everyone = (1 << core.warps) - 1
        self._registers = registers
        self._read = read
        self._probe = probe
        ports = probe.ports
        self._allocates = ports["allocate"]
        self._forwards = ports["forward"]
        self._delivers = ports["deliver"]
        self._random = Lfsr(shape.seed)
        self.units = [CachingUnit(config, number, far_first, probe) for number in range(core.collectors)]
        if self._per_warp:
            for warp, unit in enumerate(self.units):
                unit.owner = warp
        self._sthld = 0 if shape.sthld == "adaptive" else int(shape.sthld)
        self._waited = 0
        self.free = (1 << core.collectors) - 1  # units without a uop
        self._far = self.free  # units that keep no value whose reuse is near
        self._owned = [-1] * core.warps  # unit that a warp owns
        if self._per_warp:
            self._owned = list(range(core.warps))
        self.may_issue = self.may_slide = self._everyone
        self.holds = 0
        self._ready = [0] * len(Unit)
        self.any_ready = 0
        self._pointers = [0] * len(Unit)
        self._gone: list[int] = []
        self._claims: dict[int, tuple[CachingUnit, bool]] = {}
        self._pending = False  # a unit acts in the next cycle, or its table has changed
        self._used = [0] * core.collectors  # lines in use, as reported
        self._resized: list[tuple[int, int]] = []  # to be reported in the next cycle
        self._stale = False

    @property
    def busy(self) -> bool:
        """Whether the units have something to do in the next cycle."""
        return self._pending or bool(self._resized)

    def slide(self, warp: int) -> None:
        """Ignore a uop that needs no collector."""

    def start(self, warp: int) -> None:
        """Drop the values of the slot's last warp, since a new warp starts."""
        number = self._owned[warp]
        if number < 0:
            return
        unit = self.units[number]
        unit.table.flush()
        unit.arrived = None
        unit.changed = self._pending = True
        if not self._per_warp:
            unit.owner = -1
            self._owned[warp] = -1
        self._update()

    # --- Who may issue, and who waits.

    def waits(self, ready: int) -> bool:
        """Return whether a warp of the mask `ready` (its next uop has no hazard and needs a collector) would
        be given a unit, were it not for the values that the free ones keep."""
        return bool(
            self.far_first
            and self.free
            and not self.free & self._far
            and self._waited < self._sthld
            and ready & ~self.holders
        )

    def wait(self) -> None:
        """Count a cycle in which nothing issues and a warp `waits`."""
        self._waited += 1
        self._probe.emit("unit_wait", self._waited)
        self._stale = True

    def adapt(self, sthld: int) -> None:
        """Set the number of cycles for which a warp waits."""
        self._sthld = sthld
        self._update()

    @property
    def holders(self) -> int:
        """Mask of the warps that own a unit."""
        return sum(1 << warp for warp, number in enumerate(self._owned) if number >= 0)

    def _open(self) -> int:
        """Return the mask of the units that a warp without one may be given."""
        if not self.far_first:
            return self.free
        if self.free & self._far:
            return self.free & self._far
        return self.free if self._waited >= self._sthld else 0

    # --- Issue.

    def allocate(self, uop: TraceUop) -> None:
        """Take an issued uop: find its sources in the table, and request those that are not there."""
        number = self._owned[uop.warp]
        if number < 0 or not self._own_unit:
            number = self._give(uop.warp)
        self.free &= ~(1 << number)
        self._allocates.emit(number, uop.warp, uop.seq)
        hits = self.units[number].take(uop)
        for slot, register in enumerate(uop.sources):
            if not hits >> slot & 1:
                self._registers.read(number, slot, uop, register)
        if hits:
            self._forwards.emit(number, uop.warp, uop.seq, hits, hits.bit_count())
        self._stale = True

    def _give(self, warp: int) -> int:
        """Choose a unit for a warp, and take it from whoever owned it."""
        number = self._random.choose(self._open())
        self._random.advance()
        if not self.free & self._far:
            self._waited = 0
        before = self._owned[warp]
        if before != number:
            if before >= 0:
                self._forget(before)
            self._forget(number)
            self.units[number].owner = warp
            self._owned[warp] = number
        return number

    def _forget(self, number: int) -> None:
        """Drop the values of a unit at the end of the cycle; nobody owns it from now on. A uop in collection
        keeps its lines."""
        unit = self.units[number]
        if unit.table.used:
            self._probe.emit("flush", number, unit.table.used)
        unit.forgets = True
        if unit.owner >= 0:
            self._owned[unit.owner] = -1
        unit.owner = -1

    def deliver(self, collector: int, slot: int, tag: int, value: Value, metadata: Metadata) -> None:
        """Take an operand that arrives at port S."""
        self.units[collector].delivery = slot, value, metadata
        self._delivers.emit(collector, slot)
        self._stale = True

    # --- Dispatch.

    def dispatch(self, cycle: int, pipelines: Units) -> bool:
        """Dispatch one complete unit per execution unit, by rotating priority. Returns whether an execution
        unit refused one."""
        refused = False
        kinds = self.any_ready
        while kinds:
            kind = (kinds & -kinds).bit_length() - 1
            kinds &= kinds - 1
            if not pipelines.accepts(kind, cycle):
                refused = True
                continue
            number = first_from(self._ready[kind], self._pointers[kind])
            self._pointers[kind] = (number + 1) % self._count
            unit = self.units[number]
            uop = unit.uop
            assert uop is not None
            uop.operands = [line.value for line in unit.lines]
            uop.metadata = [line.metadata for line in unit.lines]
            self._gone.append(number)
            pipelines.dispatch(uop, number, cycle)
        return refused

    def next_cycle(self, cycle: int, pipelines: Units) -> int:
        """Return the next cycle after `cycle` in which a complete unit finds its execution unit free."""
        best = NEVER
        kinds = self.any_ready
        while kinds:
            kind = (kinds & -kinds).bit_length() - 1
            kinds &= kinds - 1
            best = min(best, pipelines.next_cycle(kind, cycle))
        return best

    # --- Results.

    def claim(self, offers: list[tuple[int, TraceUop, int]]) -> tuple[int, int]:
        """Give port D of each unit to one result per cycle. Returns two empty masks: no result waits for the
        port, and every result goes to the banks."""
        taken = 0
        for kind, uop, _ in offers:
            number = self._owned[uop.warp]
            if number < 0:
                continue
            port = self._wanted(uop) and not taken >> number & 1
            taken |= port << number
            self._claims[kind] = self.units[number], port
        return 0, 0

    def _wanted(self, uop: TraceUop) -> bool:
        """Return whether the result should be kept."""
        return not self.far_first or bool(uop.near & NEAR_RESULT)

    def result(self, unit: int, uop: TraceUop, register: int, value: Value) -> None:
        """Take a unit's result that is written into its bank."""
        claim = self._claims.get(unit)
        if claim is not None:
            holder, port = claim
            holder.results.append((uop, register, value, port))

    @property
    def evicted(self) -> tuple[int, int, Value] | None:
        """Value for the banks: always None, since the banks have every value."""
        return None

    def written_back(self) -> None:
        """Do nothing: no value is evicted."""

    def contents(self) -> list[Shelf]:
        """Cache table of every unit: its valid lines."""
        return [
            Shelf(
                number,
                "cache table",
                len(unit.table.lines),
                [
                    Kept(unit.owner, line.register, line.value, line.notes)
                    for line in unit.table.lines
                    if line.valid
                ],
            )
            for number, unit in enumerate(self.units)
        ]

    # --- The clock edge.

    def edge(self) -> int:
        """End the cycle at the clock edge. Returns the number of uops in collection from the next cycle
        on."""
        for number, used in self._resized:
            self._probe.emit("window", number, used)
            self._used[number] = used
        self._resized.clear()
        if self._claims or self._pending or self._stale:
            self._pending = False
            self._claims.clear()
            for unit in self.units:
                if acts := unit.acts:
                    unit.end()
                    self._pending = self._stale = True
                elif unit.changed:
                    unit.table.victim = unit.table.next_victim([])
                unit.changed = acts
        for number in self._gone:
            unit = self.units[number]
            assert unit.uop is not None
            for register in unit.uop.sources:
                self._read(unit.uop.warp, register)
            unit.leave()
            self.free |= 1 << number
            self._stale = self._pending = unit.changed = True
        self._gone.clear()
        if self._stale:
            self._update()
        return self._count - self.free.bit_count()

    def _update(self) -> None:
        """Recompute the masks that follow from the units' state."""
        self._stale = False
        self._resized.clear()
        self._ready = [0] * len(Unit)
        self.any_ready = self._far = self.holds = mine = 0
        for number, unit in enumerate(self.units):
            bit = 1 << number
            if unit.uop is not None and not unit.awaits:
                self._ready[unit.uop.unit] |= bit
                self.any_ready |= 1 << unit.uop.unit
            if not unit.table.any_near:
                self._far |= bit
            used = unit.table.used
            if unit.owner >= 0:
                if self.free & bit:
                    mine |= 1 << unit.owner
                if used:
                    self.holds |= 1 << unit.owner
            if used != self._used[number] and self._probe.sink is not None:
                self._resized.append((number, used))
        others = self._everyone if self._open() else 0
        if self._own_unit:
            others &= ~self.holders
        self.may_issue = mine | others
