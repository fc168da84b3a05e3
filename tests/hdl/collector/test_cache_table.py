"""The cache table's functions: hits, places, replacement and order as golden's table has them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Signal
from amaranth.sim import Simulator

import warpbank.hdl.collector.cache_table as module
from warpbank.arch.uop import MAX_SOURCES
from warpbank.golden.collector.cache_table import CacheTable
from warpbank.hdl.collector.cache_table import Lines, found, touched, victim
from warpbank.hdl.lfsr import WIDTH

#: The RTL's functions are combinational: state in, answer out.
Check = Callable[[Any], None]


def _show(ctx: Any, lines: Lines, table: CacheTable) -> None:
    """Put golden's table into the signals."""
    for name in ("valid", "near", "locked"):
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
    register, use, place, spared = Signal(8), Signal(size), Signal(size), Signal(size)
    ranks = [Signal(range(count), name=f"rank_{count}") for count in range(1, size + 1)]
    m.d.comb += place.eq(victim(m, lines, lines.locked | spared, ranks, far_first, ""))
    here = found(m, lines, register, "")
    rows = [Signal(size, name=f"after_{line}") for line in range(size)]
    m.d.comb += [row.eq(after) for row, after in zip(rows, touched(list(lines.newer), use), strict=True)]
    decided = Counter[str]()

    def check(ctx: Any) -> None:
        for _ in range(150):
            table = _random_table(rng, size, far_first)
            _show(ctx, lines, table)
            for count, rank in enumerate(ranks, 1):
                ctx.set(rank, table._random.state * count >> WIDTH)
            others = rng.sample(table.lines, rng.randrange(3))
            ctx.set(spared, sum(1 << each.number for each in others))
            line = table.next_victim(others)
            assert ctx.get(place) == (0 if line is None else 1 << line.number), f"seed {seed}"
            far = [each for each in table.lines if not (each.locked or each.near or each in others)]
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


@pytest.mark.quick("2-*", "4-*", "8-*")
@pytest.mark.parametrize("far_first", [True, False])
@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_replacement_equals_golden(size: int, far_first: bool) -> None:
    decided = replacement(size, far_first, size)
    assert (
        min(decided[kind] for kind in ("none", "empty", "oldest", *(("far", "one far") if far_first else ())))
        > 0
    )


@pytest.mark.parametrize("size", [2, 8, 16])
def test_the_order_after_a_uop_equals_golden(size: int) -> None:
    """Its slots use their lines one after the other; a slot may use none."""
    renewal(size, size)


def renewal(size: int, seed: int) -> None:
    """The order after up to six lines were used."""
    rng = random.Random(seed)
    m, lines = Module(), Lines(size, "")
    uses = [Signal(size, name=f"use_{slot}") for slot in range(MAX_SOURCES)]
    rows = [Signal(size, name=f"after_{line}") for line in range(size)]
    made = module.renewed(lines.newer, uses)
    m.d.comb += [row.eq(after) for row, after in zip(rows, made, strict=True)]

    def check(ctx: Any) -> None:
        for _ in range(100):
            table = _random_table(rng, size, True)
            _show(ctx, lines, table)
            used = rng.sample(table.lines, rng.randrange(min(size, MAX_SOURCES) + 1))
            slots = [*used, *[None] * (MAX_SOURCES - len(used))]
            rng.shuffle(slots)
            for use, line in zip(uses, slots, strict=True):
                ctx.set(use, 0 if line is None else 1 << line.number)
                if line is not None:
                    table.touch(line)
            order = [line.number for line in table._order]
            assert [ctx.get(row) for row in rows] == [
                sum(1 << older for older in order[: order.index(line)]) for line in range(size)
            ], f"seed {seed}"

    _simulate(m, check)


def test_mutants_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock bit ignored, the first far line instead of one at random, the order of a uop's lines turned
    round."""
    real, order = victim, module.renewed

    def unlocked(m: Module, lines: Lines, closed: Any, *others: Any) -> Signal:
        return real(m, lines, closed & 0, *others)

    def first(m: Module, lines: Lines, closed: Any, ranks: Any, *others: Any) -> Signal:
        return real(m, lines, closed, [Const(0)] * len(ranks), *others)

    for broken in (unlocked, first):
        with monkeypatch.context() as patch:
            patch.setattr(f"{__name__}.victim", broken)
            with pytest.raises(AssertionError):
                replacement(8, True, 1)
    monkeypatch.setattr(module, "renewed", lambda rows, used: order(rows, used[::-1]))
    with pytest.raises(AssertionError):
        renewal(8, 1)
