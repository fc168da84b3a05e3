"""The bank arbiter: which read request each bank serves in a cycle."""

from __future__ import annotations

from collections import deque

from warpbank.arch.events import Cause
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from


class Arbiter:
    """One FIFO of read requests per bank; the oldest is granted if its bank and its collector's port are
    free.

    A bank that is written in a cycle is not read. Two banks may not serve one collector in a cycle: the banks
    are looked at in rotating order, starting after the first bank that was granted in the last cycle that
    granted anything. Malekeh, section II.

    Parameters
    ----------
    banks : number of banks.
    probe : receives `grant` and `conflict`.
    cache : the banks are those of a register file cache: the events are `cache_grant` and `cache_conflict`.

    Latency: a request made in cycle t is granted in t + 1 at the earliest. The FIFOs cannot overflow
    (`SubCoreConfig.queue_depth`).
    """

    def __init__(self, banks: int, probe: Probe, cache: bool = False) -> None:
        self._grant, self._conflict = ("cache_grant", "cache_conflict") if cache else ("grant", "conflict")
        room = "cache" if cache else "rf"
        self._reads, self._conflicts = (
            f"{room}.reads",
            [f"{room}.conflict.{cause.name.lower()}" for cause in Cause],
        )
        self._queues: list[deque[tuple[int, int, int, int]]] = [deque() for _ in range(banks)]
        self._banks = banks
        self.waiting = 0  # mask of the banks with requests
        self._pointer = 0
        self._probe = probe
        self.pending = 0

    def request(self, bank: int, row: int, collector: int, slot: int, tag: int = 0) -> None:
        """Queue a read."""
        self._queues[bank].append((row, collector, slot, tag))
        self.waiting |= 1 << bank
        self.pending += 1

    def step(self, written: int, opening: int = 0, ports: int = 0) -> list[tuple[int, int, int, int, int]]:
        """Grants of this cycle as (bank, row, collector, slot, tag); masks of the banks that are being
        written, of those whose accesses take longer, and of the collectors whose port is taken by another
        arbiter."""
        waiting = self.waiting
        probe = self._probe
        counters = probe.counters
        grants: list[tuple[int, int, int, int, int]] = []
        bank = self._pointer
        visit = waiting & ~opening
        heads = 0
        while visit:
            bank = first_from(visit, bank)
            visit &= ~(1 << bank)
            heads += 1
            queue = self._queues[bank]
            row, collector, slot, tag = queue[0]
            if written >> bank & 1:
                self._wait(bank, Cause.WRITE, 1)
            elif ports >> collector & 1:
                self._wait(bank, Cause.PORT, 1)
            else:
                if not grants:
                    self._pointer = (bank + 1) % self._banks
                ports |= 1 << collector
                grants.append((bank, row, collector, slot, tag))
                if probe.sink is not None:
                    self._serve(bank, row, collector, slot)
        if self.pending > heads:
            self._count_queued(waiting)
        for grant in grants:
            bank = grant[0]
            queue = self._queues[bank]
            queue.popleft()
            if not queue:
                self.waiting &= ~(1 << bank)
        counters[self._reads] += len(grants)
        self.pending -= len(grants)
        return grants

    def _count_queued(self, waiting: int) -> None:
        """Count the requests behind the oldest one of each bank."""
        for bank, queue in enumerate(self._queues):
            if waiting >> bank & 1 and len(queue) > 1:
                self._wait(bank, Cause.QUEUE, len(queue) - 1)

    def _wait(self, bank: int, cause: Cause, count: int) -> None:
        """Report requests that are not granted."""
        self._probe.counters[self._conflicts[cause]] += count
        if self._probe.sink is not None:
            self._probe.emit(self._conflict, bank, cause, count)

    def _serve(self, bank: int, row: int, collector: int, slot: int) -> None:
        """Report a grant."""
        self._probe.emit(self._grant, bank, row, collector, slot)


class ScalarArbiter(Arbiter):
    """Bank arbiter with a scalar bank, the last one, for registers whose lanes are all equal.

    Parameters
    ----------
    banks : number of banks without it.
    probe : also receives `scalar_grant` and `scalar_conflict`.
    """

    def __init__(self, banks: int, probe: Probe) -> None:
        super().__init__(banks + 1, probe)
        self._scalar = banks

    def step(self, written: int, opening: int = 0, ports: int = 0) -> list[tuple[int, int, int, int, int]]:
        """One cycle of grants; returns the reads that the banks serve."""
        grants = super().step(written, opening, ports)
        if any(grant[0] == self._scalar for grant in grants):
            self._probe.counters["rf.reads"] -= 1
            self._probe.counters["scalar_rf.reads"] += 1
        return grants

    def _wait(self, bank: int, cause: Cause, count: int) -> None:
        if bank != self._scalar:
            super()._wait(bank, cause, count)
            return
        self._probe.counters["scalar_rf.waits"] += count
        if self._probe.sink is not None:
            self._probe.emit("scalar_conflict", cause, count)

    def _serve(self, bank: int, row: int, collector: int, slot: int) -> None:
        if bank == self._scalar:
            self._probe.emit("scalar_grant", row, collector, slot)
        else:
            super()._serve(bank, row, collector, slot)
