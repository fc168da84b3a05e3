"""Occupancy on a register file of the usual size and a larger one, and the groups that it makes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.command import warpbank
from warpbank import workloads
from warpbank.arch.config import preset
from warpbank.program.isa import Kernel
from warpbank.program.launch import Launch
from warpbank.studies.occupancy import Occupancy, occupancies, resident

SENSITIVE = workloads.names("register-sensitive")


@pytest.mark.parametrize(
    ("registers", "shared", "grid", "threads", "expected"),
    [
        (32, 0, 100, 128, 64),  # 2 of 128 rows a warp
        (48, 0, 100, 128, 40),  # 3 rows: 42 warps, in CTAs of 4
        (128, 0, 100, 128, 16),
        (32, 0, 3, 128, 12),  # no more warps than there are
        (32, 0, 100, 32, 32),  # 32 CTA slots
        (32, 30000, 100, 128, 12),  # shared memory for 3 CTAs
    ],
)
def test_what_limits_the_warps(registers, shared, grid, threads, expected):
    kernel = Kernel("k", [], {}, 0, registers=registers, shared_bytes=shared)
    launch = Launch("k", (grid, 1, 1), (threads, 1, 1), ())
    assert resident(launch, kernel, preset("maxwell")) == expected


def test_a_launch_that_fits_whole_gains_nothing():
    assert not Occupancy("k", "core", 40, 20, 20, 20).sensitive


@pytest.mark.parametrize("name", ["cholesky", "s3d"])
def test_register_sensitive_kernels(name):
    check(occupancies([name], "full")[0])


@pytest.mark.long
@pytest.mark.parametrize("name", SENSITIVE)
def test_every_register_sensitive_kernel(name):
    check(occupancies([name], "full")[0])
    assert occupancies([name], "small")[0].sensitive


def check(found: Occupancy) -> None:
    assert 48 <= found.registers <= 128
    assert 128 <= found.launched <= 256
    assert found.small < found.large == 64


def test_insensitive_kernels():
    assert not any(found.sensitive for found in occupancies(["vectoradd", "layernorm"], "small"))


@pytest.mark.long
def test_the_page_has_the_table():
    """docs/kernels.md holds what `warpbank kernels --occupancy` says."""
    said = json.loads(warpbank("kernels", "--occupancy", "--json").out)["kernels"]
    page = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text()
    rows = re.findall(
        r"^\| `(\w+)` \| ([\w-]+) \| (yes|no) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", page, re.M
    )
    assert rows == [
        (
            row["kernel"],
            row["group"],
            "yes" if row["sensitive"] else "no",
            *(str(row[name]) for name in ("registers", "launched", "small", "large")),
        )
        for row in said
    ]


def test_references_are_not_met_by_chance():
    """Every output of the new kernels is filled with NaN before it runs."""
    for name in (*SENSITIVE, *workloads.names("deep-learning")):
        job = workloads.get(name).job("tiny")
        assert all(np.isnan(job.buffers[buffer]).all() for buffer in job.expected), name
