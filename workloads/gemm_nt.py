"""Fully connected layers with bias and rectifier, for small batches."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import DEEP_LEARNING, Workload, ptx_text

#: m, n, k: batch, outputs, inputs.
_SHAPES = {
    "tiny": ((5, 30, 18),),
    "small": ((8, 120, 100), (30, 60, 70)),
    "full": ((8, 500, 200), (60, 200, 100), (125, 90, 150)),
}
_ROWS, _COLUMNS, _THREADS = 16, 32, 128


def _build(size: str) -> Job:
    rng = np.random.default_rng(61)
    buffers: dict[str, np.ndarray] = {}
    expected: dict[str, Expected] = {}
    launches: list[Launch] = []
    for i, (m, n, k) in enumerate(_SHAPES[size]):
        a = rng.uniform(0, 1, (m, k)).astype(np.float32)
        b = rng.uniform(-1, 1, (n, k)).astype(np.float32)
        bias = rng.uniform(-1, 1, n).astype(np.float32)
        result = np.maximum(a.astype(np.float64) @ b.T + bias, 0)
        names = tuple(f"{name}{i}" for name in ("a", "b", "bias", "c"))
        buffers |= dict(zip(names, (a, b, bias, np.full((m, n), np.nan, np.float32)), strict=True))
        # A sum of k products below 1: k roundings of sums up to the square root of k.
        expected[f"c{i}"] = Expected(result.astype(np.float32), rtol=1e-6, atol=k**1.5 * 2.0**-23)
        grid = (-(-n // _COLUMNS), -(-m // _ROWS), 1)
        launches.append(
            Launch("gemm_nt", grid, (_THREADS, 1, 1), (*names, np.int32(m), np.int32(n), np.int32(k)))
        )
    ptx, path = ptx_text("gemm_nt")
    return Job("gemm_nt", size, ptx, path, buffers, launches, expected)


WORKLOAD = Workload(
    "gemm_nt", "fully connected layers, small batches", "DeepBench inference gemm", _build, DEEP_LEARNING
)
