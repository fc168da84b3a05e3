"""The scoreboard blocks what golden's blocks, whatever is set and released in a cycle."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import booleans

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, make_uop, simulate, uop_record
from warpbank.arch.config import with_overrides
from warpbank.arch.events import Hazard
from warpbank.arch.uop import DISTANT, RZ, Memory, Unit
from warpbank.golden.front_end.scoreboard import Scoreboard as Golden
from warpbank.golden.stream import PREDICATE_BIT, TraceUop
from warpbank.hdl.front_end.scoreboard import Scoreboard

REGISTERS = 10


def random_uop(rng: random.Random, warp: int, seq: int) -> TraceUop:
    """Few registers, so that hazards are frequent."""
    count, unit = rng.choice((0, 1, 1, 2, 4)), rng.choice((Unit.ALU, Unit.LSU))
    return make_uop(
        warp,
        seq,
        unit=unit,
        memory=rng.choice((*DISTANT, Memory.LOAD_SHARED)) if unit is Unit.LSU else Memory.NONE,
        sources=tuple(rng.sample(range(REGISTERS), rng.randrange(7))),
        destination=rng.randrange(REGISTERS) if rng.random() < 0.9 else RZ - count,
        count=count,
        predicates_read=rng.getrandbits(7) & rng.getrandbits(7) & rng.getrandbits(7),
        predicates_written=rng.getrandbits(7) & rng.getrandbits(7) & rng.getrandbits(7),
        collects=rng.random() < 0.9,
    )


def lockstep(
    machine: str, seed: int, unit: Any = Scoreboard, cycles: int = 150, far: bool = False, stages: int = 0
) -> None:
    """`stages`: of issue; with two the warp that issues is known in the cycle before."""
    rng = random.Random(seed)
    config = with_overrides(MACHINES[machine], [f"sub_core.front_end.issue_stages={stages}"])
    core = config.sub_core
    entries = rng.choice((1, 2, 5))
    rtl, model = unit(config, entries, far=far), Golden(core)
    heads = [random_uop(rng, warp, 0) for warp in range(core.warps)]
    collecting: dict[int, tuple[TraceUop, list[int]]] = {}  # entry -> uop, slots to read
    writing: list[tuple[TraceUop, list[int]]] = []
    coming: list[int] = []  # warp that may issue in the next cycle

    def show(ctx: Any, warp: int) -> None:
        uop, port = heads[warp], rtl.hazards[warp]
        sources = [*uop.sources, *(RZ for _ in range(6 - len(uop.sources)))]
        targets = [uop.destination + place if place < uop.count else RZ for place in range(4)]
        ctx.set(port.registers, [*sources, *targets])
        ctx.set(port.predicates, uop.predicates_read | uop.predicates_written)
        ctx.set(port.destination, uop.destination)
        ctx.set(port.count, uop.count if uop.collects else 0)

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            for warp in range(core.warps):
                show(ctx, warp)
            hazards = [model.hazard(uop) for uop in heads]
            blocked, memory = ctx.get(rtl.blocked), ctx.get(rtl.memory)
            found = [
                Hazard.MEMORY if memory >> warp & 1 else Hazard(blocked >> warp & 1)
                for warp in range(core.warps)
            ]
            if far:
                distant = ctx.get(rtl.distant)
                found = [
                    Hazard.DISTANT if distant >> warp & 1 else hazard for warp, hazard in enumerate(found)
                ]
            assert found == [hazard if far else min(hazard, Hazard.MEMORY) for hazard in hazards], (
                f"cycle {cycle}"
            )
            reads = _read(ctx)
            writes = _write(ctx)
            able = [warp for warp in range(core.warps) if not hazards[warp] and heads[warp].collects]
            issued = _issue(ctx, [warp for warp in able if warp in coming] if stages > 1 else able, cycle)
            if stages > 1:
                others = [warp for warp in range(core.warps) if heads[warp].collects and warp not in issued]
                coming[:] = rng.sample(others, min(len(others), 1))
                ctx.set(rtl.coming, coming[0] if coming else rng.randrange(core.warps))
            for warp, register in reads:
                model.read(warp, register)
            for warp, mask in writes:
                model.written(warp, mask)
            for warp in range(core.warps):
                if not heads[warp].collects:
                    heads[warp] = random_uop(rng, warp, cycle)
            await ctx.tick()

    def _issue(ctx: Any, able: list[int], cycle: int) -> list[int]:
        """One of the warps issues, or none. Returns it."""
        free = [entry for entry in range(entries) if entry not in collecting]
        chosen = bool(able and free) and rng.random() < 0.8
        ctx.set(rtl.issue.valid, chosen)
        if chosen:
            warp, entry = rng.choice(able), rng.choice(free)
            uop, writes = heads[warp], (1 << heads[warp].count) - 1
            if uop.count and rng.random() < 0.3:  # a move of one of its registers goes first
                number = rng.randrange(uop.count)
                register, writes = uop.destination + number, 1 << number
                uop = make_uop(warp, cycle, sources=(register,), destination=register, count=1)
            else:
                heads[warp] = random_uop(rng, warp, cycle)
            ctx.set(rtl.writes, writes)
            ctx.set(rtl.entry, entry)
            ctx.set(rtl.issue.payload, {"warp": warp, "uop": uop_record(uop)})
            model.issue(uop)
            collecting[entry] = (uop, list(range(len(uop.sources))))
        return [uop.warp] if chosen else []

    def _read(ctx: Any) -> list[tuple[int, int]]:
        done = []
        for entry, port in enumerate(rtl.read):
            uop, slots = collecting.get(entry, (None, []))
            valid = bool(slots) and rng.random() < 0.5
            ctx.set(port.slots, 0)
            if valid:
                slot = slots.pop(rng.randrange(len(slots)))
                ctx.set(port.slots, 1 << slot)
                assert uop is not None
                done.append((uop.warp, uop.sources[slot]))
            if uop is not None and not slots:
                del collecting[entry]
                writing.append((uop, list(range(uop.count))))
        return done

    def _write(ctx: Any) -> list[tuple[int, int]]:
        done = []
        rng.shuffle(writing)
        for bank, port in enumerate(rtl.written):
            valid = bank < len(writing) and bool(writing[bank][1]) and rng.random() < 0.4
            ctx.set(port.valid, valid)
            if valid:
                uop, registers = writing[bank]
                register = uop.destination + registers.pop()
                ctx.set(port.warp, uop.warp)
                ctx.set(port.register, register)
                done.append((uop.warp, 1 << register))
        for number, port in enumerate(rtl.retired):
            complete = [item for item in writing if not item[1]]
            valid = bool(complete) and rng.random() < 0.5
            ctx.set(port.valid, valid)
            if valid:
                writing.remove(complete[0])
                ctx.set(port.warp, complete[0][0].warp)
                ctx.set(port.predicates, complete[0][0].predicates_written)
                done.append((complete[0][0].warp, complete[0][0].predicates_written << PREDICATE_BIT))
            assert number < len(rtl.retired)
        return done

    simulate(rtl, bench)


@FEW
@given(machine=machines, seed=SEEDS, far=booleans())
def test_equals_golden(machine: str, seed: int, far: bool) -> None:
    lockstep(machine, seed, far=far)


@FEW
@given(machine=machines, seed=SEEDS)
def test_registers_are_looked_up_before_the_turn(machine: str, seed: int) -> None:
    lockstep(machine, seed, stages=2)


class NoWar(Scoreboard):
    """Pending reads are forgotten."""

    def _reads(self, m: Any) -> Any:
        return super()._reads(m) & 0


class NoPredicates(Scoreboard):
    """Pending predicates of the load/store unit are forgotten."""

    def _predicates(self, m: Any) -> Any:
        pending, of_memory = super()._predicates(m)
        return [pending, of_memory & 0]


class WritesTheFirst(Scoreboard):
    """Scoreboard in which a uop's first register alone is ever pending."""

    def _destinations(self, m: Any) -> Any:
        return [super()._destinations(m)[0]] * len(self.writes)


@pytest.mark.parametrize("mutant", [NoWar, NoPredicates, WritesTheFirst])
def test_mutants_are_caught(mutant: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", seed, mutant))


@pytest.mark.parametrize("entries", [0, -2, 1.5, None])
def test_entries_must_be_a_number(entries: Any) -> None:
    with pytest.raises(
        TypeError, match="Scoreboard needs the number of uops that can be in collection, at least 1, not"
    ):
        Scoreboard(MACHINES["tiny"], entries)
