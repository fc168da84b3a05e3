"""Results that wait to be written into BOW's collectors: they go in order, and none is lost."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from hypothesis import given, settings

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, simulate
from tests.thinned import examples
from warpbank.hdl.collector.boc_values import Late

CONFIG = MACHINES["odd"]
WARPS, ENTRIES = 3, 4


class Queue(wiring.Component):
    """A queue of results, with ports that a test drives and reads."""

    def __init__(self, kind: type[Late] = Late) -> None:
        self._kind = kind
        self.write = SimpleNamespace(
            valid=Signal(), mask=Signal(CONFIG.lanes), value=Signal(CONFIG.value_width)
        )
        self.entries = [Signal(ENTRIES) for _ in range(WARPS)]
        self.busy = [SimpleNamespace(valid=Signal()) for _ in range(WARPS)]
        super().__init__(
            {
                "full": Out(1),
                "goes": Out(1),
                "waits": Out(ENTRIES).array(WARPS),
                "written": Out(ENTRIES).array(WARPS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        late: Any = self._kind(m, CONFIG, WARPS, ENTRIES)
        self.first = late.first
        m.d.comb += [self.full.eq(late.full), self.goes.eq(late.goes)]
        late.take(m, self.entries, self.write, self.busy)
        for warp in range(WARPS):
            m.d.comb += [self.waits[warp].eq(late.waits(warp)), self.written[warp].eq(late.written(m, warp))]
        return m


@dataclass(frozen=True)
class Result:
    """A result: collector, entry, lanes and value."""

    warp: int
    place: int
    lanes: int
    value: int


def run(seed: int, kind: type[Late] = Late, cycles: int = 120) -> None:
    """A run in which results come where there is room, garbage else, and operands arrive at any collector."""
    rng = random.Random(seed)
    queue = Queue(kind)
    waiting: deque[Result] = deque()

    def offered() -> tuple[Result, bool]:
        result = Result(
            rng.randrange(WARPS),
            rng.randrange(ENTRIES),
            rng.getrandbits(CONFIG.lanes),
            rng.getrandbits(CONFIG.value_width),
        )
        return result, len(waiting) < 2 and rng.random() < 0.6

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            assert ctx.get(queue.full) == (len(waiting) == 2), cycle
            result, valid = offered()
            ctx.set(queue.write.valid, valid)
            ctx.set(queue.write.mask, result.lanes)
            ctx.set(queue.write.value, result.value)
            for warp, entry in enumerate(queue.entries):
                ctx.set(entry, 1 << result.place if warp == result.warp else 0)
            busy = [rng.random() < 0.6 for _ in range(WARPS)]
            for port, arrives in zip(queue.busy, busy, strict=True):
                ctx.set(port.valid, arrives)
            first = waiting[0] if waiting else None
            goes = first is not None and not busy[first.warp]
            assert ctx.get(queue.goes) == goes, cycle
            if first is not None:
                found = [ctx.get(getattr(queue.first, name)) for name in ("warp", "entry", "place")]
                assert found == [1 << first.warp, 1 << first.place, first.place], cycle
                assert ctx.get(queue.first.lanes) == first.lanes, cycle
                assert ctx.get(queue.first.value) == first.value, cycle
            left = [*waiting][goes:] + [result] * valid
            for warp in range(WARPS):
                waits = sum(1 << place for place in {each.place for each in left if each.warp == warp})
                assert ctx.get(queue.waits[warp]) == waits, cycle
                # Another one that waits already: what comes in this cycle is told of by itself.
                again = {(each.warp, each.place) for each in [*waiting][1:]}
                last = first is not None and goes and (first.warp, first.place) not in again
                wrote = 1 << first.place if last and first is not None and first.warp == warp else 0
                assert ctx.get(queue.written[warp]) == wrote, cycle
            if goes:
                waiting.popleft()
            if valid:
                waiting.append(result)
            await ctx.tick()

    simulate(queue, bench)


@settings(FEW, max_examples=examples(6, 2))
@given(seed=SEEDS)
def test_results_go_in_order(seed: int) -> None:
    run(seed)


class Forgets(Late):
    """A queue that loses the result in its second place while the first one stays."""

    def waits(self, warp: int) -> Any:
        return super().waits(warp) & ~self.slots[1].entry


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: run(seed, Forgets))
