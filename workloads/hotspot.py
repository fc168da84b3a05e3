"""hotspot: temperature of a chip's surface over time, several time steps per launch on overlapping
shared-memory tiles."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Argument, Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

TILE = 16
#: Time steps of a launch: the height of the pyramid of ever smaller fresh tiles.
STEPS = 2

#: Rows, columns, launches.
_SIZES = {"tiny": (10, 14, 1), "small": (30, 41, 2), "full": (99, 118, 4)}

# The chip: 16 mm square, 0.5 mm thick, of silicon.
THICKNESS, WIDTH = 0.0005, 0.016
HEAT_CAPACITY, CONDUCTIVITY = 0.5 * 1.75e6, 100.0
AMBIENT = 80.0


def _build(size: str) -> Job:
    rows, columns, rounds = _SIZES[size]
    rng = np.random.default_rng(24)
    temperature = rng.uniform(320, 340, (rows, columns)).astype(np.float32)
    # Some 100 W in all, most of it in a few hot cells.
    power = (500 / temperature.size * rng.random((rows, columns)) ** 4).astype(np.float32)

    cell_height, cell_width = WIDTH / rows, WIDTH / columns
    capacity = HEAT_CAPACITY * THICKNESS * cell_width * cell_height
    across_rows = CONDUCTIVITY * THICKNESS * cell_width / cell_height
    across_columns = CONDUCTIVITY * THICKNESS * cell_height / cell_width
    to_ambient = CONDUCTIVITY * cell_height * cell_width / THICKNESS
    # A twentieth of the longest step at which no cell loses more than its difference to its surroundings.
    step = 0.05 * capacity / (2 * across_rows + 2 * across_columns + to_ambient)
    scalars = [np.float32(v) for v in (step / capacity, across_rows, across_columns, to_ambient, AMBIENT)]

    scale, rx, ry, rz, ambient = (float(v) for v in scalars)
    now = temperature.astype(np.float64)
    for _ in range(rounds * STEPS):
        edge = np.pad(now, 1, mode="edge")
        vertical = edge[:-2, 1:-1] + edge[2:, 1:-1] - 2 * now
        horizontal = edge[1:-1, :-2] + edge[1:-1, 2:] - 2 * now
        now = now + scale * (power + vertical * rx + horizontal * ry + (ambient - now) * rz)

    ptx, path = ptx_text("hotspot")
    inner = TILE - 2 * STEPS
    grid = (-(-columns // inner), -(-rows // inner), 1)
    launches = []
    for i in range(rounds):
        source, target = ("even", "odd") if i % 2 == 0 else ("odd", "even")
        args: tuple[Argument, ...] = (
            "power",
            source,
            target,
            np.int32(rows),
            np.int32(columns),
            np.int32(STEPS),
            *scalars,
        )
        launches.append(Launch("hotspot_steps", grid, (TILE, TILE, 1), args))
    return Job(
        name="hotspot",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"power": power, "even": temperature, "odd": np.zeros_like(temperature)},
        launches=launches,
        # A step is stable, so it adds a few roundings of the temperature and amplifies none.
        expected={"odd" if rounds % 2 else "even": Expected(now.astype(np.float32), rtol=2e-6)},
    )


WORKLOAD = Workload(
    "hotspot", "Heat flow on a chip, several steps per launch in shared memory", "Rodinia hotspot", _build
)
