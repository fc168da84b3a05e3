"""BOC beside golden's: random uops under the scoreboard's rules, banks and units that answer when they
like."""

from __future__ import annotations

import random
from collections import Counter, deque
from typing import Any

import numpy as np
from amaranth.sim import SimulatorContext

from tests.hdl.bench import Log, make_uop, seen, simulate, uop_record
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import BOC_READS, SmConfig
from warpbank.arch.uop import MAX_SOURCES, MOVE, TO_BANKS, TO_COLLECTOR, Unit
from warpbank.golden.collector.boc import Boc as Golden
from warpbank.golden.front_end.scoreboard import Scoreboard
from warpbank.golden.storage.metadata import EMPTY
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value, merge
from warpbank.hdl.collector.boc import Boc

UNITS = len(Unit)
#: Few registers, so that most accesses find one in the window.
REGISTERS = 14
#: Cycles in which banks take what is evicted, units offer results, and uops write whole registers, with one
#: probability each: rarely, every other time or nearly always.
PHASE = 50


def machine(warps: int, window: int, entries: str, lanes: int, stages: int = 0) -> SmConfig:
    """A machine with a collector per warp; `stages`: between choice and issue."""
    return with_overrides(
        preset("tiny"),
        [
            f"sub_core.warps={warps}",
            f"sub_core.collectors={warps}",
            "sub_core.collector.allocation=per_warp",
            f"lanes={lanes}",
            f"sub_core.collector.window={window}",
            f"sub_core.collector.boc_entries={entries}",
            f"sub_core.front_end.issue_stages={stages}",
        ],
    )


BOCS: dict[str, SmConfig] = {
    "full": machine(3, 3, "full", 2),
    "half": machine(2, 3, "half", 2),
    "wide": machine(2, 7, "full", 1),
    "short": machine(3, 7, "6", 3),
    "narrow": machine(2, 2, "full", 2),
    "single": machine(1, 4, "7", 1),
    "eight": machine(1, 4, "8", 1),
    "staged": machine(3, 3, "full", 2, 1),
    "staged_short": machine(2, 7, "6", 3, 1),
    "staged_half": machine(2, 3, "half", 2, 1),
}


def number(value: Value) -> int:
    """A value as the RTL has it."""
    return int.from_bytes(value.astype("<u4").tobytes(), "little")


class Units:
    """Golden's pipelines: take what the test says."""

    def __init__(self) -> None:
        self.accepting = 0
        self.taken: dict[int, tuple[int, TraceUop]] = {}

    def accepts(self, unit: int, cycle: int) -> bool:
        return bool(self.accepting >> unit & 1)

    def dispatch(self, uop: TraceUop, collector: int, cycle: int) -> None:
        self.taken[uop.unit] = (collector, uop)


class Bench:
    """One run. `happened` counts the events, and what makes them worth a test.

    Parameters
    ----------
    name : of the machine.
    seed : of all choices.
    unit : the RTL.
    hints : random hints; they are not sound, so operands are compared with golden's only. Without, every
        operand must be the value that program order gives it.
    """

    def __init__(self, name: str, seed: int, unit: Any = Boc, hints: bool = True) -> None:
        self.rng = random.Random(seed)
        self.config = config = BOCS[name]
        self.warps, self.window = config.sub_core.warps, config.sub_core.collector.window
        self.hints = hints
        self.log, self.units = Log(), Units()
        self.rtl: Any = unit(config, probe=True)
        self.scoreboard = Scoreboard(config.sub_core)
        self.model = Golden(
            config,
            self,  # type: ignore[arg-type]
            self.scoreboard.read,
            self.log.probe,
            write_through=not self.rtl.evicted,
        )
        self.banks = [[self.value() for _ in range(REGISTERS)] for _ in range(self.warps)]
        self.state = [list(bank) for bank in self.banks]  # in program order
        self.requested: list[
            tuple[int, int, int, int]
        ] = []  # by golden, in this cycle: slot, warp, register, tag
        self.waiting: list[tuple[int, int, int, int]] = []
        self.results: list[deque[TraceUop]] = [deque() for _ in range(UNITS)]
        self.in_flight = [0] * self.warps
        self.seqs = [0] * self.warps
        self.happened: Counter[str] = Counter()
        # Uop and register that each unit offers.
        self.heads: list[tuple[TraceUop, int] | None] = [None] * UNITS
        self.eviction = self.offering = self.whole = 0.5
        self.shown: dict[tuple[int, int], list[int]] = {}  # by uop in collection and number of the read

    def value(self) -> Value:
        """Any value."""
        return np.array([self.rng.getrandbits(32) for _ in range(self.config.lanes)], np.uint32)

    def read(self, collector: int, slot: int, uop: TraceUop, register: int, tag: int = 0) -> None:
        """Golden requests an operand."""
        self.requested.append((slot, uop.warp, register, tag))

    def run(self, cycles: int = 300) -> Bench:
        """Compare every cycle."""

        async def bench(ctx: Any) -> None:
            await self._run(ctx, cycles)

        simulate(self.rtl, bench)
        return self

    async def _run(self, ctx: Any, cycles: int) -> None:
        occupied = 0
        for cycle in range(cycles):
            where = f"cycle {cycle}"
            rtl, model = self.rtl, self.model
            assert ctx.get(rtl.may_issue) == model.may_issue, where
            assert ctx.get(rtl.may_slide) == model.may_slide, where
            assert ctx.get(rtl.holds) == model.holds, where
            if cycle % PHASE == 0:
                self.eviction, self.offering, self.whole = (
                    self.rng.choice((0.05, 0.5, 0.95)) for _ in range(3)
                )
            self._plan()
            self._results(ctx)
            gone = self._dispatch(ctx, cycle)
            self._deliver(ctx)
            self._issue(ctx)
            expected = [("occupied", (occupied,))] if occupied else []
            occupied = model.edge()
            self._start(ctx)
            assert self._reads(ctx) == sorted(self.requested), where
            for entry, done in enumerate(rtl.read_done):
                assert ctx.get(done.slots) == ((1 << MAX_SOURCES) - 1 if entry in gone else 0), where
            self._upcoming(ctx)
            events = self.log.take()
            here = seen(ctx, rtl.events)
            assert here == sorted([*expected, *events]), f"{where}: {set(here) ^ {*expected, *events}}"
            self._count(events)
            self.waiting += self.requested
            self.requested = []
            await ctx.tick()

    def _count(self, events: list[tuple[str, tuple[int, ...]]]) -> None:
        for name, values in events:
            self.happened[name] += 1
            if name == "squeeze":
                self.happened["squeezed dirty"] += values[2]
            elif name == "discard":
                self.happened.update(consolidated=values[1], transient=values[2])

    def _results(self, ctx: Any) -> None:
        """Units offer results, the banks take some, and what collectors evict."""
        rng, rtl, model = self.rng, self.rtl, self.model
        writers = UNITS + len(rtl.evicted)
        first = rng.randrange(writers)
        ctx.set(rtl.first, first)
        offers = []
        for unit in sorted(range(UNITS), key=lambda unit: (unit - first) % writers):
            queue, port = self.results[unit], rtl.result[unit]
            offered = bool(queue) and rng.random() < self.offering
            ctx.set(port.valid, offered)
            if offered:
                uop = queue[0]
                register = uop.destination + uop.written
                offers.append((unit, uop, register))
                ctx.set(
                    port.payload,
                    {"warp": uop.warp, "seq": uop.seq, "register": register, "mask": uop.lane_mask},
                )
        held, absorbed = model.claim(offers)
        assert [ctx.get(port.held) for port in rtl.result] == [held >> unit & 1 for unit in range(UNITS)]
        assert [ctx.get(port.absorbed) for port in rtl.result] == [
            absorbed >> unit & 1 for unit in range(UNITS)
        ]
        assert [ctx.get(port.barred) for port in rtl.result] == [
            (held | absorbed) >> unit & 1 for unit in range(UNITS)
        ]
        if rtl.evicted:
            self._evict(ctx)
        taken = {
            unit
            for unit, _, _ in offers
            if not held >> unit & 1 and (absorbed >> unit & 1 or rng.random() < 0.6)
        }
        for unit, port in enumerate(rtl.result):
            ctx.set(port.taken, unit in taken)
            if self.results[unit]:
                uop = self.results[unit][0]
                ctx.set(rtl.keep[unit].value, number(uop.values[min(uop.written, uop.count - 1)]))
        for unit, uop, register in offers:
            if unit in taken:
                kept = self._write(unit, uop, register, bool(absorbed >> unit & 1))
                assert bool(ctx.get(rtl.keep[unit].valid)) == kept
            else:
                assert not ctx.get(rtl.keep[unit].valid)

    def _upcoming(self, ctx: Any) -> None:
        """Units tell which register they offer next, if that changes, and now and then if it does not."""
        rng = self.rng
        for unit, (queue, port) in enumerate(zip(self.results, self.rtl.upcoming, strict=True)):
            head = (queue[0], queue[0].destination + queue[0].written) if queue else None
            changes = head is None or head != self.heads[unit] or rng.random() < 0.2
            named = (head[0].warp, head[1]) if head and changes else (None, None)
            ctx.set(port.changes, changes)
            ctx.set(port.warp, rng.randrange(self.warps) if named[0] is None else named[0])
            ctx.set(port.register, rng.randrange(REGISTERS) if named[1] is None else named[1])
            self.heads[unit] = head

    def _write(self, unit: int, uop: TraceUop, register: int, absorbed: bool) -> bool:
        """A result is written. Returns whether a collector keeps it."""
        value, probe = uop.values[uop.written], self.log.probe
        before = probe.count("boc.writes")
        self.model.result(unit, uop, register, value)
        if not absorbed:
            bank = self.banks[uop.warp]
            bank[register] = merge(bank[register], value, uop.lane_mask)
        self.happened["late"] += self.model.write_through is False and not absorbed
        self.happened["partial"] += absorbed and uop.lane_mask != self.config.lane_mask
        uop.written += 1
        self.scoreboard.written(uop.warp, 1 << register)
        if uop.written == uop.count:
            self.results[unit].popleft()
            self.in_flight[uop.warp] -= 1
        return probe.count("boc.writes") > before

    def _evict(self, ctx: Any) -> None:
        evicted, port = self.model.evicted, self.rtl.evicted[0]
        assert bool(ctx.get(port.valid)) == (evicted is not None)
        ready = self.rng.random() < self.eviction
        ctx.set(port.ready, ready)
        if evicted is not None:
            warp, register, value = evicted
            payload = port.payload
            assert (ctx.get(payload.warp), ctx.get(payload.register)) == (warp, register)
            assert ctx.get(payload.value) == number(value), f"warp {warp}, register {register} is evicted"
            if ready:
                self.model.written_back()
                self.banks[warp][register] = value
                self.happened["evicted"] += 1

    def _dispatch(self, ctx: Any, cycle: int) -> set[int]:
        """Units take uops. Returns the numbers of those that go."""
        rtl, units = self.rtl, self.units
        units.accepting, units.taken = self.rng.getrandbits(UNITS) | self.rng.getrandbits(UNITS), {}
        for unit, port in enumerate(rtl.dispatch):
            ctx.set(port.ready, units.accepting >> unit & 1)
        complete = self._complete()
        wanted = sum(
            chosen is not None and chosen.collected.complete and units.accepts(unit, cycle)
            for unit, chosen in enumerate(self.model._chosen)
        )
        refused = self.model.dispatch(cycle, units)  # type: ignore[arg-type]
        self.happened["contended"] += wanted > len(units.taken)
        for warp in range(self.warps):
            if ctx.get(rtl.reads[warp]):
                read = ctx.get(rtl.offered[warp]), ctx.get(rtl.step[warp])
                self.shown[read] = [ctx.get(port) for port in rtl.operands[warp]]
        for warp, uop in units.taken.values():
            self.happened["passes another unit's"] += complete[warp][0] is not uop
        assert ctx.get(rtl.refused) == refused
        gone = set()
        for unit, port in enumerate(rtl.dispatch):
            goes = ctx.get(port.valid) and ctx.get(port.ready)
            assert bool(goes) == (unit in units.taken)
            if not goes:
                continue
            warp, uop = units.taken[unit]
            payload, result = port.payload, port.payload.result
            assert ctx.get(payload.collector) == warp
            assert (ctx.get(payload.memory), ctx.get(payload.passes)) == (uop.memory, uop.passes)
            names = ("warp", "seq", "destination", "count", "predicates_written")
            assert [ctx.get(getattr(result, name)) for name in names] == [
                getattr(uop, name) for name in names
            ]
            entry = self._number(uop)
            found = [
                self.shown[entry, slot // BOC_READS][slot % BOC_READS] for slot in range(len(uop.sources))
            ]
            assert found == [number(operand) for operand in uop.operands], (
                f"operands of uop {uop.seq} of warp {warp}"
            )
            # `dispatched` reads the operands out of memories, for a testbench in Amaranth's simulator; this
            # one runs on exported Verilog as well.
            if isinstance(ctx, SimulatorContext):
                assert rtl.dispatched(ctx, warp)[: len(found)] == found
            if not self.hints:
                assert found == [number(value) for value in uop.expected], (
                    f"operands of uop {uop.seq} of warp {warp}: old"
                )
            gone.add(entry)
            if uop.count:
                self.results[unit].append(uop)
            else:
                self.in_flight[uop.warp] -= 1
        return gone

    def _complete(self) -> list[list[TraceUop]]:
        """Complete uops of golden's collectors, in program order."""
        return [
            [collected.uop for collected in collector if collected.complete]
            for collector in self.model._collected
        ]

    def _deliver(self, ctx: Any) -> None:
        """Banks serve some requests, at most one of a collector."""
        self.rng.shuffle(self.waiting)
        served: set[int] = set()
        left = []
        for request in self.waiting:
            slot, warp, register, tag = request
            if warp in served or self.rng.random() < 0.4:
                left.append(request)
                continue
            served.add(warp)
            value = self.banks[warp][register]
            port = self.rtl.deliver[warp]
            ctx.set(port.slot, slot)
            ctx.set(port.tag, tag)
            ctx.set(port.value, number(value))
            self.model.deliver(warp, slot, tag, value, EMPTY)
        for warp, port in enumerate(self.rtl.deliver):
            ctx.set(port.valid, warp in served)
        self.waiting = left

    def _plan(self) -> None:
        """What issues in this cycle, and which slot receives a new warp: decided from the state at the clock
        edge."""
        rng, model = self.rng, self.model
        warp = rng.randrange(self.warps)
        self.uop: TraceUop | None = None
        self.slides = rng.random() < 0.15 and bool(model.may_slide >> warp & 1)
        if not self.slides:
            uop = self._uop(warp)
            if model.may_issue >> warp & 1 and not self.scoreboard.hazard(uop):
                self.uop = uop
        self.warp = warp
        other = rng.randrange(self.warps)
        self.starts = not self.in_flight[other] and other != warp and rng.random() < 0.1
        self.started = other

    def _issue(self, ctx: Any) -> None:
        """A warp issues a uop that collects, or one that does not, or nothing does."""
        rtl, model, warp, uop = self.rtl, self.model, self.warp, self.uop
        ctx.set(rtl.issue.valid, uop is not None)
        ctx.set(rtl.slide, self.slides)
        if self.slides:
            ctx.set(rtl.issue.payload, {"warp": warp, "uop": uop_record(make_uop(warp, 0))})
            model.slide(warp)
        if uop is None:
            return
        self.seqs[warp] += 1
        self.in_flight[warp] += 1
        uop.expected = [self.state[warp][register] for register in uop.sources]  # type: ignore[misc]
        for register, value in enumerate(uop.values, uop.destination):
            self.state[warp][register] = merge(self.state[warp][register], value, uop.lane_mask)
        self.scoreboard.issue(uop)
        model.allocate(uop)
        ctx.set(rtl.heads[warp], uop_record(uop))  # the others' are those that they issued last
        ctx.set(rtl.issue.payload, {"warp": warp, "uop": uop_record(uop)})
        assert ctx.get(rtl.entry) == self._number(uop)
        self.happened["move"] += bool(uop.seq & MOVE)

    def _number(self, uop: TraceUop) -> int:
        """Number of a uop among those in collection: uops of a warp are numbered in order, moves as well."""
        return uop.warp * self.window + (uop.seq & ~MOVE) % self.window

    def _uop(self, warp: int) -> TraceUop:
        rng = self.rng
        every = self.config.lane_mask
        count = rng.choice((0, 1, 1, 1, 1, 2, 4))
        return make_uop(
            warp,
            self.seqs[warp] | (MOVE if rng.random() < 0.15 else 0),
            unit=rng.choice((*Unit, Unit.LSU, Unit.LSU, Unit.LSU)),
            sources=tuple(rng.sample(range(REGISTERS), rng.choice((0, 1, 2, 2, 3, 3, 6)))),
            destination=rng.randrange(rng.choice((REGISTERS, 7)) - count + 1),
            count=count,
            values=[self.value() for _ in range(count)],
            lane_mask=every if rng.random() < self.whole else rng.randrange(1, every + 1),
            memory=rng.randrange(13),
            passes=rng.randrange(9),
            write_back=rng.choice((TO_COLLECTOR, TO_BANKS, 3)) if self.hints else 3,
        )

    def _start(self, ctx: Any) -> None:
        """A warp slot in which nothing was left to do may receive a new warp."""
        ctx.set(self.rtl.start, 1 << self.started if self.starts else 0)
        if self.starts:
            self.model.start(self.started)
            self.state[self.started] = list(self.banks[self.started])
            self.happened["start"] += 1

    def _reads(self, ctx: Any) -> list[tuple[int, int, int, int]]:
        """What the RTL requests in this cycle."""
        read = self.rtl.read
        if not ctx.get(read.valid):
            return []
        payload = read.payload
        warp = ctx.get(payload.warp)
        assert ctx.get(payload.collector) == warp
        return [
            (slot, warp, ctx.get(payload.sources[slot]), ctx.get(payload.tag))
            for slot in range(MAX_SOURCES)
            if ctx.get(payload.source_valid) >> slot & 1
        ]
