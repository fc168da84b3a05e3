"""The register file cache over renamed registers in compressing banks does what golden's does, notes
included."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails
from tests.hdl.hierarchy.ltrf_bench import LTRFS
from tests.hdl.hierarchy.test_compressed_ltrf import STORAGES, CompressedBench
from tests.hdl.hierarchy.test_renamed_ltrf import RenamedBench
from warpbank.arch.schemes import Scheme
from warpbank.hdl.hierarchy.renamed_compressed_ltrf import RenamedCompressedLtrf
from warpbank.hdl.hierarchy.renamed_ltrf import RenamedLtrf, RenamedLtrfPlus
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


class KeepsNotes(RenamedCompressedLtrf):
    """Zeros that come into the cache are noted as what was there before."""

    def _write_cache(self, m: Any) -> None:
        RenamedLtrf._write_cache(self, m)


class KeepsNotesPlus(KeepsNotes, RenamedLtrfPlus):
    """With liveness."""


def test_a_mutant_is_caught() -> None:
    def build(config: Any, scheme: Scheme, probe: bool) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            caches = build_registers.__globals__["CACHES"][True, True]
            patch.setitem(caches, "ltrf", KeepsNotes)
            patch.setitem(caches, "ltrf_plus", KeepsNotesPlus)
            return build_registers(config, scheme, probe)

    assert fails(lambda seed: lockstep("fast", seed, build=build))
