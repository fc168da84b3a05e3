"""Eviction of a register in the cycle in which some of its lanes are written again, through model and RTL."""

from __future__ import annotations

import pytest

from tests.eviction_trace import eviction_trace
from tests.golden.storage.test_decompress_moves import SCHEMES, noted_at_once
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.events import Record
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import Sm
from warpbank.golden.storage.coded import Coded
from warpbank.program.random_programs.hinted import SMALL
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import Outcome, lockstep

TINY = with_overrides(preset("tiny"), SMALL)


def compare(scheme: str) -> Outcome:
    return lockstep(eviction_trace(), TINY, parse_scheme(scheme), PysimEngine())


@pytest.mark.quick("bow-wr+gscalar-half")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_both_insert_the_same_moves(scheme: str) -> None:
    outcome = compare(scheme)
    assert outcome.divergence is None, outcome.divergence.reason
    assert outcome.result is not None
    assert outcome.result.counters["issue.moves"] == 3


@pytest.mark.long
def test_mutant_a_model_that_sees_the_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first difference is in the cycle of the first case's eviction."""
    monkeypatch.setattr(Coded, "_put_back", noted_at_once)
    records: list[Record] = []
    Sm(eviction_trace(), TINY, parse_scheme(SCHEMES[0]), events=records.append).run()
    divergence = compare(SCHEMES[0]).divergence
    assert divergence is not None
    assert divergence.cycle == min(cycle for cycle, _, name, _ in records if name == "write_back")
