"""Operands are looked up in the order in which golden looks them up."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Const
from hypothesis import given, strategies

from tests.hdl.bench import FEW, SEEDS, fails, simulate
from tests.hdl.hierarchy.ltrf_bench import LTRFS
from warpbank.golden.hierarchy.lookups import Operand
from warpbank.golden.hierarchy.lookups import OperandLookups as Golden
from warpbank.hdl.hierarchy.lookups import LOOKUPS, OperandLookups


def lockstep(
    machine: str, seed: int, unit: Any = OperandLookups, cycles: int = 200, whole: bool = False
) -> None:
    """Uops of few warps ask in some cycles, of which one may wait in each collector, and have one tag or one
    of several; if `whole`, for all their sources."""
    config, rng = LTRFS[machine], random.Random(seed)
    core, tags = config.sub_core, rng.choice((1, 3))
    rtl, model = unit(config, tags, core.collectors, *([True] if whole else [])), Golden()
    waits = [0] * core.collectors  # operands of each collector's uop that have not been looked up

    def found(ctx: Any, port: Any, warps: dict[int, int]) -> list[Operand]:
        if not ctx.get(port.valid):
            return []
        collector, slots = ctx.get(port.collector), [ctx.get(port.slots[number]) for number in range(LOOKUPS)]
        assert ctx.get(port.warp) == warps[collector]
        tag = ctx.get(port.tag) if tags > 1 else 0
        return [
            (collector, slot.bit_length() - 1, tag, warps[collector], ctx.get(port.registers[number]))
            for number, slot in enumerate(slots)
            if slot
        ]

    async def bench(ctx: Any) -> None:
        warps: dict[int, int] = {}
        for cycle in range(cycles):
            newest, oldest = model.step()
            assert found(ctx, rtl.newest, warps) == newest, f"cycle {cycle}"
            assert found(ctx, rtl.late, warps) == oldest, f"cycle {cycle}"
            for collector, *_ in newest + oldest:
                waits[collector] -= 1
            free = [collector for collector, left in enumerate(waits) if not left]
            asks = bool(free) and rng.random() < (0.9 if cycle // 20 % 2 else 0.3)
            ctx.set(rtl.read.valid, asks)
            if asks:
                collector, warp = rng.choice(free), rng.randrange(min(2, core.warps))
                count = rng.randint(0, core.collector.slots)
                slots = sorted(rng.sample(range(count if whole else core.collector.slots), count))
                registers = [rng.randrange(255) for _ in range(core.collector.slots)]
                warps[collector], waits[collector] = warp, len(slots)
                read = {
                    "collector": collector,
                    "warp": warp,
                    "sources": registers,
                    "source_valid": sum(1 << slot for slot in slots),
                }
                tag = rng.randrange(tags)
                ctx.set(rtl.read.payload, read | ({"tag": tag} if tags > 1 else {}))
                for slot in slots:
                    model.ask((collector, slot, tag, warp, registers[slot]))
            await ctx.tick()

    simulate(rtl, bench)


@FEW
@given(machine=strategies.sampled_from(list(LTRFS)), seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


@FEW
@given(machine=strategies.sampled_from(list(LTRFS)), seed=SEEDS)
def test_equals_golden_where_all_sources_are_asked_for(machine: str, seed: int) -> None:
    lockstep(machine, seed, whole=True)


class FourPorts(OperandLookups):
    """An older uop is looked up beside a newer one of its warp, which has both ports of their table."""

    def _shared(self, newest: Any, oldest: Any) -> Any:
        return Const(0, 1)


class Loses(OperandLookups):
    """The first operand behind those that are looked up is forgotten."""

    def _look_up(self, *arguments: Any) -> Any:
        rest = super()._look_up(*arguments)
        return rest & (rest - 1)


class OnePair(OperandLookups):
    """Look-ups that never come to the last two slots of a uop that asks for all its sources."""

    def _look_up(self, *arguments: Any) -> Any:
        *others, slots = arguments
        return super()._look_up(*others, slots[:LOOKUPS])


@pytest.mark.parametrize(("unit", "whole"), [(FourPorts, False), (Loses, False), (OnePair, True)])
def test_mutants_are_caught(unit: type[OperandLookups], whole: bool) -> None:
    assert fails(lambda seed: lockstep("fast", seed, unit, whole=whole))
