"""Units and their queues: who may enter when, and whose result is there when, as in golden."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.lib import data
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, fails, machines, make_uop, seen, simulate
from tests.hdl.sub_core_bench import result_fields
from tests.thinned import examples
from warpbank.arch.config import with_overrides
from warpbank.arch.uop import Unit
from warpbank.golden.check import Checker
from warpbank.golden.execute.pipelines import Pipelines as Golden
from warpbank.hdl.execute.pipelines import Pipelines
from warpbank.hdl.layouts import result_layout


def lockstep(
    machine: str,
    seed: int,
    unit: Any = Pipelines,
    cycles: int = 300,
    short: bool = False,
    shown: bool = False,
    held: bool = False,
) -> None:
    """`short`: with uops that one lane executes, which occupy the special-function unit for a cycle.
    `shown`: what a unit offers has to be what it named last; a uop leaves with its last register. `held`:
    what it names comes from registers. One seed in two has few places for what the load/store unit
    returns."""
    rng = random.Random(seed)
    changes = ["sub_core.execute.scalar_sfu=one"] if short else []
    if seed % 2:
        changes.append("lsu.pending=1")
    config = with_overrides(MACHINES[machine], changes)
    log = Log()
    rtl = unit(config, probe=True, shown=shown, held=held)
    alone: list[bool] = []
    model = Golden(config, Checker(), lambda cycle: None, log.probe, lambda uop: short and alone[-1])

    written = dict.fromkeys(Unit, 0)  # registers of each unit's oldest uop
    named: dict[Unit, tuple[int, int]] = {}  # what each unit said that it offers next

    async def bench(ctx: Any) -> None:
        away: list[Any] = []
        eager = rng.choice((0.1, 0.5, 0.9))
        for cycle in range(cycles):
            extra = []
            pops = [
                number
                for number in Unit
                if _head(ctx, number, cycle)
                and rng.random() < eager
                and not (shown and _left(number, cycle) > 1)
            ]
            offers = {}
            if short:
                alone.append(rng.random() < 0.5)
                ctx.set(rtl.alone[0], alone[-1])
            for number in Unit:
                port = rtl.dispatch[number]
                assert ctx.get(port.ready) == model.accepts(number, cycle), f"cycle {cycle}, {number!r}"
                valid = rng.random() < 0.5
                ctx.set(port.valid, valid)
                uop = make_uop(
                    rng.randrange(config.sub_core.warps),
                    cycle,
                    unit=number,
                    destination=rng.randrange(250),
                    count=rng.randrange(5),
                    lane_mask=rng.getrandbits(config.lanes),
                    memory=rng.randrange(13),
                )
                ctx.set(
                    port.payload,
                    {
                        "collector": 0,
                        "memory": uop.memory,
                        "lines": 0,
                        "passes": 0,
                        "result": result_fields(uop),
                    },
                )
                if valid and model.accepts(number, cycle):
                    offers[number] = uop
            offered = model.offers(cycle)
            assert ctx.get(rtl.lsu.valid) == offered, f"cycle {cycle}"
            ready = rng.random() < 0.4
            ctx.set(rtl.lsu.ready, ready)
            back = bool(away) and rng.random() < 0.4
            ctx.set(rtl.returned.valid, back)
            if back:
                uop = away.pop(rng.randrange(len(away)))
                ctx.set(rtl.returned.payload, result_fields(uop))
                model.returned(uop, cycle + 1)
            if offered and ready:
                uop = model.take()
                assert ctx.get(rtl.lsu.payload.result.seq) == uop.seq
                assert ctx.get(rtl.lsu.payload.memory) == uop.memory
                away.append(uop)
                extra.append(("lsu_accept", (uop.warp, uop.seq)))
            for uop in offers.values():
                model.dispatch(uop, 0, cycle)
            for number in Unit:
                ctx.set(rtl.result[number].ready, number in pops)
                steps = number not in pops and _left(number, cycle) > 1 and rng.random() < 0.5
                ctx.set(rtl.step[number], steps)
                written[number] = 0 if number in pops else written[number] + steps
            for number in pops:
                model.finish(number, cycle)
            for number, port in zip(Unit, rtl.upcoming, strict=shown):
                if ctx.get(port.changes):
                    named[number] = ctx.get(port.warp), ctx.get(port.register)
            assert seen(ctx, rtl.events) == sorted([*log.take(), *extra]), f"cycle {cycle}"
            assert not ctx.get(rtl.overflow)
            await ctx.tick()

    def _head(ctx: Any, number: int, cycle: int) -> bool:
        queue, port = model.results[number], rtl.result[number]
        there = bool(queue) and queue[0][0] <= cycle
        assert ctx.get(port.valid) == there, f"cycle {cycle}, {Unit(number)!r}"
        if there:
            uop = queue[0][1]
            left = {"destination": uop.destination + written[number], "count": uop.count - written[number]}
            fields = result_fields(uop) | left
            assert {name: ctx.get(getattr(port.payload, name)) for name in fields} == fields
            if shown and fields["count"]:
                assert named[Unit(number)] == (uop.warp, fields["destination"]), f"cycle {cycle}"
        return there

    def _left(number: int, cycle: int) -> int:
        """Registers of a unit's oldest uop that are to be written, if its result is there."""
        queue = model.results[number]
        return queue[0][1].count - written[number] if queue and queue[0][0] <= cycle else 0

    simulate(rtl, bench)


@settings(FEW, max_examples=examples(8, 3))
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


@settings(FEW, max_examples=examples(8, 3))
@given(machine=machines, seed=SEEDS)
def test_one_lane_occupies_the_special_function_unit_for_a_cycle(machine: str, seed: int) -> None:
    lockstep(machine, seed, short=True)


@settings(FEW, max_examples=examples(8, 3))
@given(machine=machines, seed=SEEDS, held=strategies.booleans())
def test_units_name_what_they_offer_next(machine: str, seed: int, held: bool) -> None:
    lockstep(machine, seed, shown=True, held=held)


class Deaf(Pipelines):
    """How many lanes execute a uop makes no difference."""

    def _unit(self, m: Any, unit: Any) -> None:
        given, self.alone = self.alone, []
        super()._unit(m, unit)
        self.alone = given


class StandsStill(Pipelines):
    """The oldest uop names its first register until it leaves."""

    def _queue(self, m: Any, unit: Any, places: int, latency: int) -> Any:
        queue = super()._queue(m, unit, places, latency)
        m.d.comb += queue.c_en.eq(0)
        return queue


class NamesTheNextUop(Pipelines):
    """A uop's second register is not named before it is offered."""

    def _queue(self, m: Any, unit: Any, places: int, latency: int) -> Any:
        queue = super()._queue(m, unit, places, latency)
        behind = data.View(result_layout(self._config), queue.n_data)
        m.d.comb += self.upcoming[unit].register.eq(behind.destination)
        return queue


class NamesLate(Pipelines):
    """Nobody hears that a uop's first register is written."""

    def _queue(self, m: Any, unit: Any, places: int, latency: int) -> Any:
        queue = super()._queue(m, unit, places, latency)
        m.d.comb += self.upcoming[unit].changes.eq(queue.n_en)
        return queue


class NamesNoFirst(Pipelines):
    """A uop that comes into an empty queue is not named in the next cycle."""

    def _show_oldest(self, m: Any, unit: Any, queue: Any) -> None:
        """Show nothing."""


class NamesTheFirstForEver(Pipelines):
    """A uop that came into an empty queue is named until it leaves."""

    def _show_oldest(self, m: Any, unit: Any, queue: Any) -> None:
        super()._show_oldest(m, unit, queue)
        with m.If(self.result[unit].valid):
            m.d.comb += [self.upcoming[unit].changes.eq(1)]
            m.d.comb += [self.upcoming[unit].register.eq(self.result[unit].payload.destination)]


class NoInterval(Pipelines):
    """Units take a uop in every cycle."""

    def _unit(self, m: Any, unit: Any) -> None:
        super()._unit(m, unit)
        m.d.comb += self.dispatch[unit].ready.eq(1)


class Greedy(Pipelines):
    """The load/store unit is offered a uop whether or not there is a place for it when it returns."""

    def _load_store(self, m: Any) -> None:
        super()._load_store(m)
        m.d.comb += self.lsu.valid.eq(m.submodules.lsu_queue.r_rdy)


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: lockstep("tiny", seed, NoInterval))
    assert fails(lambda seed: lockstep("tiny", seed, Greedy))
    assert fails(lambda seed: lockstep("tiny", seed, StandsStill))
    assert fails(lambda seed: lockstep("tiny", seed, Deaf, short=True))
    assert fails(lambda seed: lockstep("tiny", seed, NamesTheNextUop, shown=True))
    assert fails(lambda seed: lockstep("tiny", seed, NamesLate, shown=True))
    for unit in (NamesTheNextUop, NamesLate, NamesNoFirst, NamesTheFirstForEver):
        assert fails(lambda seed, unit=unit: lockstep("tiny", seed, unit, shown=True, held=True)), unit


def test_needs_a_configuration() -> None:
    with pytest.raises(
        TypeError, match="Pipelines needs the machine's configuration, an SmConfig, not 'turing'"
    ):
        Pipelines("turing")  # type: ignore[arg-type]
