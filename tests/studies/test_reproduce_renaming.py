"""`warpbank reproduce renaming`: rows from the passes.

pytest -m long tests/studies/test_reproduce_renaming.py
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from warpbank import workloads
from warpbank.program.release.exemption import exempt_registers
from warpbank.program.release.insertion import release_all
from warpbank.program.release.statistics import growth, live_registers
from warpbank.program.runner import Options, compile_job, trace_job
from warpbank.program.trace.builder import TraceBuilder, alu
from warpbank.sim.runs import execute
from warpbank.studies.reproduce import PAPERS, analyses, reproduce
from warpbank.studies.reproduce.paper import published
from warpbank.studies.reproduce.renaming import RENAMING, _run

KERNELS = ("bfs", "nbody", "nn")


@pytest.mark.long
def test_rows_by_hand() -> None:
    made = reproduce(RENAMING, KERNELS, "tiny", figures=("fig2", "fig11", "fig11-exempt", "fig12"))
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
        assert rows["fig12"][name] == pytest.approx(
            (
                100 * (few.pir + few.pbr) / few.code,
                100 * (every.pir + every.pbr) / few.code,
                100 * few.pbr_met / len(trace.dynamic),
                100 * (few.pbr_met + few.pir_met) / len(trace.dynamic),
            )
        )
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


def test_patterns_by_hand() -> None:
    """One register of a warp holds a value throughout, one is used once, one twice; what is never read does
    not count."""
    ops = [alu(0), alu(1), alu(2, 1), alu(4, 2), *(alu(3) for _ in range(6)), alu(2), alu(4, 2), alu(4, 0)]
    trace = TraceBuilder().launch([[*ops]], registers=5).build()
    with mock.patch.object(analyses.runner, "trace_job", return_value=trace):
        assert analyses.patterns(workloads.get("nn").job("tiny"), Options()) == {
            "long": 1,
            "once": 1,
            "again": 1,
        }


@pytest.mark.long
def test_rows_of_both_tables() -> None:
    """Where registers are exempt from renaming, the larger table saves what the smaller one cannot."""
    made = reproduce(RENAMING, ("lud",), "small", figures=("fig11-saving",))
    assert made.failures == {}
    machine = ("two_level", "sub_core.mapping.table_bytes=15360")
    specs = [
        _run("renaming", "lud", "small"),
        _run("renaming", "lud", "small", *machine),
        _run("baseline", "lud", "small"),
    ]
    *seen, base = (outcome.result["observed"] for outcome in execute(specs) if outcome.result)
    saved = [100 - 100 * found["allocated"] / base["given"] for found in seen]
    assert made.comparisons[0].rows["lud"] == pytest.approx((*saved, saved[1] - saved[0]))
    assert saved[0] < saved[1]


@pytest.mark.long
def test_rows_of_runs() -> None:
    names = (
        "fig2-cycles",
        "fig2-curves",
        "fig3a",
        "fig9",
        "fig9-saving",
        "fig10",
        "fig10-table",
        "fig12-decoded",
        "fig12-time",
        "fig13",
    )
    made = reproduce(RENAMING, ("vectoradd",), "tiny", figures=names)
    assert made.failures == {}
    rows = {part.figure.name: part.rows["vectoradd"] for part in made.comparisons}
    specs = {
        (scheme, scheduler): _run(scheme, "vectoradd", "tiny", scheduler)
        for scheme, scheduler in [
            ("baseline", "two_level"),
            ("renaming", "two_level"),
            ("renaming", "gto"),
            ("renaming", "lrr"),
        ]
    }
    results = {
        name: outcome.result or {} for name, outcome in zip(specs, execute(specs.values()), strict=True)
    }
    base, renamed = results["baseline", "two_level"], results["renaming", "two_level"]
    counters = renamed["counters"]
    given = base["observed"]["given"]
    assert rows["fig9"] == (given, renamed["observed"]["allocated"])
    saved = [100 * (1 - made["observed"]["allocated"] / given) for made in list(results.values())[1:]]
    assert rows["fig13"] == pytest.approx([*saved, max(saved) - min(saved)])
    assert rows["fig9-saving"] == pytest.approx(saved[:1])
    assert rows["fig10"] == pytest.approx(
        [
            100 * (1 - renamed["observed"][name] / base["observed"][name])
            for name in ("subarrays", "registers")
        ]
    )
    assert rows["fig12-time"] == pytest.approx([100 * (renamed["cycles"] / base["cycles"] - 1)])
    flags = renamed["warp_instructions"] - base["warp_instructions"] + counters["renaming.flag_fetches"]
    assert rows["fig12-decoded"] == pytest.approx([100 * flags / base["warp_instructions"]])
    accesses = ("renaming.lookups", "renaming.maps", "renaming.unmaps", "rf.writes")
    table = 1.14 * sum(counters[name] for name in accesses)
    banks = 8 * 4.68 * (counters["rf.reads"] + counters["rf.writes"])
    assert rows["fig10-table"] == pytest.approx([100 * table / banks])
    assert 0 < rows["fig2-cycles"][0] < 100
    curve = rows["fig2-curves"]
    assert 1000 < renamed["cycles"] < 3000
    assert curve == pytest.approx([100 * share for share in renamed["observed"]["parts"]])
    assert curve[0] > 0
    assert not any(curve[3:]), "nothing runs any more"
    assert sum(rows["fig3a"]) == pytest.approx(100)
    assert renamed["observed"]["of_subarrays"] == 16


def test_the_red_line_of_fig_10a() -> None:
    """First touch at the retention voltage of 45 nm: 0.65 of 1.0 V, as a row of the table and across the
    bars."""
    figures = {figure.name: figure for figure in RENAMING.figures}
    assert figures["fig10"].level == ("first touch at retention voltage", 35.0)


def test_published_values_are_of_columns_there_are() -> None:
    assert PAPERS["renaming"] is RENAMING
    assert published(RENAMING)["fig12"].values == {"code, empty pir kept": 11}
