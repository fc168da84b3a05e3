"""laplace3d: Jacobi steps of Laplace's equation on a 3D grid, plane by plane through a shared-memory tile."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

BLOCK = (32, 4, 1)

#: Cells in x, y and z, and steps. No multiple of the CTA in x or y.
_SIZES = {"tiny": (35, 3, 4, 1), "small": (45, 22, 8, 2), "full": (100, 50, 25, 4)}


def _build(size: str) -> Job:
    nx, ny, nz, steps = _SIZES[size]
    rng = np.random.default_rng(32)
    grid = rng.uniform(0, 0.1, (nz, ny, nx)).astype(np.float32)
    grid[0] = 1.0  # a hot floor

    now = grid.astype(np.float64)
    for _ in range(steps):
        around = now[:-2, 1:-1, 1:-1] + now[2:, 1:-1, 1:-1] + now[1:-1, :-2, 1:-1]
        around = around + now[1:-1, 2:, 1:-1] + now[1:-1, 1:-1, :-2] + now[1:-1, 1:-1, 2:]
        now = now.copy()
        now[1:-1, 1:-1, 1:-1] = around / 6

    ptx, path = ptx_text("laplace3d")
    blocks = (-(-nx // BLOCK[0]), -(-ny // BLOCK[1]), 1)
    scalars = (np.int32(nx), np.int32(ny), np.int32(nz))
    launches = []
    for i in range(steps):
        source, target = ("even", "odd") if i % 2 == 0 else ("odd", "even")
        launches.append(Launch("laplace3d_step", blocks, BLOCK, (source, target, *scalars)))
    return Job(
        name="laplace3d",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"even": grid, "odd": np.zeros_like(grid)},
        launches=launches,
        # A mean of positive numbers: a few roundings per step.
        expected={"odd" if steps % 2 else "even": Expected(now.astype(np.float32), rtol=2e-6)},
    )


WORKLOAD = Workload("laplace3d", "Jacobi steps of Laplace's equation on a 3D grid", "GPGPU-Sim LPS", _build)
