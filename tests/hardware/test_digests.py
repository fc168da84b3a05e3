"""The emulator against what GPUs left in memory when they were at hand. Needs no GPU, only recorded digests.

While nothing is recorded there is nothing to compare, and the test is deselected like all of `-m hardware`;
with the first file in digests/ it joins the default suite by itself.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.hardware.compare import BOUNDS, digest, identity, recordings
from tests.not_compared import not_compared
from warpbank import workloads

RECORDED = recordings()
pytestmark = [] if RECORDED else [pytest.mark.hardware]


@pytest.mark.parametrize(
    ("gpu", "kernel", "size", "entry"),
    RECORDED,
    ids=[f"{gpu}-{kernel}-{size}" for gpu, kernel, size, _ in RECORDED],
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
