"""Symmetric systems of eight equations, one per thread."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import REGISTER_SENSITIVE, Workload, ptx_text

_SYSTEMS = {"tiny": 140, "small": 2045, "full": 8170}
_ORDER, _THREADS = 8, 128


def _build(size: str) -> Job:
    n = _SYSTEMS[size]
    rng = np.random.default_rng(44)
    factor = rng.uniform(-1, 1, (n, _ORDER, _ORDER))
    full = factor @ factor.transpose(0, 2, 1) + _ORDER * np.eye(_ORDER)
    rows, columns = np.tril_indices(_ORDER)
    matrix = np.ascontiguousarray(full[:, rows, columns].T).astype(np.float32)
    right = rng.uniform(-1, 1, (_ORDER, n)).astype(np.float32)
    rounded = np.zeros((n, _ORDER, _ORDER))
    rounded[:, rows, columns] = matrix.T
    rounded[:, columns, rows] = matrix.T
    result = np.linalg.solve(rounded, right.T[..., None].astype(np.float64))[..., 0].T
    ptx, path = ptx_text("cholesky")
    return Job(
        name="cholesky",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"matrix": matrix, "right": right, "solution": np.full((_ORDER, n), np.nan, np.float32)},
        launches=[
            Launch(
                "cholesky",
                (-(-n // _THREADS), 1, 1),
                (_THREADS, 1, 1),
                ("matrix", "right", "solution", np.int32(n)),
            )
        ],
        # Condition numbers below 10: a few roundings of solutions below 1.
        expected={"solution": Expected(result.astype(np.float32), rtol=1e-5, atol=1e-5)},
    )


WORKLOAD = Workload(
    "cholesky", "8 x 8 symmetric systems in registers", "MAGMA batched posv", _build, REGISTER_SENSITIVE
)
