"""srad: speckle reducing anisotropic diffusion of an image, two launches per iteration."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

TILE = 16
RATE = np.float32(0.5)

#: Rows, columns, iterations.
_SIZES = {"tiny": (9, 20, 1), "small": (39, 50, 2), "full": (99, 125, 4)}


def _build(size: str) -> Job:
    rows, columns, iterations = _SIZES[size]
    rng = np.random.default_rng(30)
    # A bright disc on a dark ground under multiplicative speckle.
    y, x = np.mgrid[:rows, :columns]
    scene = np.where((y - rows / 2) ** 2 + (x - columns / 2) ** 2 < (rows / 3) ** 2, 0.9, 0.3)
    image = np.exp(scene * rng.gamma(20, 1 / 20, scene.shape)).astype(np.float32)
    # The variation of speckle falls as the image gets smoother: its usual model, an exponential in the
    # iteration's number.
    q0_squared = [np.float32(0.05 * np.exp(-0.2 * i)) for i in range(iterations)]

    now = image.astype(np.float64)
    for scale in q0_squared:
        q0 = float(scale)
        edge = np.pad(now, 1, mode="edge")
        north, south = edge[:-2, 1:-1] - now, edge[2:, 1:-1] - now
        west, east = edge[1:-1, :-2] - now, edge[1:-1, 2:] - now
        gradient = (north**2 + south**2 + west**2 + east**2) / now**2
        laplacian = (north + south + west + east) / now
        q = (gradient / 2 - laplacian**2 / 16) / (1 + laplacian / 4) ** 2
        coefficient = np.clip(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0, 1)
        edge = np.pad(coefficient, ((0, 1), (0, 1)), mode="edge")
        below, right = edge[1:, :-1], edge[:-1, 1:]
        now = now + float(RATE) / 4 * (coefficient * (north + west) + below * south + right * east)

    ptx, path = ptx_text("srad")
    grid, block = (-(-columns // TILE), -(-rows // TILE), 1), (TILE, TILE, 1)
    shape = (np.int32(rows), np.int32(columns))
    differences = ("north", "south", "west", "east")
    launches = []
    for scale in q0_squared:
        launches.append(
            Launch("srad_coefficient", grid, block, ("image", *differences, "coefficient", *shape, scale))
        )
        launches.append(
            Launch("srad_update", grid, block, ("image", *differences, "coefficient", *shape, RATE))
        )
    buffers = {name: np.zeros_like(image) for name in (*differences, "coefficient")}
    return Job(
        name="srad",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"image": image, **buffers},
        launches=launches,
        # The coefficient divides by q0 squared: roundings of the differences grow some twentyfold in it.
        expected={
            "image": Expected(now.astype(np.float32), rtol=5e-6),
            "coefficient": Expected(coefficient.astype(np.float32), rtol=2e-5, atol=2e-5),
        },
    )


WORKLOAD = Workload("srad", "Speckle reducing anisotropic diffusion of an image", "Rodinia srad", _build)
