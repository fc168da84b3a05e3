"""Proofs about the two-level scheduler, on four warps and two places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Assume, Elaboratable, Module, Signal

from tests.formal.prove import Refuted, assume_no_reset, prove
from warpbank.arch.config import preset, with_overrides
from warpbank.hdl.front_end import two_level
from warpbank.hdl.front_end.two_level import TwoLevel, population

CONFIG = with_overrides(preset("tiny"), ["sub_core.warps=4", "sub_core.active_warps=2"])
WARPS, PLACES = CONFIG.sub_core.warps, CONFIG.sub_core.active_warps


class Harness(Elaboratable):
    """Warps start and are away in any cycle. No more are active than there are places, nobody who is away
    becomes active or stays so, a free place goes to somebody at once; and the oldest warp has a place two
    cycles after one became free."""

    def __init__(self) -> None:
        self.scheduler = TwoLevel(CONFIG)
        self.free = [self.scheduler.away, self.scheduler.start, self.scheduler.eligible]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.scheduler = scheduler = self.scheduler
        assume_no_reset(m)
        away, active, start = scheduler.away, scheduler.active, scheduler.start
        m.d.comb += [
            scheduler.may_activate.eq(~0),
            Assume((start & ~away) == 0),
            Assume((scheduler.eligible & ~active) == 0),
        ]
        before, gone = Signal(WARPS, init=(1 << WARPS) - 1), Signal(WARPS)
        m.d.sync += [before.eq(away), gone.eq(scheduler.deactivated)]
        m.d.comb += [
            Assert(population(active) <= PLACES),
            Assert(population(scheduler.activated) <= 1),
            Assert((scheduler.activated & (away | active)) == 0),
            Assert((active & before & gone) == 0),
            Assert((active & away & ~scheduler.deactivated) == 0),
        ]
        # A place and somebody for it: it is taken.
        waits = Signal(WARPS)
        m.d.comb += waits.eq(~away & ~active)
        m.d.comb += Assert(~((population(active) < PLACES) & waits.any()) | scheduler.activated.any())
        # Warp 0 waits, is the oldest and there is room: it is next. With active warps that leave, so it is
        # within two cycles.
        since = Signal(range(4))
        oldest = Signal(init=1)
        m.d.sync += oldest.eq((oldest | (start == 0xF)) & ~(start[0] & (start != 0xF)))
        with m.If(oldest & waits[0] & active.any() & (active == scheduler.deactivated)):
            m.d.sync += since.eq(1)
        with m.Else():
            m.d.sync += since.eq(0)
        m.d.comb += Assert(~((since == 1) & oldest & waits[0]) | scheduler.activated[0])
        return m


def test_places(tmp_path: Path) -> None:
    harness = Harness()
    prove(harness, harness.free, 10, tmp_path)


@pytest.mark.parametrize(
    ("name", "replacement"), [("oldest_of", lambda mask, older: mask), ("population", lambda mask: mask & 0)]
)
def test_mutants_are_refuted(
    name: str, replacement: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Harness()
    monkeypatch.setattr(two_level, name, replacement)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 10, tmp_path)
