"""Adaptive waiting time, state by state (docs/malekeh.md), and on curves as in Malekeh's Figure 9."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.events import Record
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.front_end import sthld as module
from warpbank.golden.front_end.sthld import Sthld
from warpbank.golden.sm import Sm, simulate
from warpbank.program.hints import Hints
from warpbank.program.random_programs.operations import random_trace

START, CLIMB, SPECULATE, RETREAT, CONFIRM, HOLD = range(1, 7)
#: Our reconstruction, docs/malekeh.md: (state, change) -> (step, next state).
EDGES = {
    (START, "S"): (1, CLIMB),
    (START, "L"): (1, CLIMB),
    (CLIMB, "S"): (1, CLIMB),
    (CLIMB, "L"): (1, SPECULATE),
    (SPECULATE, "S"): (1, CLIMB),
    (SPECULATE, "L"): (-2, RETREAT),
    (RETREAT, "L"): (-1, RETREAT),
    (RETREAT, "S"): (0, CONFIRM),
    (CONFIRM, "S"): (0, HOLD),
    (CONFIRM, "L"): (-1, RETREAT),
    (HOLD, "S"): (0, HOLD),
    (HOLD, "L"): (1, SPECULATE),
}
#: Changes that lead to each state from the start.
WAYS = {START: "", CLIMB: "L", SPECULATE: "LL", RETREAT: "LLL", CONFIRM: "LLLS", HOLD: "LLLSS"}
INTERVAL = 1000


class Driver:
    """A machine, and what was issued so far."""

    def __init__(self, limit: int = 32, kind: type[Sthld] = Sthld) -> None:
        self.machine = kind(INTERVAL, limit)
        self.issued = 0
        self.rate = 500

    def end(self, rate: int) -> tuple[int, int]:
        """An interval in which so many uops were issued ends. Returns the state and the value."""
        self.rate = rate
        self.issued += rate
        self.machine.end(self.issued)
        return self.machine.state, self.machine.value

    def change(self, kind: str, up: bool = True) -> tuple[int, int]:
        """The rate changes by half (L) or by a hundredth (S)."""
        share = 2 if kind == "L" else 100
        return self.end(self.rate + (self.rate // share if up else -(self.rate // share)))

    def walk(self, changes: str) -> Driver:
        """Several changes, so that the rate stays about the same."""
        for kind in changes:
            self.change(kind, up=self.rate < 700)
        return self


def test_it_starts_at_nothing() -> None:
    machine = Sthld(INTERVAL, 32)
    assert (machine.state, machine.value, machine.due) == (START, 0, INTERVAL)


@pytest.mark.parametrize("state", WAYS)
def test_the_ways_lead_there(state: int) -> None:
    assert Driver().walk(WAYS[state]).machine.state == state


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize(("state", "kind"), EDGES)
def test_every_edge(state: int, kind: str, up: bool) -> None:
    driver = Driver().walk("LSSSSS" + WAYS[state][1:] if state != START else "")
    if (state, kind) == (START, "S"):
        driver.rate = 0  # nothing, and nothing before
    before, due = driver.machine.value, driver.machine.due
    assert driver.machine.state == state
    step, following = EDGES[state, kind]
    assert driver.change(kind, up) == (following, before + step)
    assert driver.machine.due == due + INTERVAL


@pytest.mark.parametrize(
    ("before", "now", "large"),
    [
        (1000, 1019, False),
        (1000, 981, False),
        (1000, 1020, True),
        (1000, 980, True),
        (1000, 1000, False),
        (1000, 5000, True),
        (1000, 0, True),
        (49, 50, True),
        (51, 52, False),
        (1, 1, False),
        (0, 0, False),
        (0, 1, True),
    ],
)
def test_a_change_is_large_from_a_fiftieth_on(before: int, now: int, large: bool) -> None:
    """0.02 of the interval before. What follows nothing is large unless it is nothing, too."""
    driver = Driver()
    driver.end(before)
    assert driver.machine.state == CLIMB
    assert driver.end(now)[0] == (SPECULATE if large else CLIMB)


@pytest.mark.parametrize("limit", [0, 1, 3, 32, 255])
def test_the_upper_bound(limit: int) -> None:
    driver = Driver(limit)
    values = [driver.end(500)[1] for _ in range(300)]
    assert values == [min(number + 1, limit) for number in range(300)]


def test_the_lower_bound() -> None:
    driver = Driver().walk("LLL")
    assert driver.machine.state == RETREAT
    values = [driver.change("L", up=number % 2 == 0)[1] for number in range(5)]
    assert values == [0] * 5
    assert driver.machine.state == RETREAT
    bounded = Driver(limit=1).walk("LL")
    assert bounded.change("L") == (RETREAT, 0), "two steps down from 1"


def _settle(driver: Driver, curve: Callable[[int], int], intervals: int) -> list[tuple[int, int]]:
    """Intervals on a curve of rate over waiting time."""
    return [driver.end(curve(driver.machine.value)) for _ in range(intervals)]


def _knee(at: int) -> Callable[[int], int]:
    """Flat to a knee, then a tenth less with every cycle of waiting."""
    return lambda sthld: round(800 * 0.9 ** max(0, sthld - at))


@pytest.mark.parametrize("at", [2, 4, 7, 12])
def test_it_finds_the_knee_and_holds(at: int) -> None:
    """Malekeh, Figure 9b: it climbs, sees the drop, speculates, sees another one, retreats, and stays."""
    steps = _settle(Driver(), _knee(at), 40)
    states = [state for state, _ in steps]
    assert [state for state, following in pairwise([0, *states]) if state != following][1:] == [
        CLIMB,
        SPECULATE,
        RETREAT,
        CONFIRM,
    ]
    assert states[-1] == HOLD
    assert abs(steps[-1][1] - at) <= 1


def test_a_phase_with_a_wider_flat_region() -> None:
    """Figure 9d: the rate rises, the speculation was right, and it climbs on to the new knee."""
    driver = Driver()
    _settle(driver, _knee(4), 40)
    steps = _settle(driver, lambda sthld: round(1.5 * _knee(10)(sthld)), 40)
    assert steps[0] == (SPECULATE, steps[0][1])
    assert steps[1][0] == CLIMB
    assert steps[-1][0] == HOLD
    assert abs(steps[-1][1] - 10) <= 1


def test_a_phase_with_a_narrower_flat_region() -> None:
    """Figure 9c: the speculation costs one interval, then it goes down to the new knee."""
    driver = Driver()
    _settle(driver, _knee(10), 40)
    steps = _settle(driver, _knee(4), 40)
    assert [state for state, _ in steps[:3]] == [SPECULATE, RETREAT, RETREAT]
    assert steps[-1][0] == HOLD
    assert abs(steps[-1][1] - 4) <= 1


# --- In the machine.


def _run(
    overrides: tuple[str, ...], seed: int = 1, skip: bool = True, scheme: str = "malekeh"
) -> list[Record]:
    trace = random_trace(seed, length=60)
    near = np.random.default_rng(seed).integers(0, 128, len(trace.code), np.uint8)
    trace = replace(trace, hints=replace(Hints.none(len(trace.code)), near=near))
    events: list[Record] = []
    config = with_overrides(preset("tiny"), [f"sub_core.collector.{each}" for each in overrides])
    simulate(trace, config, parse_scheme(scheme), events=events, skip=skip)
    return events


@pytest.mark.parametrize("interval", [16, 33, 60])
def test_every_interval_ends_with_what_was_issued_in_it(interval: int) -> None:
    events = _run((f"sthld_interval={interval}",))
    last = max(cycle for cycle, _, name, _ in events if name == "retire")
    found = [(cycle, values) for cycle, _, name, values in events if name == "sthld"]
    assert [cycle for cycle, _ in found] == list(range(interval - 1, last + 1, interval))
    model = Sthld(interval, 32)
    expected = []
    for cycle, _ in found:
        model.end(sum(name == "issue" and at <= cycle for at, _, name, _ in events))
        expected.append((cycle, (model.state, model.value)))
    assert found == expected
    assert len({values for _, values in found}) > 3, "it moves"


def test_skipped_cycles_end_intervals_too() -> None:
    assert sorted(_run(("sthld_interval=16",))) == sorted(_run(("sthld_interval=16",), skip=False))


def test_the_bound_is_the_configuration_s() -> None:
    values = {
        values[1] for _, _, name, values in _run(("sthld_interval=16", "sthld_max=2")) if name == "sthld"
    }
    assert values == {0, 1, 2}


@pytest.mark.parametrize(("scheme", "sthld"), [("malekeh", "4"), ("baseline", "adaptive")])
def test_who_does_not_adapt(scheme: str, sthld: str) -> None:
    assert not [
        name
        for _, _, name, _ in _run((f"sthld={sthld}", "sthld_interval=16"), scheme=scheme)
        if name == "sthld"
    ]


def test_all_sub_cores_wait_alike() -> None:
    """One machine per SM."""
    config = with_overrides(preset("turing"), ["sub_core.collector.sthld_interval=16"])
    sm = Sm(random_trace(1, ctas=8, length=60), config, parse_scheme("malekeh"))
    sm.run()
    assert sm.sthld is not None
    assert {core.collectors._sthld for core in sm.cores} == {sm.sthld.value}  # type: ignore[attr-defined]


@pytest.mark.parametrize("edge", EDGES)
def test_mutants(edge: tuple[int, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong edge is seen by the test of the edges."""
    state, kind = edge
    small, large = module.TRANSITIONS[state]
    wrong = (small, (large[0] + 1, large[1])) if kind == "L" else ((small[0] + 1, small[1]), large)
    monkeypatch.setitem(module.TRANSITIONS, state, wrong)
    with pytest.raises(AssertionError):
        test_every_edge(state, kind, True)
