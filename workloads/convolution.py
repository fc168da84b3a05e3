"""Column pass of a separable convolution, 16 points per thread."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import REGISTER_SENSITIVE, Workload, ptx_text

_SHAPE = {"tiny": (76, 1), "small": (500, 4), "full": (1000, 8)}  # width, pieces of a column
_RADIUS, _POINTS, _THREADS = 12, 16, 128


def _build(size: str) -> Job:
    width, pieces = _SHAPE[size]
    height = _POINTS * pieces
    rng = np.random.default_rng(47)
    image = rng.uniform(0, 1, (height + 2 * _RADIUS, width)).astype(np.float32)
    taps = np.exp(-0.5 * (np.arange(-_RADIUS, _RADIUS + 1) / 5) ** 2)
    taps = (taps / taps.sum()).astype(np.float32)
    result = sum(np.float64(tap) * image[r : r + height] for r, tap in enumerate(taps))
    ptx, path = ptx_text("convolution")
    return Job(
        name="convolution",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"image": image, "out": np.full((height, width), np.nan, np.float32)},
        launches=[
            Launch(
                "convolution",
                (-(-width // _THREADS), pieces, 1),
                (_THREADS, 1, 1),
                ("image", "out", np.int32(width)),
            )
        ],
        # A mean of 25 values below 1: at most 25 roundings of sums below 1.
        expected={"out": Expected(np.asarray(result, np.float32), rtol=1e-6, atol=25 * 2.0**-24)},
        symbols={"taps": taps},
    )


WORKLOAD = Workload(
    "convolution", "column filter of 25 taps", "CUDA SDK convolutionSeparable", _build, REGISTER_SENSITIVE
)
