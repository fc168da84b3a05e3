"""Flipped bits in a running machine: what is flipped is what the tables say, and each way of noticing it is
reached. The table in docs/faults.md: `python -m tests.faults`."""

from __future__ import annotations

import pytest

from tests.faults import TARGETS, Bench, Flip, Outcome, Target, flips, row


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench("baseline", length=5)


def _target(unit: str, state: str) -> Target:
    return next(each for each in TARGETS if (each.unit, each.state) == (unit, state))


def test_without_a_flip_nothing_differs(bench: Bench) -> None:
    """Twice: a run leaves nothing behind."""
    for _ in range(2):
        found = bench.run(None)
        assert (found.outcome, found.bit) == (Outcome.MASKED, "")


@pytest.mark.parametrize(
    ("unit", "state", "cycle", "seed", "outcome"),
    [
        ("register banks", "values", 54, 2693321490, Outcome.OPERANDS),
        ("bank arbiter", "queue pointers", 30, 6, Outcome.STUCK),
        ("operand collector", "missing, ready, free", 46, 3587635693, Outcome.EVENTS),
    ],
)
def test_flips_are_noticed(
    unit: str, state: str, cycle: int, seed: int, outcome: Outcome, bench: Bench
) -> None:
    found = bench.run(Flip(_target(unit, state), cycle, seed))
    assert found.outcome is outcome, found
    assert found.bit


def _missing(bench: Bench, scheme: str) -> list[Target]:
    """Targets of a scheme that its machine does not have."""
    mine = [target for target in TARGETS if target.scheme == scheme]
    found = [(target, *bench.session.state_of(target)) for target in mine]
    return [target for target, registers, memories in found if not (registers if target.names else memories)]


def test_every_target_is_there(bench: Bench) -> None:
    assert _missing(bench, "baseline") == []


@pytest.mark.long
@pytest.mark.parametrize("scheme", sorted({target.scheme for target in TARGETS} - {"baseline"}))
def test_every_target_is_there_in_larger_machines(scheme: str) -> None:
    larger = Bench(scheme, length=1)
    assert larger.run(None).outcome is Outcome.MASKED
    assert _missing(larger, scheme) == []


def test_flips_are_the_same_every_time() -> None:
    target = TARGETS[0]
    assert flips(target, 5, 100, 1) == flips(target, 5, 100, 1)
    assert flips(target, 5, 100, 1) != flips(target, 5, 100, 2)
    assert all(10 <= flip.cycle < 90 for flip in flips(target, 50, 100, 1))


def test_a_row_of_the_table() -> None:
    assert row("unit", "state", []) == "| unit | state | 0 | 0 | 0 | 0 | 0 |  |"
