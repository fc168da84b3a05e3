"""Issue stage: when a picked warp has its turn, and when it is picked again."""

from __future__ import annotations

import pytest

import warpbank as wb
from warpbank.arch.events import Record
from warpbank.golden.front_end.issue_stage import Choice, IssueStage
from warpbank.golden.sm import simulate
from warpbank.studies.combinations import LockstepRun

_STAGE = ("sub_core.front_end.issue_stages=1",)


def lowest(mask: int, holds: int) -> int:
    """Pick the lowest warp."""
    return (mask & -mask).bit_length() - 1


def test_without_a_stage_the_pick_issues() -> None:
    choice = Choice(lowest)
    assert choice.step(0b111, 0b110, 0) == 1
    assert choice.picks
    assert choice.step(0b111, 0, 0) == -1
    assert not choice.picks
    assert not choice.chosen
    assert choice.busy(1, 1)
    assert not choice.busy(1, 0)


def test_the_pick_issues_a_cycle_later_and_not_twice_in_a_row() -> None:
    stage = IssueStage(lowest)
    assert stage.step(0b011, 0b011, 0) == -1
    assert stage.picks
    assert stage.step(0b011, 0b011, 0) == 0
    assert stage.step(0b011, 0b011, 0) == 1
    assert stage.step(0b000, 0b001, 0) == 0
    assert stage.step(0b000, 0b000, 0) == -1


def test_a_warp_alone_has_every_second_cycle() -> None:
    stage = IssueStage(lowest)
    assert [stage.step(1, 1, 0) for _ in range(6)] == [-1, 0, -1, 0, -1, 0]


def test_a_turn_is_lost_where_nobody_takes_the_uop() -> None:
    """And the warp is picked again, a cycle later."""
    stage = IssueStage(lowest)
    assert [stage.step(1, takes, 0) for takes in (1, 0, 1, 1)] == [-1, -1, -1, 0]


def test_the_pick_does_not_ask_who_would_take_the_uop() -> None:
    stage = IssueStage(lowest)
    stage.step(0b11, 0b10, 0)
    assert stage.chosen == 0b01


def test_it_is_busy_while_anybody_is_ready_or_has_the_turn() -> None:
    stage = IssueStage(lowest)
    assert not stage.busy(0, 0)
    assert stage.busy(1, 0)
    stage.step(1, 1, 0)
    assert stage.busy(0, 0)


@pytest.mark.parametrize("scheme", ["baseline", "bow-wr", "malekeh", "ltrf", "gscalar", "renaming", "rfc"])
def test_a_warp_issues_in_every_second_cycle_at_most(scheme: str) -> None:
    """And nothing depends on which cycles are slept through."""
    task = LockstepRun(scheme, "bfs", "tiny", _STAGE, "golden").prepared()
    events: list[Record] = []
    stepped: list[Record] = []
    result = simulate(*task, events=events)
    assert simulate(*task, events=stepped, skip=False) == result
    assert sorted(events) == sorted(stepped)
    issued: dict[tuple[int, int], int] = {}
    for cycle, sub_core, name, values in sorted(events):
        if name == "issue":
            warp = sub_core, values[0]
            assert cycle > issued.get(warp, -2) + 1
            issued[warp] = cycle
    assert issued


def test_the_stage_has_a_price() -> None:
    """And a reason of its own, which no machine without it has."""
    with_it, without = (wb.run("vectoradd", size="tiny", overrides=fields) for fields in (_STAGE, ()))
    assert with_it.cycles > without.cycles
    assert with_it.stalls["chosen"] > 0 == without.stalls["chosen"]
    assert with_it.stalls["issued"] == without.stalls["issued"]
