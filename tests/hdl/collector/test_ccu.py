"""The caching collectors beside golden's: every output, operand and event of every cycle, in a small machine
of their own.

The bench plays scoreboard, banks and execution units: warps' uops have hazards, results come late and in wide
groups. So golden itself is checked against the architectural values, too.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from amaranth.hdl import Const, Mux
from hypothesis import given

import warpbank.golden.collector.caching_unit
import warpbank.golden.collector.ccu
import warpbank.hdl.collector.cache_table
import warpbank.hdl.collector.ccu
from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, fails, machines, seen, simulate, uop_record
from tests.hdl.collector.ccu_machine import UNITS, Machine, Watched, number
from warpbank.arch.config import with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES
from warpbank.golden.collector.cache_table import Line
from warpbank.golden.collector.caching_unit import Arrived
from warpbank.golden.collector.caching_unit import CachingUnit as GoldenUnit
from warpbank.golden.front_end.sthld import Sthld
from warpbank.golden.storage.metadata import EMPTY
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value
from warpbank.hdl.collector.caching_unit import CachingUnit
from warpbank.hdl.collector.ccu import Ccu

#: Units under customary policies, any of which may serve any uop.
LRU = partial(Ccu, far_first=False, own_unit=False)
#: Units under customary policies, but a warp keeps its own.
LRU_OWN = partial(Ccu, far_first=False)


def machine_of(name: str, overrides: tuple[str, ...] = ()) -> SmConfig:
    """A machine of tests/hdl/bench.py with other collectors."""
    return with_overrides(
        MACHINES[name], [each if "." in each else f"sub_core.collector.{each}" for each in overrides]
    )


class Listening(GoldenUnit):
    """Golden's unit; it tells which results port D takes."""

    taken: set[tuple[int, int, int]]

    def _arrive(self) -> tuple[Arrived | None, list[tuple[Line, int]]]:
        arrived, dropped = super()._arrive()
        if arrived is not None:
            self.taken.add((arrived.uop.warp, arrived.uop.seq, arrived.register))
        return arrived, dropped


def lockstep(
    machine: str,
    seed: int,
    unit: Any = Ccu,
    cycles: int = 300,
    overrides: tuple[str, ...] = (),
    model_seed: int | None = None,
) -> Counter[str]:
    """Returns how often what happened. `model_seed`: golden's shift registers begin elsewhere."""
    rng = random.Random(seed)
    config = machine_of(machine, overrides)
    core, shape = config.sub_core, config.sub_core.collector
    log, world = Log(), Machine(config, rng)
    rtl = unit(config, probe=True)
    other = config if model_seed is None else machine_of(machine, (*overrides, f"seed={model_seed}"))
    Watched.seen = kinds = Counter[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warpbank.golden.collector.caching_unit, "CacheTable", Watched)
        patch.setattr(warpbank.golden.collector.ccu, "CachingUnit", Listening)
        model = warpbank.golden.collector.ccu.Ccu(
            other,
            world,
            world.read_done,
            log.probe,
            rtl.far_first,  # type: ignore[arg-type]
            rtl.own_unit,
        )
    Listening.taken = taken = set()
    asked: list[tuple[int, int, int, int]] = []  # before the last cycle
    waiting_time = Sthld(shape.sthld_interval, shape.sthld_max)
    issued = 0

    async def bench(ctx: Any) -> None:
        nonlocal issued
        occupied = 0
        ctx.set(rtl.sthld, 0 if shape.sthld == "adaptive" else int(shape.sthld))
        for cycle in range(cycles):
            if shape.sthld == "adaptive" and cycle == waiting_time.due:
                waiting_time.end(issued)
                model.adapt(waiting_time.value)
                ctx.set(rtl.sthld, waiting_time.value)
            where = f"seed {seed}, cycle {cycle}"
            expected = [("occupied", (occupied,))] if occupied else []
            assert (ctx.get(rtl.may_issue), ctx.get(rtl.holds)) == (model.may_issue, model.holds), where
            assert ctx.get(rtl.may_slide) == model.may_slide
            starting = [warp for warp in range(core.warps) if rng.random() < 0.05 and world.drained(warp)]
            starting = [warp for warp in starting if not world.reading[warp]]
            ready = world.ready & ~sum(1 << warp for warp in starting)
            pick = _pick(ready)
            _set_results(ctx)
            _set_dispatch(ctx, cycle)
            _set_deliveries(ctx)
            _set_issue(ctx, ready, pick)
            ctx.set(rtl.start, sum(1 << warp for warp in starting))
            log.probe.cycle = cycle
            events = sorted([*expected, *_edge()])
            assert seen(ctx, rtl.events) == events, where
            _check_keep(ctx)
            for warp in starting:
                kinds["start"] += bool(model.holds >> warp & 1)
                model.start(warp)
            occupied = core.collectors - model.free.bit_count()
            for name, _ in events:
                kinds[name] += 1
            await ctx.tick()

    def _edge() -> list[tuple[str, tuple[int, ...]]]:
        model.edge()
        return log.take()

    def _pick(ready: int) -> int | None:
        """The warp that issues, mostly one that has values; -1: one whose uop needs no collector."""
        if rng.random() < 0.1:
            return -1
        able = [warp for warp in range(core.warps) if ready & model.may_issue & 1 << warp]
        cached = [warp for warp in able if model.holds >> warp & 1]
        return (
            rng.choice(cached if cached and rng.random() < 0.8 else able)
            if able and rng.random() < 0.95
            else None
        )

    def _set_results(ctx: Any) -> None:
        nonlocal written
        first = rng.randrange(UNITS)
        ctx.set(rtl.first, first)
        offers = sorted(world.offers(), key=lambda unit: (unit - first) % UNITS)
        uops = {unit: world.heads[unit] for unit in offers}
        model.claim(
            [(unit, uop, uop.destination + uop.written) for unit, uop in uops.items() if uop is not None]
        )
        written = {}
        for unit, port in enumerate(rtl.result):
            uop = uops.get(unit)
            ctx.set(port.valid, uop is not None)
            taken = uop is not None and rng.random() < 0.7
            ctx.set(port.taken, taken)
            if uop is not None:
                ctx.set(
                    port.payload,
                    {
                        "warp": uop.warp,
                        "seq": uop.seq,
                        "register": uop.destination + uop.written,
                        "mask": uop.lane_mask,
                        "near": uop.near >> MAX_SOURCES & 1,
                    },
                )
            if taken:
                written[unit] = world.write(unit)
                ctx.set(rtl.keep[unit].value, number(written[unit][2]))
        for unit in offers:
            if unit in written:
                model.result(unit, *written[unit])
                owned = model._owned[written[unit][0].warp] >= 0
                kinds["filtered"] += owned and not written[unit][0].near >> MAX_SOURCES & 1
                kinds["of no unit"] += not owned

    written: dict[int, tuple[TraceUop, int, Value]] = {}

    def _set_dispatch(ctx: Any, cycle: int) -> None:
        world.accepting, world.taken = rng.getrandbits(UNITS) | rng.getrandbits(UNITS), {}
        for unit, port in enumerate(rtl.dispatch):
            ctx.set(port.ready, world.accepting >> unit & 1)
        assert ctx.get(rtl.refused) == model.dispatch(cycle, world)  # type: ignore[arg-type]
        _dispatched(ctx, rtl, world)

    def _set_deliveries(ctx: Any) -> None:
        """Operands come from the second cycle after their request on."""
        nonlocal asked
        due, asked = asked, list(world.requests)
        rng.shuffle(due)
        ports: dict[int, tuple[int, Value]] = {}
        for request in due:
            collector, slot, warp, register = request
            if collector not in ports and rng.random() < 0.6:
                world.requests.remove(request)
                asked.remove(request)
                ports[collector] = slot, world.banks[warp][register]
                model.deliver(collector, slot, 0, world.banks[warp][register], EMPTY)
        for collector, port in enumerate(rtl.deliver):
            ctx.set(port.valid, collector in ports)
            if collector in ports:
                ctx.set(port.slot, ports[collector][0])
                ctx.set(port.value, number(ports[collector][1]))

    def _set_issue(ctx: Any, ready: int, pick: int | None) -> None:
        nonlocal issued
        ctx.set(rtl.ready, ready)
        ctx.set(rtl.idle, pick is None)
        issues = pick is not None and pick >= 0
        ctx.set(rtl.issue.valid, issues)
        issued += pick is not None
        if pick is None and model.waits(ready):
            model.wait()
        if not issues or pick is None:
            assert not ctx.get(rtl.read.valid)
            return
        uop, before = world.next[pick], len(world.requests)
        world.issue(uop)
        ctx.set(rtl.issue.payload, {"warp": pick, "uop": uop_record(uop)})
        model.allocate(uop)
        new = world.requests[before:]
        assert ctx.get(rtl.entry) == model._owned[pick]
        assert ctx.get(rtl.read.valid) == bool(new)
        read = rtl.read.payload
        if new:
            assert (ctx.get(read.collector), ctx.get(read.warp)) == (model._owned[pick], pick)
            assert ctx.get(read.source_valid) == sum(1 << slot for _, slot, _, _ in new)
            assert all(ctx.get(read.sources[slot]) == register for _, slot, _, register in new)

    def _check_keep(ctx: Any) -> None:
        for unit, port in enumerate(rtl.keep):
            uop, register, _ = written.get(unit, (None, 0, None))
            wanted = uop is not None and (uop.warp, uop.seq, register) in taken
            assert ctx.get(port.valid) == wanted
            if uop is not None and wanted:
                assert [ctx.get(getattr(port, name)) for name in ("warp", "seq", "register", "mask")] == [
                    uop.warp,
                    uop.seq,
                    register,
                    uop.lane_mask,
                ]
                kinds["partial"] += uop.lane_mask != config.lane_mask
        taken.clear()

    simulate(rtl, bench)
    return kinds


def _dispatched(ctx: Any, rtl: Any, world: Machine) -> None:
    gone = set()
    for unit, port in enumerate(rtl.dispatch):
        goes = ctx.get(port.valid) and ctx.get(port.ready)
        assert bool(goes) == (unit in world.taken)
        if goes:
            collector, uop = world.taken[unit]
            gone.add(collector)
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
            assert ctx.get(result.near) == uop.near >> MAX_SOURCES & 1
            operands = [ctx.get(rtl.operands[collector][slot]) for slot in range(len(uop.operands))]
            assert operands == [number(value) for value in uop.operands]
    for collector, done in enumerate(rtl.read_done):
        assert bool(ctx.get(done.slots)) == (collector in gone)


#: Machine, class, and what is set besides: shared and private units, small and large tables, waiting times,
#: seeds.
CASES: dict[str, tuple[str, Callable[..., Ccu], tuple[str, ...]]] = {
    "shared": ("tiny", Ccu, ("sub_core.warps=4", "sthld=8")),
    "short_wait": ("tiny", Ccu, ("sub_core.warps=3", "sthld=2")),
    "never_waits": ("tiny", Ccu, ("sub_core.warps=4", "sthld=0", "seed=77")),
    "adaptive": ("tiny", Ccu, ("sthld_interval=16", "sub_core.warps=4")),
    "one_unit": ("tiny", Ccu, ("sub_core.collectors=1", "sub_core.warps=3", "sthld=1", "seed=65535")),
    "many_lines": ("odd", Ccu, ("cache_lines=16", "sub_core.collectors=2", "sthld=8")),
    "twelve_lines": ("tiny", Ccu, ("cache_lines=12", "sub_core.warps=4", "sthld=8")),
    "per_warp": ("per_warp", Ccu, ("sub_core.warps=3", "sub_core.collectors=3")),
    "lru_per_warp": ("per_warp", LRU, ("sub_core.warps=3", "sub_core.collectors=3")),
    "single": ("single", Ccu, ()),
    "lru": ("tiny", LRU, ("sub_core.warps=4",)),
    "lru_three": ("odd", LRU, ()),
    "lru_own": ("tiny", LRU_OWN, ("sub_core.warps=4",)),
}
#: Those that take longer than the default suite should.
SLOW = ("many_lines", "twelve_lines", "lru_three")


def _case(name: str, seed: int, unit: Any = None, **others: Any) -> Counter[str]:
    machine, kind, overrides = CASES[name]
    return lockstep(machine, seed, unit or kind, overrides=overrides, **others)


@pytest.mark.quick("shared", "short_wait", "lru", "lru_per_warp", "one_unit", "single")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in CASES]
)
def test_equals_golden(name: str) -> None:
    kinds = _case(name, 1)
    wanted = ["forward", "collector_write", "filtered", "empty"]
    if CASES[name][1] is Ccu:  # else every result is kept, unless two come at once
        wanted.append("invalidate")
    assert min(kinds[kind] for kind in wanted) > 0


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
@FEW
@given(seed=SEEDS)
def test_equals_golden_for_many_seeds(name: str, seed: int) -> None:
    _case(name, seed)


@pytest.mark.long
@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden_on_all_machines(machine: str, seed: int) -> None:
    lockstep(machine, seed)


@pytest.mark.long
def test_everything_happens() -> None:
    """Hits, flushes, all kinds of replacement, waiting, results that are not kept, parts of registers, new
    warps."""
    kinds = _case("shared", 1) + _case("shared", 2)
    wanted = (
        "forward",
        "flush",
        "empty",
        "far",
        "one far",
        "oldest",
        "unit_wait",
        "filtered",
        "of no unit",
        "partial",
        "collector_write",
        "invalidate",
        "start",
        "window",
    )
    assert min(kinds[kind] for kind in wanted) > 0, kinds
    assert not _case("never_waits", 2)["unit_wait"]


def test_a_seed_changes_golden_and_rtl_alike() -> None:
    """They are equal for every seed (`CASES`), and differ if only one of them is given another."""
    for seed in (2, 0xBEEF):
        with pytest.raises(AssertionError):
            _case("shared", 1, model_seed=seed)


# --- Broken ones are found out.


class NoFlush(CachingUnit):
    """A unit that changes hands keeps its values."""

    def end(self, m: Any, allocated: Any, taken: Any, *rest: Any) -> None:
        super().end(m, allocated, taken, *rest)
        with m.If(allocated & taken.fresh_owner):
            m.d.sync += self.table.valid.eq(self.table.valid)


class StaleCopy(CachingUnit):
    """A result that is not kept leaves the old copy where it is; the event says otherwise."""

    def _arrive(self, *arguments: Any) -> Any:
        return super()._arrive(*arguments) & 0


class OldJoins(CachingUnit):
    """A result joins the line that its register had, though an operand has taken that since."""

    def _arrive(self, m: Any, results: Any, forgets: Any, starts: Any, fresh: Any) -> Any:
        return super()._arrive(m, results, forgets, starts, fresh & 0)


class OlderResult(CachingUnit):
    """A result that waits stays although the warp's next one has come."""

    def _arrive(self, m: Any, *rest: Any) -> Any:
        dropped = super()._arrive(m, *rest)
        with m.If(self.seeks & ~self.takes):
            m.d.sync += self.seeks.eq(1)
        return dropped


class Impatient(CachingUnit):
    """A result takes a line while its unit waits for operands."""

    def _take(self, m: Any, allocated: Any, *rest: Any) -> Any:
        slots = super()._take(m, allocated, *rest)
        m.d.comb += self._opens.eq(~allocated)
        return slots


class NeverReset(Ccu):
    """The waiting counter goes on for ever."""

    def _count_waits(self, m: Any, waited: Any, waits: Any, spent: Any) -> None:
        super()._count_waits(m, waited, waits, Const(0))


def plant(mutant: type[CachingUnit | Ccu], patch: pytest.MonkeyPatch) -> Any:
    """Break the collectors or each of their units. Returns the class of the collectors."""
    if issubclass(mutant, Ccu):
        return mutant
    patch.setattr(warpbank.hdl.collector.ccu, "CachingUnit", mutant)
    return Ccu


@pytest.mark.quick("StaleCopy", "NoFlush")
@pytest.mark.parametrize("mutant", [NoFlush, StaleCopy, OlderResult, Impatient, NeverReset])
def test_mutants_are_caught(mutant: type[CachingUnit | Ccu], monkeypatch: pytest.MonkeyPatch) -> None:
    kind = plant(mutant, monkeypatch)
    assert any(
        fails(lambda seed, name=name: _case(name, seed, kind)) for name in ("shared", "per_warp", "single")
    )


@pytest.mark.long
def test_a_mutant_that_takes_long_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operand has to take the very line that a result of that cycle found."""
    kind = plant(OldJoins, monkeypatch)
    assert fails(lambda seed: _case("single", seed, kind, cycles=1000))


class TwoPlaces(Ccu):
    """A warp that goes to another unit keeps its values in the one it had."""

    def _leave(self, m: Any, left: Any) -> None:
        super()._leave(m, left & 0)


class OwnFirst(Ccu):
    """A warp's own unit is taken where it is free."""

    def _open_units(self, free: Any, has: Any) -> Any:
        return Mux((free & has).any(), free & has, free)


@pytest.mark.parametrize("mutant", [TwoPlaces, OwnFirst])
def test_mutants_without_own_units_are_caught(mutant: type[Ccu]) -> None:
    unit = partial(mutant, far_first=False, own_unit=False)
    assert fails(lambda seed: _case("lru", seed, unit))


@pytest.mark.parametrize("what", ["lock", "chance"])
def test_broken_replacement_is_caught(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock bit ignored, or far lines counted from the other end."""
    real = warpbank.hdl.collector.cache_table.victim

    def broken(m: Any, lines: Any, closed: Any, ranks: Any, *others: Any) -> Any:
        if what == "lock":
            return real(m, lines, closed & 0, ranks, *others)
        return real(m, lines, closed, [count - 1 - rank for count, rank in enumerate(ranks, 1)], *others)

    monkeypatch.setattr("warpbank.hdl.collector.caching_unit.victim", broken)
    assert fails(lambda seed: _case("single", seed, cycles=1000))


def test_needs_a_configuration() -> None:
    with pytest.raises(TypeError, match="Ccu needs the machine's configuration, an SmConfig, not None"):
        Ccu(None)  # type: ignore[arg-type]
