"""Matrix product on the tensor unit, once with `mma` m16n8k16 and once with m16n8k8: half operands,
single-precision sums."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {
    "tiny": (50, 22, 32),
    "small": (120, 90, 160),
    "full": (250, 250, 464),
}  # m, n even, k a multiple of 16
_TILE_M, _TILE_N = 64, 32


def _build(size: str) -> Job:
    m, n, k = _SHAPE[size]
    rng = np.random.default_rng(4)
    a = rng.uniform(-1, 1, (m, k)).astype(np.float16)
    b = rng.uniform(-1, 1, (n, k)).astype(np.float16)  # transposed
    # Products of halves are exact in single precision. Hardware may align and truncate the terms of a sum, so
    # allow one unit of the running sum (below k) per accumulation.
    expected = Expected(
        (a.astype(np.float64) @ b.T.astype(np.float64)).astype(np.float32), rtol=1e-6, atol=k**1.5 * 2.0**-23
    )
    ptx, path = ptx_text("mma_gemm")
    grid = (-(-n // _TILE_N), -(-m // _TILE_M), 1)
    empty = np.full((m, n), np.nan, np.float32)
    return Job(
        name="mma_gemm",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"a": a, "b": b, "c_k16": empty, "c_k8": empty.copy()},
        launches=[
            Launch(
                f"mma_gemm_{depth}",
                grid,
                (128, 1, 1),
                ("a", "b", f"c_{depth}", np.int32(m), np.int32(n), np.int32(k)),
            )
            for depth in ("k16", "k8")
        ],
        expected={"c_k16": expected, "c_k8": expected},
    )


WORKLOAD = Workload(
    "mma_gemm", "C = A B on the tensor unit, half to single precision", "CUDA SDK, tensor-core GEMM", _build
)
