"""Lattice-Boltzmann fluid simulation, D3Q19: many live registers, and divergence at solid cells."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {"tiny": (20, 3, 2, 1), "small": (40, 5, 5, 2), "full": (100, 12, 8, 2)}  # nx, ny, nz, steps
_OMEGA = np.float32(1.2)
_DRIVE = (np.float32(0.05), np.float32(0.02), np.float32(0.0))
_FLUID, _SOLID, _DRIVEN = 0, 1, 2

# The kernel's directions (x, y, z), opposite pairs side by side.
_DIRECTIONS = np.array(
    [
        *[(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)],
        *[(1, 1, 0), (-1, -1, 0), (1, -1, 0), (-1, 1, 0), (1, 0, 1), (-1, 0, -1)],
        *[(1, 0, -1), (-1, 0, 1), (0, 1, 1), (0, -1, -1), (0, 1, -1), (0, -1, 1)],
    ]
)
_WEIGHTS = np.array([1 / 3] + [1 / 18] * 6 + [1 / 36] * 12)


def _equilibrium(density: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Equilibrium distributions [q, z, y, x] of a density [z, y, x] and a velocity [3, z, y, x]."""
    along = np.tensordot(_DIRECTIONS, velocity, axes=1)
    rest = 1.0 - 1.5 * (velocity**2).sum(0)
    return _WEIGHTS[:, None, None, None] * density * (rest + along * (3.0 + 4.5 * along))


def _step(f: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """One step in double precision."""
    pulled = np.stack([np.roll(f[q], (z, y, x), axis=(0, 1, 2)) for q, (x, y, z) in enumerate(_DIRECTIONS)])
    density = pulled.sum(0)
    velocity = np.tensordot(_DIRECTIONS.T, pulled, axes=1) / density
    drive = np.array(_DRIVE, np.float64)[:, None, None, None]
    velocity = np.where(kind == _DRIVEN, drive, velocity)
    relaxed = pulled + float(_OMEGA) * (_equilibrium(density, velocity) - pulled)
    bounced = pulled[[0] + [q + 1 if q % 2 else q - 1 for q in range(1, 19)]]
    return np.where(kind == _SOLID, bounced, relaxed)


def _build(size: str) -> Job:
    nx, ny, nz, steps = _SHAPE[size]
    rng = np.random.default_rng(13)
    kind = rng.choice([_FLUID, _SOLID, _DRIVEN], (nz, ny, nx), p=[0.85, 0.1, 0.05]).astype(np.uint8)
    density = 1.0 + rng.uniform(-0.05, 0.05, (nz, ny, nx))
    f = _equilibrium(density, rng.uniform(-0.05, 0.05, (3, nz, ny, nx))).astype(np.float32)
    states = [f.astype(np.float64)]
    for _ in range(steps):
        states.append(_step(states[-1], kind))

    ptx, path = ptx_text("lbm")
    lattices = ("even", "odd")  # the lattice after an even and after an odd number of steps
    last = lattices[steps % 2]
    return Job(
        name="lbm",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"even": f, "odd": np.full_like(f, np.nan), "kind": kind},
        launches=[
            Launch(
                "lbm",
                (ny, nz, 1),
                (nx, 1, 1),
                (lattices[i % 2], lattices[(i + 1) % 2], "kind", _OMEGA, *_DRIVE),
            )
            for i in range(steps)
        ],
        # Values of 0.02 to 0.35, a few dozen roundings a step; the density's error, relative to 1, weighs on
        # all of them.
        expected={last: Expected(states[-1].astype(np.float32), rtol=2e-6, atol=2e-7)},
    )


WORKLOAD = Workload("lbm", "lattice-Boltzmann fluid step, D3Q19", "Parboil lbm", _build)
