"""Units are told to clock as many lanes as golden says, whatever is known of the operands."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies

from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, fails, make_uop, seen, simulate, uop_record
from warpbank.arch.uop import Scalar, Unit
from warpbank.golden.execute.scalar import ScalarLanes as Golden
from warpbank.golden.storage.metadata import Metadata
from warpbank.hdl.execute.scalar import ScalarLanes

EVERY = frozenset(Scalar)
#: Machines whose registers can be cut into halves.
EVEN = ("tiny", "odd", "per_warp")


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

    def some_note(uop: Any) -> Metadata:
        divergent = rng.random() < 0.3
        base = [rng.choice((uop.lane_mask, rng.getrandbits(lanes))) if divergent else rng.getrandbits(32)]
        base += [rng.getrandbits(32)] * (parts - 1)
        enc = tuple(rng.choice((15, 15, 15, 14, 0)) for _ in range(parts))
        return Metadata(divergent, enc, rng.random() < 0.8 and all(bits == 15 for bits in enc), tuple(base))

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
                    for name, value in (("collector", mine[0]), ("warp", uop.warp), ("seq", uop.seq)):
                        ctx.set(getattr(port, name), value)
                    alone[number] = model.dispatch(uop)
            for number, expected in alone.items():
                assert ctx.get(rtl.clocked[number].alone) == expected, f"cycle {cycle}, {Unit(number)!r}"
            events = log.take()
            kinds.update(values[3] for _, values in events)
            assert seen(ctx, rtl.events) == events, f"cycle {cycle}"
            for collector, port in enumerate(rtl.deliver):
                uop, left = holding.get(collector, (None, 0))
                comes = left > 0 and rng.random() < 0.7
                ctx.set(port.valid, comes)
                if comes:
                    note = some_note(uop)
                    ctx.set(
                        port.metadata,
                        {
                            "divergent": note.divergent,
                            "enc": list(note.enc),
                            "full": note.full,
                            "base": list(note.base),
                        },
                    )
                    uop.operands.append(np.zeros(lanes, np.uint32))
                    uop.metadata.append(note)
                    holding[collector][1] -= 1
            free = [collector for collector in range(core.collectors) if collector not in holding]
            issues = bool(free) and rng.random() < 0.8
            ctx.set(rtl.issue.valid, issues)
            if issues:
                collector, unit_number = (
                    rng.choice(free),
                    rng.choice((Unit.ALU, Unit.SFU, Unit.LSU, Unit.FMA)),
                )
                part = rng.random() < 0.3
                mask = rng.getrandbits(lanes) if part else (1 << lanes) - 1
                uop = make_uop(
                    rng.randrange(core.warps),
                    cycle,
                    unit=unit_number,
                    scalar=int(rng.random() < 0.8),
                    part=part,
                    lane_mask=mask,
                )
                record = {**uop_record(uop), "scalar": uop.scalar, "part": int(part)}
                ctx.set(rtl.issue.payload, {"warp": uop.warp, "uop": record})
                ctx.set(rtl.entry, collector)
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
