"""Matrix product of a tall and a narrow matrix, a row of 32 sums per thread."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import REGISTER_SENSITIVE, Workload, ptx_text

_SHAPE = {"tiny": (140, 3), "small": (2010, 8), "full": (8150, 16)}  # m, k
_COLUMNS, _THREADS = 32, 128


def _build(size: str) -> Job:
    m, k = _SHAPE[size]
    rng = np.random.default_rng(42)
    a = rng.uniform(-1, 1, (k, m)).astype(np.float32)
    b = rng.uniform(-1, 1, (k, _COLUMNS)).astype(np.float32)
    ptx, path = ptx_text("tallgemm")
    return Job(
        name="tallgemm",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"a": a, "b": b, "c": np.full((_COLUMNS, m), np.nan, np.float32)},
        launches=[
            Launch(
                "tallgemm",
                (-(-m // _THREADS), 1, 1),
                (_THREADS, 1, 1),
                ("a", "b", "c", np.int32(m), np.int32(k)),
            )
        ],
        # A sum of k products below 1: k roundings of sums up to the square root of k.
        expected={
            "c": Expected((b.astype(np.float64).T @ a).astype(np.float32), rtol=1e-6, atol=k**1.5 * 2.0**-24)
        },
    )


WORKLOAD = Workload(
    "tallgemm", "tall matrix times 32 columns", "MAGMA gemv, gemm", _build, REGISTER_SENSITIVE
)
