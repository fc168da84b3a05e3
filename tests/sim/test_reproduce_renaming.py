"""`warpbank reproduce renaming`: rows from the passes."""

from __future__ import annotations

import numpy as np
import pytest

import workloads
from program.release.exemption import exempt_registers
from program.release.insertion import release_all
from program.release.statistics import growth, live_registers
from program.runner import Options, compile_job, trace_job
from sim.reproduce import PAPERS, reproduce
from sim.reproduce.paper import published
from sim.reproduce.renaming import RENAMING

KERNELS = ("bfs", "nbody", "nn")


def test_rows_by_hand() -> None:
    made = reproduce(RENAMING, KERNELS, "tiny")
    assert made.failures == {}
    rows = {part.figure.name: part.rows for part in made.comparisons}
    for name in KERNELS:
        job = workloads.get(name).job("tiny")
        trace, kernels = trace_job(job, Options()), compile_job(job, Options())
        most = max(kernels.values(), key=lambda kernel: kernel.registers)
        exempt = exempt_registers(most, 48, 1024).bit_count()
        assert rows["fig11-exempt"][name] == (most.registers, exempt)
        assert rows["fig11"][name] == (48 * most.registers * 10 / 8, 48 * (most.registers - exempt) * 10 / 8)
        few, every = growth(trace, release_all(kernels)), growth(trace, release_all(kernels, empty=True))
        assert rows["fig12"][name] == pytest.approx((
            100 * (few.pir + few.pbr) / few.code, 100 * (every.pir + every.pbr) / few.code,
            100 * few.pbr_met / len(trace.dynamic), 100 * (few.pbr_met + few.pir_met) / len(trace.dynamic),
        ))  # fmt: skip
        live, warps = live_registers(trace), trace.warps[:48]
        shares = np.zeros(int(warps["length"].max()))
        for warp in warps:
            shares[: int(warp["length"])] += live[int(warp["first"]) : int(warp["first"] + warp["length"])]
        shares *= 100 / trace.launches["registers"][warps["launch"]].sum()
        mean, top, held_mean, held_top = rows["fig2"][name]
        assert (mean, top) == pytest.approx((shares.mean(), shares.max()))
        assert mean <= held_mean <= held_top <= 100
        assert top <= held_top
    assert rows["fig11-exempt"]["nbody"][1] > 0


def test_published_values_are_of_columns_there_are() -> None:
    assert PAPERS["renaming"] is RENAMING
    assert published(RENAMING)["fig12"][0] == {"code, empty pir kept": 11}
