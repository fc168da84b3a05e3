"""The register file cache over renamed registers in compressing banks does what golden's does, notes
included."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Const
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails
from tests.hdl.hierarchy.ltrf_bench import LTRFS, with_unit
from tests.hdl.hierarchy.test_compressed_ltrf import STORAGES, CompressedBench
from tests.hdl.hierarchy.test_renamed_ltrf import RenamedBench
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.registry import build_registers


class BothBench(CompressedBench, RenamedBench):
    """As both."""

    before = "+renaming"


def lockstep(
    machine: str, seed: int, storage: str = "gscalar", build: Any = build_registers, cycles: int = 250
) -> None:
    BothBench(machine, seed, storage, build).run(cycles)


@settings(FEW, max_examples=2)
@given(
    machine=strategies.sampled_from(list(LTRFS)), seed=SEEDS, storage=strategies.sampled_from(list(STORAGES))
)
def test_equals_golden(machine: str, seed: int, storage: str) -> None:
    lockstep(machine, seed, storage, cycles=120)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("machine", LTRFS)
def test_more_seeds(machine: str, storage: str, seed: int) -> None:
    lockstep(machine, seed, storage, cycles=600)


class KeepsNotes(Ltrf):
    """Zeros that come into the cache are noted as what was there before."""

    def _keep_metadata(self, m: Any) -> None:
        cleared, self._cleared = self._cleared, Const(0, self._entries)
        super()._keep_metadata(m)
        self._cleared = cleared


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: lockstep("fast", seed, build=with_unit(KeepsNotes)))
