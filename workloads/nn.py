"""nn: distance of every record of a table of places from one place; the grid is two-dimensional and has
threads to spare."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

THREADS = 256
LATITUDE, LONGITUDE = np.float32(30.0), np.float32(90.0)

#: Records, and CTAs in x.
_SIZES = {"tiny": (1001, 3), "small": (25001, 50), "full": (420001, 1000)}


def _build(size: str) -> Job:
    count, across = _SIZES[size]
    rng = np.random.default_rng(27)
    # Positions in tenths of a degree, as in records of storms.
    records = np.stack([rng.integers(70, 700, count), rng.integers(0, 3600, count)], axis=1).astype(
        np.float32
    ) / np.float32(10)
    records[0] = LATITUDE, LONGITUDE
    north, east = (records.astype(np.float64) - (LATITUDE, LONGITUDE)).T
    blocks = -(-count // THREADS)

    ptx, path = ptx_text("nn")
    args = ("records", "distance", np.int32(count), LATITUDE, LONGITUDE)
    return Job(
        name="nn",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"records": records, "distance": np.zeros(count, np.float32)},
        launches=[Launch("nn_distance", (across, -(-blocks // across), 1), (THREADS, 1, 1), args)],
        # The differences and the root are rounded once each; the sum has no cancellation.
        expected={"distance": Expected(np.sqrt(north**2 + east**2).astype(np.float32), rtol=1e-6)},
    )


WORKLOAD = Workload("nn", "Distances of many places from one", "Rodinia nn", _build)
