"""The comparison itself: it needs no GPU, and is worth nothing if it passes everything."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.hardware.compare import (
    BOUNDS,
    COMPILERS_BOUNDS,
    canonical,
    difference,
    digest,
    identity,
    lower_version,
    newest_ptx,
    pin_rounding,
)
from tests.program.compilers.jobs import NAMES
from tests.program.compilers.jobs import job as compilers_job
from warpbank import workloads
from warpbank.program.ptx.parser import parse

APPROXIMATE = re.compile(
    r"^\s*(?:@\S+\s+)?(?:\w+\.(?:approx|full)[\w.]*|mma\.[\w.]+|tanh[\w.]*)\s", re.MULTILINE
)


@pytest.mark.parametrize(
    ("written", "pinned"),
    [
        ("add.f32", "add.rn.f32"),
        ("sub.ftz.f32", "sub.rn.ftz.f32"),
        ("mul.sat.f32", "mul.rn.sat.f32"),
        ("mul.ftz.sat.f32", "mul.rn.ftz.sat.f32"),
        ("mul.f64", "mul.rn.f64"),
        ("add.f16x2", "add.rn.f16x2"),
        *(
            (same, same)
            for same in (
                "add.rn.f32",
                "add.rz.f32",
                "add.s32",
                "mul.wide.s32",
                "fma.rn.f32",
                "atom.global.add.f32",
            )
        ),
    ],
)
def test_rounding_is_pinned_where_ptx_leaves_it_open(written: str, pinned: str) -> None:
    assert pin_rounding(f"\t@%p1 {written} \t%f1, %f2, %f3;\n") == f"\t@%p1 {pinned} \t%f1, %f2, %f3;\n"


@pytest.mark.parametrize("name", workloads.names())
def test_pinned_ptx_leaves_nothing_to_contract(name: str) -> None:
    job = workloads.get(name).job("tiny")
    before, after = parse(job.ptx, job.ptx_path), parse(pin_rounding(job.ptx), job.ptx_path)
    for function, pinned in zip(before.functions.values(), after.functions.values(), strict=True):
        assert len(function.body or ()) == len(pinned.body or ())
        for statement in pinned.body or ():
            if (
                getattr(statement, "opcode", "") in ("add", "sub", "mul")
                and statement.modifiers[-1][0] in "fb"
            ):  # type: ignore[union-attr]
                assert statement.modifiers[0] in ("rn", "rz", "rm", "rp")  # type: ignore[union-attr]


@pytest.mark.parametrize("name", workloads.names())
def test_bounds_are_for_approximate_kernels_and_for_buffers_that_exist(name: str) -> None:
    job = workloads.get(name).job("tiny")
    assert bool(APPROXIMATE.search(job.ptx)) == (name in BOUNDS)
    for buffer in BOUNDS.get(name, {}):
        assert job.buffers[buffer].dtype.kind == "f"


@pytest.mark.parametrize("name", NAMES)
def test_bounds_of_other_compilers_ptx(name: str) -> None:
    job = compilers_job(name, 5)
    assert bool(APPROXIMATE.search(job.ptx)) == (name in COMPILERS_BOUNDS)
    for buffer in COMPILERS_BOUNDS.get(name, {}):
        assert job.buffers[buffer].dtype.kind == "f"


def test_bounds_name_no_other_kernel() -> None:
    assert set(BOUNDS) <= set(workloads.names(workloads.ALL))
    assert set(COMPILERS_BOUNDS) <= set(NAMES)


@pytest.mark.parametrize(
    ("driver", "newest"),
    [("11.8", (7, 8)), ("12.4", (8, 4)), ("12.6", (8, 5)), ("12.9", (8, 8)), ("13.0", (9, 0))],
)
def test_the_version_is_lowered_to_what_the_driver_knows(driver: str, newest: tuple[int, int]) -> None:
    assert newest_ptx(driver) == newest
    ptx = "//\n.version {}\n.target sm_75\n// .version 9.9\n"
    assert lower_version(ptx.format("9.5"), newest) == ptx.format(f"{newest[0]}.{newest[1]}")
    assert lower_version(ptx.format("6.3"), newest) == ptx.format("6.3")


def test_exact_buffers() -> None:
    ints = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert difference("sgemm", "c", ints, ints.copy()) == ""
    changed = ints.copy()
    changed[1, 2] = 7
    assert "1 of 6 elements of buffer c differ, compared bit for bit; the first is [1, 2]" in difference(
        "sgemm", "c", ints, changed
    )
    floats = np.array([0.0, 1.0, np.nan], np.float32)
    assert difference("sgemm", "c", floats, floats.copy()) == ""
    assert difference("sgemm", "c", floats, np.array([-0.0, 1.0, np.nan], np.float32))
    assert difference(
        "sgemm", "c", floats, np.array([0.0, np.nextafter(np.float32(1), 2), np.nan], np.float32)
    )
    payload = np.array([0, 0x3F800000, 0x7FFFFFFF], np.uint32).view(np.float32)
    assert difference("sgemm", "c", floats, payload) == ""


def test_bounded_buffers() -> None:
    emulated = np.array([64.0, 1e-3, np.inf, np.nan, 0.0], np.float32)
    step = np.spacing(np.float32(64)) * BOUNDS["blackscholes"]["call"].ulps
    found = emulated + np.array([step, -step, 0, 0, step / 2], np.float32)
    assert difference("blackscholes", "call", emulated, found) == ""
    for index, value in ((0, 64 + 1.1 * step), (1, 4 * step), (2, 1.0), (3, 1.0), (4, np.nan), (4, np.inf)):
        wrong = found.copy()
        wrong[index] = value
        assert f"first is [{index}]" in difference("blackscholes", "call", emulated, wrong)
    nothing = np.full(3, np.nan, np.float32)
    assert difference("blackscholes", "call", nothing, nothing) == ""


def test_digests_tell_bits_but_not_nans_apart() -> None:
    quiet, other = (np.array([bits], np.uint32).view(np.float32) for bits in (0x7FC00000, 0xFFFFFFFF))
    assert digest(quiet) == digest(other)
    assert digest(np.zeros(1, np.float32)) != digest(-np.zeros(1, np.float32))
    assert canonical(np.array([1], np.int16)).dtype == np.int16


def test_identity_follows_ptx_inputs_and_launches() -> None:
    job = workloads.get("vectoradd").job("tiny")
    assert identity(job) == identity(workloads.get("vectoradd").job("tiny"))
    first = next(iter(job.buffers))
    changed = {**job.buffers, first: job.buffers[first] + 1}
    (launch, *rest) = job.launches
    others = [
        replace(job, ptx=job.ptx + " "),
        replace(job, buffers=changed),
        replace(job, launches=[replace(launch, dynamic_shared=4), *rest]),
        replace(job, symbols={"s": np.zeros(1)}),
    ]
    assert len({identity(other) for other in [job, *others]}) == 5
