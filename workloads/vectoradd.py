"""Vector addition: the smallest kernel there is; one element per thread, the last warp partial."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_LENGTH = {"tiny": 1_000, "small": 40_000, "full": 520_003}
_THREADS = 256


def _build(size: str) -> Job:
    n = _LENGTH[size]
    rng = np.random.default_rng(1)
    a = rng.normal(size=n).astype(np.float32)
    b = rng.normal(size=n).astype(np.float32)
    ptx, path = ptx_text("vectoradd")
    return Job(
        name="vectoradd",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"a": a, "b": b, "c": np.full(n, np.nan, np.float32)},
        launches=[
            Launch("vectoradd", (-(-n // _THREADS), 1, 1), (_THREADS, 1, 1), ("a", "b", "c", np.int32(n)))
        ],
        expected={"c": Expected(a + b)},  # one IEEE addition: exact
    )


WORKLOAD = Workload("vectoradd", "c = a + b", "CUDA SDK vectorAdd", _build)
