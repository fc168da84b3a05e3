"""Digests of the golden model: no change that is none of the machine's changes an event of any cycle.

A change of the machine records new ones, with the reason in its commit: `python -m tests.digests record`.
"""

from __future__ import annotations

import json

import pytest

from tests.digests import RECORDED, Digest, Run, digest, runs
from warpbank.arch.events import Record

RUNS = list(runs())
#: Runs of the default suite: a part whose steps through schemes, programs and machines have no common factor.
FEW = RUNS[::61]


@pytest.fixture(scope="module")
def recorded() -> dict[str, str]:
    found: dict[str, str] = json.loads(RECORDED.read_text())
    return found


def test_every_run_is_recorded(recorded: dict[str, str]) -> None:
    assert [run.name for run in RUNS] == list(recorded)


@pytest.mark.parametrize("run", FEW, ids=lambda run: run.name)
def test_events_are_as_recorded(run: Run, recorded: dict[str, str]) -> None:
    assert digest(run) == recorded[run.name]


@pytest.mark.long
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_events_of_all_runs_are_as_recorded(run: Run, recorded: dict[str, str]) -> None:
    assert digest(run) == recorded[run.name]


def _of(*records: Record) -> str:
    sink = Digest()
    for record in records:
        sink(record)
    return sink.end({}, 9)


def test_a_digest_sees_every_field_and_no_order_within_a_cycle() -> None:
    first, second, later = (3, 0, "fill", (1, 2)), (3, 0, "retire", (0, 1)), (4, 0, "fill", (1, 3))
    made = _of(first, second, later)
    assert made == _of(second, first, later)
    for other in (
        (4, 0, "fill", (1, 2)),
        (3, 1, "fill", (1, 2)),
        (3, 0, "retire", (1, 2)),
        (3, 0, "fill", (1, 1)),
    ):
        assert made != _of(other, second, later)
    assert made != _of(first, second)
