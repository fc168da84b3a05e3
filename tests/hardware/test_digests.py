"""The emulator against what GPUs left in memory when they were at hand. Needs no GPU, only recorded digests.
Tiny jobs are compared by default, the others in the long suite."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hardware.compare import BOUNDS, digest, identity, recordings
from tests.not_compared import not_compared
from warpbank import workloads


@pytest.mark.parametrize(
    ("gpu", "kernel", "size", "entry"),
    [
        pytest.param(*each, marks=() if each[2] == "tiny" else pytest.mark.long, id="-".join(each[:3]))
        for each in recordings()
    ],
)
def test_emulator_gives_the_recorded_memory(gpu: str, kernel: str, size: str, entry: dict[str, Any]) -> None:
    from warpbank.program.runner import execute

    job = workloads.get(kernel).job(size)
    if identity(job) != entry["identity"]:
        not_compared(f"the PTX or the inputs of {kernel} changed since {gpu} was recorded; record it again")
    buffers = execute(job).buffers
    exact = [name for name in entry["buffers"] if name not in BOUNDS.get(kernel, {})]
    different = [name for name in exact if digest(buffers[name]) != entry["buffers"][name]]
    assert not different, f"{kernel} {size}: buffers {', '.join(different)} are not what {gpu} computed"
