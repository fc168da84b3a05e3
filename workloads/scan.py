"""Exclusive prefix sum of integers by a balanced tree in (dynamic) shared memory; three launches."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {"tiny": (300, 64), "small": (9_999, 128), "full": (70_001, 256)}  # elements, threads per CTA


def _build(size: str) -> Job:
    n, threads = _SHAPE[size]
    rng = np.random.default_rng(6)
    data = rng.integers(-1000, 1000, n, dtype=np.int32)
    shares = -(-n // (2 * threads))
    total_threads = max(
        32, 1 << (shares - 1).bit_length() - 1
    )  # one CTA scans the totals: a power of two, two totals a thread
    offsets = np.zeros(shares, np.int32)
    offsets[1:] = np.cumsum(np.add.reduceat(data, np.arange(0, n, 2 * threads)))[:-1]
    scanned = np.zeros(n, np.int32)
    scanned[1:] = np.cumsum(data)[:-1]

    def tree_bytes(threads: int) -> int:
        return 4 * (2 * threads + 2 * threads // 32)

    ptx, path = ptx_text("scan")
    return Job(
        name="scan",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "data": data,
            "scanned": np.full(n, -1, np.int32),
            "totals": np.full(shares, -1, np.int32),
            "offsets": np.full(shares, -1, np.int32),
            "total": np.full(1, -1, np.int32),
        },
        launches=[
            Launch(
                "scan_shares",
                (shares, 1, 1),
                (threads, 1, 1),
                ("data", "scanned", "totals", np.int32(n)),
                dynamic_shared=tree_bytes(threads),
            ),
            Launch(
                "scan_shares",
                (1, 1, 1),
                (total_threads, 1, 1),
                ("totals", "offsets", "total", np.int32(shares)),
                dynamic_shared=tree_bytes(total_threads),
            ),
            Launch("scan_add", (shares, 1, 1), (threads, 1, 1), ("scanned", "offsets", np.int32(n))),
        ],
        expected={
            "scanned": Expected(scanned),
            "offsets": Expected(offsets),
            "total": Expected(np.array([data.sum()], np.int32)),
        },
    )


WORKLOAD = Workload("scan", "exclusive prefix sum of integers, work-efficient", "CUDA SDK scan", _build)
