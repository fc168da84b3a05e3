"""The bank arbiter: which read request each bank serves in a cycle."""

from __future__ import annotations

from typing import Final

from warpbank.arch.events import Cause
from warpbank.golden.probe import Probe

_WRITE: Final = Cause.WRITE
_PORT: Final = Cause.PORT
_QUEUE: Final = Cause.QUEUE


class Arbiter:
    """One FIFO of read requests per bank; the oldest is granted if its bank and its collector's port are
    free.

    A bank that is written in a cycle is not read. Two banks may not serve one collector in a cycle: the banks
    are looked at in rotating order, starting after the first bank that was granted in the last cycle that
    granted anything. Malekeh, section II.

    Requests that were made late wait in a FIFO of their own, which goes first: those of a uop whose operands
    are found in several cycles (a register file cache).

    Parameters
    ----------
    banks : number of banks.
    probe : receives `grant` and `conflict`.
    cache : the banks are those of a register file cache: the events are `cache_grant` and `cache_conflict`.

    Latency: a request made in cycle t is granted in t + 1 at the earliest. The FIFOs cannot overflow:
    they have room for every slot of every uop in collection (`SubCoreConfig.queue_depth`).
    """

    def __init__(self, banks: int, probe: Probe, cache: bool = False) -> None:
        self._grant = probe.ports["cache_grant" if cache else "grant"]
        self._conflict = probe.ports["cache_conflict" if cache else "conflict"]
        self._queues: list[list[tuple[int, int, int, int]]] = [[] for _ in range(banks)]
        self._late: list[list[tuple[int, int, int, int]]] = [[] for _ in range(banks)]
        self._banks = banks
        self.waiting = 0  # mask of the banks with requests
        self._pointer = 0
        self.pending = 0

    def request(self, bank: int, row: int, collector: int, slot: int, tag: int = 0) -> None:
        """Queue a read."""
        self._queues[bank].append((row, collector, slot, tag))
        self.waiting |= 1 << bank
        self.pending += 1

    def request_late(self, bank: int, row: int, collector: int, slot: int, tag: int = 0) -> None:
        """Queue a read of a uop that has asked for others before."""
        self._late[bank].append((row, collector, slot, tag))
        self.waiting |= 1 << bank
        self.pending += 1

    def step(self, written: int, opening: int = 0, ports: int = 0) -> list[tuple[int, int, int, int, int]]:
        """Grants of this cycle as (bank, row, collector, slot, tag); masks of the banks that are being
        written, of those whose accesses take longer, and of the collectors whose port is taken by another
        arbiter."""
        visit = self.waiting
        grants: list[tuple[int, int, int, int, int]] = []
        bank = self._pointer
        while visit:
            above = visit >> bank  # as `first_from`
            bank = bank + (above & -above).bit_length() - 1 if above else (visit & -visit).bit_length() - 1
            bit = 1 << bank
            visit &= ~bit
            queue = self._late[bank] or self._queues[bank]
            behind = len(self._late[bank]) + len(self._queues[bank]) - 1
            if not opening & bit:
                row, collector, slot, tag = queue[0]
                if written & bit:
                    self._wait(bank, _WRITE, 1)
                elif ports >> collector & 1:
                    self._wait(bank, _PORT, 1)
                else:
                    if not grants:
                        self._pointer = (bank + 1) % self._banks
                    ports |= 1 << collector
                    grants.append((bank, row, collector, slot, tag))
                    self._serve(bank, row, collector, slot)
                    del queue[0]
                    if not behind:
                        self.waiting &= ~bit
            if behind:
                self._wait(bank, _QUEUE, behind)
        self.pending -= len(grants)
        return grants

    def _wait(self, bank: int, cause: Cause, count: int) -> None:
        """Report requests that are not granted."""
        self._conflict.emit(bank, cause, count)

    def _serve(self, bank: int, row: int, collector: int, slot: int) -> None:
        """Report a grant."""
        self._grant.emit(bank, row, collector, slot)
