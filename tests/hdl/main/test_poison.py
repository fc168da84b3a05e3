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
from warpbank.hdl.main.poison import POISON
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.mapping.renaming import Renaming
from warpbank.hdl.mapping.table import TABLE_BANKS as RELEASES
from warpbank.hdl.registry import build_registers
from warpbank.hdl.storage.banks import Banks
from warpbank.hdl.storage.bdi_banks import BdiBanks
from warpbank.hdl.storage.gscalar import GScalar
from warpbank.program.hint_passes import with_hints
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.pysim import PysimEngine

SCHEME = parse_scheme("renaming")


def test_the_pattern_is_goldens() -> None:
    assert POISON == GOLDEN_POISON


def lockstep(machine: str, seed: int, unit: Any = Banks) -> int:
    """Returns how many lanes of the pattern were read."""
    rng = random.Random(seed)
    config = MACHINES[machine]
    core = config.sub_core
    rtl, model = unit(config, poison=RELEASES), Golden(core, config.lanes)
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
    unit=strategies.sampled_from(tuple(test_gscalar.MODELS)),
)
def test_storages_that_compress_equal_golden(lanes: int, seed: int, unit: Any) -> None:
    test_gscalar.lockstep(lanes, seed, unit, poison=RELEASES)


@pytest.mark.parametrize("unit", [test_gscalar.Half, BdiBanks])
def test_the_pattern_is_read_from_storages_that_compress(unit: Any) -> None:
    assert sum(test_gscalar.lockstep(4, seed, unit, poison=RELEASES) for seed in range(2))


class NoteCounts(GScalar):
    """The note of a row that was released is believed."""

    def _found(self, *arguments: Any) -> Any:
        found, plain = super()._found(*arguments)
        return found, plain & 0


class KeepsLanes(Banks):
    """A write clears the pattern of all lanes."""

    def _found(self, m: Any, number: int, data: Any) -> Any:
        mask, self.bank[number].mask = self.bank[number].mask, ~(self.bank[number].mask & 0)
        found = super()._found(m, number, data)
        self.bank[number].mask = mask
        return found


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: lockstep("tiny", seed, KeepsLanes))


def test_a_note_that_counts_is_caught() -> None:
    assert fails(lambda seed: test_gscalar.lockstep(4, seed, NoteCounts, poison=RELEASES))


def traced() -> tuple[Trace, Any]:
    """Eight warps whose reads wait for each other, since all registers are in one bank."""
    config = with_overrides(
        preset("tiny"), ["sub_core.banks=1", "sub_core.front_end.scheduler=lrr", "lanes=1"]
    )
    job = workloads.get("vectoradd").job("tiny")
    return with_hints(trace_job(job), SCHEME.hints, config, lambda: compile_job(job)), config


def early(config: Any, entries: int, movers: int) -> Any:
    """Operands count as read when they are asked for."""
    return wrapped(Release(config, entries, movers), read=lambda value, _: value | 63)


def test_a_register_released_too_early_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, config = traced()
    monkeypatch.setattr(Renaming, "release_class", staticmethod(early))
    with pytest.raises(OperandMismatch, match="found 0xdeadbeef"):
        PysimEngine().run(trace, config, SCHEME)


@pytest.mark.parametrize("name", ["plain", "gscalar", "gscalar_half", "bdi"])
def test_an_export_has_no_poison(name: str) -> None:
    """Every storage that renaming can be joined with is poisoned in simulation, and only there."""
    config, scheme = SCHEME.machine(preset("tiny")), replace(SCHEME, storage=name)
    for probe in (True, False):
        storage = build_registers(config, scheme, probe).main.storage
        assert bool(storage.freed) == probe
    assert not build_registers(preset("tiny"), parse_scheme("baseline"), True).main.storage.freed
