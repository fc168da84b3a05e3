"""Every counter sums events that there are, and records are summed right."""

from __future__ import annotations

from enum import IntEnum

import pytest

from warpbank.arch.config import preset
from warpbank.arch.counters import COUNTERS, count, stalls
from warpbank.arch.events import EVENTS, L1Result, LsuStall, Record, Stall, field_width


def test_counters_name_events_and_fields() -> None:
    for counter in COUNTERS.values():
        fields = [name for name, _ in EVENTS[counter.event].fields]
        assert not counter.field or counter.field in fields
        assert counter.when is None or counter.when[0] in fields
        assert counter.description.endswith(".")


@pytest.mark.parametrize(
    ("event", "field", "kinds"), [("lsu_stall", "cause", LsuStall), ("l1_access", "result", L1Result)]
)
def test_every_outcome_is_counted(event: str, field: str, kinds: type[IntEnum]) -> None:
    counted = [counter.when for counter in COUNTERS.values() if counter.event == event]
    assert counted == [(field, kind) for kind in kinds]
    assert max(kinds) < 1 << field_width(dict(EVENTS[event].fields)[field], preset("tiny"))


def test_counting() -> None:
    records: list[Record] = [
        (3, 0, "conflict", (1, 2, 5)),
        (3, 0, "conflict", (0, 2, 1)),
        (4, 1, "conflict", (1, 0, 1)),
        (4, 1, "grant", (0, 0, 0, 0)),
        (4, 0, "scheduler", (0,)),
        (4, 1, "scheduler", (int(Stall.NO_WARP),)),
    ]
    totals = count(records)
    assert [totals[f"rf.conflict.{cause}"] for cause in ("queue", "write", "port")] == [6, 1, 0]
    assert totals["rf.reads"] == 1
    per_scheduler = stalls(records, 2)
    assert per_scheduler[0]["issued"] == per_scheduler[1]["no_warp"] == 1
