"""Proofs about caching collector units.

The environment is `collecting`: any uops that a scoreboard lets issue, with any near bits, full and partial
results, on two lanes, at most `SLOTS` sources and up to four result registers; any STHLD, and any state of
the shift registers, so any random numbers. Two units of four lines (a machine has eight at least), three
warps, four registers, two execution units. Shown for every reachable cycle, by induction over one cycle with
the invariant of `ccu_harness`:

* a locked line is never replaced or made invalid: it stays, with its register, until its uop is dispatched;
* a warp has values in at most one unit;
* an operand at dispatch, found or read, is the newest value of its register in program order, and so is every
  value that a later uop would find; the banks have them all;
* a unit keeps at most one result a cycle;
* with fair banks and fair units every uop that was allocated is complete after `SLOTS` + 1 cycles and
  dispatched at most one cycle later.

Under customary policies (`ccu-lru-gto`: any free unit for every uop; `ccu-lru-own`: a warp keeps its unit) a
line that is valid is replaced only when every line that may be replaced is valid and was used after it. The
first four are shown of both, the fifth of the first: a warp then may have uops in both units, and has values
in one.

Not looked at: more than two units.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Const, Module

import warpbank.hdl.collector.caching_unit
from tests.formal.ccu_harness import Dispatches, Harness, LeastRecentlyUsed
from tests.formal.collecting import machine
from tests.formal.prove import Refuted, prove
from tests.hdl.collector import test_ccu
from warpbank.arch.parameters import SmConfig
from warpbank.hdl.collector.ccu import Ccu

#: Minutes on a machine of its own; much longer where many share it.
pytestmark = pytest.mark.timeout(3600)

SLOTS = 2


def harness(
    kind: type[Harness] = Harness,
    unit: type[Ccu] = Ccu,
    warps: int = 3,
    units: int = 2,
    lines: int = 4,
    inductive: bool = True,
    results: int = 1,
) -> Harness:
    return kind(
        unit, machine(warps, units, cache_lines=lines), slots=SLOTS, results=results, inductive=inductive
    )


def test_values_are_the_newest_and_locked_ones_stay(tmp_path: Path) -> None:
    built = harness()
    prove(built, built.free, 2, tmp_path, inductive=True)


def test_every_uop_is_dispatched(tmp_path: Path) -> None:
    built = harness(Dispatches)
    prove(built, built.free, 2, tmp_path, inductive=True)


class AnyUnit(Ccu):
    """Customary policies: every uop gets any free unit."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(config, far_first=False, own_unit=False)


class OwnUnit(Ccu):
    """Customary replacement, where a warp keeps its unit."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(config, far_first=False)


@pytest.mark.quick("OwnUnit")
@pytest.mark.parametrize("unit", [AnyUnit, OwnUnit])
def test_the_least_recently_used_line_is_replaced(unit: type[Ccu], tmp_path: Path) -> None:
    """And values are the newest: the harness claims that of every unit."""
    built = harness(LeastRecentlyUsed, unit)
    prove(built, built.free, 2, tmp_path, inductive=True)


@pytest.mark.long
def test_far_lines_first_is_another_replacement(tmp_path: Path) -> None:
    """Malekeh's units replace a line that was used after another one that may go."""
    built = harness(LeastRecentlyUsed, warps=1, units=1, inductive=False)
    with pytest.raises(Refuted):
        prove(built, built.free, 10, tmp_path)


@pytest.mark.long
def test_every_uop_is_dispatched_under_customary_policies(tmp_path: Path) -> None:
    built = harness(Dispatches, AnyUnit)
    prove(built, built.free, 2, tmp_path, inductive=True)


@pytest.mark.long
@pytest.mark.parametrize("unit", [Ccu, AnyUnit])
@pytest.mark.parametrize("results", [pytest.param(2, marks=pytest.mark.long), 4])
def test_wide_results(unit: type[Ccu], results: int, tmp_path: Path) -> None:
    """A uop that writes up to two or four registers in a row, whose results come one by one, in any order."""
    built = harness(unit=unit, results=results)
    prove(built, built.free, 2, tmp_path, inductive=True)


class TwoPlaces(test_ccu.TwoPlaces, AnyUnit):
    """A warp that goes to another unit keeps its values in the one it had."""


def test_values_in_two_places_are_refuted(tmp_path: Path) -> None:
    built = harness(unit=TwoPlaces, warps=1, inductive=False)
    with pytest.raises(Refuted):
        prove(built, built.free, 3, tmp_path)


def unlocked(m: Module, lines: Any, closed: Any, *rest: Any) -> Any:
    """A line may be taken although a uop reads it."""
    return warpbank.hdl.collector.cache_table.victim(m, lines, Const(0, lines.size), *rest)


@pytest.mark.quick("StaleCopy-8")
@pytest.mark.parametrize(
    ("broken", "depth"),
    [(test_ccu.NoFlush, 9), (test_ccu.StaleCopy, 8), (test_ccu.OlderResult, 12), (unlocked, 6)],
)
def test_mutants_are_refuted(
    broken: Any, depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a run from the initial state, without the invariant."""
    unit: Any = Ccu
    if broken is unlocked:
        monkeypatch.setattr(warpbank.hdl.collector.caching_unit, "victim", unlocked)
    else:
        unit = test_ccu.plant(broken, monkeypatch)
    built = harness(unit=unit, warps=2, units=1, inductive=False)
    with pytest.raises(Refuted):
        prove(built, built.free, depth, tmp_path, last_only=True)
