"""A small SM, exported, runs a shipped kernel under cocotb beside golden: every event of every cycle."""

from __future__ import annotations

from pathlib import Path

import pytest

from arch.config import preset, with_overrides
from tests.cocotb.runner import run

#: Two lanes are enough for the events; the queues are as short as the preset's.
SMALL = ["lanes=2", "memory.l2_sets=4", "lsu.pending=4"]


def bench(kernel: str, cycles: int, work: Path) -> str:
    return run("sm", with_overrides(preset("tiny"), SMALL), "sm",
               {"overrides": SMALL, "kernel": kernel, "seed": 0, "cycles": cycles}, work)


def test_a_kernel(tmp_path: Path) -> None:
    assert bench("vectoradd", 400, tmp_path) == ""


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["vectoradd", "reduction"])
def test_whole_kernels(kernel: str, tmp_path: Path) -> None:
    assert bench(kernel, 4000, tmp_path) == ""
