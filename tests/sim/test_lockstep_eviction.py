"""Decompress moves of registers that leave their collectors, or are released, through model and RTL."""

from __future__ import annotations

import pytest

from tests.eviction_trace import eviction_trace
from tests.golden.storage.test_decompress_moves import RELEASED, SCHEMES, noted_at_once
from tests.released_trace import released_trace
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.events import Record
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import Sm
from warpbank.golden.storage.coded import Coded
from warpbank.program.random_programs.hinted import SMALL
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import Outcome, lockstep

TINY = with_overrides(preset("tiny"), SMALL)


def compare(scheme: str, trace: Trace | None = None) -> Outcome:
    return lockstep(trace or eviction_trace(), TINY, parse_scheme(scheme), PysimEngine())


@pytest.mark.quick("bow-wr+gscalar-half")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_both_insert_the_same_moves(scheme: str) -> None:
    outcome = compare(scheme)
    assert outcome.divergence is None, outcome.divergence.reason
    assert outcome.result is not None
    assert outcome.result.counters["issue.moves"] == 3


@pytest.mark.quick("bow-wb+renaming+gscalar-half")
@pytest.mark.parametrize("scheme", RELEASED)
def test_neither_moves_what_was_released(scheme: str) -> None:
    outcome = compare(scheme, released_trace())
    assert outcome.divergence is None, outcome.divergence.reason
    assert outcome.result is not None
    assert outcome.result.counters["issue.moves"] == 0


@pytest.mark.long
def test_mutant_a_model_that_sees_the_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first difference is in the cycle of the first case's eviction."""
    monkeypatch.setattr(Coded, "_put_back", noted_at_once)
    records: list[Record] = []
    Sm(eviction_trace(), TINY, parse_scheme(SCHEMES[0]), events=records.append).run()
    divergence = compare(SCHEMES[0]).divergence
    assert divergence is not None
    assert divergence.cycle == min(cycle for cycle, _, name, _ in records if name == "write_back")
