"""The main register file: bank arbiter, bank timing, a mapping and a storage, joined."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.golden.interfaces import Arrival, Home, Mapping, Storage
from warpbank.golden.main.bank_timing import BankTiming
from warpbank.golden.probe import Probe
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value


class MainRegisterFile:
    """Registers in banks, wherever the mapping has them and however the storage keeps them. Any hierarchy
    stands over it.

    Order within a cycle: `begin`; writes; then the reads on the banks left over, of collectors (`step`) or of
    a cache (`accesses`, `fetch`, `store`, `close`); `edge`. A bank whose accesses take longer than a cycle
    (`bank_latency`) begins with its oldest read before that can be granted, and takes no write until it has
    been.

    An operand whose register has no home is read as any other, in a row that may be anybody's, and delivered
    as zeros; a value that is written back to such a register is dropped.

    Parameters
    ----------
    config : the machine: banks, lanes.
    mapping, storage : the other rooms' units.
    pending : gives the mask of a warp's registers that are still to be written, at the clock edge.
    probe : receives `write`, `write_back`, `fetch`.

    Attributes
    ----------
    zeros, zero_metadata : what a register without a home holds.
    """

    def __init__(
        self,
        config: SmConfig,
        mapping: Mapping,
        storage: Storage,
        pending: Callable[[int], int],
        probe: Probe,
    ) -> None:
        core = config.sub_core
        self.mapping, self.storage, self.pending, self._probe = mapping, storage, pending, probe
        self._write, self._write_back = probe.ports["write"], probe.ports["write_back"]
        self._arbiter = storage.arbiter(probe)
        self._timing = BankTiming(core.banks, core.bank_latency)
        self._slow = core.bank_latency != 100
        self._banks, self._every_lane = core.banks, config.lane_mask
        self._written = 0  # banks that take no write any more in this cycle
        #: Banks that a cache's register came into in this cycle, and in the one before: not to be read yet.
        self._drained = self._settling = 0
        self._arriving: list[Arrival] = []  # what was granted in the last cycle
        #: What was granted in the cycles before, as many as the storage's operands are late.
        self._pipe: deque[list[Arrival]] = deque([] for _ in range(storage.read_delay))
        self._deep = self._slow or storage.read_delay > 0  # an access goes on behind its grant
        self._blank: set[tuple[int, int, int]] = set()  # (collector, slot, tag) without a home
        self.zeros: Value = np.zeros(config.lanes, np.uint32)
        self.zero_metadata: Metadata = storage.encode(self.zeros, True)

    def be_late(self) -> None:
        """Access the banks a cycle after they are given out, if no other stage stands before them: a cache
        alone reads them."""
        self.storage.late = int(not self.storage.read_delay)

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        return (
            self._arbiter.pending > 0
            or bool(self._arriving)
            or self.storage.busy
            or self.mapping.busy
            or (self._deep and (self._timing.busy != 0 or any(self._pipe)))
        )

    @property
    def taken(self) -> int:
        """Mask of the banks that take no write any more in this cycle."""
        return self._written | self._timing.busy

    def bank_of(self, warp: int, register: int) -> int:
        """The bank of a register that has a home."""
        return self._home(warp, register)[0]

    def _home(self, warp: int, register: int) -> Home:
        home = self.mapping.home(warp, register)
        assert home is not None, f"R{register} of warp {warp} has no physical register"
        return home

    # --- Uops.

    def before(self, uop: TraceUop, safe: int = 0) -> TraceUop | None:
        """The move that must issue in the place of a uop that has no hazard; `safe`: mask of its destinations
        of which the banks have nothing to lose, the first one lowest."""
        if self.storage.before(uop, safe) is None:  # most uops; where more is safe no move appears
            return None
        return self.storage.before(uop, safe | self.mapping.missing(uop))

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""
        self.storage.issue(uop, self.mapping.missing(uop))
        self.mapping.issue(uop)

    # --- Writes.

    def begin(self) -> None:
        """A cycle begins in which something is in the storage's stages."""
        self._written = self.storage.begin()

    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Write one result register; False: its bank takes no other write in this cycle."""
        home = self.mapping.home(uop.warp, register)
        assert home is not None
        bank, row = home
        if (self._written | self._timing.busy) >> bank & 1:
            return False
        self._written |= 1 << bank
        self.storage.result(bank, row, uop, register, value)
        self._write.emit(bank, row, uop.warp, uop.seq, register, uop.lane_mask)
        return True

    def write_described(self, uop: TraceUop, register: int, value: Value, metadata: Metadata) -> bool:
        """Write one result register that is described already; False: as in `write`."""
        bank, row = self._home(uop.warp, register)
        if (self._written | self._timing.busy) >> bank & 1:
            return False
        self._written |= 1 << bank
        self.storage.put(bank, row, uop.lane_mask, value, metadata)
        self._write.emit(bank, row, uop.warp, uop.seq, register, uop.lane_mask)
        return True

    def waste(self, warp: int, register: int) -> None:
        """The bank of a register is given to a result that is not written after all: it does nothing else in
        this cycle."""
        self._written |= (1 << self.bank_of(warp, register)) & ~self._timing.busy

    def drops(self, warp: int, register: int) -> bool:
        """Whether a value that is written back has nowhere to go: then it is dropped."""
        if self.mapping.home(warp, register) is not None:
            return False
        self.mapping.dead_value(warp, register)
        return True

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts, unless its register has been released; False: as in
        `write`."""
        home = self.mapping.home(warp, register)
        if home is None:
            self.mapping.dead_value(warp, register)
            return True
        bank, row = home
        if (self._written | self._timing.busy) >> bank & 1:
            return False
        self.evict(bank, row, warp, register, value)
        return True

    def evict(
        self, bank: int, row: int, warp: int, register: int, value: Value, compress: bool = True
    ) -> None:
        """Write a value, all lanes, into a bank that is not `taken`. It is kept as it is unless `compress`,
        or if a write of its register is pending."""
        self._written |= 1 << bank
        compress = compress and not self.pending(warp) >> register & 1
        self.storage.write_back(bank, row, warp, register, value, compress)
        self._write_back.emit(bank, row, warp, register)

    def drain(
        self, bank: int, row: int, warp: int, register: int, value: Value, compress: bool = True
    ) -> None:
        """Write a register that has left a cache as `evict` does. Somebody may have asked for it already: a
        storage whose writes end later does not read the bank in the next cycle."""
        self.evict(bank, row, warp, register, value, compress)
        if self.storage.write_delay:
            self._drained |= 1 << bank

    def put_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts, kept as it is; False: as in `write`."""
        bank, row = self._home(warp, register)
        if (self._written | self._timing.busy) >> bank & 1:
            return False
        self._written |= 1 << bank
        self.storage.put(bank, row, self._every_lane, value, self.storage.encode(value, False))
        self._write_back.emit(bank, row, warp, register)
        return True

    # --- Operands.

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """Request an operand (operand read interface)."""
        home = self.mapping.ask(collector, slot, warp, register, tag)
        if home is not None:
            self._arbiter.request(home[0], home[1], collector, slot, tag)

    def step(self, ports: int = 0) -> list[Arrival]:
        """Grant reads; `ports`: mask of the collectors whose port is taken. Returns the operands granted in
        the previous cycle, or `Storage.read_delay` cycles before."""
        storage, arbiter, arrived = self.storage, self._arbiter, self._arriving
        if self._slow:
            self._arriving = self._slowly(ports)
        elif arbiter.pending:
            written = storage.written(self._written) if storage.busy else self._written
            self._arriving = []
            for bank, row, collector, slot, tag in arbiter.step(written | self._settling, 0, ports):
                value, metadata = storage.operand(bank, row)
                self._arriving.append((collector, slot, tag, value, metadata))
        elif arrived:
            self._arriving = []
        if storage.busy:
            storage.step()
        self._written = 0
        self._settling, self._drained = self._drained, 0
        if self._pipe:
            self._pipe.append(arrived)
            arrived = self._pipe.popleft()
        return self._filled(arrived) if self._blank else arrived

    def _slowly(self, ports: int) -> list[Arrival]:
        """Operands of banks whose accesses take longer than a cycle."""
        storage, arbiter = self.storage, self._arbiter
        opening = self._timing.step(self._written, arbiter.waiting)
        found: list[Arrival] = []
        if arbiter.pending:
            written = storage.written(self._written) if storage.busy else self._written
            grants = arbiter.step(written | self._settling, opening, ports)
            found = [
                (collector, slot, tag, *storage.operand(bank, row))
                for bank, row, collector, slot, tag in grants
            ]
            self._timing.granted(sum(1 << grant[0] for grant in grants))
        self._timing.edge()
        return found

    def _filled(self, arrived: list[Arrival]) -> list[Arrival]:
        """Arrivals, with zeros in the place of operands without a home."""
        found = []
        for arrival in arrived:
            key = arrival[:3]
            if key in self._blank:
                self._blank.discard(key)
                found.append((*key, self.zeros, self.zero_metadata))
            else:
                found.append(arrival)
        return found

    # --- Registers of a cache.

    def accesses(self) -> int:
        """The cycle's writes are over. Returns the mask of the banks that have no time for a cache."""
        return (self._timing.step(self._written, 0) if self._slow else 0) | self._written

    def fetch(self, bank: int, row: int, warp: int, register: int) -> tuple[int, Value, Metadata]:
        """Read a register for a cache. Returns the cycles that it takes, and what is read."""
        cycles = self._timing.access(bank)
        value, metadata = self.storage.fetch(bank, row)
        self._probe.emit("fetch", bank, row, warp, register)
        return cycles + self.storage.read_delay, value, metadata

    def store(self, bank: int, row: int, warp: int, register: int, value: Value, metadata: Metadata) -> None:
        """Write a register that leaves a cache."""
        self._timing.access(bank)
        self.storage.put(bank, row, self._every_lane, value, metadata)
        self._write_back.emit(bank, row, warp, register)

    def close(self) -> None:
        """The cycle's accesses are over."""
        if self._slow:
            self._timing.edge()
        if self.storage.busy:
            self.storage.step()
        self._written = 0

    # --- The clock edge.

    def edge(self) -> None:
        """End a cycle in which the mapping is busy: operands get their names, registers are
        released. What is released is poisoned."""
        for collector, slot, tag, home in self.mapping.edge():
            if home is None:
                self._blank.add((collector, slot, tag))
                home = slot % self._banks, 0
            self._arbiter.request(home[0], home[1], collector, slot, tag)
        for bank, row in self.mapping.released:
            self.storage.poison(bank, row)
