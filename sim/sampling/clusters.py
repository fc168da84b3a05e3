"""Clusters of similar parts of a program, by k-means over their basic-block vectors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from warpbank.arch.errors import MissingPackageError
from warpbank.sim.sampling.settings import Settings


@dataclass(frozen=True)
class Clusters:
    """Clusters of rows.

    Parameters
    ----------
    labels : cluster of every row.
    representatives : per cluster, the row nearest to its centre.
    away : distance of every row from its centre.
    distance : their mean, weighted.
    """

    labels: np.ndarray
    representatives: list[int]
    away: np.ndarray
    distance: float


def cluster(rows: np.ndarray, weights: np.ndarray, *, radius: float, most: int, seed: int) -> Clusters:
    """Divide rows into the fewest clusters in which they lie close to their centres.

    Parameters
    ----------
    rows : one vector each.
    weights : instructions of each row.
    radius : the weighted mean of the rows' distances (sum of absolute differences) from their centres that
        is close enough.
    most : clusters at most.
    seed : of k-means.

    Raises
    ------
    MissingPackageError : scikit-learn is not installed.
    """
    try:
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning
    except ModuleNotFoundError:
        raise MissingPackageError(
            "sampling needs the scikit-learn package; install it with: pip install 'warpbank[sample]'"
        ) from None
    found = Clusters(np.zeros(len(rows), int), [0], np.zeros(len(rows)), 0.0)
    for count in range(1, min(most, len(rows)) + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
            made = KMeans(count, n_init=4, random_state=seed).fit(rows, sample_weight=weights)
        away = np.abs(rows - made.cluster_centers_[made.labels_]).sum(1)
        nearest = [_nearest(np.flatnonzero(made.labels_ == each), away) for each in set(made.labels_)]
        kept = sorted(nearest)
        number = {int(made.labels_[row]): place for place, row in enumerate(kept)}
        labels = np.array([number[int(label)] for label in made.labels_])
        found = Clusters(labels, kept, away, float(np.average(away, weights=weights)))
        if found.distance <= radius:
            break
    return found


def _nearest(rows: np.ndarray, away: np.ndarray) -> int:
    """The middle one, in the program's order, of the rows that are nearest to the centre."""
    least = away[rows].min()
    equal = rows[away[rows] <= least + 1e-9]
    return int(equal[len(equal) // 2])


def chosen(rows: np.ndarray, weights: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Choose which of a launch's waves, or of a loop's iterations, are simulated.

    Parameters
    ----------
    rows : one vector each, in the program's order.
    weights : instructions of each.
    settings : radius of a cluster, and the share of it that is kept.

    Returns the cluster of every row, and whether it is kept: of every cluster some, spread over the program,
    and there those nearest to the centre.
    """
    made = cluster(rows, weights, radius=settings.radius, most=settings.most, seed=settings.seed)
    taken = np.zeros(len(rows), bool)
    for label in range(len(made.representatives)):
        mine = np.flatnonzero(made.labels == label)
        count = min(len(mine), max(settings.least, round(settings.share * len(mine))))
        for run in np.array_split(mine, count):
            taken[run[made.away[run].argmin()]] = True
    return made.labels, taken
