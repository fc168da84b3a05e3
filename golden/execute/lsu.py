"""Load/store unit that the sub-cores share: one memory uop at a time, one line or shared-memory pass per
cycle."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Final

from warpbank.arch.events import L1Result, LsuStall
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import LINE_MASK, LINE_WIDTH, WHOLE_LINE
from warpbank.arch.uop import Memory as Op
from warpbank.golden.execute.l1 import Missing, Mshrs, Tags
from warpbank.golden.execute.memory import Memory, Request
from warpbank.golden.execute.pipelines import Pipelines
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import NEVER

_LOADS: Final = frozenset({Op.LOAD_GLOBAL, Op.LOAD_LOCAL})
_STORES: Final = frozenset({Op.STORE_GLOBAL, Op.STORE_LOCAL})
_ATOMICS: Final = frozenset({Op.ATOMIC_GLOBAL, Op.REDUCE_GLOBAL})
_SHARED: Final = frozenset({Op.LOAD_SHARED, Op.STORE_SHARED, Op.ATOMIC_SHARED})


class Lsu:
    """Load/store unit with L1 tags and MSHRs.

    A uop is taken from the sub-cores' queues by rotating priority, and holds the unit until its last line was
    looked up or its last shared-memory pass was done. Global and local loads look one line up per cycle: a
    hit has its data `l1.latency` later; a miss asks the L2, or waits with an earlier miss of the line that is
    on its way. Stores are written through without allocating and are complete when the L2's queue has taken
    the last line. Atomics and reductions are done at the L2 and invalidate the line. Shared memory takes one
    cycle per pass, atomics two; constants, shuffles and fences one cycle. Where an MSHR or the L2's queue is
    full the unit stops at that line. The tags have one port: in a cycle in which a missing line arrives, none
    is looked up and no uop is taken.

    With sectors (`l1.sectors`) a load looks up those of its line that its lanes touch, and a miss asks for
    the missing ones only. Where a request on its way brings some of them and not all, the unit looks the
    others up in the cycles that follow.

    One complete uop per cycle returns to its sub-core: the one due first, of those the one taken first.

    Parameters
    ----------
    config : sizes and latencies.
    queues : the sub-cores' pipelines, which offer uops and take those that return.
    wake : called with (sub-core, cycle) when a sub-core has to look.
    probe : receives the events of L1 and L2; `probes` (the sub-cores') `lsu_accept`.

    Latency: a uop dispatched in t is taken in t + 1 at the earliest; one returned in t is offered to the
    banks in t + 1.
    """

    def __init__(
        self,
        config: SmConfig,
        queues: list[Pipelines],
        wake: Callable[[int, int], None],
        probe: Probe,
        probes: list[Probe],
    ) -> None:
        self._config = config.lsu
        self._latency = config.l1.latency
        self._queues = queues
        self._wake_core = wake
        self._probe = probe
        self._probes = probes
        self._tags = Tags(config.l1.sets, config.l1.ways)
        self._mshrs = Mshrs(config.l1.mshrs, config.l1.merges)
        self._memory = Memory(config.memory, probe)
        self._pointer = 0
        self._uop: TraceUop | None = None
        self._line = 0  # index of the current uop's next line
        self._sectored = config.l1.sectors > 1
        self._left = 0  # sectors of that line still to look up, if some have been
        self._busy_until = 0  # shared-memory passes
        self._taken = 0
        self._flying = 0
        self._returns: list[tuple[int, int, TraceUop]] = []  # heap: (due, number of acceptance, uop)
        self._stalled: LsuStall | None = None  # a stall that goes on
        self._stepped = -1
        self.wake = NEVER

    def launch(self) -> None:
        """Invalidate the L1, since a kernel launch begins."""
        self._tags.clear()

    def warm(self, lines: list[int], loads: list[bool]) -> None:
        """Look lines up in the tags of L1 and L2 and put them there, in no time: those that instructions
        touched which are not simulated, in their order. `loads`: per line, whether a load touched it; the
        others pass the L1."""
        for touched, load in zip(lines, loads, strict=True):
            line, sectors = touched & LINE_MASK, touched >> LINE_WIDTH
            if not load:
                self._memory.warm(line, sectors)
                continue
            wanted = sectors if self._sectored else 1
            if not self._mshrs.coming(line) and not self._tags.hit(line, wanted):
                missing = wanted & ~self._tags.there(line)
                self._tags.insert(line, missing)
                self._memory.warm(line, missing if self._sectored else WHOLE_LINE)

    def step(self, cycle: int) -> None:
        """Do one cycle: answers from memory, one return, one line or pass."""
        self._probe.cycle = cycle
        if self._stalled is not None and cycle - 1 > self._stepped:
            self._count_stall(self._stalled, self._stepped + 1, cycle)
        self._stepped = cycle
        room = self._flying < self._config.pending
        if self._returns and self._returns[0][0] <= cycle:
            self._return(cycle)
        answer = self._memory.answer(cycle)
        if answer is not None:
            self._answer(cycle, *answer)
        fills = answer is not None and answer[0] is not None
        self._work(cycle, room, fills)
        if self._stalled is not None:
            self._count_stall(self._stalled, cycle, cycle + 1)
        self.wake = self._next_cycle(cycle)

    def _work(self, cycle: int, room: bool, fills: bool) -> None:
        """Take a uop if there is none, and do one line or pass of it, unless an answer fills the L1."""
        self._stalled = None
        if self._busy_until > cycle or fills:
            return
        if self._uop is None:
            self._take(cycle, room)
        if self._uop is not None:
            self._proceed(cycle, self._uop)

    def _return(self, cycle: int) -> None:
        _, _, uop = heapq.heappop(self._returns)
        self._flying -= 1
        self._queues[uop.sub_core].returned(uop, cycle + 1)
        self._wake_core(uop.sub_core, cycle + 1)

    def _answer(self, cycle: int, entry: Missing | None, uop: TraceUop | None) -> None:
        if uop is not None:
            self._arrived(cycle, uop)
        if entry is not None:
            self._tags.insert(entry.line, entry.sectors)
            self._probe.emit("l1_fill", entry.line)
            for waiter in self._mshrs.fill(entry):
                self._arrived(cycle, waiter)

    def _arrived(self, cycle: int, uop: TraceUop) -> None:
        uop.lines_left -= 1
        if not uop.lines_left:
            self._complete(uop, max(uop.ready, cycle + 1))

    def _complete(self, uop: TraceUop, due: int) -> None:
        heapq.heappush(self._returns, (due, uop.order, uop))

    def _take(self, cycle: int, room: bool) -> None:
        """Accept a uop from the sub-cores' queues; `room`: fewer loads than `pending` were in flight at the
        clock edge."""
        offers = 0
        for number, pipelines in enumerate(self._queues):
            if pipelines.offers(cycle):
                offers |= 1 << number
        if not offers:
            return
        if not room:
            self._stalled = LsuStall.PENDING
            return
        number = first_from(offers, self._pointer)
        self._pointer = (number + 1) % len(self._queues)
        uop = self._queues[number].take()
        self._wake_core(number, cycle + 1)
        uop.order = self._taken
        self._taken += 1
        self._flying += 1
        self._uop = uop
        self._line = self._left = 0
        uop.ready = 0
        uop.lines_left = 1  # stands for the look-ups still to do
        probe = self._probes[number]
        probe.emit_at(cycle, "lsu_accept", uop.warp, uop.seq)

    def _proceed(self, cycle: int, uop: TraceUop) -> None:
        op = uop.memory
        if op in _LOADS:
            done = self._load_line(cycle, uop)
        elif op in _STORES:
            done = self._send_line(cycle, uop, Request.WRITE, L1Result.STORE)
        elif op in _ATOMICS:
            kind = Request.ATOMIC if op == Op.ATOMIC_GLOBAL else Request.REDUCE
            done = self._send_line(cycle, uop, kind, L1Result.ATOMIC)
        elif op in _SHARED:
            done = self._shared(cycle, uop)
        elif op == Op.FENCE:
            done = self._fence(cycle, uop)
        else:
            uop.ready = cycle + (
                self._config.const_latency if op == Op.LOAD_CONST else self._config.shuffle_latency
            )
            done = True
        if done:
            self._uop = None
            self._arrived(cycle, uop)

    def _load_line(self, cycle: int, uop: TraceUop) -> bool:
        touched = uop.lines[self._line]
        line = touched & LINE_MASK
        wanted = (self._left or touched >> LINE_WIDTH) if self._sectored else 1
        missing = wanted & ~self._tags.there(line)
        if not missing:
            self._tags.hit(line, wanted)
            uop.ready = cycle + self._latency
            return self._looked_up(uop, line, L1Result.HIT, 0)
        entry = self._mshrs.find(line, missing)
        result = L1Result.MERGE
        if entry is None:
            if self._mshrs.full:
                self._stalled = LsuStall.MSHR
                return False
            if not self._memory.accepts(cycle):
                self._stalled = LsuStall.QUEUE
                return False
            entry = self._mshrs.ask(line, missing & ~self._mshrs.coming(line))
            self._memory.request(
                cycle, Request.READ, line, entry.sectors if self._sectored else WHOLE_LINE, entry
            )
            result = L1Result.MISS
        elif not self._mshrs.can_merge(entry):
            self._stalled = LsuStall.MSHR
            return False
        entry.waiting.append(uop)
        uop.lines_left += 1
        return self._looked_up(uop, line, result, missing & ~entry.sectors)

    def _send_line(self, cycle: int, uop: TraceUop, kind: Request, result: L1Result) -> bool:
        if not self._memory.accepts(cycle):
            self._stalled = LsuStall.QUEUE
            return False
        touched = uop.lines[self._line]
        line, sectors = touched & LINE_MASK, touched >> LINE_WIDTH
        if kind is Request.WRITE:
            self._memory.request(cycle, kind, line, sectors)
        else:
            self._tags.remove(line)
            self._memory.request(cycle, kind, line, sectors, None, uop)
            if kind is Request.ATOMIC:
                uop.lines_left += 1
        return self._looked_up(uop, line, result, 0)

    def _looked_up(self, uop: TraceUop, line: int, result: L1Result, left: int) -> bool:
        """Go on to the next line unless sectors of this one are `left`. Returns whether it was the last."""
        self._probe.emit("l1_access", line, result)
        self._left = left
        if left:
            return False
        self._line += 1
        return self._line == len(uop.lines)

    def _shared(self, cycle: int, uop: TraceUop) -> bool:
        passes = max(1, uop.passes) * (2 if uop.memory == Op.ATOMIC_SHARED else 1)
        self._busy_until = cycle + passes
        uop.ready = cycle + passes - 1 + (1 if uop.memory == Op.STORE_SHARED else self._config.shared_latency)
        self._probe.emit("shared_pass", passes)
        return True

    def _fence(self, cycle: int, uop: TraceUop) -> bool:
        if not self._memory.accepts(cycle):
            self._stalled = LsuStall.QUEUE
            return False
        self._memory.request(cycle, Request.FENCE, 0, 0, None, uop)
        uop.lines_left += 1
        return True

    def _count_stall(self, cause: LsuStall, start: int, end: int) -> None:
        """Report a stall of the cycles from `start` to `end` - 1."""
        self._probe.ports["lsu_stall"].emit_during(start, end, cause)

    def _next_cycle(self, cycle: int) -> int:
        """Return the next cycle in which anything can happen here."""
        best = self._memory.next_cycle(cycle)
        if self._returns:
            best = min(best, max(self._returns[0][0], cycle + 1))
        if self._stalled is LsuStall.QUEUE:
            return min(best, self._memory.next_room(cycle))
        if self._stalled is LsuStall.PENDING:
            return cycle + 1 if self._flying < self._config.pending else best
        if self._stalled is LsuStall.MSHR:
            return best
        if self._uop is not None or any(pipelines.lsu_queue for pipelines in self._queues):
            best = min(best, max(cycle + 1, self._busy_until))
        return best
