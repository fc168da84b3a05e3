"""Sums of absolute differences for motion estimation: bytes, integer arithmetic, clamped addresses, 16-bit
results."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {
    "tiny": (16, 16, 1),
    "small": (48, 32, 4),
    "full": (96, 64, 5),
}  # width, height (multiples of 16), search range
_THREADS = 32


def _build(size: str) -> Job:
    width, height, search = _SHAPE[size]
    across, down = width // 16, height // 16
    side = 2 * search + 1
    rng = np.random.default_rng(12)
    y, x = np.mgrid[0:height, 0:width]
    reference = np.clip(
        128 + 70 * np.sin(x / 5) * np.cos(y / 6) + rng.normal(0, 10, (height, width)), 0, 255
    ).astype(np.uint8)
    # The current frame is the reference moved by one pixel each way, with noise of its own.
    moved = np.roll(reference, (1, -1), axis=(0, 1)).astype(np.float64)
    current = np.clip(moved + rng.normal(0, 4, (height, width)), 0, 255).astype(np.uint8)

    padded = np.pad(reference, search, mode="edge").astype(np.int32)
    sums = np.empty((across * down, 16, side * side), np.uint16)
    for d in range(side * side):
        dy, dx = divmod(d, side)
        difference = np.abs(current.astype(np.int32) - padded[dy : dy + height, dx : dx + width])
        # Axes: macroblock row, block row, line, macroblock column, block column, pixel.
        parts = difference.reshape(down, 4, 4, across, 4, 4).sum(axis=(2, 5))
        sums[:, :, d] = parts.transpose(0, 2, 1, 3).reshape(across * down, 16)
    quarters = (
        sums.reshape(-1, 2, 2, 2, 2, side * side)
        .sum(axis=(2, 4), dtype=np.uint16)
        .reshape(-1, 4, side * side)
    )
    whole = quarters.sum(axis=1, dtype=np.uint16)

    ptx, path = ptx_text("sad")
    return Job(
        name="sad",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "current": current,
            "reference": reference,
            "sad_4x4": np.full_like(sums, 0xFFFF),
            "sad_8x8": np.full_like(quarters, 0xFFFF),
            "sad_16x16": np.full_like(whole, 0xFFFF),
        },
        launches=[
            Launch(
                "sad_4x4",
                (across, down, 16),
                (_THREADS, 1, 1),
                ("current", "reference", "sad_4x4", np.int32(width), np.int32(height), np.int32(search)),
            ),
            Launch(
                "sad_larger",
                (across * down, 1, 1),
                (_THREADS, 1, 1),
                ("sad_4x4", "sad_8x8", "sad_16x16", np.int32(side * side)),
            ),
        ],
        expected={"sad_4x4": Expected(sums), "sad_8x8": Expected(quarters), "sad_16x16": Expected(whole)},
    )


WORKLOAD = Workload("sad", "sums of absolute differences for H.264 motion estimation", "Parboil sad", _build)
