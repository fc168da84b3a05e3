"""stencil: Jacobi steps of a 7-point stencil on a 3D grid; every thread walks a column of cells."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

BLOCK = (32, 4, 1)
CENTRE, AROUND = np.float32(1 / 6), np.float32(1 / 36)

#: Cells in x, y and z, and steps. The inside is no multiple of the CTA in x or y.
_SIZES = {"tiny": (41, 9, 6, 1), "small": (50, 25, 14, 2), "full": (100, 61, 30, 4)}


def _build(size: str) -> Job:
    nx, ny, nz, steps = _SIZES[size]
    rng = np.random.default_rng(31)
    grid = rng.random((nz, ny, nx), dtype=np.float32)

    now = grid.astype(np.float64)
    for _ in range(steps):
        around = now[:-2, 1:-1, 1:-1] + now[2:, 1:-1, 1:-1] + now[1:-1, :-2, 1:-1]
        around = around + now[1:-1, 2:, 1:-1] + now[1:-1, 1:-1, :-2] + now[1:-1, 1:-1, 2:]
        after = now.copy()
        after[1:-1, 1:-1, 1:-1] = float(AROUND) * around - float(CENTRE) * now[1:-1, 1:-1, 1:-1]
        now = after

    ptx, path = ptx_text("stencil")
    blocks = (-(-(nx - 2) // BLOCK[0]), -(-(ny - 2) // BLOCK[1]), 1)
    scalars = (np.int32(nx), np.int32(ny), np.int32(nz), CENTRE, AROUND)
    launches = []
    for i in range(steps):
        source, target = ("even", "odd") if i % 2 == 0 else ("odd", "even")
        launches.append(Launch("stencil_7point", blocks, BLOCK, (source, target, *scalars)))
    return Job(
        name="stencil",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"even": grid, "odd": grid.copy()},
        launches=launches,
        # The two terms are below 1/6 and their difference may be near 0.
        expected={"odd" if steps % 2 else "even": Expected(now.astype(np.float32), rtol=2e-6, atol=5e-7)},
    )


WORKLOAD = Workload("stencil", "7-point stencil on a 3D grid", "Parboil stencil", _build)
