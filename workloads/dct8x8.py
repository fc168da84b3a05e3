"""8 x 8 cosine transform of an image and back: shared memory, a table in constant memory, an odd number of
blocks per row."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {"tiny": (20, 7), "small": (84, 60), "full": (245, 190)}  # width, height


def _basis() -> np.ndarray:
    """The orthogonal DCT-II matrix: row u holds the cosine of frequency u."""
    u, x = np.mgrid[0:8, 0:8]
    return np.where(u == 0, np.sqrt(1 / 8), 0.5 * np.cos((2 * x + 1) * u * np.pi / 16)).astype(np.float32)


def _build(size: str) -> Job:
    width, height = _SHAPE[size]
    across, down = -(-width // 8), -(-height // 8)
    rng = np.random.default_rng(8)
    y, x = np.mgrid[0:height, 0:width]
    # A smooth picture with some noise, in whole grey levels.
    image = 128 + 60 * np.sin(x / 9) * np.cos(y / 7) + rng.normal(0, 8, (height, width))
    image = np.clip(np.rint(image), 0, 255).astype(np.float32)

    basis = _basis()
    exact = basis.astype(np.float64)
    padded = (
        np.pad(image.astype(np.float64), ((0, 8 * down - height), (0, 8 * across - width)), mode="edge")
        - 128.0
    )
    blocks = padded.reshape(down, 8, across, 8).swapaxes(1, 2)
    coefficients = (exact @ blocks @ exact.T).swapaxes(1, 2).reshape(8 * down, 8 * across)

    ptx, path = ptx_text("dct8x8")
    grid = (-(-across // 2), down, 1)
    sizes = (np.int32(width), np.int32(height), np.int32(8 * across))
    return Job(
        name="dct8x8",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "image": image,
            "coefficients": np.full((8 * down, 8 * across), np.nan, np.float32),
            "restored": np.full((height, width), np.nan, np.float32),
        },
        launches=[
            Launch("dct_forward", grid, (8, 8, 2), ("image", "coefficients", *sizes)),
            Launch("dct_inverse", grid, (8, 8, 2), ("coefficients", "restored", *sizes)),
        ],
        # Values reach 1024, through two sums of 8 products each way: some 16 roundings of 2^-24 * 1024. The
        # basis is orthogonal to 2^-24, so the inverse returns the image within the same bound.
        expected={
            "coefficients": Expected(coefficients.astype(np.float32), atol=5e-4),
            "restored": Expected(image, atol=5e-4),
        },
        symbols={"basis": basis},
    )


WORKLOAD = Workload(
    "dct8x8", "8 x 8 cosine transform of an image, and its inverse", "CUDA SDK dct8x8", _build
)
