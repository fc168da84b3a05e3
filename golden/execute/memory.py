"""Memory behind the L1: L2 tags and DRAM as two queues with latency and bandwidth."""

from __future__ import annotations

from collections import deque
from enum import IntEnum

from warpbank.arch.parameters import MemoryConfig
from warpbank.golden.execute.l1 import Tags
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
        self._starts: deque[int] = deque()  # cycles in which the waiting requests will be served
        self._l2_free = 0
        self._dram_free = 0
        self._from_l2: deque[tuple[int, int, TraceUop | None]] = deque()
        self._from_dram: deque[tuple[int, int, TraceUop | None]] = deque()

    def warm(self, line: int) -> None:
        """Look a line up in the L2's tags and put it there, in no time."""
        if not self._tags.hit(line):
            self._tags.insert(line)

    def accepts(self, cycle: int) -> bool:
        """Return whether the queue has room at the clock edge."""
        starts = self._starts
        while starts and starts[0] < cycle:
            starts.popleft()
        return len(starts) < self._config.queue

    def request(self, cycle: int, kind: Request, line: int, uop: TraceUop | None) -> None:
        """Queue a request; `uop`: the uop to answer, None for a line of the L1."""
        config = self._config
        start = max(cycle + 1, self._l2_free)
        self._starts.append(start)
        atomic = kind is Request.ATOMIC or kind is Request.REDUCE
        self._l2_free = start + (config.atomic_interval if atomic else config.l2_interval)
        answered = kind is not Request.WRITE and kind is not Request.REDUCE
        done = start + config.l2_latency
        hit = kind is Request.FENCE or self._tags.hit(line)
        if kind is not Request.FENCE:
            self._probe.emit_at(start, "l2_access", line, hit)
        if not hit:
            self._tags.insert(line)
            turn = max(done, self._dram_free)
            self._dram_free = turn + config.dram_interval
            if answered:
                self._from_dram.append((turn + config.dram_latency, line, uop))
        elif answered:
            self._from_l2.append((done, line, uop))

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

    def answer(self, cycle: int) -> tuple[int, TraceUop | None] | None:
        """Return this cycle's answer as (line, uop), or None."""
        for queue in (self._from_dram, self._from_l2):
            if queue and queue[0][0] <= cycle:
                _, line, uop = queue.popleft()
                return line, uop
        return None
