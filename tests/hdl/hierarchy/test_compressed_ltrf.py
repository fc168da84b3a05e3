"""The register file cache over compressing banks keeps, notes, moves and activates what golden's does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails
from tests.hdl.hierarchy.ltrf_bench import LTRFS, Bench, with_unit
from tests.similar import similar
from warpbank.golden.values import Value
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.interfaces import UNITS
from warpbank.hdl.registry import build_registers

#: Row -> parts of a register that are compressed by themselves.
STORAGES = {"gscalar": 1, "gscalar-half": 2, "bdi": 1}


class CompressedBench(Bench):
    """Values that compress; notes of operands are compared; the scoreboard says what is still to be written,
    if `answers`."""

    answers = True
    #: What the scheme has besides, before the storage.
    before = ""

    def __init__(self, name: str, seed: int, storage: str = "gscalar", build: Any = build_registers) -> None:
        self.parts, self.storage = STORAGES[storage], f"{self.before}+{storage}"
        self.room = storage.replace("-", "_")
        super().__init__(name, seed, bool(seed % 2), build)

    def value(self) -> Value:
        value, _ = similar(self.rng, self.config.lanes)
        return np.full_like(value, value[0]) if self.rng.random() < 0.3 else value

    async def _cycle(self, ctx: Any, where: str) -> None:
        for asks in self.rtl.owed:
            ctx.set(
                asks.pending,
                self.answers and self.warps[ctx.get(asks.warp)].pending >> ctx.get(asks.register) & 1,
            )
        await super()._cycle(ctx, where)

    def _deliver(self, ctx: Any, arrived: list[tuple[int, int, int, Any]], where: str) -> None:
        super()._deliver(ctx, arrived, where)
        found = {}
        for number, port in enumerate(self.rtl.deliver):
            if ctx.get(port.valid):
                note = ctx.get(port.metadata)
                base = tuple(note.base[part] for part in range(self.parts))
                found[number] = (note.divergent, note.enc.as_bits(), note.full, base)
        expected = {}
        for collector, _, _, _, note in arrived:
            enc = sum(bits << 4 * part for part, bits in enumerate(note.enc))
            expected[collector] = (note.divergent, enc, note.full, note.base)
            self.happened["divergent note"] += note.divergent
            self.happened["scalar note"] += note.full
        assert found == expected, where


class Unanswered(CompressedBench):
    """Nobody says that a result is still to come: registers that leave are compressed all the same."""

    answers = False


def lockstep(
    machine: str,
    seed: int,
    storage: str = "gscalar",
    build: Any = build_registers,
    cycles: int = 250,
    bench: type[CompressedBench] = CompressedBench,
) -> None:
    bench(machine, seed, storage, build).run(cycles)


@settings(FEW, max_examples=3)
@given(
    machine=strategies.sampled_from(list(LTRFS)), seed=SEEDS, storage=strategies.sampled_from(list(STORAGES))
)
def test_equals_golden(machine: str, seed: int, storage: str) -> None:
    lockstep(machine, seed, storage, cycles=120)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("machine", LTRFS)
def test_more_seeds(machine: str, storage: str, seed: int) -> None:
    lockstep(machine, seed, storage, cycles=400)


def test_what_matters_happens() -> None:
    happened: Counter[str] = Counter()
    for seed in (3, 4):
        happened += CompressedBench("fast", seed).run(300).happened
    for name in (
        "cache_fill",
        "write_back",
        "cache_write",
        "write",
        "stall",
        "again",
        "partial",
        "inactive",
        "array_read",
        "array_write",
        "divergent note",
        "scalar note",
    ):
        assert happened[name] >= 2, f"{name} happened {happened[name]} times"


class IgnoresPart(Ltrf):
    """A result on some lanes is noted as if it were whole."""

    def _describe(self, m: Any) -> None:
        super()._describe(m)
        for number in range(UNITS):
            m.d.comb += getattr(m.submodules, f"noter_{number}").part.eq(0)


class OldNotes(Ltrf):
    """The note of a register is not replaced when a result comes into the cache."""

    def _keep_metadata(self, m: Any) -> None:
        super()._keep_metadata(m)
        for _, port in self._notes:
            m.d.comb += port.en.eq(0)


class Recompresses(Ltrf):
    """A register that leaves does not take its note along."""

    def _keep_metadata(self, m: Any) -> None:
        super()._keep_metadata(m)
        for told in self._main.given:
            m.d.comb += told.as_value().eq(0)


@pytest.mark.parametrize("unit", [IgnoresPart, OldNotes, Recompresses])
def test_mutants_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("fast", seed, build=with_unit(unit)))


@pytest.mark.parametrize("storage", STORAGES)
def test_a_register_that_is_still_to_be_written_is_kept_as_it_is(storage: str) -> None:
    assert fails(lambda seed: lockstep("fast", seed, storage, bench=Unanswered))
