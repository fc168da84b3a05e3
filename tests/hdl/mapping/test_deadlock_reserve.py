"""Golden's warps are served first, and golden's registers are kept for them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Signal
from hypothesis import given

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, simulate
from tests.hdl.wrapped import wrapped
from warpbank.golden.mapping.deadlock_reserve import DeadlockReserve as Golden
from warpbank.hdl.mapping.deadlock_reserve import DeadlockReserve


def comparing(config: Any) -> DeadlockReserve:
    return DeadlockReserve(config, compares=True)


def lockstep(machine: str, seed: int, unit: Any = DeadlockReserve, cycles: int = 150) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    warps, registers = config.sub_core.warps, config.sub_core.warp_registers
    rtl, model = unit(config), Golden(warps)
    compares = "fewer" in rtl.signature.members
    kept = {"warp": 0, "cta": 0, "stale": 0}
    compared: set[bool] = set()  # whether there were as few

    async def bench(ctx: Any) -> None:
        here = 0
        for cycle in range(cycles):
            launch, needs, everybody = (
                not cycle or rng.random() < 0.03,
                rng.randrange(256),
                rng.random() < 0.2,
            )
            # Few registers: a CTA soon has more than it needs. All of them: the widest number.
            needed = rng.choice((rng.randrange(1, 5), rng.randrange(1, registers + 1), registers))
            whole = 0 if everybody or rng.random() < 0.4 else needed
            if rng.random() < 0.4:
                here = rng.getrandbits(warps)
            if rng.random() < 0.1:
                model.members = rng.getrandbits(warps) & rng.getrandbits(warps)
            for name, value in (
                ("launch", launch),
                ("needs", needs),
                ("everybody", everybody),
                ("whole", whole),
                ("members", model.members),
                ("here", here),
            ):
                ctx.set(getattr(rtl, name), value)
            assert (ctx.get(rtl.served), ctx.get(rtl.floor)) == model.look(here), f"cycle {cycle}"
            kind = "warp" if not model.by_cta else "stale" if model.stale else "cta"
            kept[kind] += model.look(here)[1] > 0
            if compares:
                floor = model.look(here)[1]
                free = min(max(floor + rng.randrange(-2, 10), 0), registers)
                ctx.set(rtl.free, free)
                few = [free - floor <= number for number in range(len(rtl.fewer))]
                assert ctx.get(rtl.fewer) == sum(bit << number for number, bit in enumerate(few)), (
                    f"cycle {cycle}: {free} free, {floor} kept"
                )
                compared.update(few)
            model.first = model.served(here)
            for port, sign in ((rtl.taken, 1), (rtl.given, -1)):
                warp = rng.randrange(warps)
                most = min(250 - model.held[warp], registers - sum(model.held))
                count = min(rng.choice((0, 0, 1, 2, 3, 4)), most if sign > 0 else model.held[warp])
                ctx.set(port.warp, warp)
                ctx.set(port.count, count)
                model.take(warp, sign * count)
            model.edge()
            if launch:
                model.launch(needs, everybody, whole)
            await ctx.tick()

    simulate(rtl, bench)
    assert kept["warp"] + kept["cta"], f"seed {seed}: {kept}"
    assert not compares or compared == {False, True}, f"seed {seed}: {compared}"


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


@FEW
@given(machine=machines, seed=SEEDS)
def test_says_how_many_are_free_beside_what_is_kept(machine: str, seed: int) -> None:
    lockstep(machine, seed, comparing)


class IgnoresNeeds(DeadlockReserve):
    """It compares with a warp's need as if that were less than it is."""

    def _fewer(self, kept: Any) -> Any:
        return super()._fewer(kept >> 1)


def test_a_need_that_is_halved_is_caught() -> None:
    def halved(config: Any) -> Any:
        return IgnoresNeeds(config, compares=True)

    assert fails(lambda seed: lockstep("tiny", seed, halved))


def test_a_counted_warp_gets_registers_beside_one_that_is_still_to_be_counted() -> None:
    """And gives some back: that changes what is left, though the other one is not counted in that cycle."""
    rtl, model = DeadlockReserve(MACHINES["tiny"]), Golden(8)
    steps = [  # taken: warp, count; given: warp, count
        ((0, 3), (0, 0)),
        ((1, 4), (2, 0)),  # warp 0 is counted
        ((0, 2), (1, 1)),
        ((1, 1), (0, 2)),
        ((2, 0), (2, 0)),  # warp 1 is counted
    ]

    async def bench(ctx: Any) -> None:
        ctx.set(rtl.launch, 1)
        ctx.set(rtl.whole, 60)
        await ctx.tick()
        ctx.set(rtl.launch, 0)
        model.launch(30, False, 60)
        model.members = 0b11
        ctx.set(rtl.members, model.members)
        floors = []
        for taken, given_back in steps:
            for port, (warp, count), sign in ((rtl.taken, taken, 1), (rtl.given, given_back, -1)):
                ctx.set(port.warp, warp)
                ctx.set(port.count, count)
                model.take(warp, sign * count)
            model.edge()
            await ctx.tick()
            assert ctx.get(rtl.floor) == model.look(0)[1]
            floors.append(ctx.get(rtl.floor))
        assert floors == [60, 57, 55, 57, 53]

    simulate(rtl, bench)


def test_warps_at_a_barrier_must_count() -> None:
    def blind(config: Any) -> Any:
        return wrapped(DeadlockReserve(config), here=lambda value, _: value & 0)

    assert fails(lambda seed: lockstep("tiny", seed, blind))


class NoticesNothing(DeadlockReserve):
    """What a warp gets or gives back once it has been counted is not noticed."""

    def _one_cta(self, m: Any, left: Any, takes: Any, gives: Any, whole: Any) -> Any:
        return super()._one_cta(m, left, takes & 0, gives & 0, whole)


class NeverStale(DeadlockReserve):
    """What the last CTA had counts as the next one's."""

    def elaborate(self, platform: object) -> Any:
        had, self.members = self.members, Signal.like(self.members)
        m = super().elaborate(platform)
        seen = Signal.like(had)
        m.d.sync += seen.eq(seen | had)
        m.d.comb += self.members.eq(seen | had)
        self.members = had
        return m


@pytest.mark.parametrize("unit", [NoticesNothing, NeverStale])
def test_mutants_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", seed, unit))


def test_the_configuration_must_be_one() -> None:
    with pytest.raises(TypeError, match="Reserve needs the machine's configuration, an SmConfig, not 8"):
        DeadlockReserve(8)  # type: ignore[arg-type]
