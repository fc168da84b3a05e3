"""The flat hierarchy: collectors read the banks, results are written into them, nothing is in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpbank.arch.parameters import SmConfig
from warpbank.golden.interfaces import Mapping, Storage
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.main.bank_timing import BankTiming
from warpbank.golden.probe import Probe
from warpbank.golden.storage.decompress_moves import DecompressMoves
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value


class Flat:
    """Flat hierarchy: collectors read and write the main register file directly.

    Order within a cycle: the result arbiter offers writes (`write`), then `step` serves reads on the banks
    left over. A bank whose accesses take longer than a cycle (`bank_latency`) begins with its oldest read
    before that can be granted, and takes no write until it has been.

    Parameters
    ----------
    config : the machine: banks, lanes.
    mapping, storage, arbiter : the other rooms' units.
    probe : receives `write`, `write_back`.
    """

    #: Every warp may issue and be active as far as its registers are concerned, and nothing of what it issues
    #: matters here.
    may_issue = may_activate = -1
    follows = False
    #: What a storage with encodings needs besides (`warpbank.golden.hierarchy.compressed`).
    moves: DecompressMoves | None = None
    dispatched: Callable[[TraceUop, int], bool] | None = None
    land: Callable[[], list[tuple[int, int]]] | None = None

    def __init__(
        self, config: SmConfig, mapping: Mapping, storage: Storage, arbiter: Arbiter, probe: Probe
    ) -> None:
        self._every_lane = config.lane_mask
        self._mapping = mapping
        self._storage = storage
        self._arbiter = arbiter
        self._probe = probe
        self._written = 0  # banks written in this cycle
        slow = config.sub_core.bank_latency != 100
        self._slow = BankTiming(config.sub_core.banks, config.sub_core.bank_latency) if slow else None
        self._fetch: Callable[[int, int], Any] = storage.read
        self.arriving: list[tuple[int, int, int, Any]] = []

    def start(self, warp: int, row: int) -> None:
        """A new warp's registers begin at `row`."""
        self._mapping.start(warp, row)

    def activate(self, warp: int) -> None:
        """Nothing follows from it."""

    def deactivate(self, warp: int, ended: bool) -> None:
        """Nothing follows from it."""

    def prefetch(self, uop: TraceUop) -> None:
        """Nothing follows from it."""

    def issue(self, uop: TraceUop) -> None:
        """Nothing follows from it."""

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        return (
            self._arbiter.pending > 0
            or bool(self.arriving)
            or (self._slow is not None and self._slow.busy != 0)
        )

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """Request an operand (operand read interface)."""
        bank, row = self._mapping.locate(warp, register)
        self._arbiter.request(bank, row, collector, slot, tag)

    def bank_of(self, warp: int, register: int) -> int:
        """The bank a write goes to."""
        return self._mapping.locate(warp, register)[0]

    def write(self, uop: TraceUop, register: int, value: Value) -> bool:
        """Write one result register (result interface); False: its bank takes another write in this cycle."""
        bank, row = self._mapping.locate(uop.warp, register)
        if (self._written if self._slow is None else self._written | self._slow.busy) >> bank & 1:
            return False
        self._written |= 1 << bank
        self._store(bank, row, uop, register, value)
        probe = self._probe
        probe.counters["rf.writes"] += 1
        if probe.sink is not None:
            probe.emit("write", bank, row, uop.warp, uop.seq, register, uop.lane_mask)
        return True

    def _store(self, bank: int, row: int, uop: TraceUop, register: int, value: Value) -> None:
        """Put a result into its bank."""
        self._storage.write(bank, row, uop.lane_mask, value)

    def _store_back(self, bank: int, row: int, warp: int, register: int, value: Value) -> None:
        """Put a value that a collector evicts into its bank."""
        self._storage.write(bank, row, self._every_lane, value)

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """Write a value that a collector evicts; False: its bank already takes another write in this
        cycle."""
        bank, row = self._mapping.locate(warp, register)
        if (self._written if self._slow is None else self._written | self._slow.busy) >> bank & 1:
            return False
        self._written |= 1 << bank
        self._store_back(bank, row, warp, register, value)
        probe = self._probe
        probe.counters["rf.writes"] += 1
        probe.counters["rf.write_backs"] += 1
        if probe.sink is not None:
            probe.emit("write_back", bank, row, warp, register)
        return True

    def step(self) -> list[tuple[int, int, int, Any]]:
        """Grant reads; returns the operands granted in the previous cycle as (collector, slot, tag,
        value)."""
        arrived = self.arriving
        slow = self._slow
        opening = 0 if slow is None else slow.step(self._written, self._arbiter.waiting)
        if self._arbiter.pending:
            read = self._fetch
            grants = self._arbiter.step(self._written, opening)
            self.arriving = [
                (collector, slot, tag, read(bank, row)) for bank, row, collector, slot, tag in grants
            ]
            if slow is not None:
                slow.granted(sum(1 << grant[0] for grant in grants))
        elif arrived:
            self.arriving = []
        if slow is not None:
            slow.edge()
        self._written = 0
        return arrived
