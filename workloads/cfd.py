"""Finite-volume flux of a fluid on an unstructured grid, several steps one after the other."""

from itertools import pairwise

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import REGISTER_SENSITIVE, Workload, ptx_text

_CELLS = {"tiny": (150, 1), "small": (2030, 2), "full": (8100, 4)}  # cells, steps
_SIDES, _THREADS = 6, 128
_STEP = np.float32(0.01)


def _step(state: np.ndarray, neighbours: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """One step in double precision."""

    def pressure(w: np.ndarray) -> np.ndarray:
        return 0.4 * (w[4] - 0.5 / w[0] * (w[1] ** 2 + w[2] ** 2 + w[3] ** 2))

    flux = np.zeros_like(state)
    for side in range(_SIDES):
        there, normal = state[:, neighbours[side]], normals[side]
        through = 0.5 / state[0] * (state[1:4] * normal).sum(0)
        back = 0.5 / there[0] * (there[1:4] * normal).sum(0)
        flux += through * state + back * there
        flux[1:4] += 0.5 * (pressure(state) + pressure(there)) * normal
        flux[4] += through * pressure(state) + back * pressure(there)
    return state - np.float64(_STEP) * flux


def _build(size: str) -> Job:
    n, steps = _CELLS[size]
    rng = np.random.default_rng(43)
    state = np.concatenate(
        [rng.uniform(1, 2, (1, n)), rng.uniform(-0.5, 0.5, (3, n)), rng.uniform(4, 6, (1, n))]
    ).astype(np.float32)
    # Neighbours near by, as a grid that was numbered well has them.
    near = rng.integers(-40, 41, (_SIDES, n))
    neighbours = ((np.arange(n) + near) % n).astype(np.int32)
    normals = rng.uniform(-1, 1, (_SIDES, 3, n)).astype(np.float32)
    result = state.astype(np.float64)
    for _ in range(steps):
        result = _step(result, neighbours, normals.astype(np.float64))
    ptx, path = ptx_text("cfd")
    names = ["state", *(f"state{i}" for i in range(1, steps + 1))]
    blank = np.full((5, n), np.nan, np.float32)
    return Job(
        name="cfd",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "state": state,
            "neighbours": neighbours,
            "normals": normals,
            **{name: blank.copy() for name in names[1:]},
        },
        launches=[
            Launch(
                "cfd",
                (-(-n // _THREADS), 1, 1),
                (_THREADS, 1, 1),
                (before, "neighbours", "normals", after, np.int32(n), _STEP),
            )
            for before, after in pairwise(names)
        ],
        # Approximate division is right to two units in the last place; a step adds a hundredth of its result.
        expected={names[-1]: Expected(result.astype(np.float32), rtol=1e-5, atol=1e-5)},
    )


WORKLOAD = Workload(
    "cfd", "flux between cells with six neighbours", "Rodinia cfd", _build, REGISTER_SENSITIVE
)
