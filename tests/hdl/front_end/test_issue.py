"""Status and drain: golden's masks, reasons, and a count of what is in flight."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Signal
from hypothesis import given

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, make_uop, seen, simulate, uop_record
from warpbank.arch.config import with_overrides
from warpbank.arch.events import Hazard, Stall
from warpbank.arch.uop import Memory
from warpbank.golden.front_end.issue import Status as Golden
from warpbank.golden.front_end.issue_stage import Choice, IssueStage
from warpbank.hdl.front_end.issue import InFlight, Status


class Fake:
    """Golden's buffers and scoreboard, made up anew for every cycle."""

    def __init__(self, warps: int) -> None:
        self.entries: list[list[Any]] = [[] for _ in range(warps)]
        self.hazards = [Hazard.NONE] * warps

    def hazard(self, uop: Any) -> Hazard:
        return self.hazards[uop.warp]


def lockstep(machine: str, seed: int, unit: Any = Status, cycles: int = 200, stages: int = 0) -> None:
    rng = random.Random(seed)
    config = with_overrides(MACHINES[machine], [f"sub_core.front_end.issue_stages={stages}"])
    warps = config.sub_core.warps
    picked: list[int] = []  # by the scheduler in this cycle; those that it picked from
    among: list[int] = []

    def pick_one(mask: int, _: int) -> int:
        among.append(mask)
        picked.append(rng.choice([warp for warp in range(warps) if mask >> warp & 1]))
        return picked[-1]

    choice = IssueStage(pick_one, stages) if stages else Choice(pick_one)
    stand = 0  # mask of the warps that were picked in the cycle before, or can be picked in this one
    everyone = (1 << warps) - 1
    fake = Fake(warps)
    rtl, model = unit(config, probe=True), Golden(fake, fake)  # type: ignore[arg-type]

    async def bench(ctx: Any) -> None:
        nonlocal stand
        for cycle in range(cycles):
            turn = choice.chosen
            for warp in range(warps):
                if (turn | stand) >> warp & 1:
                    continue  # its uop was ready, and stays so up to its turn
                waits = rng.random() < 0.2
                fake.entries[warp] = [
                    make_uop(
                        warp,
                        cycle,
                        collects=rng.random() < 0.7,
                        memory=rng.choice((0, 0, 0, Memory.FENCE)),
                        arrive=waits,
                        wait=waits,
                        last=rng.random() < 0.1,
                    )
                ] * rng.choice((0, 1, 1, 1))
                fake.hazards[warp] = rng.choice((Hazard.NONE, *Hazard))
            model.changed = everyone
            model.update()
            may_issue, refused = rng.choice((0, everyone, rng.getrandbits(warps))), rng.random() < 0.5
            may_slide = rng.choice((everyone, rng.getrandbits(warps)))
            active = rng.choice((everyone, rng.getrandbits(warps)))
            eligible = model.ready & active & (may_issue & ~model.free | may_slide & model.free)
            bit = {
                name: sum(1 << warp for warp in range(warps) if test(warp))
                for name, test in {
                    "first": lambda warp: fake.entries[warp],
                    "collects": lambda warp: fake.entries[warp] and fake.entries[warp][0].collects,
                    "blocked": lambda warp: fake.hazards[warp],
                    "memory": lambda warp: fake.hazards[warp] >= Hazard.MEMORY,
                    "distant": lambda warp: fake.hazards[warp] is Hazard.DISTANT,
                }.items()
            }
            for name, mask in bit.items():
                ctx.set(getattr(rtl, name), mask)
            ctx.set(rtl.may_issue, may_issue)
            ctx.set(rtl.may_slide, may_slide)
            ctx.set(rtl.active, active)
            ctx.set(rtl.refused, refused)
            ready = model.ready & active
            picked.clear(), among.clear()
            pick = choice.step(ready, eligible, 0)
            assert ctx.get(rtl.eligible) == sum(among), f"cycle {cycle}"
            assert ctx.get(rtl.ready) == model.ready
            assert ctx.get(rtl.collecting) == ready & ~model.free
            assert ctx.get(rtl.away) == model.away & everyone
            ctx.set(rtl.pick, sum(picked))
            stand = sum(1 << warp for warp in picked) | (model.ready & ~turn if stages > 2 else 0)
            if stages > 1 and choice.chosen:
                assert choice.chosen == 1 << ctx.get(rtl.coming), f"cycle {cycle}"
            issues = pick >= 0
            if issues:
                reason = Stall.ISSUED
            else:
                reason = Stall.CHOSEN if choice.comes and not turn else model.stall(refused, active)
            expected = [("scheduler", (int(reason),))]
            assert ctx.get(rtl.issues) == issues
            if issues:
                uop = fake.entries[pick][0]
                ctx.set(rtl.uop, uop_record(uop))
                if stages:
                    assert ctx.get(rtl.warp) == pick
                assert ctx.get(rtl.arrival.warp) == pick
                model.issue(uop)
                expected.append(("issue", (pick, uop.seq, uop.pc)))
                if not uop.collects:
                    expected.append(("retire", (pick, uop.seq)))
            # The barrier may open in the cycle of the arrival; a fence comes back later.
            release = model.at_barrier & rng.getrandbits(warps)
            ctx.set(rtl.release, release)
            model.at_barrier &= ~release
            for unit_, port in enumerate(rtl.retired):
                fence = model.fenced and rng.random() < 0.3 and unit_ == 5
                warp = rng.choice([warp for warp in range(warps) if model.fenced >> warp & 1]) if fence else 0
                back = fence and warp != pick
                ctx.set(port.valid, back)
                ctx.set(port.fence, 1)
                ctx.set(port.warp, warp)
                if back:
                    model.fenced &= ~(1 << warp)
            starts = ~model.live & rng.getrandbits(warps) & rng.getrandbits(warps) & everyone
            if issues:
                starts &= ~(1 << pick)
            ctx.set(rtl.start.warps, starts)
            model.live |= starts
            expected += [("warp_start", (warp, 0)) for warp in range(warps) if starts >> warp & 1]
            assert ctx.get(rtl.live) == model.live
            assert seen(ctx, rtl.events) == sorted(expected), f"cycle {cycle}"
            await ctx.tick()

    simulate(rtl, bench)


@pytest.mark.parametrize("stages", [0, 1, 2, 3])
@FEW
@given(machine=machines, seed=SEEDS)
def test_status_equals_golden(stages: int, machine: str, seed: int) -> None:
    lockstep(machine, seed, stages=stages)


class BarrierForgotten(Status):
    """Reasons: a warp at a barrier counts as one that waits for memory."""

    def _reason(self, m: Any, here: Any, ready: Any, fenced: Any, at_barrier: Any) -> Any:
        return super()._reason(m, here | at_barrier, ready, fenced, at_barrier & 0)


class Bubbleless(Status):
    """Reasons: a cycle before which no warp was chosen counts as one in which no collector is free."""

    def _reason(self, m: Any, *masks: Any) -> Any:
        self._chosen = self._chosen & 0
        return super()._reason(m, *masks)


def test_mutants_are_caught() -> None:
    assert fails(lambda seed: lockstep("single", seed, BarrierForgotten))
    assert fails(lambda seed: lockstep("single", seed, Bubbleless, stages=1))


class ForgetsArrivals(InFlight):
    """Counter that never adds what issues."""

    def _count(self, m: Any, issued: Any, left: Any) -> Any:
        return super()._count(m, issued & 0, left)


class CountsTwice(InFlight):
    """Counter that takes off what retires a cycle too late."""

    def _count(self, m: Any, issued: Any, left: Any) -> Any:
        later = [Signal.like(plane) for plane in left]
        m.d.sync += [old.eq(new) for old, new in zip(later, left, strict=True)]
        return super()._count(m, issued, later)


class Hasty(InFlight):
    """Counter that does not wait for the cycle in which all has been counted."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._late = False


@pytest.mark.parametrize("stages", [0, 1, 2, 3])
@FEW
@given(machine=machines, seed=SEEDS)
def test_drain_is_seen_once_and_in_its_cycle(stages: int, machine: str, seed: int) -> None:
    drains(machine, seed, stages=stages)


@pytest.mark.parametrize("stages", [0, 2])
@pytest.mark.parametrize("mutant", [ForgetsArrivals, CountsTwice])
def test_mutants_that_miscount_are_caught(mutant: Any, stages: int) -> None:
    assert fails(lambda seed: drains("tiny", seed, mutant, stages))


def test_a_mutant_that_tells_it_at_once_is_caught() -> None:
    assert fails(lambda seed: drains("tiny", seed, Hasty, stages=2))


def drains(machine: str, seed: int, unit: Any = InFlight, stages: int = 0) -> None:
    """Compare the warps that drain with those of which nothing is left, with two issue stages or more a cycle
    later."""
    rng = random.Random(seed)
    config = with_overrides(MACHINES[machine], [f"sub_core.front_end.issue_stages={stages}"])
    warps = config.sub_core.warps
    rtl = unit(config)
    flying, live, active = [0] * warps, [False] * warps, [False] * warps
    leaving = 0  # warps of which nothing was left in the cycle before

    async def bench(ctx: Any) -> None:
        nonlocal leaving
        for cycle in range(300):
            expected = 0
            here = list(flying)
            for port in rtl.retired:
                able = [warp for warp in range(warps) if here[warp]]
                valid = bool(able) and rng.random() < 0.15
                warp = rng.choice(able) if able else 0
                ctx.set(port.valid, valid)
                ctx.set(port.warp, warp)
                if valid:
                    here[warp] -= 1
                    flying[warp] -= 1
            able = [warp for warp in range(warps) if live[warp]]
            issue = bool(able) and rng.random() < 0.8 and max(flying) < 20
            warp = rng.choice(able) if able else 0
            collects = issue and rng.random() < 0.8
            if issue:
                flying[warp] += collects
                live[warp] = rng.random() < 0.9
            ctx.set(rtl.issue, collects)
            ctx.set(rtl.warp, warp)
            for slot in range(warps):
                if active[slot] and not live[slot] and not flying[slot]:
                    expected |= 1 << slot
                    active[slot] = False
            if stages > 1:
                leaving, expected = expected, leaving
            starts = sum(
                1 << slot
                for slot in range(warps)
                if not active[slot] and not (expected | leaving) >> slot & 1 and rng.random() < 0.2
            )
            ctx.set(rtl.start, starts)
            for slot in range(warps):
                if starts >> slot & 1:
                    live[slot] = active[slot] = True
            ctx.set(rtl.live, sum(1 << slot for slot in range(warps) if live[slot]))
            assert ctx.get(rtl.drain) == expected, f"cycle {cycle}"
            await ctx.tick()

    simulate(rtl, bench)
