"""Memory behind the L1: L2 tags and DRAM as two queues with latency and bandwidth."""

from __future__ import annotations

from collections import deque
from enum import IntEnum

from warpbank.arch.parameters import MemoryConfig
from warpbank.arch.uop import WHOLE_LINE
from warpbank.golden.execute.l1 import Missing, Tags
from warpbank.golden.probe import Probe
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import NEVER


class Request(IntEnum):
    """Request of the L1 to the L2."""

    READ = 0
    WRITE = 1
    ATOMIC = 2  # answers to the uop
    REDUCE = 3  # does not answer
    FENCE = 4  # answers when all before it have been served


class Memory:
    """Deterministic L2 and DRAM.

    Requests wait in a FIFO; the L2 serves one every `l2_interval` cycles (an atomic takes `atomic_interval`).
    A hit is answered `l2_latency` cycles after its service. A miss then takes its turn at the DRAM, one line
    every `dram_interval` cycles, and is answered `dram_latency` cycles after that turn; its tag is in the L2
    from its service on. Writes allocate in the L2, are not answered, and a missing one takes a turn at the
    DRAM (for the line that it will push out). One answer per cycle, DRAM first.

    With sectors (`l2_sectors`) a request names those of its line that it wants. The L2 is busy with a sector
    for its share of `l2_interval`, in whole cycles a request; the DRAM moves only sectors that the L2 does
    not have, each in its share of `dram_interval`, exactly.

    Both queues are in order, so every time is known when a request arrives, and is computed then.

    Parameters
    ----------
    config : latencies, intervals, geometry.
    probe : receives `l2_access`.

    Latency: a request made in cycle t is served in t + 1 at the earliest.
    """

    def __init__(self, config: MemoryConfig, probe: Probe) -> None:
        self._config = config
        self._probe = probe
        self._tags = Tags(config.l2_sets, config.l2_ways)
        self._sectors = config.l2_sectors
        self._busy = [config.l2_busy(count) for count in range(config.l2_sectors + 1)]
        self._starts: deque[int] = deque()  # cycles in which the waiting requests will be served
        self._l2_free = 0
        self._dram_free = 0  # in parts of a cycle, one per sector of a line
        self._from_l2: deque[tuple[int, Missing | None, TraceUop | None]] = deque()
        self._from_dram: deque[tuple[int, Missing | None, TraceUop | None]] = deque()

    def warm(self, line: int, sectors: int) -> None:
        """Look sectors of a line up in the L2's tags and put them there, in no time."""
        wanted = self._wanted(sectors)
        if not self._tags.hit(line, wanted):
            self._tags.insert(line, wanted)

    def _wanted(self, sectors: int) -> int:
        """Return which of the L2's sectors these 32-byte sectors of a line are."""
        return sectors & WHOLE_LINE if self._sectors > 1 else 1

    def accepts(self, cycle: int) -> bool:
        """Return whether the queue has room at the clock edge."""
        starts = self._starts
        while starts and starts[0] < cycle:
            starts.popleft()
        return len(starts) < self._config.queue

    def request(
        self,
        cycle: int,
        kind: Request,
        line: int,
        sectors: int,
        entry: Missing | None = None,
        uop: TraceUop | None = None,
    ) -> None:
        """Queue a request for 32-byte sectors of a line; `entry`: the MSHR of a read, `uop`: the uop to
        answer otherwise."""
        config = self._config
        start = max(cycle + 1, self._l2_free)
        self._starts.append(start)
        atomic = kind is Request.ATOMIC or kind is Request.REDUCE
        fence = kind is Request.FENCE
        wanted = self._wanted(sectors)
        busy = config.l2_interval if fence else self._busy[wanted.bit_count()]
        self._l2_free = start + (config.atomic_interval if atomic else busy)
        answered = kind is not Request.WRITE and kind is not Request.REDUCE
        done = start + config.l2_latency
        hit = fence or self._tags.hit(line, wanted)
        if not fence:
            self._probe.emit_at(start, "l2_access", line, hit)
        if not hit:
            missing = wanted & ~self._tags.there(line)
            self._tags.insert(line, missing)
            turn = max(done * self._sectors, self._dram_free)
            self._dram_free = turn + config.dram_interval * missing.bit_count()
            if answered:
                self._from_dram.append((-(-turn // self._sectors) + config.dram_latency, entry, uop))
        elif answered:
            self._from_l2.append((done, entry, uop))

    def next_cycle(self, cycle: int) -> int:
        """Return the next cycle after `cycle` with an answer."""
        best = NEVER
        if self._from_l2:
            best = self._from_l2[0][0]
        if self._from_dram:
            best = min(best, self._from_dram[0][0])
        return max(best, cycle + 1)

    def next_room(self, cycle: int) -> int:
        """Return the next cycle after `cycle` in which a full queue has room again."""
        return max(self._starts[0] + 1, cycle + 1) if self._starts else cycle + 1

    def answer(self, cycle: int) -> tuple[Missing | None, TraceUop | None] | None:
        """Return this cycle's answer as (MSHR, uop), one of which is None, or None."""
        for queue in (self._from_dram, self._from_l2):
            if queue and queue[0][0] <= cycle:
                _, entry, uop = queue.popleft()
                return entry, uop
        return None
