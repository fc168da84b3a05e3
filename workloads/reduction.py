"""Sum of an array: grid-stride loop, tree in shared memory, warp shuffles; two launches."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {
    "tiny": (1_500, 4, 128),
    "small": (60_000, 32, 256),
    "full": (1_000_003, 64, 256),
}  # elements, CTAs, threads per CTA


def _build(size: str) -> Job:
    n, ctas, threads = _SHAPE[size]
    rng = np.random.default_rng(5)
    data = rng.uniform(0, 1, n).astype(np.float32)
    # What each CTA has to sum: every stretch of ctas * threads elements, the CTA's own `threads` of it.
    step = ctas * threads
    padded = np.zeros(-(-n // step) * step, np.float64)
    padded[:n] = data
    sums = padded.reshape(-1, ctas, threads).sum(axis=(0, 2))
    ptx, path = ptx_text("reduction")
    return Job(
        name="reduction",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "data": data,
            "sums": np.full(ctas, np.nan, np.float32),
            "total": np.full(1, np.nan, np.float32),
        },
        launches=[
            Launch("reduction", (ctas, 1, 1), (threads, 1, 1), ("data", "sums", np.int32(n))),
            Launch("reduction", (1, 1, 1), (64, 1, 1), ("sums", "total", np.int32(ctas))),
        ],
        # Positive terms, some 75 roundings of 2^-24 on the way from an element to the total, which mostly
        # cancel.
        expected={
            "sums": Expected(sums.astype(np.float32), rtol=1e-6),
            "total": Expected(np.array([sums.sum()], np.float32), rtol=1e-6),
        },
    )


WORKLOAD = Workload(
    "reduction", "sum of an array: shared-memory tree, then warp shuffles", "CUDA SDK reduction", _build
)
