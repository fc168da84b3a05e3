"""The Q matrix of MRI reconstruction: sines and cosines, a table in constant memory that all lanes read
together."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {"tiny": (60, 40), "small": (500, 128), "full": (2_000, 300)}  # voxels, samples
_MAX_SAMPLES = 512  # as in the kernel
_THREADS = 64


def _build(size: str) -> Job:
    voxels, samples = _SHAPE[size]
    rng = np.random.default_rng(10)
    # A spiral through k-space, and voxels in the unit cube.
    angle = np.linspace(0, 12 * np.pi, samples)
    trajectory = np.zeros((_MAX_SAMPLES, 4), np.float32)
    trajectory[:samples, 0] = angle / 12 * np.cos(angle)
    trajectory[:samples, 1] = angle / 12 * np.sin(angle)
    trajectory[:samples, 2] = np.linspace(-1, 1, samples)
    x, y, z = rng.uniform(-0.5, 0.5, (3, voxels)).astype(np.float32)
    phi_r, phi_i = rng.normal(size=(2, samples)).astype(np.float32)

    magnitude = phi_r.astype(np.float64) ** 2 + phi_i.astype(np.float64) ** 2
    k = trajectory[:samples].astype(np.float64)
    phase = 2 * np.pi * (np.outer(x, k[:, 0]) + np.outer(y, k[:, 1]) + np.outer(z, k[:, 2]))
    q_r, q_i = np.cos(phase) @ magnitude, np.sin(phase) @ magnitude
    # Each term is off by the error of the approximate sine (2^-20.9 between -pi and pi) and of its angle
    # (some 2^-21).
    atol = 2e-6 * float(magnitude.sum())

    ptx, path = ptx_text("mri_q")
    empty = np.full(voxels, np.nan, np.float32)
    return Job(
        name="mri_q",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={
            "x": x,
            "y": y,
            "z": z,
            "phi_r": phi_r,
            "phi_i": phi_i,
            "magnitude": np.full(samples, np.nan, np.float32),
            "q_r": empty,
            "q_i": empty.copy(),
        },
        launches=[
            Launch(
                "mri_magnitude",
                (-(-samples // _THREADS), 1, 1),
                (_THREADS, 1, 1),
                ("phi_r", "phi_i", "magnitude", np.int32(samples)),
            ),
            Launch(
                "mri_q",
                (-(-voxels // _THREADS), 1, 1),
                (_THREADS, 1, 1),
                ("x", "y", "z", "magnitude", "q_r", "q_i", np.int32(voxels), np.int32(samples)),
            ),
        ],
        expected={
            "magnitude": Expected(magnitude.astype(np.float32), rtol=3e-7),
            "q_r": Expected(q_r.astype(np.float32), atol=atol),
            "q_i": Expected(q_i.astype(np.float32), atol=atol),
        },
        symbols={"trajectory": trajectory},
    )


WORKLOAD = Workload("mri_q", "Q matrix of non-Cartesian MRI reconstruction", "Parboil mri-q", _build)
