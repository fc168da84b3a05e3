"""The arbiter grants, and counts conflicts, as golden's does."""

from __future__ import annotations

import random
from typing import Any
from unittest import mock

import pytest
from amaranth.hdl import Cat, Signal
from hypothesis import given

from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, machines, seen, simulate
from tests.hdl.collector.boc_bench import BOCS
from warpbank.arch.parameters import SmConfig
from warpbank.golden.main.arbiter import Arbiter as Golden
from warpbank.hdl.collector.boc import Boc
from warpbank.hdl.main.arbiter import Arbiter


def lockstep(machine: str, seed: int, unit: Any = Arbiter, cycles: int = 300) -> None:
    """One uop in collection per collector, as in an OCU."""
    config = MACHINES[machine]
    compare(unit(config, probe=True), config, 1, seed, cycles)


def boc_lockstep(machine: str, seed: int, cycles: int = 300) -> None:
    """Several, told apart by their tags, and a place for all of them at every bank, as with BOCs."""
    config = BOCS[machine]
    tags = Boc.tags(config)
    compare(Arbiter(config, Boc.entries(config), tags, probe=True), config, tags, seed, cycles)


def late_lockstep(machine: str, seed: int, unit: Any = Arbiter, shared: bool = False) -> None:
    """A second uop makes requests in a cycle, which go first."""
    config = MACHINES[machine]
    rtl = unit(config, probe=True, late=config.sub_core.collectors, shared=shared)
    compare(rtl, config, 1, seed, 300, shared, late=True)


def lookups_lockstep(machine: str, seed: int, unit: Any = Arbiter) -> None:
    """Two operands of a uop are looked up in a cycle, and two of another one that has more."""
    config = BOCS[machine]
    tags, uops = Boc.tags(config), Boc.entries(config)
    rtl = unit(config, uops, tags, probe=True, late=2 * uops, lookups=2)
    compare(rtl, config, tags, seed, 300, late=True, lookups=2)


class Operands:
    """Source slots that each uop has not asked for yet."""

    def __init__(self, rng: random.Random, slots: int) -> None:
        self.rng, self.slots = rng, slots
        self.left: dict[tuple[int, int], list[int]] = {}

    def fresh(self, uop: tuple[int, int], lookups: int) -> list[int]:
        """First slots of a new uop."""
        self.left[uop] = sorted(self.rng.sample(range(self.slots), self.rng.randrange(self.slots + 1)))
        return self.take(uop, lookups)

    def take(self, uop: tuple[int, int], lookups: int) -> list[int]:
        """The next slots of a uop."""
        taken = self.left[uop][:lookups]
        del self.left[uop][:lookups]
        return taken

    def more(self) -> list[tuple[int, int]]:
        """Uops that have more."""
        return [uop for uop, slots in self.left.items() if slots]


def compare(
    rtl: Any,
    config: SmConfig,
    tags: int,
    seed: int,
    cycles: int,
    shared: bool = False,
    late: bool = False,
    lookups: int = 0,
) -> None:
    """Random requests of random uops, random writes, banks that are not ready and, if `shared`, ports that
    are taken; if `late`, those of a second uop; with `lookups`, so many operands of a uop at a time, those
    that it has more in later cycles: grants, reads and events are golden's in every cycle."""
    rng = random.Random(seed)
    core = config.sub_core
    log = Log()
    model = Golden(core.banks, log.probe)
    missing = {(collector, tag): 0 for collector in range(core.collectors) for tag in range(tags)}
    most = min(6, core.collector.slots)
    operands = Operands(rng, most)

    def look_up(ctx: Any, request: Any, enter: Any, uop: tuple[int, int], slots: list[int]) -> None:
        """Operands of a uop have been looked up, or none is."""
        ctx.set(request.valid, bool(slots))
        ctx.set(request.collector, uop[0])
        if tags > 1:
            ctx.set(request.tag, uop[1])
        ctx.set(request.slots, [0] * lookups)
        for number, slot in enumerate(slots):
            bank, row = rng.randrange(core.banks), rng.randrange(core.rows)
            ctx.set(request.slots[number], 1 << slot)
            ctx.set(request.banks[number], 1 << bank)
            ctx.set(request.rows[number], row)
            enter(bank, row, uop[0], slot, uop[1])
        missing[uop] += len(slots)

    def ask(ctx: Any, request: Any, enter: Any, free: list[tuple[int, int]]) -> None:
        """One of the uops that wait for nothing makes requests, or none does."""
        valid = bool(free) and rng.random() < 0.7
        ctx.set(request.valid, valid)
        if not valid:
            return
        collector, tag = free.pop(rng.randrange(len(free)))
        slots = rng.randrange(most + 1)
        banks, rows = ([rng.randrange(count) for _ in range(most)] for count in (core.banks, core.rows))
        ctx.set(request.collector, collector)
        if tags > 1:
            ctx.set(request.tag, tag)
        ctx.set(request.slots, (1 << slots) - 1)
        ctx.set(request.banks, banks)
        ctx.set(request.rows, rows)
        for slot in range(slots):
            enter(banks[slot], rows[slot], collector, slot, tag)
        missing[collector, tag] = slots

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            written = rng.getrandbits(core.banks) & rng.getrandbits(core.banks)
            ctx.set(rtl.written, written)
            opening = rng.getrandbits(core.banks) & rng.getrandbits(core.banks) if cycle % 3 else 0
            ctx.set(rtl.opening, opening)
            ports = rng.getrandbits(core.collectors) if shared and cycle % 2 else 0
            if shared:
                ctx.set(rtl.ports, ports)
            grants = model.step(written, opening, ports)
            expected = {collector: (bank, slot, tag) for bank, _, collector, slot, tag in grants}
            found = {
                number: (ctx.get(grant.bank), ctx.get(grant.slot), ctx.get(grant.tag) if tags > 1 else 0)
                for number, grant in enumerate(rtl.grant)
                if ctx.get(grant.valid)
            }
            assert found == expected, f"cycle {cycle}"
            assert {bank: ctx.get(port.row) for bank, port in enumerate(rtl.read) if ctx.get(port.valid)} == {
                bank: row for bank, row, *_ in grants
            }
            assert seen(ctx, rtl.events) == log.take(), f"cycle {cycle}"
            served = [(collector, tag) for collector, (_, _, tag) in expected.items()]
            for uop in served:
                missing[uop] -= 1
            # A uop's place may be taken again in the cycle in which the uop is dispatched, long after its
            # last grant.
            more = operands.more()
            free = [uop for uop, count in missing.items() if not count and uop not in (*served, *more)]
            if lookups:
                asked = rng.choice(free) if free and rng.random() < 0.7 else None
                first = operands.fresh(asked, lookups) if asked else []
                look_up(ctx, rtl.request, model.request, asked or (0, 0), first)
                others = rng.choice(more) if more and rng.random() < 0.7 else None
                rest = operands.take(others, lookups) if others else []
                look_up(ctx, rtl.late, model.request_late, others or (0, 0), rest)
                await ctx.tick()
                continue
            ask(ctx, rtl.request, model.request, free)
            if late:
                ask(ctx, rtl.late, model.request_late, free)
            await ctx.tick()

    simulate(rtl, bench)


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


@pytest.mark.parametrize("machine", BOCS)
def test_with_several_uops_of_a_collector(machine: str) -> None:
    boc_lockstep(machine, 1)


@pytest.mark.parametrize("machine", ["tiny", "odd"])
def test_with_ports_that_another_arbiter_takes(machine: str) -> None:
    """A cache's arbiter goes first: a collector whose port it takes gets nothing here."""
    config = MACHINES[machine]
    compare(Arbiter(config, probe=True, shared=True), config, 1, 3, 200, shared=True)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_with_a_second_uop_that_goes_first(machine: str, shared: bool) -> None:
    for seed in range(2):
        late_lockstep(machine, seed, shared=shared)


@pytest.mark.parametrize("machine", BOCS)
def test_with_operands_that_have_just_been_looked_up(machine: str) -> None:
    for seed in range(2):
        lookups_lockstep(machine, seed)


class IgnoresRivals(Arbiter):
    """Every bank serves its request, whoever else serves that collector."""

    def _serve_soon(self, m: Any, heads: Any, candidates: Any) -> Any:
        super()._serve_soon(m, heads, candidates)
        return candidates


class ServesTakenPorts(Arbiter):
    """Banks serve collectors whose port is taken."""

    def _serve_soon(self, m: Any, heads: Any, candidates: Any) -> Any:
        self._shared = False
        found = super()._serve_soon(m, heads, candidates)
        self._shared = True
        return found


class ServesTheLowest(Arbiter):
    """The banks' turns do not rotate."""

    def _serve_soon(self, m: Any, heads: Any, candidates: Any) -> Any:
        with mock.patch("warpbank.hdl.main.arbiter.before", lambda _, other, place: other < place):
            return super()._serve_soon(m, heads, candidates)


@pytest.mark.parametrize("unit", [IgnoresRivals, ServesTakenPorts, ServesTheLowest])
def test_mutants_of_the_grant_are_caught(unit: type[Arbiter]) -> None:
    with pytest.raises(AssertionError):
        late_lockstep("per_warp", 1, unit, shared=True)


class SwapsRows(Arbiter):
    """Each of two looked-up operands is read from the row of the other."""

    def _queue(self, m: Any, bank_name: str, bank: int, request: Any, groups: int) -> Any:
        swapped = mock.Mock(wraps=request)
        for name in ("valid", "collector", "tag", "slots", "banks"):
            setattr(swapped, name, getattr(request, name, None))
        swapped.rows = Cat(request.rows[1], request.rows[0])
        return super()._queue(m, bank_name, bank, swapped, groups)


class AsksOneBank(Arbiter):
    """All operands that are looked up in a cycle are read from the bank of the first."""

    def _of(self, here: Any, slots: Any) -> Any:
        return super()._of(here[0].replicate(len(here)), slots)


@pytest.mark.parametrize("unit", [SwapsRows, AsksOneBank])
def test_mutants_of_looked_up_operands_are_caught(unit: type[Arbiter]) -> None:
    with pytest.raises(AssertionError):
        lookups_lockstep("wide", 1, unit)


class ReadsAhead(Arbiter):
    """Banks whose accesses take longer serve at once."""

    def elaborate(self, platform: object) -> Any:
        given, self.opening = self.opening, Signal.like(self.opening)
        m = super().elaborate(platform)
        self.opening = given
        return m


class TakesAnyPort(Arbiter):
    """Ports that are taken are taken again."""

    def elaborate(self, platform: object) -> Any:
        given, self.ports = self.ports, Signal.like(self.ports)
        m = super().elaborate(platform)
        self.ports = given
        return m


def test_mutants_of_waiting_are_caught() -> None:
    with pytest.raises(AssertionError):
        lockstep("tiny", 1, ReadsAhead)
    config = MACHINES["tiny"]
    with pytest.raises(AssertionError):
        compare(TakesAnyPort(config, probe=True, shared=True), config, 1, 3, 200, shared=True)


class AlwaysReading(Arbiter):
    """The first bank reads, whether it was granted or not."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += [port.valid.eq(1) for port in self.read[:1]]
        return m


def test_a_mutant_is_caught() -> None:
    with pytest.raises(AssertionError):
        lockstep("tiny", 1, AlwaysReading)


@pytest.mark.parametrize("groups", [0, -1, 2.5])
def test_groups_must_be_a_number(groups: Any) -> None:
    with pytest.raises(TypeError, match="Arbiter needs a number of groups of at least 1, not"):
        Arbiter(MACHINES["tiny"], groups)
