"""A register file cache beside the main register file: each operand is in one of the two, and is read where
it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.golden.hierarchy.allocation import AddressAllocation
from warpbank.golden.interfaces import Mapping, Storage
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.main.bank_timing import BankTiming
from warpbank.golden.probe import Probe
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge


class ResultCache(ABC):
    """Hierarchy with a cache that results fill: the part that the caches managed by hardware and by the
    compiler share.

    An active warp has a row of the cache, one register in each bank. It loses the row when it is deactivated,
    and gets an empty one when it is activated. `Rfc` and `SwRfc` decide where results go and where operands
    are.

    Order within a cycle at a bank of the cache: results, a register that leaves, operands. At a bank of the
    main register file: results, registers that have left the cache, operands. A collector's port takes an
    operand from the cache first.

    Parameters
    ----------
    config : the machine: cache, main register file.
    mapping, storage : the other rooms' units.
    quiet : tells of a warp whether no operand of an issued uop of it is still to be read.
    probe : receives the events.
    """

    follows = True
    moves = None
    dispatched = None
    land = None
    #: A warp is active only if it has a row.
    may_issue = -1

    def __init__(
        self, config: SmConfig, mapping: Mapping, storage: Storage, quiet: Callable[[int], bool], probe: Probe
    ) -> None:
        core = config.sub_core
        self._mapping, self._storage, self._quiet, self._probe = mapping, storage, quiet, probe
        self._every_lane = config.lane_mask
        self._entries, self._rows = core.cache.registers, core.active_warps
        self._everyone = (1 << core.warps) - 1
        self.offsets = AddressAllocation(self._rows)
        self._row_of: list[int | None] = [None] * core.warps
        self._owner: list[int | None] = [None] * self._rows  # warp of each row
        self._leaving = [False] * self._rows
        self._over = [False] * self._rows  # of the leaving ones: the warp has issued its last uop
        #: Operands still to be read, by row and bank of the cache.
        self._locks = [[0] * self._entries for _ in range(self._rows)]
        blank: Value = np.zeros(config.lanes, np.uint32)
        self._values: list[list[Value]] = [[blank] * self._rows for _ in range(self._entries)]
        self._cache, self._main = Arbiter(self._entries, probe, cache=True), Arbiter(core.banks, probe)
        self._slow = BankTiming(core.banks, core.bank_latency) if core.bank_latency != 100 else None
        self._cache_written = self._main_asked = self._main_written = 0  # banks, in this cycle
        self._left = 0  # bank of the cache that a register leaves in this cycle, as a mask
        self.arriving: list[tuple[int, int, int, Value]] = []

    # --- Warps.

    def start(self, warp: int, row: int) -> None:
        """A new warp's registers begin at `row`."""
        self._mapping.start(warp, row)

    @property
    def may_activate(self) -> int:
        """Mask of the warps that could be activated: none if no row of the cache is free."""
        if not self.offsets.unused:
            return 0
        return sum(1 << warp for warp, row in enumerate(self._row_of) if row is None)

    def activate(self, warp: int) -> None:
        """The warp becomes active: it gets an empty row."""
        offset = self.offsets.allocate()
        self._row_of[warp], self._owner[offset] = offset, warp
        self._leaving[offset] = self._over[offset] = False

    def deactivate(self, warp: int, ended: bool) -> None:
        """The warp is not active any more; nothing of one that has `ended` is wanted."""
        offset = self._row_of[warp]
        assert offset is not None
        self._leaving[offset], self._over[offset] = True, ended

    def prefetch(self, uop: TraceUop) -> None:
        """There is no PREFETCH in the code."""

    @abstractmethod
    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""

    # --- Operands.

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        return (
            self._main.pending > 0
            or self._cache.pending > 0
            or bool(self.arriving)
            or any(self._leaving)
            or (self._slow is not None and self._slow.busy != 0)
        )

    @abstractmethod
    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """Request an operand (operand read interface)."""

    def _request(self, collector: int, slot: int, warp: int, register: int, entry: int | None) -> None:
        """Queue a read: of a bank of the cache, or of the main register file."""
        if entry is None:
            bank, row = self._mapping.locate(warp, register)
            self._main.request(bank, row, collector, slot)
        else:
            offset = self._row_of[warp]
            assert offset is not None
            self._cache.request(entry, offset, collector, slot)

    # --- Results.

    def bank_of(self, warp: int, register: int) -> int:
        """The register's bank of the main register file, wherever a result goes."""
        return self._mapping.locate(warp, register)[0]

    @abstractmethod
    def _place(self, uop: TraceUop, register: int) -> tuple[int | None, bool] | None:
        """Where a result goes: bank of the cache or None, and whether to the main register file; None: it
        waits."""

    def _enters(self, offset: int, entry: int, register: int) -> None:
        """A result is written into the cache."""

    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Write one result register (result interface); False: it has to wait. A result for both places is
        written in both at once."""
        place = self._place(uop, register)
        if place is None:
            return False
        entry, to_main = place
        bank, row = self._mapping.locate(uop.warp, register)
        if to_main:
            taken = (self._main_asked | self._busy_banks) >> bank & 1
            self._main_asked |= 1 << bank
            if taken:
                return False
        if entry is not None:
            if self._cache_written >> entry & 1:
                return False
            self._write_cache(uop, entry, register, value)
        if to_main:
            self._main_written |= 1 << bank
            self._storage.write(bank, row, uop.lane_mask, value)
            self._probe.counters["rf.writes"] += 1
            if self._probe.sink is not None:
                self._probe.emit("write", bank, row, uop.warp, uop.seq, register, uop.lane_mask)
        return True

    def _write_cache(self, uop: TraceUop, entry: int, register: int, value: Value) -> None:
        """Write the lanes of a result into the cache."""
        offset = self._row_of[uop.warp]
        assert offset is not None
        self._cache_written |= 1 << entry
        before, mask = self._values[entry][offset], uop.lane_mask
        self._values[entry][offset] = value if mask == self._every_lane else merge(before, value, mask)
        self._probe.counters["cache.writes"] += 1
        if self._probe.sink is not None:
            self._probe.emit("cache_write", entry, offset, uop.warp, register)
        self._enters(offset, entry, register)

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """No collector that evicts values goes with it (`warpbank.arch.schemes`)."""
        raise AssertionError("a collector evicts a value beside a register file cache")

    @property
    def _busy_banks(self) -> int:
        """Banks of the main register file that take no write."""
        return 0 if self._slow is None else self._slow.busy

    # --- A cycle.

    @abstractmethod
    def _empty(self, offset: int) -> bool:
        """Whether nothing of a leaving warp keeps its row."""

    def _before_reads(self) -> None:
        """What happens after the results and before the operands of a cycle."""

    def _edge(self) -> None:
        """The end of a cycle."""

    def step(self) -> list[tuple[int, int, int, Value]]:
        """One cycle, after its results; returns the operands granted in the previous cycle as (collector,
        slot, tag, value)."""
        arrived = self.arriving
        gone = next((row for row in range(self._rows) if self._leaving[row] and self._empty(row)), None)
        self._before_reads()
        granted = self._cache.step(self._cache_written | self._left) if self._cache.pending else []
        ports = 0
        self.arriving = []
        for entry, offset, collector, slot, tag in granted:
            self._locks[offset][entry] -= 1
            ports |= 1 << collector
            self.arriving.append((collector, slot, tag, self._values[entry][offset]))
        self._read_main(ports)
        self._edge()
        if gone is not None:
            self._release(gone)
        self._cache_written = self._main_asked = self._main_written = self._left = 0
        return arrived

    def _read_main(self, ports: int) -> None:
        """The main register file's reads; `ports`: collectors that the cache serves."""
        slow = self._slow
        opening = 0 if slow is None else slow.step(self._main_written, self._main.waiting)
        if self._main.pending:
            grants = self._main.step(self._main_written, opening, ports)
            read = self._storage.read
            self.arriving += [
                (collector, slot, tag, read(bank, row)) for bank, row, collector, slot, tag in grants
            ]
            if slow is not None:
                slow.granted(sum(1 << grant[0] for grant in grants))
        if slow is not None:
            slow.edge()

    def _release(self, offset: int) -> None:
        """The row is free."""
        warp = self._owner[offset]
        assert warp is not None
        self.offsets.release(offset)
        self._row_of[warp] = self._owner[offset] = None
        self._leaving[offset] = False
        if self._probe.sink is not None:
            self._probe.emit("row_free", warp, offset)
