"""Golden's registers are found."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest
from hypothesis import given

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, simulate
from tests.hdl.wrapped import wrapped
from warpbank.golden.mapping.table import TABLE_BANKS
from warpbank.golden.mapping.table import RenamingTable as Golden
from warpbank.hdl.mapping.table import RenamingTable

#: A table of few registers.
Few = partial(RenamingTable, registers=16)


def lockstep(machine: str, seed: int, unit: Any = RenamingTable, cycles: int = 60) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    core = config.sub_core
    rtl, model = unit(config, 3), Golden(core.warps)
    free = list(range(core.warp_registers))
    top = rng.choice([top for top in (4, 12, 256) if top <= getattr(rtl, "registers", 256)])
    found = 0

    async def bench(ctx: Any) -> None:
        nonlocal found
        for _ in range(cycles):
            assert [ctx.get(mask) for mask in rtl.mapped] == model.mapped
            for bank in range(TABLE_BANKS):
                register = rng.randrange(bank, top, TABLE_BANKS)
                warp = rng.randrange(core.warps)
                for port in (rtl.find[bank], rtl.enter[bank], rtl.drop[bank]):
                    ctx.set(port.warp, warp)
                    ctx.set(port.register, register)
                ctx.set(rtl.enter[bank].valid, 0)
                ctx.set(rtl.drop[bank].valid, 0)
                place = model.find(warp, register)
                assert ctx.get(rtl.find[bank].mapped) == (place is not None)
                if place is not None:
                    found += 1
                    assert ctx.get(rtl.find[bank].physical) == place
                if rng.random() < 0.3:
                    continue
                if place is not None:
                    ctx.set(rtl.drop[bank].valid, 1)
                    assert ctx.get(rtl.drop[bank].physical) == model.drop(warp, register)
                    free.append(place)
                elif free:
                    physical = free.pop(rng.randrange(len(free)))
                    ctx.set(rtl.enter[bank].valid, 1)
                    ctx.set(rtl.enter[bank].physical, physical)
                    model.enter(warp, register, physical)
            for port in rtl.result:
                warp, register = rng.randrange(core.warps), rng.randrange(top)
                ctx.set(port.warp, warp)
                ctx.set(port.register, register)
                place = model.find(warp, register)
                assert ctx.get(port.mapped) == (place is not None)
                if place is not None:
                    assert ctx.get(port.physical) == place
            await ctx.tick()
            model.edge()
            owners = model.owners()
            assert len(owners) == sum(mask.bit_count() for mask in model.mapped)
            assert len(owners) + len(free) == core.warp_registers

    simulate(rtl, bench)
    assert found


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


def test_a_register_that_is_not_dropped_is_caught() -> None:
    def keeps(config: Any, results: int) -> Any:
        return wrapped(
            RenamingTable(config, results), drop=lambda value, _: value & 0 if len(value) == 1 else value
        )

    assert fails(lambda seed: lockstep("tiny", seed, keeps))


@pytest.mark.parametrize("results", [0, -1, "two"])
def test_results_must_be_a_number(results: Any) -> None:
    with pytest.raises(TypeError, match="RenamingTable needs a number of results of at least 1, not"):
        RenamingTable(MACHINES["tiny"], results)


def test_one_result_is_enough() -> None:
    assert len(RenamingTable(MACHINES["tiny"], 1).result) == 1
