"""Clusters of vectors: the fewest that are tight, and who stands for them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from warpbank.arch.errors import MissingPackageError
from warpbank.sim.sampling.clusters import chosen, cluster
from warpbank.sim.sampling.settings import Settings


def _rows(*groups: tuple[float, int]) -> np.ndarray:
    """`count` vectors near each of some points."""
    rng = np.random.default_rng(3)
    return np.concatenate([rng.normal((at, 1 - at), 0.002, (count, 2)) for at, count in groups])


def test_as_many_clusters_as_there_are_kinds() -> None:
    rows = _rows((0.1, 9), (0.5, 4), (0.9, 6))
    found = cluster(rows, np.ones(len(rows)), radius=0.05, most=8, seed=1)
    assert len(found.representatives) == 3
    assert [len(set(found.labels[part])) for part in (slice(0, 9), slice(9, 13), slice(13, 19))] == [1, 1, 1]
    assert found.distance < 0.05
    assert all(found.labels[row] == label for label, row in enumerate(found.representatives))


def test_alike_rows_are_one_cluster() -> None:
    found = cluster(np.ones((7, 3)), np.ones(7), radius=0.01, most=5, seed=1)
    assert found.labels.tolist() == [0] * 7
    assert found.representatives == [3], "the middle one of equals"
    assert found.distance == 0


def test_no_more_clusters_than_allowed() -> None:
    rows = np.arange(10.0)[:, None]
    assert len(cluster(rows, np.ones(10), radius=0, most=4, seed=1).representatives) == 4


def test_heavy_rows_decide() -> None:
    rows = np.array([[0.0], [1.0]])
    assert len(cluster(rows, np.array([1000.0, 1.0]), radius=0.1, most=2, seed=1).representatives) == 1
    assert len(cluster(rows, np.array([1000.0, 1000.0]), radius=0.1, most=2, seed=1).representatives) == 2


def test_what_is_taken_is_spread_over_the_cluster() -> None:
    rows = np.ones((40, 2))
    labels, taken = chosen(rows, np.ones(40), Settings(share=0.1, least=2))
    assert set(labels.tolist()) == {0}
    places = np.flatnonzero(taken)
    assert len(places) == 4
    assert [place // 10 for place in places] == [0, 1, 2, 3]


def test_every_cluster_has_its_least() -> None:
    rows = _rows((0.1, 1), (0.5, 2), (0.9, 10))
    labels, taken = chosen(rows, np.ones(13), Settings(radius=0.05, share=0.01, least=2))
    assert [int(taken[labels == label].sum()) for label in labels[[0, 1, 3]]] == [1, 2, 2]


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'warpbank\[sample\]'"):
        cluster(np.ones((2, 2)), np.ones(2), radius=0.1, most=2, seed=1)
