"""The emulator against what GPUs left in memory when they were at hand. Needs no GPU, only recorded digests.
Tiny jobs are compared by default, the others in the long suite."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hardware.compare import BOUNDS, digest, identity, recordings
from tests.not_compared import not_compared
from warpbank import workloads


@pytest.mark.parametrize(
    ("kernel", "size", "gpus"),
    [
        pytest.param(*job, gpus, marks=() if job[1] == "tiny" else pytest.mark.long, id="-".join(job))
        for job, gpus in recordings().items()
    ],
)
def test_emulator_gives_the_recorded_memory(kernel: str, size: str, gpus: dict[str, dict[str, Any]]) -> None:
    from warpbank.program.runner import execute

    job = workloads.get(kernel).job(size)
    own = identity(job)
    said = {gpu: entry["buffers"] for gpu, entry in gpus.items() if entry["identity"] == own}
    if not said:
        not_compared(
            f"the PTX or the inputs of {kernel} changed since {', '.join(gpus)} ran it; record it again"
        )
    buffers = execute(job).buffers
    for gpu, recorded in said.items():
        exact = [name for name in recorded if name not in BOUNDS.get(kernel, {})]
        different = [name for name in exact if digest(buffers[name]) != recorded[name]]
        assert not different, f"{kernel} {size}: buffers {', '.join(different)} are not what {gpu} computed"
