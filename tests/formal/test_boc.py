"""Proofs about bypassing operand collectors.

The environment is `collecting`: any uops that a scoreboard lets issue, full and partial results, on two
lanes. Sound write-back hints of any kind for `Boc`, none for a write-through one. Four registers, two units,
one result register; at most `SLOTS` sources. Shown for every reachable cycle, by induction over one cycle
with the invariant of `boc_harness`:

* an operand at dispatch is the newest value of its register in program order, whether it was found or read
  from a bank;
* a dirty value that is owed to the banks (the hint says so, or it is squeezed out) leaves only by a write
  into them, or when its register is written anew on all lanes; one that is not owed leaves only when no uop
  reads it any more;
* a register has at most one entry, and an entry in use keeps its register: never more values than entries;
* one uop leaves a collector in a cycle, and one unit takes it, its own; no unit chooses a uop while the
  collector has an older one that it could choose, and of the load/store unit's uops none leaves before an
  older one; a unit for which there is a uop chooses one, and one that is free reads the operands of its uop
  if that is complete, unless the collector reads for another unit or for the bus to the banks;
* no deadlock: with a fair bus, fair banks and fair units, in every cycle in which uops are in collection and
  none issues, something happens that has to happen yet; if none issues any more, all are dispatched within
  126 cycles (the highest rank);
* fairness, for two warps: while one wants the inserter, a unit or the bus, the other one has one turn there
  at most; a uop that waits for entries is passed by one that issues in every second cycle at most.

Configurations: one collector, window 2, 3 entries. With `pytest -m long tests/formal/test_boc.py` also `Boc`
with window 3, `Boc` with one source and two results, two collectors of `Boc` that share inserter, bus and
units (without the claim on deadlock, which says nothing about one warp waiting for another), and that claim
for a write-through one. A machine has 6 entries at least: there are fewer here, and fewer sources, so that
entries are short in most states. Registers, lanes and units beyond these differ in their number only.

A younger uop does pass a complete one whose unit is not free, and two units do want the same collector: both
are reached from the initial state.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Const, Module, Mux

import warpbank.hdl.collector.boc
from tests.formal.boc_harness import Harness
from tests.formal.boc_progress import Drains, Fair, UnfairBus, UnfairInsertion, UnfairUnit
from tests.formal.collecting import machine
from tests.formal.prove import NotInductive, Refuted, prove, unreached
from tests.hdl.collector.boc_mutants import DISPATCH_MUTANTS, EXPECTING_MUTANTS, plant
from warpbank.hdl.collector.boc import Boc
from warpbank.hdl.collector.window import Inserter

#: Minutes on a machine of its own; much longer where many share it.
pytestmark = pytest.mark.timeout(3600)

SLOTS = 2


def harness(
    kind: type[Harness] = Harness,
    unit: type[Boc] = Boc,
    warps: int = 1,
    window: int = 2,
    slots: int = SLOTS,
    inductive: bool = True,
    write_through: bool = False,
    results: int = 1,
    stages: int = 0,
) -> Harness:
    """As many entries as are needed for two sources and a result, or for a source and two results; `stages`
    between choice and issue: which entries expect a result is known a cycle ahead."""
    config = machine(warps, warps, stages, window=window, boc_entries="3", allocation="per_warp")
    return kind(unit, config, slots=slots, results=results, hints=not write_through, inductive=inductive)


@pytest.mark.parametrize("write_through", [False, pytest.param(True, marks=pytest.mark.long)])
def test_values_are_the_newest_and_none_is_lost(write_through: bool, tmp_path: Path) -> None:
    built = harness(write_through=write_through)
    prove(built, built.free, 3, tmp_path, inductive=True)


@pytest.mark.long
@pytest.mark.parametrize("write_through", [False, True])
def test_what_expects_a_result_is_known_ahead(write_through: bool, tmp_path: Path) -> None:
    """The registers are what the collectors without an issue stage find."""
    built = harness(write_through=write_through, stages=1)
    prove(built, built.free, 3, tmp_path, inductive=True)


@pytest.mark.quick("Unmoved")
@pytest.mark.parametrize("unit", EXPECTING_MUTANTS)
def test_what_is_known_wrongly_is_refuted(unit: type[Boc], tmp_path: Path) -> None:
    built = harness(unit=unit, stages=1)
    with pytest.raises((Refuted, NotInductive)):
        prove(built, built.free, 3, tmp_path, inductive=True)


@pytest.mark.long
@pytest.mark.parametrize("write_through", [False, True])
def test_wide_results(write_through: bool, tmp_path: Path) -> None:
    """A uop that writes one or two registers in a row, whose results come one by one, in any order."""
    built = harness(slots=1, results=2, write_through=write_through)
    prove(built, built.free, 3, tmp_path, inductive=True)


@pytest.mark.long
def test_two_collectors(tmp_path: Path) -> None:
    built = harness(warps=2)
    prove(built, built.free, 2, tmp_path, inductive=True)


@pytest.mark.long
def test_a_window_of_three(tmp_path: Path) -> None:
    built = harness(window=3)
    prove(built, built.free, 2, tmp_path, inductive=True)


@pytest.mark.long
@pytest.mark.parametrize("write_through", [False, True])
def test_no_deadlock(write_through: bool, tmp_path: Path) -> None:
    built = harness(Drains, write_through=write_through)
    prove(built, built.free, 3, tmp_path, inductive=True)


@pytest.mark.long
def test_no_warp_is_overtaken_twice(tmp_path: Path) -> None:
    """By a warp that shares inserter, unit or bus with it."""
    built = harness(Fair, warps=2)
    prove(built, built.free, 2, tmp_path, inductive=True)


@pytest.mark.long
def test_warps_are_overtaken_once(tmp_path: Path) -> None:
    """At the inserter, at each unit and at the bus: the claim is not about nothing."""
    built = harness(Fair, warps=2, inductive=False)
    assert unreached(built, lambda made: made.overtaken, 8, tmp_path) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "slots", "depth"), [(UnfairInsertion, 2, 8), (UnfairUnit, 2, 8), (UnfairBus, 1, 12)]
)
def test_unfair_choices_are_refuted(kind: type[Fair], slots: int, depth: int, tmp_path: Path) -> None:
    built = harness(kind, warps=2, slots=slots, inductive=False)
    with pytest.raises(Refuted):
        prove(built, built.free, depth, tmp_path, last_only=kind is UnfairBus)


class NeverPasses(Harness):
    """No uop leaves before a complete one of another unit. That is untrue."""

    def claims(self, m: Module) -> None:
        super().claims(m)
        m.d.comb += Assert(~self.passes)


class NeverContend(Harness):
    """A free unit takes the complete uop that it chose. That is untrue."""

    def claims(self, m: Module) -> None:
        super().claims(m)
        m.d.comb += Assert(~self.refused_alone)


@pytest.mark.quick("NeverContend")
@pytest.mark.parametrize("kind", [NeverPasses, NeverContend])
def test_dispatch_is_exercised(kind: type[Harness], tmp_path: Path) -> None:
    built = harness(kind, inductive=False)
    with pytest.raises(Refuted):
        prove(built, built.free, 6, tmp_path)


class TooOld(Inserter):
    """A value whose window has passed is found as long as its entry is there."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self._present.eq(self.valid)
        return m


class LeavesUnseen(Inserter):
    """A value on its way to the banks is not found."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self._present.eq(self.valid & (~self.passed | self.pinned))
        return m


class PartialIsFull(Inserter):
    """A result on some lanes is taken for one on all: it makes an entry that is not complete."""

    def _results(self, m: Module, slots: Any) -> None:
        given, self.full = self.full, Const(1)
        super()._results(m, slots)
        self.full = given


class NeverSqueezes(Inserter):
    """A uop whose entries are short waits for them."""

    def _squeeze(self, m: Module, free: Any) -> None:
        pass


class DropsSqueezed(Boc):
    """A value that is evicted before its time is gone, dirty or not."""

    def _collector(self, m: Module, warp: int, *rest: Any) -> None:
        super()._collector(m, warp, *rest)
        squeezed = Mux(self._chosen[warp], self._inserters[warp].squeezed, 0)
        with m.If(squeezed.any()):
            m.d.sync += self._state[warp].valid.eq(self._state[warp].valid & ~squeezed)


@pytest.mark.quick("PartialIsFull-*")
@pytest.mark.parametrize(
    ("broken", "kind", "slots", "depth"),
    [
        (TooOld, Harness, 2, 7),
        (LeavesUnseen, Harness, 2, 6),
        (PartialIsFull, Harness, 2, 5),
        (DropsSqueezed, Harness, 3, 7),
        (NeverSqueezes, Drains, 3, 6),
    ],
)
def test_mutants_are_refuted(
    broken: Any, kind: type[Harness], slots: int, depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a run from the initial state, without the invariant."""
    unit: Any = Boc
    if issubclass(broken, Inserter):
        monkeypatch.setattr(warpbank.hdl.collector.boc, "Inserter", broken)
    else:
        unit = broken
    built = harness(kind, unit, slots=slots, inductive=False)
    with pytest.raises(Refuted):
        prove(built, built.free, depth, tmp_path)


@pytest.mark.quick("incomplete")
@pytest.mark.parametrize("name", DISPATCH_MUTANTS)
def test_mutants_of_dispatch_are_refuted(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a run from the initial state, without the invariant."""
    plant(monkeypatch, name)
    built = harness(inductive=False)
    with pytest.raises(Refuted):
        prove(built, built.free, 7, tmp_path)
