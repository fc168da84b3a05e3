"""A register file cache beside the main register file: each operand is in one of the two, and is read where
it is."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.golden.hierarchy.allocation import AddressAllocation
from warpbank.golden.interfaces import Arrival, Hierarchy
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.probe import Probe
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge


class ResultCache(Hierarchy):
    """Hierarchy with a cache that results fill: the part that the caches managed by hardware and by the
    compiler share.

    An active warp has a row of the cache, one register in each bank. It loses the row when it is deactivated,
    and gets an empty one when it is activated. `Rfc` and `SwRfc` decide where results go and where operands
    are.

    Order within a cycle at a bank of the cache: results, a register that leaves, operands. At a bank of the
    main register file: results, registers that have left the cache, operands. A collector's port takes an
    operand from the cache first. An operand of the cache is as late as one of the main register file, so that
    the port is free when it comes.

    The cache keeps values whole, each with its metadata. A result that goes into the cache is free of hazards
    at once, one that goes to the main register file when that says so.

    Parameters
    ----------
    config : the machine: cache, main register file.
    main : the main register file.
    quiet : tells of a warp whether no operand of an issued uop of it is still to be read.
    probe : receives the events.
    """

    def __init__(
        self, config: SmConfig, main: MainRegisterFile, quiet: Callable[[int], bool], probe: Probe
    ) -> None:
        core = config.sub_core
        self._main, self._mapping, self._storage = main, main.mapping, main.storage
        self._quiet, self._probe = quiet, probe
        self._every_lane = config.lane_mask
        self._entries, self._rows = core.cache.registers, core.active_warps
        self.offsets = AddressAllocation(self._rows)
        self._row_of: list[int | None] = [None] * core.warps
        self._owner: list[int | None] = [None] * self._rows  # warp of each row
        self._leaving = [False] * self._rows
        self._over = [False] * self._rows  # of the leaving ones: the warp has issued its last uop
        #: Operands still to be read, by row and bank of the cache.
        self._locks = [[0] * self._entries for _ in range(self._rows)]
        blank: Value = np.zeros(config.lanes, np.uint32)
        self._values: list[list[Value]] = [[blank] * self._rows for _ in range(self._entries)]
        plain = main.storage.encode(blank, False)
        self._metadata: list[list[Metadata]] = [[plain] * self._rows for _ in range(self._entries)]
        self._cache = Arbiter(self._entries, probe, cache=True)
        self._cache_written = self._main_asked = 0  # banks, in this cycle
        self._left = 0  # bank of the cache that a register leaves in this cycle, as a mask
        self.may_issue = -1  # a warp is active only if it has a row
        self.landing = main.storage.landing
        #: What the cache granted in the last cycles, and how much that is.
        self._pipe: deque[list[Arrival]] = deque([] for _ in range(1 + main.storage.read_delay))
        self._arriving = 0

    # --- Warps.

    def launch(self, registers: int, exempt: int, slots: int, kept: int) -> None:
        """A launch begins."""
        self._mapping.launch(registers, exempt, slots, kept)
        self._forget()

    def _forget(self) -> None:
        """Forget what has left the cache, of warps that have ended: its row may be somebody else's."""

    def start(self, warp: int, rows: int) -> None:
        """Start a warp of a launch whose warps have `rows` rows of every bank each."""
        self._mapping.start(warp, rows)

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

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""
        self._main.issue(uop)

    # --- Operands.

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        return self._main.busy or self._cache.pending > 0 or self._arriving > 0 or any(self._leaving)

    def _request(
        self, collector: int, slot: int, warp: int, register: int, tag: int, entry: int | None
    ) -> None:
        """Queue a read: of a bank of the cache, or of the main register file."""
        if entry is None:
            self._main.read(collector, slot, warp, register, tag)
        else:
            offset = self._row_of[warp]
            assert offset is not None
            self._cache.request(entry, offset, collector, slot, tag)

    # --- Results.

    def begin(self) -> None:
        """A cycle begins in which the storage is busy."""
        self._main.begin()

    def bank_of(self, writer: int, warp: int, register: int) -> int:
        """The register's bank of the main register file, wherever a result goes."""
        return self._main.bank_of(warp, register)

    @abstractmethod
    def _place(self, uop: TraceUop, register: int) -> tuple[int | None, bool] | None:
        """Destination of a result: bank of the cache or None, and whether to the main register file; None: it
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
        if to_main:
            bit = 1 << self._main.bank_of(uop.warp, register)
            taken = (self._main_asked | self._main.taken) & bit
            self._main_asked |= bit
            if taken:
                return False
        if entry is not None:
            if self._cache_written >> entry & 1:
                return False
            metadata = self._storage.describe(uop, value)
            self._write_cache(uop.warp, entry, register, uop.lane_mask, value, metadata)
        if to_main:
            self._main.write(uop, register, value)
        else:
            self.landing.append((uop.warp, 1 << register))
        return True

    def _write_cache(
        self, warp: int, entry: int, register: int, mask: int, value: Value, metadata: Metadata
    ) -> None:
        """Write some lanes of a value into the cache."""
        offset = self._row_of[warp]
        assert offset is not None
        self._cache_written |= 1 << entry
        before = self._values[entry][offset]
        self._values[entry][offset] = value if mask == self._every_lane else merge(before, value, mask)
        self._metadata[entry][offset] = metadata
        self._probe.emit("cache_write", entry, offset, warp, register)
        self._enters(offset, entry, register)

    def keep(self, warp: int, mask: int) -> None:
        """Result registers are taken by a collector only."""
        self._storage.keep(warp, mask)

    # --- A cycle.

    @abstractmethod
    def _empty(self, offset: int) -> bool:
        """Whether nothing of a leaving warp keeps its row."""

    def _before_reads(self) -> None:
        """Do a cycle's work between its results and its operands."""

    def _close(self) -> None:
        """Do a cycle's work after its operands."""

    def step(self) -> list[Arrival]:
        """One cycle, after its results; returns the operands that arrive."""
        gone = next((row for row in range(self._rows) if self._leaving[row] and self._empty(row)), None)
        self._before_reads()
        granted = self._cache.step(self._cache_written | self._left) if self._cache.pending else []
        ports = 0
        reads: list[Arrival] = []
        for entry, offset, collector, slot, tag in granted:
            self._locks[offset][entry] -= 1
            ports |= 1 << collector
            reads.append((collector, slot, tag, self._values[entry][offset], self._metadata[entry][offset]))
        self._pipe.append(reads)
        arrived = self._pipe.popleft()
        self._arriving += len(reads) - len(arrived)
        arrived = arrived + self._main.step(ports)
        self._close()
        if gone is not None:
            self._release(gone)
        self._cache_written = self._main_asked = self._left = 0
        return arrived

    def _release(self, offset: int) -> None:
        """The row is free."""
        warp = self._owner[offset]
        assert warp is not None
        self.offsets.release(offset)
        self._row_of[warp] = self._owner[offset] = None
        self._leaving[offset] = False
        self._probe.emit("row_free", warp, offset)

    def edge(self) -> None:
        """End a cycle in which the mapping is busy."""
        self._main.edge()
        for warp, register in self._mapping.dropped:
            self._poison(warp, register)

    def _poison(self, warp: int, register: int) -> None:
        """Drop the value that a released register has in the cache."""
