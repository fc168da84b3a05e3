"""One step of an all-pairs gravitational simulation: tiles of bodies in shared memory, reciprocal square
roots."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {"tiny": (45, 32), "small": (200, 64), "full": (1_000, 128)}  # bodies, threads per CTA
_SOFTENING, _DT = np.float32(0.01), np.float32(0.02)


def _build(size: str) -> Job:
    n, threads = _SHAPE[size]
    rng = np.random.default_rng(9)
    bodies = rng.normal(size=(n, 4)).astype(np.float32)
    bodies[:, 3] = rng.uniform(0.5, 1.5, n) / n  # masses add up to about 1
    velocity = np.zeros((n, 4), np.float32)
    velocity[:, :3] = rng.normal(0, 0.1, (n, 3))

    position, mass = bodies[:, :3].astype(np.float64), bodies[:, 3].astype(np.float64)
    delta = position[None] - position[:, None]
    pull = mass / ((delta**2).sum(-1) + float(_SOFTENING)) ** 1.5
    acceleration = np.zeros((n, 4))
    acceleration[:, :3] = (pull[..., None] * delta).sum(1)
    moving = velocity.astype(np.float64) + acceleration * float(_DT)
    moved = bodies.astype(np.float64)
    moved[:, :3] += moving[:, :3] * float(_DT)

    ptx, path = ptx_text("nbody")
    grid, block = (-(-n // threads), 1, 1), (threads, 1, 1)
    return Job(
        name="nbody",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"bodies": bodies, "velocity": velocity, "acceleration": np.full((n, 4), np.nan, np.float32)},
        launches=[
            Launch("nbody_accelerate", grid, block, ("bodies", "acceleration", np.int32(n), _SOFTENING)),
            Launch("nbody_move", grid, block, ("bodies", "velocity", "acceleration", np.int32(n), _DT)),
        ],
        # Pulls are good to about 2^-20 (the cube of an approximate reciprocal square root) and partly cancel.
        expected={
            "acceleration": Expected(acceleration.astype(np.float32), rtol=3e-6, atol=1e-6),
            "velocity": Expected(moving.astype(np.float32), rtol=1e-6, atol=5e-7),
            "bodies": Expected(moved.astype(np.float32), rtol=1e-6, atol=5e-7),
        },
    )


WORKLOAD = Workload("nbody", "one step of an all-pairs gravitational simulation", "CUDA SDK nbody", _build)
