"""A small SM, exported, runs a shipped kernel under cocotb beside golden: every event of every cycle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cocotb.runner import run
from tests.cocotb.test_units import replaced
from warpbank.arch.config import preset, with_overrides

#: Two lanes are enough for the events; the queues are as short as the preset's.
SMALL = ["lanes=2", "memory.l2_sets=4", "lsu.pending=4"]


def bench(kernel: str, cycles: int, work: Path, mutate: Callable[[str], str] | None = None) -> str:
    return run(
        "sm",
        with_overrides(preset("tiny"), SMALL),
        "sm",
        {"overrides": SMALL, "kernel": kernel, "seed": 0, "cycles": cycles},
        work,
        mutate=mutate,
    )


@pytest.mark.long
def test_a_kernel(tmp_path: Path) -> None:
    assert bench("vectoradd", 400, tmp_path) == ""


@pytest.mark.long
def test_a_mutant_is_caught(tmp_path: Path) -> None:
    """The bank arbiter does not hear of writes."""
    difference = bench("vectoradd", 400, tmp_path, replaced(r"(assign able = .*) & \(~ written\);", r"\1;"))
    assert "AssertionError" in difference


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["vectoradd", "reduction"])
def test_whole_kernels(kernel: str, tmp_path: Path) -> None:
    assert bench(kernel, 4000, tmp_path) == ""
