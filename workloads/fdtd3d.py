"""Finite differences of eighth order in three dimensions, 8 points of a column per thread."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import REGISTER_SENSITIVE, Workload, ptx_text

_SHAPE = {"tiny": (44, 1, 1), "small": (60, 8, 4), "full": (124, 32, 2)}  # x, y, columns
_RADIUS, _COLUMN, _THREADS = 4, 8, 64


def _build(size: str) -> Job:
    nx, ny, columns = _SHAPE[size]
    rng = np.random.default_rng(41)
    inner = (_COLUMN * columns, ny, nx)
    field = rng.uniform(-1, 1, [extent + 2 * _RADIUS for extent in inner]).astype(np.float32)
    weights = np.array([-2.84, 1.6, -0.2, 0.025, -0.0018], np.float32)
    wide = field.astype(np.float64)

    def shifted(axis: int, by: int) -> np.ndarray:
        starts = [_RADIUS + (by if each == axis else 0) for each in range(3)]
        return wide[tuple(slice(start, start + extent) for start, extent in zip(starts, inner, strict=True))]

    result = weights[0] * shifted(0, 0)
    for axis in range(3):
        for r in range(1, _RADIUS + 1):
            result = result + weights[r] * (shifted(axis, -r) + shifted(axis, r))
    ptx, path = ptx_text("fdtd3d")
    args = ("field", "out", np.int32(nx), np.int32(ny))
    return Job(
        name="fdtd3d",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"field": field, "out": np.full(inner, np.nan, np.float32)},
        launches=[Launch("fdtd3d", (-(-nx // _THREADS), ny, columns), (_THREADS, 1, 1), args)],
        # 25 products below 3, whose sum is below 16.
        expected={"out": Expected(result.astype(np.float32), rtol=1e-6, atol=2e-5)},
        symbols={"weights": weights},
    )


WORKLOAD = Workload(
    "fdtd3d", "eighth-order stencil, 8 points per thread", "CUDA SDK FDTD3d", _build, REGISTER_SENSITIVE
)
