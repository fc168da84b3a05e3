"""Results are offered and retired in golden's order."""

from __future__ import annotations

import random
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings

from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, fails, machines, make_uop, seen, simulate
from tests.hdl.sub_core_bench import result_fields
from tests.thinned import examples
from warpbank.golden.execute.result_arbiter import ResultArbiter as Golden
from warpbank.golden.stream import TraceUop
from warpbank.hdl.execute.result_arbiter import ResultArbiter
from warpbank.hdl.layouts import UNITS


class Registers:
    """A register file whose banks are the low bits of the register; notes the offers and what was taken."""

    looks_ahead = False

    def __init__(self, banks: int) -> None:
        self._banks = banks
        self.busy: set[int] = set()
        self.offers: dict[tuple[int, int, int], bool] = {}

    def bank_of(self, writer: int, warp: int, register: int) -> int:
        return register % self._banks

    def write(self, uop: TraceUop, register: int, value: Any) -> bool:
        bank = self.bank_of(uop.unit, uop.warp, register)
        self.offers[uop.warp, uop.seq, register] = bank not in self.busy
        self.busy.add(bank)
        return self.offers[uop.warp, uop.seq, register]


def lockstep(machine: str, seed: int, unit: Any = ResultArbiter, cycles: int = 300) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    log, registers, retired = Log(), Registers(config.sub_core.banks), []
    queues: list[deque[Any]] = [deque() for _ in range(UNITS)]
    pipelines = SimpleNamespace(results=queues, pending=0, finish=lambda unit, cycle: queues[unit].popleft())
    rtl = unit(config, probe=True)
    collectors = SimpleNamespace(caches=False)
    model = Golden(pipelines, registers, collectors, lambda *_: None, retired.append, log.probe)  # type: ignore[arg-type]

    async def bench(ctx: Any) -> None:
        written = [0] * UNITS  # registers of each unit's oldest uop
        for cycle in range(cycles):
            number = rng.randrange(UNITS)
            count = rng.randrange(5)
            queues[number].append(
                (
                    cycle,
                    make_uop(
                        rng.randrange(config.sub_core.warps),
                        cycle,
                        destination=rng.randrange(250),
                        count=count,
                        values=[None] * count,
                        predicates_written=rng.getrandbits(7),
                    ),
                )
            )
            pipelines.pending = sum(1 << number for number, queue in enumerate(queues) if queue)
            registers.busy, registers.offers = set(), {}
            retired.clear()
            heads = [queue[0][1] if queue else None for queue in queues]
            for head, port, done in zip(heads, rtl.head, written, strict=True):
                ctx.set(port.valid, head is not None)
                if head is not None:
                    left = {"destination": head.destination + done, "count": head.count - done}
                    ctx.set(port.payload, result_fields(head) | left)
            # Golden's order has a place for what collectors evict, which is nothing here.
            assert ctx.get(rtl.first) == model._pointer % UNITS, f"cycle {cycle}"
            model.step(cycle)
            found = {}
            for port in rtl.result:
                if ctx.get(port.valid):
                    key = (
                        ctx.get(port.payload.warp),
                        ctx.get(port.payload.seq),
                        ctx.get(port.payload.register),
                    )
                    found[key] = registers.offers.get(key)
                    ctx.set(port.ready, bool(found[key]))
                else:
                    ctx.set(port.ready, 0)
            assert found == registers.offers, f"cycle {cycle}"
            gone = [
                (ctx.get(port.warp), ctx.get(port.seq), ctx.get(port.predicates))
                for port in rtl.retired
                if ctx.get(port.valid)
            ]
            assert sorted(gone) == sorted((uop.warp, uop.seq, uop.predicates_written) for uop in retired), (
                f"cycle {cycle}"
            )
            events = [event for event in log.take() if event[0] == "retire"]
            assert seen(ctx, rtl.events) == sorted(
                [*events, *(("retire", (uop.warp, uop.seq)) for uop in retired)]
            )
            assert [bool(ctx.get(port.ready)) for port in rtl.head] == [head in retired for head in heads]
            for number, head in enumerate(heads):
                steps = (
                    head is not None
                    and head not in retired
                    and registers.offers.get((head.warp, head.seq, head.destination + written[number]), False)
                )
                assert ctx.get(rtl.step[number]) == steps, f"cycle {cycle}"
                written[number] = 0 if head in retired else written[number] + steps
            await ctx.tick()

    simulate(rtl, bench)


@settings(FEW, max_examples=examples(8, 4))
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


class WideResults(ResultArbiter):
    """A uop is stepped on behind its last register."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += [
            step.eq(head.valid & result.valid & result.ready)
            for step, head, result in zip(self.step, self.head, self.result, strict=True)
        ]
        return m


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: lockstep("tiny", seed, WideResults))


def test_the_order_is_golden_s() -> None:
    """`first` moves behind the first unit served: the test would not see it if all offers had banks of their
    own."""

    class Fixed(ResultArbiter):
        def elaborate(self, platform: object) -> Any:
            m = super().elaborate(platform)
            m.d.sync += self.first.eq(0)
            return m

    first = []

    def lock(unit: Any) -> None:
        rtl = unit(MACHINES["tiny"])

        async def bench(ctx: Any) -> None:
            ctx.set(rtl.head[2].valid, 1)
            await ctx.tick()
            first.append(ctx.get(rtl.first))

        simulate(rtl, bench)

    lock(ResultArbiter)
    lock(Fixed)
    assert first == [3, 0]


def test_needs_a_configuration() -> None:
    with pytest.raises(
        TypeError, match="ResultArbiter needs the machine's configuration, an SmConfig, not 1"
    ):
        ResultArbiter(1)  # type: ignore[arg-type]
