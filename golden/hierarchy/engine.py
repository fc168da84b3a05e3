"""Transfer engine: carries registers between the banks of the main register file and those of the register
file cache, over a narrow crossbar."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.parameters import TRANSFER_QUEUE, SubCoreConfig
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.storage.metadata import EMPTY, Metadata
from warpbank.golden.values import NEVER, Value


class Transfer:
    """One register between cache and main register file.

    Parameters
    ----------
    out : it leaves the cache; else it comes.
    warp, register : which register of which warp.
    entry, offset : its bank and row of the cache.
    row : its row of the main register file.
    plain : of one that leaves: a result of it is still to come, so it is kept as it is.

    Attributes
    ----------
    void : nobody wants it any more: it does not reach the main register file.
    value, metadata : once it has been read.
    """

    __slots__ = ("entry", "metadata", "offset", "out", "plain", "register", "row", "value", "void", "warp")

    def __init__(
        self, out: bool, warp: int, register: int, entry: int, offset: int, row: int, plain: bool = False
    ) -> None:
        self.out, self.plain, self.void = out, plain, False
        self.warp, self.register = warp, register
        self.entry, self.offset, self.row = entry, offset, row
        self.value: Value | None = None
        self.metadata: Metadata = EMPTY


class Link:
    """One bank of the main register file and its link of the crossbar.

    Attributes
    ----------
    queue : transfers that wait, in the order in which they were chosen.
    ahead : a register that the bank reads, or has read, and that waits for the link.
    ahead_from : first cycle in which the bank has read it.
    crossing : the transfer on the link; one that leaves stays here until the bank has written it.
    until : cycle in which its last beat crosses.
    """

    def __init__(self) -> None:
        self.queue: list[Transfer] = []
        self.ahead: Transfer | None = None
        self.ahead_from = 0
        self.crossing: Transfer | None = None
        self.until = 0

    def free(self, cycle: int) -> bool:
        """Whether the link can take a transfer whose first beat crosses in the cycle behind this one."""
        return self.crossing is None or (not self.crossing.out and self.until == cycle)

    def offer(self, cycle: int) -> Transfer | None:
        """The transfer that the link could take."""
        if self.ahead is not None:
            return self.ahead if self.ahead_from <= cycle else None
        return self.queue[0] if self.queue and self.queue[0].out else None

    def next_cycle(self, soon: int) -> int:
        """The first cycle from `soon` on in which the link, or its bank, may do something other than let a
        beat cross."""
        crossing, best = self.crossing, NEVER
        if crossing is not None:
            best = self.until + crossing.out
        elif self.ahead is not None:
            best = self.ahead_from
        if self.queue and self.ahead is None:
            head = self.queue[0]
            if crossing is None or not (head.out or _same(crossing, head)):
                return soon
        return max(best, soon)


class Engine:
    """Transfer engine: one link per bank of the main register file, one port per bank of the cache, and a
    crossbar of `cache.crossing` beats between them. LTRF, section 4.2.

    Every main bank has a queue of `TRANSFER_QUEUE` transfers, which it serves in order. It reads the next
    register ahead while the link carries another one, but not a register that the link still takes out: a
    store goes before a later fetch of its register. A link carries one register at a time, in one direction;
    so does the port of a cache bank. Where several links want one port a rotating priority decides. What the
    crossbar does in a cycle to the banks of the cache is known a cycle ahead (`taken`), so that results wait
    for it and not the other way round.

    Parameters
    ----------
    config : banks, cache.
    main : the main register file.
    values, metadata : contents of the cache, by bank and row.
    left : called with a transfer whose register the cache has read: its place is unused.
    arrived : called with a transfer that is where it goes.
    probe : receives `cache_fill`.

    Latency: a register in its queue at the start of cycle t, if nothing is in its way: one that comes is read
    from its bank in t, in an access of d cycles; its link takes it in t + d, it crosses in the `crossing`
    cycles behind that, and is written into the cache in t + d + `crossing` + 1. One that leaves is taken by
    its link in t, read from the cache in t + 1, and written into its bank in t + 2 + `crossing`.
    """

    def __init__(
        self,
        config: SubCoreConfig,
        main: MainRegisterFile,
        values: list[list[Value]],
        metadata: list[list[Metadata]],
        left: Callable[[Transfer], None],
        arrived: Callable[[Transfer], None],
        probe: Probe,
    ) -> None:
        self._main, self._values, self._metadata = main, values, metadata
        self._left, self._arrived, self._probe = left, arrived, probe
        self._fills = probe.ports["cache_fill"]
        self._beats = config.cache.crossing
        self.links = [Link() for _ in range(config.banks)]
        #: Cycle in which the last beat of each port's transfer crosses, or has crossed.
        self._port_until = [-1] * config.cache.registers
        self._leaving = 0  # mask of the ports whose transfer leaves the cache
        self._pointer = 0
        self._inside = 0  # transfers that have not arrived
        self._open = (1 << config.banks) - 1  # banks whose queue is not full
        #: Mask of the banks whose queue takes a transfer in this cycle, once `step` has been called: those
        #: that were not full before.
        self.room = 0
        #: Transfers that read or write their bank of the cache in this cycle.
        self._due: list[Transfer] = []
        #: Mask of the cache's banks that the engine reads or writes in this cycle.
        self.taken = 0

    @property
    def busy(self) -> bool:
        """Something is on its way."""
        return self._inside > 0

    def next_cycle(self, soon: int) -> int:
        """The first cycle from `soon` on in which anything but beats that cross may happen here."""
        best = soon if self._due else NEVER
        for link in self.links:
            if best > soon:
                best = min(best, link.next_cycle(soon))
        return best

    def push(self, bank: int, transfer: Transfer) -> None:
        """Queue a transfer; at most one per bank and cycle."""
        queue = self.links[bank].queue
        queue.append(transfer)
        self.room &= ~(1 << bank)
        self._inside += 1
        if len(queue) == TRANSFER_QUEUE:
            self._open &= ~(1 << bank)

    def forget(self) -> None:
        """Nobody wants any more what leaves the cache now: its homes may be somebody else's."""
        for link in self.links:
            for transfer in (*link.queue, *([] if link.crossing is None else [link.crossing])):
                if transfer.out and not transfer.void:
                    transfer.void = True
                    self._arrived(transfer)

    def step(self) -> None:
        """One cycle, between the results and the end of the main register file's cycle. Cycles that
        `next_cycle` passes over may be left out."""
        cycle, taken = self._probe.cycle, 0
        self.room = self._open
        if not self._inside:
            self._main.accesses()
            self._main.close()
            self.taken = 0
            return
        self._use_cache()
        starting = self._choose(cycle)
        reading = self._use_banks(cycle, starting)
        self._cross(cycle)
        for bank in starting:
            self._start(cycle, bank)
        for bank, transfer, cycles in reading:
            link = self.links[bank]
            self._next(bank)
            link.ahead, link.ahead_from = transfer, cycle + cycles
        for transfer in self._due:
            taken |= 1 << transfer.entry
        self.taken = taken

    def _use_cache(self) -> None:
        """Write the registers whose last beat has crossed into the cache, and read those that leave next."""
        for transfer in self._due:
            entry, offset = transfer.entry, transfer.offset
            if transfer.out:
                transfer.value, transfer.metadata = self._values[entry][offset], self._metadata[entry][offset]
                if transfer.plain:
                    transfer.metadata = self._main.storage.encode(transfer.value, False)
                self._left(transfer)
            else:
                assert transfer.value is not None
                self._values[entry][offset] = transfer.value
                self._metadata[entry][offset] = transfer.metadata
                self._fills.emit(entry, offset, transfer.warp, transfer.register)
                self._inside -= 1
        self._due = []

    def _choose(self, cycle: int) -> list[int]:
        """The links that take a transfer in this cycle: for every port of the cache the first one, in
        rotating order, that wants it."""
        wanting = 0  # links with a transfer whose port can take it
        for bank, link in enumerate(self.links):
            transfer = link.offer(cycle) if link.free(cycle) else None
            if transfer is not None and self._port_free(cycle, transfer):
                wanting |= 1 << bank
        if not wanting:
            return []
        starting: list[int] = []
        first, taken = first_from(wanting, self._pointer), 0  # ports
        for ahead in range(len(self.links)):
            bank = (first + ahead) % len(self.links)
            if wanting >> bank & 1:
                transfer = self.links[bank].offer(cycle)
                assert transfer is not None
                if not taken >> transfer.entry & 1:
                    taken |= 1 << transfer.entry
                    starting.append(bank)
        self._pointer = (first + 1) % len(self.links)
        starting.sort()
        return starting

    def _port_free(self, cycle: int, transfer: Transfer) -> bool:
        """Whether the port of a bank of the cache can take a transfer. One that leaves is read in the next
        cycle, in which one that has just come is written."""
        until = self._port_until[transfer.entry]
        return until < cycle or (
            until == cycle and (not transfer.out or self._leaving >> transfer.entry & 1 != 0)
        )

    def _use_banks(self, cycle: int, starting: list[int]) -> list[tuple[int, Transfer, int]]:
        """Each bank of the main register file writes what its link has brought, or reads the next register
        ahead. Returns the reads that begin: (bank, transfer, cycles)."""
        closed = self._main.accesses()
        reading = []
        for bank, link in enumerate(self.links):
            crossed = link.crossing
            if crossed is not None and crossed.out and link.until < cycle:
                if crossed.void or not closed >> bank & 1:
                    link.crossing = None
                    self._store(bank, crossed)
            elif not closed >> bank & 1 and (link.ahead is None or bank in starting) and link.queue:
                head = link.queue[0]
                if not head.out and not _same(crossed, head):
                    cycles, head.value, head.metadata = self._main.fetch(
                        bank, head.row, head.warp, head.register
                    )
                    reading.append((bank, head, cycles))
        self._main.close()
        return reading

    def _store(self, bank: int, transfer: Transfer) -> None:
        """A register that has left the cache is written into its bank, unless nobody wants it."""
        self._inside -= 1
        if transfer.void:
            return
        assert transfer.value is not None
        self._main.store(
            bank, transfer.row, transfer.warp, transfer.register, transfer.value, transfer.metadata
        )
        self._arrived(transfer)

    def _cross(self, cycle: int) -> None:
        """A beat crosses on every link that carries something: the last one of a register that comes."""
        for link in self.links:
            transfer = link.crossing
            if transfer is not None and not transfer.out and link.until == cycle:
                link.crossing = None
                self._due.append(transfer)
                self._arrived(transfer)

    def _next(self, bank: int) -> None:
        """A bank's oldest transfer leaves its queue."""
        self.links[bank].queue.pop(0)
        self._open |= 1 << bank

    def _start(self, cycle: int, bank: int) -> None:
        """A link and a port take a transfer. One that leaves is read in the cycle before its first beat."""
        link = self.links[bank]
        transfer = link.offer(cycle)
        assert transfer is not None
        bit = 1 << transfer.entry
        link.crossing, link.until = transfer, cycle + self._beats + transfer.out
        self._port_until[transfer.entry] = link.until
        self._leaving = self._leaving & ~bit | (bit if transfer.out else 0)
        if transfer.out:
            self._next(bank)
            self._due.append(transfer)
        else:
            link.ahead = None


def _same(one: Transfer | None, other: Transfer) -> bool:
    """Whether two transfers are of one register, the first of them on its way out."""
    return one is not None and one.out and (one.warp, one.register) == (other.warp, other.register)
