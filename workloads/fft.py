"""Fourier transforms of 32 points in registers; the number of transforms is no multiple of the block."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import REGISTER_SENSITIVE, Workload, ptx_text

_TRANSFORMS = {"tiny": 90, "small": 2040, "full": 8180}
_POINTS, _THREADS = 32, 128


def _build(size: str) -> Job:
    n = _TRANSFORMS[size]
    rng = np.random.default_rng(40)
    re, im = rng.uniform(-1, 1, (2, _POINTS, n)).astype(np.float32)
    result = np.fft.fft(re.astype(np.float64) + 1j * im, axis=0)
    ptx, path = ptx_text("fft")
    nothing = np.full((_POINTS, n), np.nan, np.float32)
    # Five stages, each of which rounds sums of at most 32 values below 1.
    close = {"rtol": 1e-6, "atol": 2e-5}
    return Job(
        name="fft",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"re": re, "im": im, "out_re": nothing, "out_im": nothing.copy()},
        launches=[
            Launch(
                "fft",
                (-(-n // _THREADS), 1, 1),
                (_THREADS, 1, 1),
                ("re", "im", "out_re", "out_im", np.int32(n)),
            )
        ],
        expected={
            "out_re": Expected(result.real.astype(np.float32), **close),
            "out_im": Expected(result.imag.astype(np.float32), **close),
        },
    )


WORKLOAD = Workload("fft", "32-point transforms in registers", "Parboil fft", _build, REGISTER_SENSITIVE)
