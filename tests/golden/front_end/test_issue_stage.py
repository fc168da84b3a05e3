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


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_warp_alone_has_a_turn_in_every_cycle_but_one_per_stage(stages: int) -> None:
    stage = IssueStage(lowest, stages)
    issued = [cycle for cycle in range(20) if stage.step(1, 1, 0) == 0]
    assert issued == list(range(stages, 20, stages + 1))


def test_two_stages_let_others_pass_between_choice_and_turn() -> None:
    stage = IssueStage(lowest, 2)
    assert [stage.step(0b111, 0b111, 0) for _ in range(8)] == [-1, -1, 0, 1, 2, 0, 1, 2]
    assert stage.comes


def test_three_stages_look_for_hazards_before_the_choice() -> None:
    stage = IssueStage(lowest, 3)
    stage.step(0b01, 0b11, 0)
    assert not stage.picks
    assert stage.busy(0, 0)
    stage.step(0b10, 0b11, 0)
    assert stage.picks
    assert [stage.step(0, 0b11, 0) for _ in range(4)] == [-1, 0, 1, -1]
    assert not stage.busy(0, 0)


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


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("scheme", ["baseline", "bow-wr", "malekeh", "ltrf", "gscalar", "renaming", "rfc"])
def test_a_warp_issues_once_in_so_many_cycles_at_most(scheme: str, stages: int) -> None:
    """And nothing depends on which cycles are slept through."""
    stage = (f"sub_core.front_end.issue_stages={stages}",)
    task = LockstepRun(scheme, "bfs", "tiny", stage, "golden").prepared()
    events: list[Record] = []
    stepped: list[Record] = []
    result = simulate(*task, events=events)
    assert simulate(*task, events=stepped, skip=False) == result
    assert sorted(events) == sorted(stepped)
    issued: dict[tuple[int, int], int] = {}
    for cycle, sub_core, name, values in sorted(events):
        if name == "issue":
            warp = sub_core, values[0]
            assert cycle > issued.get(warp, -9) + stages
            issued[warp] = cycle
    assert issued


def test_the_stage_has_a_price() -> None:
    """And a reason of its own, which no machine without it has."""
    with_it, without = (wb.run("vectoradd", size="tiny", overrides=fields) for fields in (_STAGE, ()))
    assert with_it.cycles > without.cycles
    assert with_it.stalls["chosen"] > 0 == without.stalls["chosen"]
    assert with_it.stalls["issued"] == without.stalls["issued"]
