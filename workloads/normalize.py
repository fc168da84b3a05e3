"""Records of 64 numbers scaled to length one, a record per thread."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import REGISTER_SENSITIVE, Workload, ptx_text

_RECORDS = {"tiny": 140, "small": 2035, "full": 8165}
_LENGTH, _THREADS = 64, 128


def _build(size: str) -> Job:
    n = _RECORDS[size]
    rng = np.random.default_rng(45)
    records = rng.uniform(-1, 1, (_LENGTH, n)).astype(np.float32)
    wide = records.astype(np.float64)
    ptx, path = ptx_text("normalize")
    return Job(
        name="normalize",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"records": records, "out": np.full((_LENGTH, n), np.nan, np.float32)},
        launches=[
            Launch("normalize", (-(-n // _THREADS), 1, 1), (_THREADS, 1, 1), ("records", "out", np.int32(n)))
        ],
        # An approximate root of a sum of 64 squares.
        expected={
            "out": Expected((wide / np.sqrt((wide**2).sum(0))).astype(np.float32), rtol=1e-5, atol=1e-7)
        },
    )


WORKLOAD = Workload(
    "normalize", "records of 64 numbers to length one", "nearest-neighbour search", _build, REGISTER_SENSITIVE
)
