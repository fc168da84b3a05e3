"""pathfinder: cheapest way down a grid by dynamic programming, several rows per launch with ghost zones."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

#: Rows, columns, threads of a CTA, rows done in one launch. The rows after the first are no multiple of those
#: of a launch.
_SIZES = {"tiny": (6, 100, 64, 2), "small": (20, 1000, 256, 5), "full": (60, 5000, 256, 5)}


def _build(size: str) -> Job:
    rows, columns, threads, halo = _SIZES[size]
    rng = np.random.default_rng(29)
    wall = rng.integers(0, 10, (rows, columns), dtype=np.int32)

    cost = wall[0]
    for row in wall[1:]:
        edge = np.pad(cost, 1, mode="edge")
        cost = np.minimum(np.minimum(edge[:-2], edge[1:-1]), edge[2:]) + row

    ptx, path = ptx_text("pathfinder")
    blocks = -(-columns // (threads - 2 * halo))
    launches = []
    for i, first in enumerate(range(1, rows, halo)):
        source, target = ("even", "odd") if i % 2 == 0 else ("odd", "even")
        scalars = [np.int32(v) for v in (columns, first, min(halo, rows - first), halo)]
        launches.append(
            Launch("pathfinder_rows", (blocks, 1, 1), (threads, 1, 1), ("wall", source, target, *scalars))
        )
    return Job(
        name="pathfinder",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"wall": wall, "even": wall[0].copy(), "odd": np.zeros(columns, np.int32)},
        launches=launches,
        expected={"odd" if len(launches) % 2 else "even": Expected(cost)},
    )


WORKLOAD = Workload(
    "pathfinder", "Cheapest way down a grid, several rows per launch", "Rodinia pathfinder", _build
)
