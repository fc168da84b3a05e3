"""The cache table's functions: hits, places, replacement and order as golden's table has them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

import warpbank.hdl.collector.cache_table
from tests.golden.collector.ccu_bench import LRU, ONE, Bench
from warpbank.arch.uop import MAX_SOURCES
from warpbank.golden.collector.cache_table import CacheTable
from warpbank.golden.collector.ccu import Ccu
from warpbank.hdl.collector.cache_table import Lines, found, take, touched, victim, victims
from warpbank.hdl.lfsr import turned

#: The RTL's functions are combinational: state in, answer out.
Check = Callable[[Any], None]


def _show(ctx: Any, lines: Lines, table: CacheTable) -> None:
    """Put golden's table into the signals."""
    for name in ("valid", "near", "locked", "filled"):
        ctx.set(getattr(lines, name), sum(getattr(line, name) << line.number for line in table.lines))
    order = [line.number for line in table._order]
    for line in table.lines:
        ctx.set(lines.registers[line.number], line.register)
        ctx.set(lines.newer[line.number], sum(1 << older for older in order[: order.index(line.number)]))


def _simulate(m: Module, check: Check) -> None:
    async def bench(ctx: Any) -> None:
        check(ctx)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


def _random_table(rng: random.Random, size: int, far_first: bool) -> CacheTable:
    table = CacheTable(size, rng.randrange(1, 65536), far_first)
    shares = [rng.choice((0, 0.2, 0.8, 1)) for _ in range(3)]
    for number, line in enumerate(table.lines):
        line.register = 16 * number + rng.randrange(16)
        line.valid, line.near, line.locked = (rng.random() < share for share in shares)
    rng.shuffle(table._order)
    return table


def replacement(size: int, far_first: bool, seed: int) -> Counter[str]:
    """The line that is replaced, the line that holds a register, and the order after a use. Returns what
    decided how often."""
    rng = random.Random(seed)
    m, lines = Module(), Lines(size, "")
    number, register, use = Signal(16), Signal(8), Signal(size)
    place = Signal(size)
    m.d.comb += place.eq(victim(m, lines, lines.valid, lines.locked, number, far_first, ""))
    here = found(m, lines, register, "")
    rows = [Signal(size, name=f"after_{line}") for line in range(size)]
    m.d.comb += [row.eq(after) for row, after in zip(rows, touched(list(lines.newer), use), strict=True)]
    decided = Counter[str]()

    def check(ctx: Any) -> None:
        for _ in range(150):
            table = _random_table(rng, size, far_first)
            _show(ctx, lines, table)
            ctx.set(number, table._random.state)
            line = table._victim(0)
            assert ctx.get(place) == (0 if line is None else 1 << line.number), f"seed {seed}"
            far = [each for each in table.lines if not each.locked and not each.near]
            decided[
                "none"
                if line is None
                else "empty"
                if not line.valid
                else "far"
                if far_first and len(far) > 1
                else "one far"
                if far_first and far
                else "oldest"
            ] += 1
            sought = rng.choice([*(each.register for each in table.lines), rng.randrange(256)])
            ctx.set(register, sought)
            held = table.find(sought)
            assert ctx.get(here) == (0 if held is None else 1 << held.number)
            used = rng.choice([None, *table.lines])
            ctx.set(use, 0 if used is None else 1 << used.number)
            if used is not None:
                table.touch(used)
            order = [each.number for each in table._order]
            for each, row in enumerate(rows):
                assert ctx.get(row) == sum(1 << older for older in order[: order.index(each)])

    _simulate(m, check)
    return decided


@pytest.mark.parametrize("far_first", [True, False])
@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_replacement_equals_golden(size: int, far_first: bool) -> None:
    decided = replacement(size, far_first, size)
    assert (
        min(decided[kind] for kind in ("none", "empty", "oldest", *(("far", "one far") if far_first else ())))
        > 0
    )


def taken(lines_of: int, far_first: bool, seed: int, uops: int = 60) -> Counter[int]:
    """What a uop does to its unit's table. Returns how many uops missed so many sources."""
    rng = random.Random(seed)
    bench = Bench(ONE, f"cache_lines={lines_of}", f"seed={seed}", kind=Ccu if far_first else LRU)
    table = bench.unit(0).table
    m, lines = Module(), Lines(lines_of, "")
    keeps, valid, near, number = Signal(), Signal(MAX_SOURCES), Signal(MAX_SOURCES), Signal(16)
    sources = [Signal(8, name=f"source_{slot}") for slot in range(MAX_SOURCES)]
    done = take(m, lines, keeps, sources, valid, near, number, far_first)
    rows, misses = [Signal(lines_of, name=f"after_{line}") for line in range(lines_of)], Signal()
    m.d.comb += [
        *(row.eq(after) for row, after in zip(rows, done.renewed(lines.newer), strict=True)),
        misses.eq(done.misses),
    ]
    kinds = Counter[int]()

    def check(ctx: Any) -> None:
        warp = 0
        for _ in range(uops):
            stays = rng.random() < 0.9
            warp = warp if stays else 1 - warp
            registers = rng.sample(range(lines_of + 4), rng.randrange(MAX_SOURCES + 1))
            uop = bench.uop(warp, *registers, near=rng.getrandbits(MAX_SOURCES))
            _show(ctx, lines, table)
            ctx.set(keeps, bench.unit(0).owner == warp)
            ctx.set(valid, (1 << len(registers)) - 1)
            ctx.set(near, uop.near)
            ctx.set(number, table._random.state)
            for slot, signal in enumerate(sources):
                ctx.set(signal, registers[slot] if slot < len(registers) else rng.randrange(256))
            bench.issue(uop)
            unit = bench.unit(0)
            slots = {slot for _, slot, _, _ in bench.requests}
            assert ctx.get(done.hits) == sum(
                1 << slot for slot in range(len(registers)) if slot not in slots
            ), f"seed {seed}"
            assert [ctx.get(place) for place in done.places[: len(registers)]] == [
                line.number for line in unit.lines
            ]
            assert ctx.get(done.fresh) == sum(1 << unit.lines[slot].number for slot in slots)
            assert ctx.get(done.used) == sum(1 << line.number for line in unit.lines)
            assert ctx.get(done.near) == sum(1 << line.number for line in unit.lines if line.near)
            assert ctx.get(misses) == bool(slots)
            order = [line.number for line in table._order]
            assert [ctx.get(row) for row in rows] == [
                sum(1 << older for older in order[: order.index(line)]) for line in range(lines_of)
            ]
            kinds[len(slots)] += 1
            bench.deliver()
            bench.go()
            for line in table.lines:  # as results that are not kept do
                line.valid &= rng.random() < 0.9
            bench.ccu._update()

    _simulate(m, check)
    return kinds


@pytest.mark.parametrize(("lines", "far_first"), [(8, True), (8, False), (16, True)])
def test_a_uop_s_sources_equal_golden(lines: int, far_first: bool) -> None:
    kinds = taken(lines, far_first, lines)
    assert all(kinds[missed] for missed in range(MAX_SOURCES - 1))


def test_mutants_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock bit ignored, the first far line instead of one at random, random ones that do not count those
    before them, the order never renewed."""
    module = warpbank.hdl.collector.cache_table

    def unlocked(m: Module, lines: Lines, valid: Any, closed: Any, *others: Any) -> list[Signal]:
        return victims(m, lines, valid, closed & 0, *others)

    def first(m: Module, lines: Lines, valid: Any, closed: Any, number: Any, *others: Any) -> list[Signal]:
        return victims(m, lines, valid, closed, number & 0, *others)

    def again(number: Any, turn: Any, most: int) -> Any:
        return turned(number, 0, most)

    for place, name, broken in (
        (module, "victims", unlocked),
        (module, "victims", first),
        (module, "turned", again),
        (module.Taken, "renewed", lambda taken, rows: rows),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, broken)
            with pytest.raises(AssertionError):
                taken(8, True, 1)
