"""Matrix product through 16 x 16 tiles in shared memory; no side is a multiple of the tile."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {"tiny": (20, 12, 20), "small": (60, 62, 50), "full": (123, 126, 150)}  # m, n, k
_TILE = 16


def _build(size: str) -> Job:
    m, n, k = _SHAPE[size]
    rng = np.random.default_rng(2)
    a = rng.uniform(-1, 1, (m, k)).astype(np.float32)
    b = rng.uniform(-1, 1, (k, n)).astype(np.float32)
    ptx, path = ptx_text("matrixmul")
    grid = (-(-n // _TILE), -(-m // _TILE), 1)
    args = ("a", "b", "c", np.int32(m), np.int32(n), np.int32(k))
    return Job(
        name="matrixmul",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"a": a, "b": b, "c": np.full((m, n), np.nan, np.float32)},
        launches=[Launch("matrixmul", grid, (_TILE, _TILE, 1), args)],
        # A sum of k products below 1 in single precision: k roundings, which mostly cancel, of sums up to the
        # square root of k.
        expected={
            "c": Expected((a.astype(np.float64) @ b).astype(np.float32), rtol=1e-6, atol=k**1.5 * 2.0**-24)
        },
    )


WORKLOAD = Workload("matrixmul", "C = A B through shared-memory tiles", "CUDA SDK matrixMul", _build)
