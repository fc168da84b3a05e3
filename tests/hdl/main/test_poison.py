"""Poisoned storage: what golden's holds when released rows are overwritten with the pattern; who reads too
late is found out."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, simulate
from tests.hdl.storage import test_gscalar
from tests.hdl.sub_core_bench import pack
from tests.hdl.wrapped import wrapped
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.check import OperandMismatch
from warpbank.golden.storage.banks import Banks as Golden
from warpbank.golden.values import POISON as GOLDEN_POISON
from warpbank.hdl.main.poison import (
    POISON,
    POISONED,
    PoisonedBanks,
    PoisonedBdiBanks,
    PoisonedGScalar,
    PoisonedGScalarHalf,
)
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.mapping.renaming import Renaming
from warpbank.hdl.registry import STORAGES, build_registers
from warpbank.program.hint_passes import with_hints
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.pysim import PysimEngine

SCHEME = parse_scheme("renaming")


def test_the_pattern_is_goldens() -> None:
    assert POISON == GOLDEN_POISON


def lockstep(machine: str, seed: int, unit: Any = PoisonedBanks) -> int:
    """Returns how many lanes of the pattern were read."""
    rng = random.Random(seed)
    config = MACHINES[machine]
    core = config.sub_core
    rtl, model = unit(config), Golden(core, config.lanes)
    pattern = np.full(config.lanes, POISON, np.uint32)
    poisoned = 0

    async def bench(ctx: Any) -> None:
        nonlocal poisoned
        expected = [0] * core.banks
        rows = min(core.rows, 4)
        for _ in range(200):
            written = set()
            for bank, port in enumerate(rtl.bank):
                assert ctx.get(port.data) == expected[bank]
                row, action = rng.randrange(rows), rng.choice(("read", "write", "none"))
                mask = rng.getrandbits(config.lanes)
                value = np.array([rng.getrandbits(32) for _ in range(config.lanes)], np.uint32)
                for name, setting in {
                    "row": row,
                    "read": action == "read",
                    "write": action == "write",
                    "mask": mask,
                    "value": pack(value),
                }.items():
                    ctx.set(getattr(port, name), setting)
                if action == "read":
                    read = model.read(bank, row)
                    expected[bank] = pack(read)
                    poisoned += int((read == pattern).sum())
                elif action == "write":
                    model.write(bank, row, mask, value)
                    written.add((bank, row))
            places = [
                (bank, row) for bank in range(core.banks) for row in range(rows) if (bank, row) not in written
            ]
            freed = rng.sample(places, min(len(places), rng.choice((0, 0, 1, 4))))
            for number, port in enumerate(rtl.freed):
                ctx.set(port.valid, number < len(freed))
                if number < len(freed):
                    ctx.set(port.bank, freed[number][0])
                    ctx.set(port.row, freed[number][1])
                    model.write(*freed[number], (1 << config.lanes) - 1, pattern)
            await ctx.tick()

    simulate(rtl, bench)
    return poisoned


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


def test_the_pattern_is_read() -> None:
    assert lockstep("tiny", 1)


@FEW
@given(
    lanes=strategies.sampled_from((2, 4, 8)),
    seed=SEEDS,
    unit=strategies.sampled_from((PoisonedGScalar, PoisonedGScalarHalf, PoisonedBdiBanks)),
)
def test_storages_that_compress_equal_golden(lanes: int, seed: int, unit: Any) -> None:
    test_gscalar.lockstep(lanes, seed, unit)


@pytest.mark.parametrize("unit", [PoisonedGScalarHalf, PoisonedBdiBanks])
def test_the_pattern_is_read_from_storages_that_compress(unit: Any) -> None:
    assert sum(test_gscalar.lockstep(4, seed, unit) for seed in range(2))


class NoteCounts(PoisonedGScalar):
    """The note of a row that was released is believed."""

    def _found(self, *arguments: Any) -> Any:
        found, plain = super()._found(*arguments)
        return found, plain & 0


class KeepsLanes(PoisonedBanks):
    """A write clears the pattern of all lanes."""

    def _found(self, m: Any, number: int, bank: Any, data: Any) -> Any:
        return super()._found(m, number, _Whole(bank), data)


class _Whole:
    def __init__(self, bank: Any) -> None:
        self.row, self.read, self.write, self.mask = bank.row, bank.read, bank.write, ~(bank.mask & 0)


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: lockstep("tiny", seed, KeepsLanes))


def test_a_note_that_counts_is_caught() -> None:
    assert fails(lambda seed: test_gscalar.lockstep(4, seed, NoteCounts))


def traced() -> tuple[Trace, Any]:
    """Eight warps whose reads wait for each other, since all registers are in one bank."""
    config = with_overrides(
        preset("tiny"), ["sub_core.banks=1", "sub_core.front_end.scheduler=lrr", "lanes=1"]
    )
    job = workloads.get("vectoradd").job("tiny")
    return with_hints(trace_job(job), SCHEME.hints, config, lambda: compile_job(job)), config


def early(config: Any, entries: int) -> Any:
    """Operands count as read when they are asked for."""
    return wrapped(Release(config, entries), read=lambda value, _: value | 63)


def test_a_register_released_too_early_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, config = traced()
    monkeypatch.setattr(Renaming, "release_class", staticmethod(early))
    with pytest.raises(OperandMismatch, match="found 0xdeadbeef"):
        PysimEngine().run(trace, config, SCHEME)


@pytest.mark.parametrize("name", ["plain", "gscalar", "gscalar_half", "bdi"])
def test_an_export_has_no_poison(name: str) -> None:
    """Every storage that renaming can be joined with is poisoned in simulation, and only there."""
    config, scheme = SCHEME.machine(preset("tiny")), replace(SCHEME, storage=name)
    for probe, kind in ((True, POISONED[STORAGES[name]]), (False, STORAGES[name])):
        assert type(build_registers(config, scheme, probe)._storage) is kind
