"""kmeans: the assignment step of k-means clustering, after a transposition of the points; centres in constant
memory."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

CLUSTERS_MAX = 8
FEATURES_MAX = 34

#: Points, features, clusters, threads of a CTA.
_SIZES = {"tiny": (77, 5, 3, 32), "small": (1500, 10, 5, 128), "full": (10000, 34, 5, 256)}


def _build(size: str) -> Job:
    count, features, clusters, threads = _SIZES[size]
    rng = np.random.default_rng(25)
    centres = rng.uniform(0, 10, (clusters, features)).astype(np.float32)
    # Blobs of unlike width that overlap a little. A point about as near to two centres could go either way by
    # rounding: it moves to the centre it was drawn around.
    home = rng.integers(0, clusters, count)
    points = (centres[home] + rng.normal(0, 1, (count, features)) * rng.uniform(0.5, 3, (count, 1))).astype(
        np.float32
    )
    distance = ((points[:, None, :].astype(np.float64) - centres) ** 2).sum(axis=2)
    nearest = np.sort(distance, axis=1)[:, :2]
    unclear = nearest[:, 1] < nearest[:, 0] * (1 + 1e-4)
    points[unclear] = centres[home[unclear]]
    distance = ((points[:, None, :].astype(np.float64) - centres) ** 2).sum(axis=2)

    constant = np.zeros(CLUSTERS_MAX * FEATURES_MAX, np.float32)
    constant[: centres.size] = centres.ravel()
    ptx, path = ptx_text("kmeans")
    grid, block = (-(-count // threads), 1, 1), (threads, 1, 1)
    shape = (np.int32(count), np.int32(features))
    return Job(
        name="kmeans",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "points": points,
            "by_feature": np.zeros((features, count), np.float32),
            "membership": np.full(count, -1, np.int32),
        },
        launches=[
            Launch("kmeans_transpose", grid, block, ("points", "by_feature", *shape)),
            Launch("kmeans_assign", grid, block, ("by_feature", "membership", *shape, np.int32(clusters))),
        ],
        expected={
            "by_feature": Expected(np.ascontiguousarray(points.T)),
            "membership": Expected(distance.argmin(axis=1).astype(np.int32)),
        },
        symbols={"centres": constant},
    )


WORKLOAD = Workload("kmeans", "Assigns points to the nearest of k centres", "Rodinia kmeans", _build)
