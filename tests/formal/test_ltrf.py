"""Proofs about the register file cache.

The environment is `ltrf_harness`: warps that start, are activated, stall and end; PREFETCHes of any sets that
fit; uops that read and write registers of their interval as a scoreboard lets them, and mark last reads (what
they mark is not read again before it is written); results of two units, one of them for the followed
register. One lane, four registers per warp, two per interval, three warps, two of which may be active, two
banks of the main register file. Shown for every cycle that can be reached, by induction over one cycle with
the invariant of the harness, for LTRF and LTRF+:

* a place of a row is never given to two registers, a row never to two warps, and none is lost, whatever comes
  and goes: the occupied places of a row are those of its registers, and of those that leave it and have not
  been read;
* where a register is valid (it has a place in the cache and is not on its way) the cache holds its newest
  value;
* a live register of a warp that is not active, or of another interval, has its newest value in the main
  register file, if it is not on its way there: nothing alive is lost;
* while it is on its way every beat of its newest value is on one side of the crossbar, and a store goes
  before a fetch of its register;
* an operand of an issued uop stays valid until it has been read: no read inside an interval goes to the main
  register file;
* no deadlock: in every cycle in which nothing new comes (no warp comes or goes, none prefetches, no result
  is offered, all operands have been read) a rank falls, and where it is 0 all warps in the cache are complete
  and those that leave are gone. It is below 512, so that this takes fewer cycles than that. The other claims
  and the invariant are assumed there, since they have been shown.

Main banks at 150 percent, crossing 1. With `pytest -m long tests/formal/test_ltrf.py` also at 280 percent and
crossing 4. The path of an operand behind its look-up (arbiter, crossbar) is not
part of it, nor is that no warp waits for another one for ever.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from amaranth.hdl import Assume, Const, Signal

from tests.formal.ltrf_harness import Drains, Harness
from tests.formal.ltrf_machine import WARPS
from tests.formal.prove import NotInductive, Refuted, prove, unreached
from tests.hdl.hierarchy.test_engine import Overtakes
from tests.hdl.hierarchy.test_ltrf import KeepsValidBits, LosesAPlace
from warpbank.hdl.hierarchy.link import Link
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.round_robin import soonest

SLOWER = {"latency": 280, "crossing": 4}


@pytest.mark.long
@pytest.mark.parametrize("liveness", [False, True])
def test_none_twice_none_lost_and_values_are_the_newest(liveness: bool, tmp_path: Path) -> None:
    built = Harness(liveness=liveness)
    prove(built, built.free, 1, tmp_path, inductive=True)


@pytest.mark.long
@pytest.mark.parametrize("liveness", [False, True])
def test_clean_registers_are_in_the_main_register_file(liveness: bool, tmp_path: Path) -> None:
    """What leaves without being carried is not lost, if places know what is dirty."""
    built = Harness(liveness=liveness, write_back="dirty")
    prove(built, built.free, 1, tmp_path, inductive=True)


class WritesStayClean(Ltrf):
    """A result that the cache takes leaves its place clean."""

    def _keep_dirty(self, m: Any) -> None:
        with mock.patch.object(self, "_chosen", []):
            super()._keep_dirty(m)


@pytest.mark.long
def test_a_place_that_stays_clean_is_not_proved(tmp_path: Path) -> None:
    built = Harness(WritesStayClean, write_back="dirty")
    with pytest.raises(NotInductive):
        prove(built, built.free, 1, tmp_path, inductive=True)


@pytest.mark.long
@pytest.mark.parametrize("liveness", [False, True])
def test_no_deadlock(liveness: bool, tmp_path: Path) -> None:
    built = Drains(liveness=liveness)
    prove(built, built.free, 1, tmp_path, inductive=True)


class WaitsForMore(Link):
    """A link carries nothing until its queue is full."""

    def _offer(self, m: Any, free: Any) -> None:
        super()._offer(m, free & ~self.room)


class KeepsItsTurn(WarpControlBlocks):
    """A row keeps its turn although it has nothing left to choose."""

    def _take_turns(self, m: Any) -> None:
        def stays(m: Any, works: Any, pointer: Any, name: str) -> Any:
            return soonest(m, works & (1 << pointer), pointer, name)

        with mock.patch("warpbank.hdl.hierarchy.wcb.soonest", stays):
            super()._take_turns(m)


class KeepsItsRow(WarpControlBlocks):
    """A warp that has left keeps its row."""

    def _warps(self, m: Any) -> None:
        with mock.patch.object(self, "_leaving", Const(0, len(self._leaving))):
            super()._warps(m)


@pytest.mark.long
@pytest.mark.parametrize(
    ("part", "broken"), [("link", WaitsForMore), ("blocks", KeepsItsTurn), ("blocks", KeepsItsRow)]
)
def test_what_stands_still_is_not_proved(part: str, broken: type, tmp_path: Path) -> None:
    """A state in which all that has been shown holds, and after which the rank does not fall."""
    built = Drains(**{part: broken})
    with pytest.raises(NotInductive):
        prove(built, built.free, 1, tmp_path, inductive=True)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("liveness", [False, True])
@pytest.mark.parametrize("kind", [Harness, Drains])
def test_slower(kind: type[Harness], liveness: bool, tmp_path: Path) -> None:
    built = kind(liveness=liveness, **SLOWER)
    prove(built, built.free, 2, tmp_path, inductive=True)


class DeadTooEarly(WarpControlBlocks):
    """Whatever a uop reads counts as dead."""

    def _accessed(self, m: Any) -> None:
        super()._accessed(m)
        uop = self.issue.payload.uop
        m.d.comb += self._last.eq(
            sum(((1 << source) * uop.source_valid[slot]) for slot, source in enumerate(uop.sources))
        )


class Guided(Harness):
    """A warp names two registers in one bank of the main register file, and leaves the cache and comes back
    whenever it may. The second register is followed. Nothing is left to choose, so that a solver follows one
    run."""

    def _claims(self, m: Any) -> None:
        super()._claims(m)
        unit, begun, named = self.unit, Signal(name="begun"), Signal(name="named")
        m.d.sync += [begun.eq(1), named.eq(named | self.prefetch)]
        may_issue = unit.may_issue[0] & self.active[0]
        driven = {
            "start": ~begun,
            "activate": (unit.may_activate & self.live & ~self.active)[0],
            "prefetch": may_issue & ~named,
            "working": 0b101,
            "deactivate": may_issue & named,
            "quiet": (1 << WARPS) - 1,
            "register": 2,
        }
        others = [one for one in self.free if one.name not in driven]
        m.d.comb += [Assume(getattr(self, name) == value) for name, value in driven.items()]
        m.d.comb += [Assume(one == 0) for one in others]


@pytest.mark.long
def test_a_store_and_a_fetch_of_one_register_meet(tmp_path: Path) -> None:
    """The state that the order of transfers is about is reached: a register is still on its way to the main
    register file, and its warp has come back and fetches it."""
    built = Guided(inductive=False, latency=100, crossing=8)

    def states(harness: Guided) -> dict[str, Any]:
        return {
            "deactivate": harness.deactivate.any(),
            "activate_while_it_leaves": harness.activate & harness.going,
            "meet": harness.going & harness.arriving,
        }

    assert unreached(built, states, 70, tmp_path) == []


@pytest.mark.long
def test_a_fetch_that_overtakes_is_not_proved(tmp_path: Path) -> None:
    """`tests/hdl/hierarchy/test_engine.py` catches it in runs."""
    built = Harness(link=Overtakes, latency=100)
    with pytest.raises(NotInductive):
        prove(built, built.free, 1, tmp_path, inductive=True)


@pytest.mark.quick("LosesAPlace-11")
@pytest.mark.parametrize(
    ("blocks", "depth"),
    [(LosesAPlace, 11), (KeepsValidBits, 14), pytest.param(DeadTooEarly, 16, marks=pytest.mark.long)],
)
def test_mutants_are_refuted(blocks: type[WarpControlBlocks], depth: int, tmp_path: Path) -> None:
    """By a run from the initial state, without the invariant."""
    built = Harness(Ltrf, blocks, inductive=False, liveness=True, latency=100)
    with pytest.raises(Refuted):
        prove(built, built.free, depth, tmp_path)
