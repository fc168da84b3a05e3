"""Golden and RTL in lockstep where rows of several rooms are joined, on random programs. More of them with

    pytest -m long tests/sim/test_lockstep_combined.py

and all of them, on three kernels, with `warpbank schemes --check`.
"""

from __future__ import annotations

import pytest

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.random_programs.hinted import SMALL, random_for
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
    **dict.fromkeys(("ltrf", "ltrf-plus", "ltrf-strand"), "cache.fills"),
}
CASES = ["bow-wb+renaming", "malekeh+gscalar", "bow-wb+renaming+gscalar", "ltrf+renaming"]
MORE = [
    "bow+renaming",
    "malekeh+renaming",
    "ccu-lru-gto+renaming",
    "renaming+gscalar-half",
    "bow+gscalar",
    "bow-wb+gscalar",
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
]


@pytest.mark.parametrize("scheme", [*CASES, *(pytest.param(more, marks=pytest.mark.long) for more in MORE)])
def test_every_event_of_every_cycle(scheme: str) -> None:
    config, chosen = with_overrides(preset("tiny"), SMALL), parse_scheme(scheme)
    outcome = lockstep(random_for(chosen, config, 1), config, chosen, PysimEngine())
    assert outcome.divergence is None, f"seed 1: {outcome.divergence.reason}"
    assert outcome.result is not None
    for row in scheme.split("+"):
        assert outcome.result.counters[BUSY.get(row, "boc.forwards")], row


@pytest.mark.parametrize("scheme", LEGAL)
def test_operands_are_right(scheme: str) -> None:
    """The golden model alone, whose operand checker sees values that were lost, mixed up or read after their
    release."""
    chosen, config = parse_scheme(scheme), preset("tiny")
    result = simulate(random_for(chosen, config, 2, ctas=3, warps=3, length=25), config, chosen)
    assert result.operands_checked > 100
