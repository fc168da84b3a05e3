"""Rates of 40 chemical reactions between 24 species, a point of the grid per thread."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import REGISTER_SENSITIVE, Workload, ptx_text

_POINTS = {"tiny": 140, "small": 2030, "full": 8160}
_SPECIES, _REACTIONS, _THREADS = 24, 40, 128


def _build(size: str) -> Job:
    n = _POINTS[size]
    rng = np.random.default_rng(48)
    concentration = rng.uniform(0, 1, (_SPECIES, n)).astype(np.float32)
    temperature = rng.uniform(0.5, 1.5, n).astype(np.float32)
    c, change = concentration.astype(np.float64), np.zeros((_SPECIES, n))
    for r in range(_REACTIONS):
        first, second, made = 5 * r % _SPECIES, (7 * r + 3) % _SPECIES, (11 * r + 1) % _SPECIES
        speed = (0.5 + 0.03125 * r * temperature.astype(np.float64)) * c[first] * c[second]
        change[first] -= speed
        change[second] -= speed
        change[made] += 2 * speed
    ptx, path = ptx_text("s3d")
    return Job(
        name="s3d",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "concentration": concentration,
            "temperature": temperature,
            "rate": np.full((_SPECIES, n), np.nan, np.float32),
        },
        launches=[
            Launch(
                "s3d",
                (-(-n // _THREADS), 1, 1),
                (_THREADS, 1, 1),
                ("concentration", "temperature", "rate", np.int32(n)),
            )
        ],
        # Sums of a few reactions, each below 3.
        expected={"rate": Expected(change.astype(np.float32), rtol=1e-5, atol=1e-5)},
    )


WORKLOAD = Workload("s3d", "40 reactions between 24 species", "SHOC S3D", _build, REGISTER_SENSITIVE)
