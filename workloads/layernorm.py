"""Layer norm of rows, a warp per row."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import DEEP_LEARNING, Workload, ptx_text

_SHAPE = {"tiny": (6, 70), "small": (62, 150), "full": (250, 700)}  # rows, columns
_WARPS = 4
_EPSILON = np.float32(1e-5)


def _build(size: str) -> Job:
    rows, columns = _SHAPE[size]
    rng = np.random.default_rng(65)
    x = rng.normal(0.5, 2, (rows, columns)).astype(np.float32)
    scale, shift = rng.uniform(-1, 1, (2, columns)).astype(np.float32)
    wide = x.astype(np.float64)
    apart = wide - wide.mean(1, keepdims=True)
    result = apart / np.sqrt((apart**2).mean(1, keepdims=True) + np.float64(_EPSILON)) * scale + shift
    ptx, path = ptx_text("layernorm")
    args = ("x", "scale", "shift", "out", np.int32(rows), np.int32(columns), _EPSILON)
    return Job(
        name="layernorm",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"x": x, "scale": scale, "shift": shift, "out": np.full((rows, columns), np.nan, np.float32)},
        launches=[Launch("layernorm", (-(-rows // _WARPS), 1, 1), (32 * _WARPS, 1, 1), args)],
        # Sums of up to a thousand values below 10, in 32 parts.
        expected={"out": Expected(result.astype(np.float32), rtol=1e-5, atol=1e-5)},
    )


WORKLOAD = Workload(
    "layernorm", "rows to mean 0 and variance 1", "transformer inference", _build, DEEP_LEARNING
)
