"""gaussian: forward elimination of a dense system, two launches per column."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

#: Unknowns. No multiple of any CTA's width.
_UNKNOWNS = {"tiny": 9, "small": 30, "full": 77}

FACTOR_THREADS = 64
TILE = 16


def _build(size: str) -> Job:
    n = _UNKNOWNS[size]
    rng = np.random.default_rng(23)
    # Without pivoting the system must be well behaved: a strong diagonal that decays away from it, as in
    # discretized equations.
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    a = (10 * np.exp(-0.3 * distance) + rng.uniform(-0.1, 0.1, (n, n))).astype(np.float32)
    b = rng.uniform(0, 10, n).astype(np.float32)

    upper, right, factors = a.astype(np.float64), b.astype(np.float64), np.zeros((n, n))
    for t in range(n - 1):
        factors[t + 1 :, t] = upper[t + 1 :, t] / upper[t, t]
        upper[t + 1 :, t:] -= np.outer(factors[t + 1 :, t], upper[t, t:])
        right[t + 1 :] -= factors[t + 1 :, t] * right[t]

    ptx, path = ptx_text("gaussian")
    launches = []
    for t in range(n - 1):
        scalars = (np.int32(n), np.int32(t))
        # Grids cover the whole matrix at every column, as in the original: more and more threads find nothing
        # to do.
        launches.append(
            Launch(
                "gaussian_factors",
                (-(-n // FACTOR_THREADS), 1, 1),
                (FACTOR_THREADS, 1, 1),
                ("factor", "a", *scalars),
            )
        )
        tiles = -(-n // TILE)
        launches.append(
            Launch("gaussian_eliminate", (tiles, tiles, 1), (TILE, TILE, 1), ("factor", "a", "b", *scalars))
        )
    # Entries are about 10 and single precision keeps 6e-8 of that per column; the elimination cancels them
    # down to 0.
    tolerance = {"rtol": 1e-5, "atol": 5e-5}
    return Job(
        name="gaussian",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"factor": np.zeros((n, n), np.float32), "a": a, "b": b},
        launches=launches,
        expected={
            "a": Expected(upper.astype(np.float32), **tolerance),
            "b": Expected(right.astype(np.float32), **tolerance),
            "factor": Expected(factors.astype(np.float32), **tolerance),
        },
    )


WORKLOAD = Workload("gaussian", "Gaussian elimination, two launches per column", "Rodinia gaussian", _build)
