"""Proof that a warp that has its turn needs no second look at the scoreboard: what was picked has no hazard a
cycle later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Assume, Cat, Elaboratable, Module, Signal

from tests.formal.prove import Refuted, assume_no_reset, prove
from tests.formal.test_scoreboard import CONFIG, ENTRIES, Small
from tests.hdl.front_end.test_issue_stage import Again, Sure
from warpbank.hdl.front_end.issue_stage import IssueStage

WARPS = CONFIG.sub_core.warps


class Harness(Elaboratable):
    """A scoreboard and an issue stage. Any uops stand first, and stay until they issue; the scheduler picks
    anyone of the candidates; anything may be taken, read and written in any cycle."""

    def __init__(self, stage: type[IssueStage] = IssueStage, stages: int = 1) -> None:
        self.board, self.stage = Small(CONFIG, ENTRIES), stage(WARPS, stages)
        board = self.board
        self.here, self.last = Signal(WARPS), Signal(WARPS)  # has a uop; issued in the cycle before
        self.uop = Signal(len(board.issue.payload.uop.as_value()))
        self.free = [self.here, self.uop, self.stage.takes, self.stage.pick, board.entry]
        for port in (*board.hazards, *board.read, *board.written, *board.retired):
            members = (getattr(port, name) for name in port.signature.members)
            self.free += [each.as_value() if hasattr(each, "as_value") else each for each in members]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.board = board = self.board
        m.submodules.stage = stage = self.stage
        assume_no_reset(m)
        started = Signal()
        m.d.sync += started.eq(1)
        issues = stage.issued.any()
        m.d.comb += [
            stage.ready.eq(self.here & ~board.blocked),
            Assume(~stage.candidates.any() | stage.candidates.bit_select(stage.pick, 1)),
            board.issue.valid.eq(issues),
            board.issue.payload.warp.eq(stage.warp),
            board.issue.payload.uop.as_value().eq(self.uop),
        ]
        for warp, hazards in enumerate(board.hazards):
            now = Cat(hazards.registers.as_value(), hazards.predicates, hazards.destination, hazards.count)
            before, stays = Signal.like(now, name=f"before_{warp}"), Signal(name=f"stays_{warp}")
            m.d.sync += [before.eq(now), stays.eq(~stage.issued[warp])]
            m.d.comb += Assume(~(started & stays) | (now == before))
        last = self.last
        m.d.sync += last.eq(stage.issued)
        m.d.comb += [
            Assert(~(stage.turn & board.blocked.bit_select(stage.warp, 1))),
            Assert((stage.candidates & board.blocked) == 0),
            Assert(~(stage.comes & board.blocked.bit_select(stage.coming, 1))),
            Assert(~(stage.comes & stage.turn & (stage.coming == stage.warp))),
            Assert((last & stage.issued) == 0),
            Assert((stage.issued & (stage.issued - 1)[:WARPS]) == 0),
            Assert((stage.issued & ~stage.takes) == 0),
            Assert((stage.issued != 0) == (stage.turn & stage.takes.bit_select(stage.warp, 1))),
        ]
        return m


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_what_was_picked_has_no_hazard(stages: int, tmp_path: Path) -> None:
    harness = Harness(stages=stages)
    prove(harness, harness.free, 4, tmp_path, inductive=True)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("mutant", [Again, Sure])
def test_mutants_are_refuted(mutant: Any, stages: int, tmp_path: Path) -> None:
    harness = Harness(mutant, stages)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 6, tmp_path)
