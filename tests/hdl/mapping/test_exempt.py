"""Golden's registers are exempt, and where they are."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, simulate
from tests.hdl.wrapped import wrapped
from warpbank.golden.mapping.exempt import Exempt as Golden
from warpbank.hdl.mapping.exempt import Exempt


def staged(config: Any, ports: int) -> Exempt:
    """Unit that answers the summands, too, and counts in one step more."""
    return Exempt(config, ports, split=True, late=True)


def lockstep(machine: str, seed: int, unit: Any = Exempt, cycles: int = 40) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    core = config.sub_core
    rtl, model = unit(config, 3), Golden()
    exempt = 0

    async def bench(ctx: Any) -> None:
        nonlocal exempt
        for _ in range(cycles):
            slots = rng.randint(1, core.warps)
            some = rng.randint(0, min(80, core.warp_registers // slots))
            among = range(rng.choice((some, 128, 255)))  # all of the lowest ones, too
            registers = rng.sample(among, some)
            mask = sum(1 << register for register in registers)
            ctx.set(rtl.launch, 1)
            ctx.set(rtl.mask, mask)
            ctx.set(rtl.slots, slots)
            model.launch(mask, slots)
            await ctx.tick()
            ctx.set(rtl.launch, 0)
            ctx.set(rtl.mask, rng.getrandbits(256))
            for _ in range(1 + (unit is staged)):
                assert not ctx.get(rtl.counted)
                await ctx.tick()
            assert ctx.get(rtl.counted)
            assert ctx.get(rtl.count) == model.count
            assert ctx.get(rtl.reserved) == model.reserved
            places = set()
            for number, port in enumerate(rtl.find):
                warp = rng.randrange(slots)
                register = rng.choice(registers) if registers and rng.random() < 0.7 else rng.randrange(256)
                ctx.set(port.warp, warp)
                ctx.set(port.register, register)
                place = model.find(warp, register)
                assert ctx.get(port.exempt) == (place is not None)
                if place is not None:
                    exempt += 1
                    assert place < model.reserved
                    assert ctx.get(port.physical) == place
                    if unit is staged:
                        summands = rtl.summands[number]
                        assert ctx.get(summands.first) + ctx.get(summands.rest) == place
            every = {model.find(warp, register) for warp in range(slots) for register in registers}
            places |= every
            assert len(places) == model.reserved  # each has a place of its own

    simulate(rtl, bench)
    assert exempt


@pytest.mark.parametrize("unit", [Exempt, staged])
@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(unit: Any, machine: str, seed: int) -> None:
    lockstep(machine, seed, unit)


def test_a_wrong_warp_is_caught() -> None:
    def first_warp(config: Any, ports: int) -> Any:
        return wrapped(Exempt(config, ports), mask=lambda value, _: value >> 1)

    assert fails(lambda seed: lockstep("tiny", seed, first_warp))


@pytest.mark.parametrize("ports", [0, -1, "two"])
def test_ports_must_be_a_number(ports: Any) -> None:
    with pytest.raises(TypeError, match="Exempt needs a number of ports of at least 1, not"):
        Exempt(MACHINES["tiny"], ports)


def test_one_port_is_enough() -> None:
    assert len(Exempt(MACHINES["tiny"], 1).find) == 1
