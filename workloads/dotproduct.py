"""Partial dot products, 40 numbers of each vector per thread."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import REGISTER_SENSITIVE, Workload, ptx_text

_COUNTS = {"tiny": 140, "small": 2040, "full": 8170}
_UNROLL, _THREADS = 40, 128


def _build(size: str) -> Job:
    n = _COUNTS[size]
    rng = np.random.default_rng(46)
    a, b = rng.uniform(-1, 1, (2, _UNROLL, n)).astype(np.float32)
    ptx, path = ptx_text("dotproduct")
    return Job(
        name="dotproduct",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"a": a, "b": b, "partial": np.full(n, np.nan, np.float32)},
        launches=[
            Launch(
                "dotproduct", (-(-n // _THREADS), 1, 1), (_THREADS, 1, 1), ("a", "b", "partial", np.int32(n))
            )
        ],
        # Sums of ten products below 1, four of which are added.
        expected={
            "partial": Expected(
                (a.astype(np.float64) * b).sum(0).astype(np.float32), rtol=1e-6, atol=40 * 2.0**-22
            )
        },
    )


WORKLOAD = Workload(
    "dotproduct",
    "dot products, 80 loads ahead of the sums",
    "CUDA SDK scalarProd",
    _build,
    REGISTER_SENSITIVE,
)
