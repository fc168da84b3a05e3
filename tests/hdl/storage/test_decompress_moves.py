"""Decompress moves go before the same uops as golden's, and are the same."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given

from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, fails, machines, make_uop, seen, simulate, uop_record
from warpbank.arch.uop import MAX_DESTINATIONS
from warpbank.golden.storage.decompress_moves import DecompressMoves as Golden
from warpbank.hdl.storage.decompress_moves import DecompressMoves

REGISTERS = 8


def lockstep(machine: str, seed: int, unit: Any = DecompressMoves, cycles: int = 200) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    core = config.sub_core
    log = Log()
    rtl, model = unit(config, core.banks, probe=True), Golden(core.warps, config.lanes)
    moved = [0, 0]  # uops without and with a move

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            places = rng.sample(
                [(w, r) for w in range(core.warps) for r in range(REGISTERS)], len(rtl.stored)
            )
            for port, (owner, register) in zip(rtl.stored, places, strict=True):
                valid, compressed = rng.random() < 0.5, rng.random() < 0.5
                for name, value in (
                    ("valid", valid),
                    ("warp", owner),
                    ("register", register),
                    ("compressed", compressed),
                ):
                    ctx.set(getattr(port, name), value)
                if valid:
                    model.note(owner, register, compressed)
            warp, count = rng.randrange(core.warps), rng.randrange(MAX_DESTINATIONS + 1)
            uop = make_uop(
                warp,
                cycle,
                destination=rng.randrange(REGISTERS - count),
                count=count,
                sources=(1, 3),
                lane_mask=rng.getrandbits(config.lanes),
                part=rng.random() < 0.8,
                fresh=int(rng.random() < 0.2),
                collects=rng.random() < 0.9,
            )
            issues = rng.random() < 0.8
            record = {**uop_record(uop), "part": int(uop.part), "fresh": uop.fresh}
            ctx.set(rtl.warp, warp)
            ctx.set(rtl.uop, record)
            ctx.set(rtl.issues, issues)
            move = model.before(uop) if issues else None
            assert ctx.get(rtl.inserts) == (move is not None), f"cycle {cycle}"
            goes = uop if move is None else move
            found = {
                name: ctx.get(getattr(rtl.goes, name))
                for name in (
                    "seq",
                    "pc",
                    "unit",
                    "destination",
                    "count",
                    "source_valid",
                    "mask",
                    "collects",
                    "part",
                    "write_back",
                )
            }
            expected = {
                **{name: int(getattr(goes, name)) for name in found if name not in ("source_valid", "mask")},
                "source_valid": (1 << len(goes.sources)) - 1,
                "mask": goes.lane_mask,
            }
            assert found == expected, f"cycle {cycle}"
            assert ctx.get(rtl.goes.sources[0]) == goes.sources[0]
            if move is not None:
                log.probe.emit("move", warp, move.seq, move.destination)
                model.note(warp, move.destination, False)
            moved[move is not None] += issues
            assert seen(ctx, rtl.events) == log.take(), f"cycle {cycle}"
            await ctx.tick()

    simulate(rtl, bench)
    assert all(moved), f"seed {seed}: {moved}"


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


class Missing(DecompressMoves):
    """No move is ever inserted."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        m.d.comb += [self.inserts.eq(0), self.goes.eq(self.uop)]
        return m


class IgnoresFresh(DecompressMoves):
    """Dead values are moved, too."""

    def elaborate(self, platform: object) -> Any:
        m = super().elaborate(platform)
        with m.If(self.uop.fresh):
            m.d.comb += self.inserts.eq(self.issues & self.uop.part & self.uop.collects)
        return m


@pytest.mark.parametrize("unit", [Missing, IgnoresFresh])
def test_mutants_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", seed, unit))


def test_needs_a_configuration() -> None:
    with pytest.raises(TypeError, match="Moves needs the machine's configuration, an SmConfig, not 3"):
        DecompressMoves(3, 1)  # type: ignore[arg-type]
