"""Register-tiled single-precision matrix product: 64 sums in each thread's registers, 128-bit loads."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {
    "tiny": (60, 52, 12),
    "small": (60, 124, 128),
    "full": (250, 252, 448),
}  # m, n, k; n and k multiples of 4
_TILE = 64
_ALPHA, _BETA = np.float32(1.25), np.float32(-0.5)


def _build(size: str) -> Job:
    m, n, k = _SHAPE[size]
    rng = np.random.default_rng(3)
    a = rng.uniform(-1, 1, (m, k)).astype(np.float32)
    b = rng.uniform(-1, 1, (k, n)).astype(np.float32)
    c = rng.uniform(-1, 1, (m, n)).astype(np.float32)
    result = np.float64(_ALPHA) * (a.astype(np.float64) @ b) + np.float64(_BETA) * c
    ptx, path = ptx_text("sgemm")
    args = ("a", "b", "c", np.int32(m), np.int32(n), np.int32(k), _ALPHA, _BETA)
    return Job(
        name="sgemm",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"a": a, "b": b, "c": c},
        launches=[Launch("sgemm", (-(-n // _TILE), -(-m // _TILE), 1), (64, 1, 1), args)],
        # A sum of k products below 1 in single precision: k roundings, which mostly cancel,
        # of sums up to the square root of k.
        expected={"c": Expected(result.astype(np.float32), rtol=1e-6, atol=k**1.5 * 2.0**-24)},
    )


WORKLOAD = Workload("sgemm", "C = alpha A B + beta C, 8 x 8 sums per thread", "Parboil sgemm", _build)
