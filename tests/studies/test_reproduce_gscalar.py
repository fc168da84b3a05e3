"""`warpbank reproduce gscalar`: rows from the statistics."""

from __future__ import annotations

import pytest

from tests.cli.command import warpbank
from warpbank import workloads
from warpbank.program.runner import Options, compile_job, trace_job
from warpbank.program.similarity.statistics import similarity
from warpbank.sim.experiment import compile_options
from warpbank.studies.reproduce import PAPERS, reproduce
from warpbank.studies.reproduce.analyses import lanes
from warpbank.studies.reproduce.gscalar import GSCALAR
from warpbank.studies.reproduce.paper import published
from warpbank.studies.reproduce.power import BASELINE, run
from warpbank.studies.reproduce.write import markdown

KERNELS = ("bfs", "btree", "nbody")
VALUES = ("fig1", "fig8", "fig9", "fig9-values", "fig10", "moves", "compression")


def test_rows_by_hand() -> None:
    made = reproduce(GSCALAR, KERNELS, "tiny", figures=VALUES, experiments=False)
    assert made.failures == {}
    rows = {part.figure.name: part.rows for part in made.comparisons}
    for name in KERNELS:
        job = workloads.get(name).job("tiny")
        trace, kernels = trace_job(job, Options()), compile_job(job, Options())
        found, wide = similarity(trace, kernels), similarity(trace, kernels, 64)
        percent = 100 / found.instructions
        values, hardware = found.by_values, found.by_hardware
        assert rows["fig1"][name] == pytest.approx(
            (
                percent * found.divergent,
                percent * values.divergent,
                100 * values.divergent / max(found.divergent, 1),
            )
        )
        accesses = [read + written for read, written in zip(found.reads, found.writes, strict=True)]
        none, one, two, three, scalar, divergent = (100 * count / sum(accesses) for count in accesses)
        assert rows["fig8"][name] == pytest.approx((scalar, three, two, one, none, divergent))
        for figure, counts in (("fig9", hardware), ("fig9-values", values)):
            parts = counts.alu, counts.sfu + counts.memory, counts.part, counts.divergent, counts.total
            assert rows[figure][name] == pytest.approx([percent * count for count in parts])
        assert rows["fig10"][name] == pytest.approx(
            (percent * hardware.part, 100 * wide.by_hardware.part / wide.instructions)
        )
        assert rows["moves"][name] == pytest.approx((percent * found.moves,))
        sizes = found.sizes
        ratios = [sizes.plain / size for size in (sizes.bytewise, sizes.parts, sizes.bdi)]
        assert rows["compression"][name] == pytest.approx(ratios)
    assert rows["fig9"]["btree"][-1] < rows["fig9-values"]["btree"][-1]


def test_power_by_hand() -> None:
    """Of `nn`: a few hundred accesses, and square roots that differ between threads."""
    made = reproduce(GSCALAR, ("nn",), "tiny", figures=("fig11", "fig11-ipc", "fig12"), experiments=False)
    assert made.failures == {}
    rows = {
        part.figure.name: dict(zip(part.figure.columns, part.rows["nn"], strict=True))
        for part in made.comparisons
    }
    results = {scheme: run("nn", "tiny", scheme).compute() for scheme in (BASELINE, "scalar-rf", "gscalar")}
    plain, scalar, small = (results[scheme]["counters"] for scheme in results)
    cycles = [results[scheme]["cycles"] for scheme in results]
    before = 33.08 * (8 * plain["rf.reads"] + small["rf.arrays.plain_write"] - 8 * small["issue.moves"])
    spent = [
        33.08 * (scalar["rf.arrays.read"] + scalar["rf.arrays.write"])
        + 13.76 * (scalar["scalar_rf.reads"] + scalar["scalar_rf.writes"])
        + 11.59 * scalar["rf.writes"]
        + 0.0038 * (scalar["rf.reads"] + scalar["scalar_rf.reads"] + scalar["rf.writes"]),
        33.08 * (small["rf.arrays.read"] + small["rf.arrays.write"])
        + 13.76 * (small["rf.reads"] + small["rf.writes"])
        + 11.59 * small["rf.writes"]
        + 11.33 * small["rf.reads"],
    ]
    for scheme, energy, time in zip(("scalar-rf", "gscalar"), spent, cycles[1:], strict=True):
        assert rows["fig12"][scheme] == pytest.approx(100 * energy / before * cycles[0] / time)
        assert rows["fig11-ipc"][scheme] == pytest.approx(100 * cycles[0] / time - 100)
    lanes = {name: count_lanes(scheme) for name, scheme in (("before", BASELINE), ("after", "gscalar"))}
    whole = 0.16 * spent[1] / before + 0.24 * lanes["after"] / lanes["before"] + 0.6 * cycles[2] / cycles[0]
    assert rows["fig11"]["gscalar"] == pytest.approx(100 / whole - 100)
    assert rows["fig12"]["gscalar"] < rows["fig12"]["scalar-rf"] < 100


def count_lanes(scheme: str) -> float:
    """Lanes of `nn`, those of the special-function unit more: of the trace, or of a run."""
    code = run("nn", "tiny", scheme).experiment()
    found = (
        lanes(code.job, compile_options(code))
        if scheme == BASELINE
        else run("nn", "tiny", scheme).compute()["observed"]
    )
    return sum(found.values()) + 7.5 * found["sfu"]


def test_a_register_file_without_scalar_execution_clocks_all_lanes() -> None:
    for name in ("bfs", "nn"):
        spec = run(name, "tiny", "bdi")
        code, found = spec.experiment(), spec.compute()
        expected = lanes(code.job, compile_options(code))
        expected["alu"] += 32 * found["counters"]["issue.moves"]
        assert found["observed"] == expected
        assert sum(expected.values()) == found["counters"]["lanes.clocked"]


def test_published_values_are_of_columns_there_are() -> None:
    assert PAPERS["gscalar"] is GSCALAR
    assert published(GSCALAR)["fig9"].values["all"] == sum(
        published(GSCALAR)["fig9"].values[part]
        for part in ("ALU", "SFU and memory", "half-warp", "divergent")
    )


def test_ratios_have_two_digits() -> None:
    made = reproduce(GSCALAR, ("nn",), "tiny", figures=("compression",), experiments=False)
    (part,) = made.comparisons
    assert f"ours {part.mean[0]:.2f} times, published 2.17 times" in part.sentences[0]
    assert f"| nn | {part.rows['nn'][0]:.2f} |" in markdown(made)
    done = warpbank("reproduce", "gscalar", "--size", "tiny", "--kernel", "nn", "--figure", "compression")
    assert done.code == 0, done.err
    assert f"{part.rows['nn'][2]:.2f}" in done.out
