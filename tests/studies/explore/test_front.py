"""Fronts, ranks, crowding and knees against what the definitions say, on seeded points."""

from __future__ import annotations

import math
import random

import pytest

from warpbank.studies.explore.front import Aim, best, crowding, dominates, front, knee, no_worse, ranks

LINE = {"a": (0.0, 4.0), "b": (1.0, 2.0), "c": (2.0, 1.0), "d": (4.0, 0.0)}


def points(count: int, seed: int, aims: int = 3) -> dict[str, tuple[float, ...]]:
    """Points with costs from few values, so that ties occur."""
    draw = random.Random(seed)
    return {f"p{place}": tuple(float(draw.randrange(6)) for _ in range(aims)) for place in range(count)}


def test_a_point_dominates_where_it_is_never_worse_and_once_better() -> None:
    assert dominates((1.0, 2.0), (1.0, 3.0))
    assert not dominates((1.0, 3.0), (1.0, 2.0))
    assert not dominates((1.0, 2.0), (1.0, 2.0))
    assert not dominates((0.0, 3.0), (1.0, 2.0))


@pytest.mark.parametrize("seed", range(20))
def test_the_front_is_what_nothing_dominates(seed: int) -> None:
    costs = points(30, seed)
    found = front(costs)
    for name, own in costs.items():
        beaten = any(
            all(a <= b for a, b in zip(other, own, strict=True)) and other != own for other in costs.values()
        )
        assert (name in found) is not beaten


@pytest.mark.parametrize("seed", range(10))
def test_a_rank_is_one_more_than_the_worst_rank_that_dominates(seed: int) -> None:
    costs = points(25, seed)
    found = ranks(costs)
    assert set(found) == set(costs)
    for name, own in costs.items():
        above = [found[other] for other, its in costs.items() if dominates(its, own)]
        assert found[name] == (max(above) + 1 if above else 0)


def test_ends_of_a_front_stand_apart() -> None:
    found = crowding(LINE)
    assert found["a"] == found["d"] == math.inf
    assert found["b"] == pytest.approx((2 - 0) / 4 + (4 - 1) / 4)
    assert found["c"] == pytest.approx((4 - 1) / 4 + (2 - 0) / 4)


def test_the_best_fill_rank_by_rank_and_then_by_distance() -> None:
    costs = {**LINE, "behind": (5.0, 5.0), "between": (1.5, 1.6)}
    assert best(costs, 2) == ["a", "d"]
    assert set(best(costs, 5)) == {*LINE, "between"}
    assert best(costs, 99) == list(costs)


@pytest.mark.parametrize("seed", range(10))
def test_the_best_hold_no_point_behind_one_that_is_left_out_of_an_earlier_rank(seed: int) -> None:
    costs = points(30, seed)
    kept, rank = best(costs, 12), ranks(costs)
    assert len(kept) == 12
    left = [rank[name] for name in costs if name not in kept]
    assert max(rank[name] for name in kept) <= min(left)


def test_the_knee_is_nearest_to_the_best_of_all_aims() -> None:
    assert knee(LINE) in ("b", "c")
    assert knee({**LINE, "b": (1.0, 0.5)}) == "b"
    assert knee({"alone": (3.0, 3.0)}) == "alone"
    scaled = {name: (own[0] * 1000, own[1]) for name, own in {**LINE, "b": (1.0, 0.5)}.items()}
    assert knee(scaled) == "b"


def test_a_point_is_no_worse_than_its_equal() -> None:
    assert no_worse((1.0, 2.0), (1.0, 2.0))
    assert no_worse((1.0, 2.0), (1.0, 3.0))
    assert not no_worse((1.0, 3.0), (2.0, 2.0))


def test_more_is_better_where_an_aim_says_so() -> None:
    assert Aim("x", "x", "", larger=True).cost(2.0) < Aim("x", "x", "", larger=True).cost(1.0)
    assert Aim("x", "x", "").cost(1.0) < Aim("x", "x", "").cost(2.0)
