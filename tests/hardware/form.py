"""GPU as one more form in which the program tests run their jobs: `pytest --gpu tests/program`.

Each of these tests holds expectations of its own, computed without the emulator (exact arithmetic, the
manual's pseudocode, an interpreter of PTX). With a GPU attached they are asked of the hardware, too: a
misreading that expectation and emulator share shows there.
"""

from __future__ import annotations

import numpy as np

from tests.hardware.gpu import Gpu
from warpbank.program.launch import Job

_attached: list[Gpu] = []


def attach(gpu: Gpu) -> None:
    """Run the jobs of later tests on an open GPU."""
    _attached.append(gpu)


def detach() -> None:
    """Run the jobs of later tests without a GPU."""
    _attached.clear()


def forms(job: Job, levels: tuple[bool, ...] = (True, False)) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Final buffers of a job on the attached GPU, beside the name of their form: optimised by the driver, and
    not. There are none without a GPU, or if it is too old for the PTX."""
    return [
        (gpu.name if optimised else f"{gpu.name}, level 0", gpu.run(job, optimised=optimised))
        for gpu in _attached
        if gpu.runs(job)
        for optimised in levels
    ]
