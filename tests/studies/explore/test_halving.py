"""Rungs of successive halving."""

from __future__ import annotations

import pytest

from warpbank.arch.errors import ArgumentError
from warpbank.studies.explore.halving import rungs


@pytest.mark.parametrize(
    ("kernels", "factor", "counts"),
    [(12, 3, [2, 4, 12]), (12, 2, [2, 3, 6, 12]), (1, 3, [1]), (2, 3, [2]), (3, 100, [1, 3]), (12, 1, [12])],
)
def test_kernels_grow_by_the_factor(kernels: int, factor: int, counts: list[int]) -> None:
    names = [f"k{place}" for place in range(kernels)]
    made = rungs(names, factor)
    assert [len(rung.kernels) for rung in made] == counts
    assert all(rung.kernels == tuple(names[: len(rung.kernels)]) for rung in made)


@pytest.mark.parametrize(("points", "left"), [(348, 116), (116, 39), (2, 1), (1, 1)])
def test_points_shrink_by_the_factor(points: int, left: int) -> None:
    assert rungs(["a", "b", "c"], 3)[0].survivors(points) == left


def test_without_a_factor_nothing_is_left_out() -> None:
    assert rungs(["a", "b"], 1)[0].survivors(7) == 7
    with pytest.raises(ArgumentError, match="from 1, not 0"):
        rungs(["a"], 0)
