"""Tags of a row of the cache do what golden's do; the buffer of a register that leaves keeps its value."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from tests.hdl.wrapped import wrapped
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.hierarchy.tags import TagRow as Golden
from warpbank.hdl.hierarchy.rfc import Departing
from warpbank.hdl.hierarchy.tags import TagRow
from warpbank.hdl.layouts import UNITS
from warpbank.hdl.registry import build_registers

SLOTS = 6


def _machine(policy: str) -> Any:
    return with_overrides(
        preset("tiny"), ["sub_core.cache.registers=8", f"sub_core.cache.replacement={policy}"]
    )


def _bits(entries: Any) -> int:
    return sum(1 << entry for entry in entries)


def tag_lockstep(policy: str, seed: int, unit: Any = TagRow, cycles: int = 120) -> None:
    rng = random.Random(seed)
    rtl, model = unit(_machine(policy)), Golden(8)

    def where(register: int) -> int:
        entry = model.find(register)
        return 0 if entry is None else 1 << entry

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            where_now = f"cycle {cycle}"
            sources, offered = rng.sample(range(20), SLOTS), rng.sample(range(20), UNITS)
            valid, last, look, locked = (
                rng.getrandbits(SLOTS),
                rng.getrandbits(SLOTS),
                rng.getrandbits(1),
                rng.getrandbits(8),
            )
            for name, value in (
                ("sources", sources),
                ("offered", offered),
                ("source_valid", valid),
                ("last", last),
                ("look", look),
                ("locked", locked),
            ):
                ctx.set(getattr(rtl, name), value)
            hits = [where(register) if valid >> slot & 1 else 0 for slot, register in enumerate(sources)]
            matched = _bits(entry for entry in range(8) if look and any(hit >> entry & 1 for hit in hits))
            assert [ctx.get(rtl.hits[slot]) for slot in range(SLOTS)] == hits, where_now
            assert ctx.get(rtl.matched) == matched, where_now
            assert [ctx.get(rtl.found[one]) for one in range(UNITS)] == [
                where(register) for register in offered
            ], where_now
            assert ctx.get(rtl.unused) == (0 if model.unused is None else 1 << model.unused), where_now
            assert ctx.get(rtl.valid) == _bits(
                e for e, register in enumerate(model.registers) if register is not None
            ), where_now
            ripe = next(
                (
                    entry
                    for entry in model.order
                    if model.registers[entry] is not None and not (locked | matched) >> entry & 1
                ),
                None,
            )
            assert ctx.get(rtl.ripe) == (0 if ripe is None else 1 << ripe), where_now
            if ripe is not None:
                assert ctx.get(rtl.leaver) == model.registers[ripe], where_now
                assert ctx.get(rtl.live) == model.live >> ripe & 1, where_now
            _change(
                ctx,
                matched,
                [hit for slot, hit in enumerate(hits) if look and last >> slot & 1],
                ripe,
                offered,
            )
            await ctx.tick()

    def _change(ctx: Any, matched: int, dying: list[int], ripe: int | None, offered: list[int]) -> None:
        """One entry leaves, up to two results come: one that is there, one that is new."""
        drops, clears = ripe is not None and rng.random() < 0.4, rng.random() < 0.02
        there = next((register for register in offered if where(register)), None)
        new = next(register for register in offered if not where(register))
        written = {}
        if (
            there is not None
            and rng.random() < 0.5
            and where(there) & ~matched
            and not (drops and where(there) >> ripe & 1)
        ):
            written[where(there).bit_length() - 1] = there
        if model.unused is not None and rng.random() < 0.6:
            written[model.unused] = new
        ctx.set(rtl.entered, _bits(written))
        ctx.set(rtl.registers, [written.get(entry, 0) for entry in range(8)])
        ctx.set(rtl.drop, drops)
        ctx.set(rtl.clear, clears)
        for hit in dying:
            model.live &= ~hit
        if _renews():
            model.used |= matched
        for entry, register in written.items():
            if model.registers[entry] is None or _renews():
                model.used |= 1 << entry
            model.registers[entry] = register
            model.live |= 1 << entry
        model.edge()
        if drops:
            model.registers[ripe] = None
            model.live &= ~(1 << ripe)
        if clears:
            model.clear()

    def _renews() -> bool:
        return policy == "lru"

    simulate(rtl, bench)


@FEW
@given(policy=strategies.sampled_from(["fifo", "lru"]), seed=SEEDS)
def test_tags_equal_golden(policy: str, seed: int) -> None:
    tag_lockstep(policy, seed)


def test_tag_mutants_are_caught() -> None:
    """An entry is found after it has left; one that somebody still needs counts as dead when it leaves."""

    def stale_hit(config: Any) -> Any:
        return wrapped(TagRow(config), drop=lambda value, ports: 0)

    def drops_dirty(config: Any) -> Any:
        return wrapped(TagRow(config), live=lambda value, ports: 0)

    for mutant in (stale_hit, drops_dirty):
        assert fails(lambda seed, mutant=mutant: tag_lockstep("fifo", seed, mutant))


def buffer_lockstep(seed: int, unit: Any = Departing, cycles: int = 100) -> None:
    """What is carried is what the cache read in the cycle after `take`, until it is drained."""
    rng = random.Random(seed)
    rtl, held, fresh = unit(preset("tiny")), None, False

    async def bench(ctx: Any) -> None:
        nonlocal held, fresh
        for cycle in range(cycles):
            value = rng.getrandbits(128)
            ctx.set(rtl.value, value)
            if fresh:
                held = value
            assert ctx.get(rtl.held) == (held is not None), f"cycle {cycle}"
            if held is not None:
                assert ctx.get(rtl.carried) == held, f"cycle {cycle}"
            takes = held is None and rng.random() < 0.5
            drains = held is not None and rng.random() < 0.4
            ctx.set(rtl.take, takes)
            ctx.set(rtl.drain, drains)
            held, fresh = None if drains else held, takes
            await ctx.tick()

    simulate(rtl, bench)


@FEW
@given(seed=SEEDS)
def test_a_buffer_keeps_its_value(seed: int) -> None:
    buffer_lockstep(seed)


def test_a_buffer_mutant_is_caught() -> None:
    """The value is not kept: what the cache reads next is written back."""

    def forgets(config: Any) -> Any:
        return wrapped(Departing(config), carried=lambda value, ports: ports.value)

    assert fails(lambda seed: buffer_lockstep(seed, forgets))


def test_collectors_that_keep_results_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot work: results fill rfc's cache, and with bow-wb and bow-wr"):
        parse_scheme("rfc+bow-wb")
    with pytest.raises(ValueError, match="cannot work: the compiler says where a value is"):
        parse_scheme("sw-rfc+bow-wr")
    assert parse_scheme("rfc+bow").hierarchy == "rfc"
    with pytest.raises(ValueError, match="cannot work: a uop has one near bit per operand"):
        parse_scheme("sw-rfc+malekeh")
    assert parse_scheme("sw-rfc+ccu-lru-gto").collector == "ccu_lru"
    bypassing = replace(parse_scheme("rfc"), collector="boc", private_collectors=True)
    with pytest.raises(ValueError, match="Rfc stands under collectors that evict nothing"):
        build_registers(bypassing.machine(preset("tiny")), bypassing, False)
    assert build_registers(preset("tiny"), parse_scheme("rfc"), False)
