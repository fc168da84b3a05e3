"""lud: LU decomposition in place, tile by tile: diagonal, perimeter and internal kernels."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

#: Rows and columns of the matrix, and of a tile. The last tile is partly outside the matrix.
_SIZES = {"tiny": (13, 8), "small": (60, 16), "full": (181, 16)}


def _build(size: str) -> Job:
    n, tile = _SIZES[size]
    rng = np.random.default_rng(26)
    # Without pivoting the matrix must be well behaved: a strong diagonal that decays away from it.
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    a = (10 * np.exp(-0.3 * distance) + rng.uniform(-0.2, 0.2, (n, n))).astype(np.float32)

    lu = a.astype(np.float64)
    for t in range(n - 1):
        lu[t + 1 :, t] /= lu[t, t]
        lu[t + 1 :, t + 1 :] -= np.outer(lu[t + 1 :, t], lu[t, t + 1 :])

    ptx, path = ptx_text("lud")
    launches = []
    for offset in range(0, n, tile):
        args = ("a", np.int32(n), np.int32(offset))
        rest = -(-(n - offset) // tile) - 1
        launches.append(Launch(f"lud_diagonal_{tile}", (1, 1, 1), (tile, 1, 1), args))
        if rest:
            launches.append(Launch(f"lud_perimeter_{tile}", (rest, 1, 1), (2 * tile, 1, 1), args))
            launches.append(Launch(f"lud_internal_{tile}", (rest, rest, 1), (tile, tile, 1), args))
    return Job(
        name="lud",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"a": a},
        launches=launches,
        # Entries are about 10 and single precision keeps 6e-8 of that per elimination step; many results are
        # near 0.
        expected={"a": Expected(lu.astype(np.float32), rtol=1e-5, atol=5e-5)},
    )


WORKLOAD = Workload("lud", "LU decomposition in shared-memory tiles", "Rodinia lud", _build)
