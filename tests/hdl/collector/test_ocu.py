"""The operand collectors take, collect and dispatch as golden's do, and their slots hold what was
delivered."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given

from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, machines, make_uop, seen, simulate, uop_record
from warpbank.arch.uop import Unit
from warpbank.golden.collector.ocu import Ocu as Golden
from warpbank.golden.storage.metadata import EMPTY
from warpbank.golden.stream import TraceUop
from warpbank.hdl.collector.ocu import Ocu


class Registers:
    """Golden's register file: notes the requests."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, int]] = []

    def read(self, collector: int, slot: int, uop: TraceUop, register: int) -> None:
        self.requests.append((collector, slot))


class Units:
    """Golden's pipelines: take what the test says."""

    def __init__(self) -> None:
        self.accepting = 0
        self.taken: dict[int, tuple[int, TraceUop]] = {}

    def accepts(self, unit: int, cycle: int) -> bool:
        return bool(self.accepting >> unit & 1)

    def dispatch(self, uop: TraceUop, collector: int, cycle: int) -> None:
        self.taken[uop.unit] = (collector, uop)


def lockstep(machine: str, seed: int, unit: Any = Ocu, cycles: int = 300) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    core = config.sub_core
    log, registers, units = Log(), Registers(), Units()
    rtl = unit(config, probe=True)
    model = Golden(config, registers, lambda warp, register: None, log.probe)  # type: ignore[arg-type]

    async def bench(ctx: Any) -> None:
        waiting: list[tuple[int, int]] = []
        for cycle in range(cycles):
            occupied = model.edge()
            assert ctx.get(rtl.may_issue) == model.may_issue, f"cycle {cycle}"
            expected = [("occupied", (occupied,))] if occupied else []
            units.accepting, units.taken = rng.getrandbits(7) | rng.getrandbits(7), {}
            for number, port in enumerate(rtl.dispatch):
                ctx.set(port.ready, units.accepting >> number & 1)
            refused = model.dispatch(cycle, units)  # type: ignore[arg-type]
            assert ctx.get(rtl.refused) == refused
            _dispatched(ctx, rtl, units)
            waiting = _deliver(ctx, waiting)
            waiting += _issue(ctx, cycle)
            assert seen(ctx, rtl.events) == sorted([*expected, *log.take()]), f"cycle {cycle}"
            await ctx.tick()

    def _issue(ctx: Any, cycle: int) -> list[tuple[int, int]]:
        able = [warp for warp in range(core.warps) if model.may_issue >> warp & 1]
        valid = bool(able) and rng.random() < 0.7
        ctx.set(rtl.issue.valid, valid)
        if not valid:
            return []
        warp = rng.choice(able)
        uop = make_uop(
            warp,
            cycle,
            unit=rng.choice(list(Unit)),
            sources=tuple(rng.sample(range(255), rng.randrange(7))),
            destination=rng.randrange(250),
            count=rng.randrange(5),
            predicates_written=rng.getrandbits(7),
            lane_mask=rng.getrandbits(config.lanes),
            memory=rng.randrange(13),
            passes=rng.randrange(9),
        )
        ctx.set(rtl.issue.payload, {"warp": warp, "uop": uop_record(uop)})
        registers.requests = []
        model.allocate(uop)
        assert ctx.get(rtl.read.valid)
        read = rtl.read.payload
        assert (ctx.get(read.warp), ctx.get(read.source_valid)) == (warp, (1 << len(uop.sources)) - 1)
        assert [ctx.get(read.sources[slot]) for slot in range(len(uop.sources))] == list(uop.sources)
        assert {ctx.get(read.collector)} >= {collector for collector, _ in registers.requests}
        return registers.requests

    def _deliver(ctx: Any, waiting: list[tuple[int, int]]) -> list[tuple[int, int]]:
        rng.shuffle(waiting)
        busy: set[int] = set()
        left = []
        for collector, slot in waiting:
            if collector in busy or rng.random() < 0.4:
                left.append((collector, slot))
                continue
            busy.add(collector)
            value = rng.getrandbits(config.value_width)
            port = rtl.deliver[collector]
            ctx.set(port.slot, slot)
            ctx.set(port.value, value)
            model.deliver(collector, slot, 0, value, EMPTY)  # type: ignore[arg-type]
        for collector, port in enumerate(rtl.deliver):
            ctx.set(port.valid, collector in busy)
            assert ctx.get(rtl.read_done[collector].slots) == (
                1 << ctx.get(port.slot) if collector in busy else 0
            )
        return left

    simulate(rtl, bench)


def _dispatched(ctx: Any, rtl: Any, units: Units) -> None:
    for number, port in enumerate(rtl.dispatch):
        goes = ctx.get(port.valid) and ctx.get(port.ready)
        assert bool(goes) == (number in units.taken)
        if goes:
            collector, uop = units.taken[number]
            payload, result = port.payload, port.payload.result
            assert ctx.get(payload.collector) == collector
            assert (ctx.get(payload.memory), ctx.get(payload.passes), ctx.get(payload.lines)) == (
                uop.memory,
                uop.passes,
                0,
            )
            names = ("warp", "seq", "destination", "count", "predicates_written")
            assert [ctx.get(getattr(result, name)) for name in names] == [
                getattr(uop, name) for name in names
            ]
            assert (ctx.get(result.mask), ctx.get(result.fence)) == (uop.lane_mask, uop.memory == 12)
            operands = [ctx.get(rtl.operands[collector][slot]) for slot in range(len(uop.operands))]
            assert operands == uop.operands


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


class ReadyTooEarly(Ocu):
    """A uop counts as complete when its first operand comes."""

    def _collect(self, m: Any, number: int, allocated: Any) -> Any:
        return super()._collect(m, number, allocated) | self.deliver[number].valid


def test_a_mutant_is_caught() -> None:
    with pytest.raises(AssertionError):
        lockstep("tiny", 1, ReadyTooEarly)


def test_needs_a_configuration() -> None:
    with pytest.raises(TypeError, match="Ocu needs the machine's configuration, an SmConfig, not None"):
        Ocu(None)  # type: ignore[arg-type]
