"""Golden and RTL in lockstep where rows of several rooms are joined, on random programs. More of them with

    pytest -m long tests/sim/test_lockstep_combined.py

and all of them, on three kernels, with `warpbank schemes --check`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from amaranth.hdl import Const, Module, Value

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.hdl.hierarchy.result_cache import Offer, ResultCache
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.round_robin import Choice
from warpbank.program.random_programs.hinted import SMALL, RandomProgram, random_for
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import lockstep
from warpbank.studies.combinations import combinations

LEGAL = [each.scheme for each in combinations() if each.legal and "+" in each.scheme]
#: A counter that says that what is joined does something.
BUSY = {
    "renaming": "renaming.unmaps",
    "gscalar": "rf.arrays.read",
    "gscalar-half": "rf.arrays.read",
    "bdi": "rf.arrays.read",
    "scalar-rf": "scalar_rf.writes",
    **dict.fromkeys(("rfc", "sw-rfc"), "cache.writes"),
    **dict.fromkeys(("ltrf", "ltrf-plus", "ltrf-strand"), "cache.fills"),
}
_KEEP = ResultCache._keep_metadata
CASES = [
    "malekeh+gscalar",
    "bow-wb+gscalar",
    "ltrf+renaming",
    "sw-rfc+ccu-lru-gto+renaming+gscalar",
    "sw-rfc+bow",
]
MORE = [
    "bow-wb+renaming",
    "bow-wb+renaming+gscalar",
    "rfc+renaming+gscalar",
    "bow+renaming",
    "malekeh+renaming",
    "ccu-lru-gto+renaming",
    "renaming+gscalar-half",
    "bow+gscalar",
    "bow-wr+gscalar-half",
    "bow-wb+renaming+bdi",
    "malekeh+bdi",
    "ltrf+gscalar",
    "ltrf-plus+bow-wb+gscalar",
    "ltrf+malekeh+bdi",
    "ltrf-plus+malekeh+renaming",
    "ltrf-strand+bow-wr+renaming",
    "ltrf+renaming+gscalar",
    "ltrf-plus+bow-wb+renaming+gscalar-half",
    "ltrf+malekeh+renaming+bdi",
    "rfc+malekeh+gscalar-half",
    "rfc+ccu-lru-gto+renaming+bdi",
    "renaming+scalar-rf",
    "malekeh+renaming+scalar-rf",
    "bow+scalar-rf",
    "sw-rfc+renaming+gscalar-half",
    "sw-rfc+renaming+bdi",
    "sw-rfc+gscalar-half",
    "sw-rfc+ccu-lru-gto",
    "rfc+bow+bdi",
    "rfc+bow+renaming+gscalar",
    "sw-rfc+bow+gscalar-half",
    "sw-rfc+bow+renaming+gscalar",
    "rfc+malekeh+renaming+gscalar-half",
    "rfc+malekeh-pr+gscalar-half",
    "rfc+ccu-lru-gto+bdi",
    "rfc+ccu-lru-gto+renaming+gscalar-half",
]


@pytest.mark.quick("malekeh+gscalar", "ltrf+renaming")
@pytest.mark.parametrize("scheme", [*CASES, *(pytest.param(more, marks=pytest.mark.long) for more in MORE)])
def test_every_event_of_every_cycle(scheme: str) -> None:
    config, chosen = with_overrides(preset("tiny"), SMALL), parse_scheme(scheme)
    outcome = lockstep(random_for(chosen, config, 1), config, chosen, PysimEngine())
    assert outcome.divergence is None, f"seed 1: {outcome.divergence.reason}"
    assert outcome.result is not None
    for row in scheme.split("+"):
        assert outcome.result.counters[BUSY.get(row, "boc.forwards")], row
    assert outcome.result.counters["cache.reads"] or chosen.hierarchy == "flat"


def _forget(cache: ResultCache, m: Module, near: list[Choice], offers: list[Offer]) -> None:
    """Mutant: what the cache holds has no metadata."""
    _KEEP(cache, m, near, offers)
    cache._known = [Const(0, len(known)) for known in cache._known]


def _always_compressed(main: MainRegisterFile, evicted: object, number: int) -> Value:
    """Mutant: a value that leaves is compressed even where a write of its register is to come."""
    return Const(0, 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("mutant", "program"),
    [
        ((ResultCache, "_keep_metadata", _forget), "divergent-6"),
        ((MainRegisterFile, "_plain", _always_compressed), "divergent-7"),
    ],
)
def test_mutants_of_a_cache_over_compressing_banks(
    mutant: tuple[type, str, Callable[..., object]], program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*mutant)
    config, chosen = preset("tiny"), parse_scheme("rfc+gscalar")
    parsed = RandomProgram.parse(program)
    assert parsed is not None
    assert lockstep(parsed.trace(chosen, config), config, chosen, PysimEngine()).divergence is not None


@pytest.mark.long
def test_an_operand_without_a_register_beside_a_write_of_its_row() -> None:
    """It is looked for in the scalar bank in the cycle in which a result of that row leaves its stage."""
    config, chosen = preset("tiny"), parse_scheme("malekeh+renaming+scalar-rf")
    program = RandomProgram("divergent", 3)
    outcome = lockstep(program.trace(chosen, config), config, chosen, PysimEngine())
    assert outcome.divergence is None, outcome.divergence.reason


@pytest.mark.quick("bow-w*", "ltrf+malekeh*", "sw-rfc+*", "ltrf-plus+*half*")
@pytest.mark.parametrize("scheme", LEGAL)
def test_operands_are_right(scheme: str) -> None:
    """The golden model alone, whose operand checker sees values that were lost, mixed up or read after their
    release."""
    chosen, config = parse_scheme(scheme), preset("tiny")
    result = simulate(random_for(chosen, config, 2, ctas=3, warps=3, length=25), config, chosen)
    assert result.operands_checked > 100
    assert result.counters["cache.reads"] or chosen.hierarchy == "flat"
