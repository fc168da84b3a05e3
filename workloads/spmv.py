"""Sparse matrix times vector, compressed rows, one row per thread: the lanes of a warp loop different numbers
of times."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {"tiny": (100, 12), "small": (1_500, 40), "full": (9_000, 100)}  # rows (and columns), longest row
_THREADS = 128


def _build(size: str) -> Job:
    n, longest = _SHAPE[size]
    rng = np.random.default_rng(11)
    # Row lengths fall off like a power law; some rows are empty.
    lengths = np.minimum(rng.pareto(1.0, n) * 3, longest).astype(np.int32)
    row_start = np.zeros(n + 1, np.int32)
    row_start[1:] = np.cumsum(lengths)
    column = np.concatenate([np.sort(rng.choice(n, count, replace=False)) for count in lengths]).astype(
        np.int32
    )
    value = rng.normal(size=len(column)).astype(np.float32)
    x = rng.normal(size=n).astype(np.float32)

    rows = np.repeat(np.arange(n), lengths)
    y = np.bincount(rows, weights=value.astype(np.float64) * x[column], minlength=n)
    ptx, path = ptx_text("spmv")
    return Job(
        name="spmv",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "row_start": row_start,
            "column": column,
            "value": value,
            "x": x,
            "y": np.full(n, np.nan, np.float32),
        },
        launches=[
            Launch(
                "spmv",
                (-(-n // _THREADS), 1, 1),
                (_THREADS, 1, 1),
                ("row_start", "column", "value", "x", "y", np.int32(n)),
            )
        ],
        # At most 100 products of magnitude around 1, summed one after the other in single precision.
        expected={"y": Expected(y.astype(np.float32), rtol=1e-6, atol=2e-5)},
    )


WORKLOAD = Workload("spmv", "sparse matrix times vector, compressed rows", "Parboil spmv", _build)
