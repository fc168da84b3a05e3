"""Search for a netlist: what is tried where the clock is missed, and which netlists get other cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from warpbank.synth import flow
from warpbank.synth.search import Search, Tried, nearest


@dataclass(frozen=True)
class _Mapped:
    """Mapped netlist, as far as the choice among several looks at it."""

    in_parts: bool
    delay: float
    net: Any
    way: str = flow.QUICK
    within: bool = False

    @property
    def late(self) -> bool:
        return self.delay > 1.0


def _quickly(monkeypatch: pytest.MonkeyPatch, made: Callable[[float, bool, int], _Mapped]) -> list[Tried]:
    """Netlists that are tried for a clock of 1 ns, 0.9 of them for logic, each `made` instead of mapped."""

    def one(
        _: Search, read: str, target: float, *rest: object, in_parts: bool = False, gap: int = flow.LOOSE
    ) -> _Mapped:
        return made(target, in_parts, gap)

    monkeypatch.setattr(Search, "map", one)
    tools: Any = None
    return Search("unit", Path(), tools, 1.0, {}, (), {}, lambda text: None).quickly(0.9)


@pytest.mark.parametrize(
    ("delays", "cells_", "tried"),
    [
        ({True: 0.9}, 10, [True]),
        ({True: 1.5, False: 0.9}, 10, [True, False]),
        ({True: 1.5, False: 1.02}, 10, [True, False, False]),  # once more, with a shorter target
        ({True: 1.02, False: 1.1}, 10, [True, False, True]),  # in parts, which are the faster
        ({True: 1.3, False: 1.26}, 10, [True, False]),  # too late
        ({True: 1.5}, 10_000_000, [True]),
        ({True: 1.1}, 10_000_000, [True, True]),
        ({False: 0.9}, 10, [False]),  # no sub-units
    ],
)
def test_a_unit_that_is_late_in_parts_is_mapped_as_one(
    delays: dict[bool, float], cells_: int, tried: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A netlist in parts that is late, and not huge, gets one without parts beside it, to choose from. Only
    the last one, with its shorter target, keeps the sizes that cost time to make smaller."""
    gaps = []

    def made(target: float, in_parts: bool, gap: int) -> _Mapped:
        gaps.append(gap)
        assert (target < 0.9) == (gap == flow.TIGHT)
        kind = in_parts if in_parts in delays else not in_parts
        return _Mapped(kind, delays[kind], SimpleNamespace(cells=range(cells_)))

    found = _quickly(monkeypatch, made)
    assert [each.in_parts for each in found] == tried
    assert flow.TIGHT not in gaps[:-1]


@pytest.mark.parametrize(("delay", "target"), [(1.002, 0.85), (1.08, 0.78)])
def test_a_huge_unit_gets_a_target_that_is_shorter_by_what_it_misses(
    delay: float, target: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By 5 % at least, and by 4 % more than the first netlist misses the clock."""
    targets = []

    def made(target: float, in_parts: bool, gap: int) -> _Mapped:
        targets.append(target)
        return _Mapped(True, delay, SimpleNamespace(cells=range(10_000_000)))

    _quickly(monkeypatch, made)
    assert targets == pytest.approx([0.9, target])


@pytest.mark.parametrize(
    ("whole", "parts", "sized"),
    [
        ((1.02, 1.05), (1.1,), [1.02, 1.1]),
        ((1.05, 1.02), (), [1.02]),
        ((), (1.1, 1.04), [1.04]),
        ((1.2,), (1.1,), [1.1]),  # too late
        ((1.02, 0.99), (1.1,), []),  # one meets the clock
        ((1.02,), (1.0,), []),
    ],
)
def test_cells_become_larger_in_the_fastest_netlist_of_either_kind(
    whole: tuple[float, ...], parts: tuple[float, ...], sized: list[float]
) -> None:
    tried: Any = [
        _Mapped(kind, delay, None) for kind, delays in ((False, whole), (True, parts)) for delay in delays
    ]
    assert [one.delay for one in nearest(tried, 1.0)] == sized
