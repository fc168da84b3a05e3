"""Convolution of images with 3 x 3 filters as an implicit matrix product."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import DEEP_LEARNING, Workload, ptx_text

#: Images, channels, height, width, filters.
_SHAPE = {"tiny": (1, 2, 5, 6, 10), "small": (2, 6, 10, 11, 20), "full": (4, 12, 14, 15, 30)}
_FILTERS, _PIXELS, _THREADS = 16, 32, 64


def _build(size: str) -> Job:
    count, channels, height, width, features = _SHAPE[size]
    rng = np.random.default_rng(62)
    images = rng.uniform(-1, 1, (count, channels, height, width)).astype(np.float32)
    filters = rng.uniform(-1, 1, (features, channels, 3, 3)).astype(np.float32)
    padded = np.pad(images.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    result = np.zeros((count, features, height, width))
    for dy in range(3):
        for dx in range(3):
            window = padded[:, :, dy : dy + height, dx : dx + width]
            result += np.einsum("fc,nchw->nfhw", filters[:, :, dy, dx].astype(np.float64), window)
    depth = channels * 9
    ptx, path = ptx_text("conv2d")
    numbers = tuple(np.int32(each) for each in _SHAPE[size])
    grid = (-(-count * height * width // _PIXELS), -(-features // _FILTERS), 1)
    return Job(
        name="conv2d",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "images": images,
            "filters": filters,
            "out": np.full((count, features, height, width), np.nan, np.float32),
        },
        launches=[Launch("conv2d", grid, (_THREADS, 1, 1), ("images", "filters", "out", *numbers))],
        # A sum of `depth` products below 1: as many roundings of sums up to the square root of it.
        expected={"out": Expected(result.astype(np.float32), rtol=1e-6, atol=depth**1.5 * 2.0**-24)},
    )


WORKLOAD = Workload("conv2d", "3 x 3 convolution by implicit GEMM", "DeepBench conv", _build, DEEP_LEARNING)
