"""Units are told to clock as many lanes as golden says, whatever is known of the operands."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies

from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, fails, make_uop, seen, simulate, uop_record
from tests.hdl.wrapped import wrapped
from warpbank.arch.uop import Scalar, Unit
from warpbank.golden.execute.scalar import ScalarLanes as Golden
from warpbank.golden.storage.metadata import EMPTY, Metadata
from warpbank.hdl.execute.scalar import KeptScalarLanes, ScalarLanes

EVERY = frozenset(Scalar)
#: Machines whose registers can be cut into halves.
EVEN = ("tiny", "odd", "per_warp")


def some_uop(rng: random.Random, warp: int, seq: int, lanes: int, **fields: Any) -> Any:
    part = rng.random() < 0.3
    return make_uop(
        warp,
        seq,
        unit=rng.choice((Unit.ALU, Unit.SFU, Unit.LSU, Unit.FMA)),
        scalar=int(rng.random() < 0.8),
        part=part,
        lane_mask=rng.getrandbits(lanes) if part else (1 << lanes) - 1,
        **fields,
    )


def some_note(rng: random.Random, uop: Any, lanes: int, parts: int) -> Metadata:
    divergent = rng.random() < 0.3
    base = [rng.choice((uop.lane_mask, rng.getrandbits(lanes))) if divergent else rng.getrandbits(32)]
    base += [rng.getrandbits(32)] * (parts - 1)
    enc = tuple(rng.choice((15, 15, 15, 14, 0)) for _ in range(parts))
    return Metadata(divergent, enc, rng.random() < 0.8 and all(bits == 15 for bits in enc), tuple(base))


def note_record(note: Metadata) -> dict[str, Any]:
    return {"divergent": note.divergent, "enc": list(note.enc), "full": note.full, "base": list(note.base)}


def issue(ctx: Any, rtl: Any, entry: int, uop: Any) -> None:
    record = {**uop_record(uop), "scalar": uop.scalar, "part": int(uop.part)}
    ctx.set(rtl.issue.payload, {"warp": uop.warp, "uop": record})
    ctx.set(rtl.entry, entry)


def dispatch(ctx: Any, port: Any, collector: int, uop: Any, model: Golden) -> bool:
    """Dispatch a uop of a collector. Returns whether one lane executes it in golden."""
    for name, value in (("collector", collector), ("warp", uop.warp), ("seq", uop.seq)):
        ctx.set(getattr(port, name), value)
    return model.dispatch(uop)


def compare(ctx: Any, rtl: Any, alone: dict[int, bool], log: Log, cycle: int) -> set[int]:
    """Compare what the units are told with golden's answers and events. Returns kinds of execution."""
    for number, expected in alone.items():
        assert ctx.get(rtl.clocked[number].alone) == expected, f"cycle {cycle}, {Unit(number)!r}"
    events = log.take()
    assert seen(ctx, rtl.events) == events, f"cycle {cycle}"
    return {values[3] for _, values in events}


def lockstep(
    machine: str,
    seed: int,
    parts: int = 2,
    executes: frozenset[Scalar] = EVERY,
    unit: Any = ScalarLanes,
    cycles: int = 300,
) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    core, lanes = config.sub_core, config.lanes
    log = Log()
    rtl, model = unit(config, parts, executes, probe=True), Golden(config, parts, executes, log.probe)
    holding: dict[int, list[Any]] = {}  # collector -> its uop, and operands still to come
    kinds: set[int] = set()

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            alone = {}
            complete = [(collector, uop.unit) for collector, (uop, left) in holding.items() if not left]
            for number, port in enumerate(rtl.dispatch):
                mine = [collector for collector, unit_number in complete if unit_number == number]
                goes = bool(mine) and rng.random() < 0.7
                ctx.set(port.valid, goes)
                if goes:
                    uop, _ = holding.pop(mine[0])
                    alone[number] = dispatch(ctx, port, mine[0], uop, model)
            kinds.update(compare(ctx, rtl, alone, log, cycle))
            for collector, port in enumerate(rtl.deliver):
                uop, left = holding.get(collector, (None, 0))
                comes = left > 0 and rng.random() < 0.7
                ctx.set(port.valid, comes)
                if comes:
                    note = some_note(rng, uop, lanes, parts)
                    ctx.set(port.metadata, note_record(note))
                    uop.operands.append(np.zeros(lanes, np.uint32))
                    uop.metadata.append(note)
                    holding[collector][1] -= 1
            free = [collector for collector in range(core.collectors) if collector not in holding]
            issues = bool(free) and rng.random() < 0.8
            ctx.set(rtl.issue.valid, issues)
            if issues:
                collector, uop = rng.choice(free), some_uop(rng, rng.randrange(core.warps), cycle, lanes)
                issue(ctx, rtl, collector, uop)
                uop.operands = []
                holding[collector] = [uop, rng.randrange(3)]
            await ctx.tick()

    simulate(rtl, bench)
    if lanes > 1:
        wanted = set(executes) | {Scalar.NONE}
        assert kinds >= wanted - ({Scalar.HALF} if parts == 1 else set()), f"seed {seed}: {kinds}"


@FEW
@given(machine=strategies.sampled_from(EVEN), seed=SEEDS, parts=strategies.sampled_from((1, 2)))
def test_equals_golden(machine: str, seed: int, parts: int) -> None:
    lockstep(machine, seed, parts)


@pytest.mark.parametrize("executes", [frozenset(), frozenset({Scalar.ALU})])
def test_fewer_kinds(executes: frozenset[Scalar]) -> None:
    """A packed and a scalar register file."""
    lockstep("tiny", 1, 1, executes)


def lockstep_of_kept(
    machine: str, seed: int, parts: int = 2, unit: Any = KeptScalarLanes, cycles: int = 200
) -> None:
    """Collectors that keep values tell of those of the uop that they offer, slot by slot, known or not."""
    rng = random.Random(seed)
    config = MACHINES[machine]
    core, lanes = config.sub_core, config.lanes
    entries, log = 2 * core.collectors, Log()
    rtl, model = unit(config, parts, entries, EVERY, probe=True), Golden(config, parts, EVERY, log.probe)
    holding: dict[int, Any] = {}  # uops in collection, by number
    kinds: set[int] = set()

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            offered = rng.sample(sorted(holding), min(len(holding), core.collectors))
            for collector, number in enumerate(offered):
                uop = holding[number]
                uop.metadata = []
                ctx.set(rtl.offered[collector], number)
                for slot, kept in enumerate(rtl.kept[collector]):
                    note, known = some_note(rng, uop, lanes, parts), rng.random() < 0.9
                    ctx.set(kept, {"known": known, "note": note_record(note)})
                    if slot < len(uop.sources):
                        uop.metadata.append(note if known else EMPTY)
            alone = {}
            for number, port in enumerate(rtl.dispatch):
                mine = [each for each in offered if each in holding and holding[each].unit == number]
                goes = bool(mine) and rng.random() < 0.7
                ctx.set(port.valid, goes)
                if goes:
                    uop = holding.pop(mine[0])
                    alone[number] = dispatch(ctx, port, offered.index(mine[0]), uop, model)
            kinds.update(compare(ctx, rtl, alone, log, cycle))
            free = [number for number in range(entries) if number not in holding]
            issues = bool(free) and rng.random() < 0.8
            ctx.set(rtl.issue.valid, issues)
            if issues:
                sources = tuple(rng.randrange(256) for _ in range(rng.randrange(core.collector.slots)))
                uop = some_uop(rng, rng.randrange(core.warps), cycle, lanes, sources=sources)
                entry = rng.choice(free)
                issue(ctx, rtl, entry, uop)
                holding[entry] = uop
            await ctx.tick()

    simulate(rtl, bench)
    if lanes > 1:
        assert kinds >= set(Scalar) - ({Scalar.HALF} if parts == 1 else set()), f"seed {seed}: {kinds}"


@FEW
@given(machine=strategies.sampled_from(EVEN), seed=SEEDS, parts=strategies.sampled_from((1, 2)))
def test_values_that_are_kept(machine: str, seed: int, parts: int) -> None:
    lockstep_of_kept(machine, seed, parts)


def knows_all(*arguments: Any, **options: Any) -> Any:
    """Results that were kept, of which nothing is known, count as known: the lowest bit of what is told."""
    return wrapped(KeptScalarLanes(*arguments, **options), kept=lambda told, _: told | 1)


def test_a_mutant_of_kept_values_is_caught() -> None:
    assert fails(lambda seed: lockstep_of_kept("tiny", seed, 2, knows_all))


def test_events_need_a_probe_and_metadata() -> None:
    config = MACHINES["tiny"]
    for unit in (ScalarLanes, partial(KeptScalarLanes, entries=4)):
        assert "events" not in unit(config, parts=1).signature.members
        assert "events" not in unit(config, parts=0, probe=True).signature.members
        assert "events" in unit(config, parts=1, probe=True).signature.members


class IgnoresFs(ScalarLanes):
    """Two scalar halves are taken for one scalar: FS is not checked."""

    def _equal(self, note: Any, mask: Any) -> Any:
        halves = note.enc[0].all() & note.enc[self._parts - 1].all()
        return halves & (~note.divergent | (note.base[0] == mask))


class IgnoresMasks(ScalarLanes):
    """A divergent scalar is one for any lanes: D is not checked (Fig. 7b)."""

    def _equal(self, note: Any, mask: Any) -> Any:
        return note.full


@pytest.mark.parametrize("unit", [IgnoresFs, IgnoresMasks])
def test_mutants_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", seed, 2, EVERY, unit))


def test_needs_a_configuration() -> None:
    with pytest.raises(TypeError, match="ScalarLanes needs the machine's configuration, an SmConfig, not 3"):
        ScalarLanes(3, 1)  # type: ignore[arg-type]
