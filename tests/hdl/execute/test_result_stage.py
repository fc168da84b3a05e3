"""Results pass a stage in which their places are looked for, in golden's cycles and with its credits."""

from __future__ import annotations

import random
from collections import Counter, deque
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Signal
from hypothesis import given, settings

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, make_uop, simulate
from tests.hdl.bench import Log as Events
from tests.hdl.sub_core_bench import result_fields
from tests.thinned import examples
from warpbank.arch.uop import Unit
from warpbank.golden.check import Checker
from warpbank.golden.execute.pipelines import Pipelines as GoldenPipelines
from warpbank.golden.execute.result_arbiter import ResultArbiter as Golden
from warpbank.golden.stream import TraceUop
from warpbank.hdl.execute import result_arbiter
from warpbank.hdl.execute.pipelines import Pipelines
from warpbank.hdl.execute.result_arbiter import ResultArbiter
from warpbank.hdl.execute.result_stage import ResultStage
from warpbank.hdl.layouts import UNITS


class Registers:
    """A hierarchy that looks ahead, takes a result now and then, and notes what it is asked."""

    looks_ahead = True

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.eager = rng.choice((0.3, 0.7, 1.0))
        self.found: dict[int, tuple[int, int]] = {}
        self.offers: dict[tuple[int, int], bool] = {}
        self.known: dict[int, tuple[int, int]] = {}

    def find(self, uop: TraceUop, register: int) -> None:
        self.found[uop.unit] = uop.warp, register

    def bank_of(self, writer: int, warp: int, register: int) -> int:
        return 0

    def write(self, uop: TraceUop, register: int, value: Any) -> bool:
        assert self.known[uop.unit] == (uop.warp, register), "offered without a look-up"
        taken = self._rng.random() < self.eager
        self.offers[uop.unit, register] = taken
        return taken


def lockstep(machine: str, seed: int, stage: Any = ResultStage, cycles: int = 250) -> Counter[str]:
    """The arbiter with its stages beside golden's, on queues that fill by themselves."""
    rng = random.Random(seed)
    config = MACHINES[machine]
    registers, retired = Registers(rng), []
    happened: Counter[str] = Counter()
    queues: list[deque[Any]] = [deque() for _ in range(UNITS)]
    pipelines = SimpleNamespace(
        results=queues, pending=0, early=[0] * UNITS, finish=lambda unit, cycle: queues[unit].popleft()
    )
    rtl = ResultArbiter(config, ahead=True, probe=True, shown=True)
    named: dict[int, tuple[int, int]] = {}  # what each unit said that it offers next
    model = Golden(
        pipelines,  # type: ignore[arg-type]
        registers,  # type: ignore[arg-type]
        SimpleNamespace(caches=False),  # type: ignore[arg-type]
        lambda *_: None,
        retired.append,
        Events().probe,
    )

    async def bench(ctx: Any) -> None:
        staged: list[Any] = [None] * UNITS
        for cycle in range(cycles):
            unit, count = rng.randrange(UNITS), rng.randrange(5)
            uop = make_uop(
                rng.randrange(config.sub_core.warps),
                cycle,
                unit=unit,
                destination=rng.randrange(250),
                count=count,
                values=[None] * count,
            )
            queues[unit].append((cycle, uop))
            pipelines.pending = sum(1 << number for number, queue in enumerate(queues) if queue)
            registers.known, registers.found, registers.offers = registers.found, {}, {}
            retired.clear()
            heads = [
                next((uop for _, uop in queue if uop is not here), None)
                for queue, here in zip(queues, staged, strict=True)
            ]
            for head, port in zip(heads, rtl.head, strict=True):
                ctx.set(port.valid, head is not None)
                if head is not None:
                    ctx.set(port.payload, result_fields(head))
            model.step(cycle)
            where = f"cycle {cycle}"
            found = {}
            for unit, port in enumerate(rtl.result):
                valid, key = ctx.get(port.valid), (unit, ctx.get(port.payload.register))
                ctx.set(port.ready, bool(valid and registers.offers.get(key)))
                if valid:
                    found[key] = registers.offers.get(key)
                    assert named[unit] == (ctx.get(port.payload.warp), ctx.get(port.payload.register)), where
            assert found == registers.offers, where
            happened["not taken"] += sum(not taken for taken in found.values())
            gone = sorted(
                (ctx.get(port.warp), ctx.get(port.seq)) for port in rtl.retired if ctx.get(port.valid)
            )
            assert gone == sorted((uop.warp, uop.seq) for uop in retired), where
            for unit, place in registers.found.items():
                port = rtl.ahead[unit]
                assert (ctx.get(port.warp), ctx.get(port.register)) == place, where
            for unit, following in enumerate(rtl.upcoming):
                if ctx.get(following.changes):
                    named[unit] = ctx.get(following.warp), ctx.get(following.register)
            for unit, (head, port) in enumerate(zip(heads, rtl.head, strict=True)):
                if staged[unit] is not None and staged[unit] in retired:
                    staged[unit] = None
                    happened["left and taken at once"] += head is not None
                if ctx.get(port.ready) and head is not None:
                    staged[unit] = head
            await ctx.tick()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result_arbiter, "ResultStage", stage)
        simulate(rtl, bench)
    return happened


@settings(FEW, max_examples=examples(8, 4))
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


def test_what_matters_happens() -> None:
    happened: Counter[str] = Counter()
    for seed in range(3):
        happened += lockstep("tiny", seed)
    assert happened["not taken"] > 20
    assert happened["left and taken at once"] > 20


class OffersAgain(ResultStage):
    """A register that was not taken is offered again at once, with the place of the next one."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.known.eq(1)
        return m


class LooksAtTheHead(ResultStage):
    """The look-up is always of the queue's uop."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += self.ahead.register.eq(self.head.payload.destination)
        return m


@pytest.mark.parametrize("mutant", [OffersAgain, LooksAtTheHead])
def test_mutants_are_caught(mutant: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", seed, mutant))


def queue_lockstep(machine: str, seed: int, unit: Any = Pipelines, cycles: int = 250) -> None:
    """Units whose uops a stage takes a cycle before their results are there; they leave when they like."""
    rng = random.Random(seed)
    config = MACHINES[machine]
    rtl = unit(config, ahead=True)
    model = GoldenPipelines(config, Checker(), lambda cycle: None, Events().probe, lambda uop: False)
    units = [number for number in Unit if number is not Unit.LSU]

    async def bench(ctx: Any) -> None:
        staged = [False] * UNITS
        for cycle in range(cycles):
            where = f"cycle {cycle}"
            for number in units:
                port, queue = rtl.dispatch[number], model.results[number]
                assert ctx.get(port.ready) == model.accepts(number, cycle), where
                valid = rng.random() < 0.5
                ctx.set(port.valid, valid)
                uop = make_uop(0, cycle, unit=number, count=1)
                fields = {"collector": 0, "memory": 0, "lines": 0, "passes": 0, "result": result_fields(uop)}
                ctx.set(port.payload, fields)
                accepted = valid and model.accepts(number, cycle)
                behind = list(queue)[staged[number] :]
                there = bool(behind) and behind[0][0] <= cycle + model.early[number]
                head = rtl.result[number]
                assert ctx.get(head.valid) == there, where
                if there:
                    assert ctx.get(head.payload.seq) == behind[0][1].seq, where
                leaves = staged[number] and rng.random() < 0.4
                takes = (not staged[number] or leaves) and rng.random() < 0.8
                ctx.set(head.ready, takes)
                ctx.set(rtl.left[number], leaves)
                if leaves:
                    model.finish(number, cycle)
                staged[number] = (takes and there) or (staged[number] and not leaves)
                if accepted:
                    model.dispatch(uop, 0, cycle)
            await ctx.tick()

    simulate(rtl, bench)


@settings(FEW, max_examples=examples(8, 3))
@given(machine=machines, seed=SEEDS)
def test_queues_equal_golden_s(machine: str, seed: int) -> None:
    queue_lockstep(machine, seed)


class ForgetsTheStage(Pipelines):
    """What is in the stage has no credit."""

    def _unit(self, m: Any, unit: Unit) -> None:
        super()._unit(m, unit)
        queue = m.submodules[f"results_{unit.name.lower()}"]
        places = self._config.sub_core.execute.result_queue
        queued = Signal(range(places + 1))
        m.d.sync += queued.eq(queued + queue.w_en - queue.r_en)
        m.d.comb += self.dispatch[unit].ready.eq(queued != places)


def test_a_mutant_of_the_queues_is_caught() -> None:
    assert fails(lambda seed: queue_lockstep("tiny", seed, ForgetsTheStage))
