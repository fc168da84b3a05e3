"""Estimates: exact where nothing is left out, near where much is, and honest about it."""

from __future__ import annotations

import pytest

from bench.sampling import measure, summary
from tests.sim.sampling.jobs import looping, waves
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.trace.schema import Trace
from warpbank.sim.sampling import Settings, sample

MACHINE = preset("tiny")
BASELINE = parse_scheme("baseline")
SETTINGS = Settings(wave_instructions=64)


def test_a_sample_of_everything_is_the_run() -> None:
    trace = waves(ctas=8)
    found, whole = sample(trace, MACHINE, BASELINE, SETTINGS), simulate(trace, MACHINE, BASELINE)
    assert found.simulated == found.instructions == trace.warp_instructions
    assert found.ratio == 1
    assert found.cycles.value == pytest.approx(whole.cycles)
    assert found.cycles.margin == 0
    assert found.result.counters == whole.counters
    assert found.result.stalls == whole.stalls
    assert found.result.stalls_per_scheduler == whole.stalls_per_scheduler
    assert found.result.operands_checked == whole.operands_checked


@pytest.mark.parametrize(
    "trace",
    [waves(ctas=200), waves(ctas=120, private=False), waves(ctas=6, launches=9), looping(iterations=250)],
    ids=["waves", "shared lines", "launches", "loop"],
)
def test_a_sample_is_near_the_run(trace: Trace) -> None:
    found, whole = sample(trace, MACHINE, BASELINE, SETTINGS), simulate(trace, MACHINE, BASELINE)
    assert found.ratio > 2
    assert found.ipc.value == pytest.approx(whole.ipc, rel=0.05)
    counts = found.counters
    assert counts["issue.uops"].value == pytest.approx(trace.warp_instructions, rel=0.02)
    assert counts["rf.reads"].value == pytest.approx(whole.counters["rf.reads"], rel=0.03)
    assert counts["l2.misses"].value == pytest.approx(whole.counters["l2.misses"], rel=0.15, abs=12)
    assert sum(found.result.stalls.values()) == pytest.approx(found.cycles.value, rel=1e-3)


def test_the_interval_follows_the_scatter() -> None:
    steady = sample(waves(ctas=200, private=False), MACHINE, BASELINE, SETTINGS)
    assert 0 < steady.cycles.margin < 0.2 * steady.cycles.value
    assert steady.ipc.margin / steady.ipc.value == pytest.approx(steady.cycles.margin / steady.cycles.value)
    assert steady.counters["issue.uops"].margin < steady.cycles.margin


def test_a_sample_is_reproducible() -> None:
    trace = waves(ctas=150)
    assert (
        sample(trace, MACHINE, BASELINE, SETTINGS).to_dict()
        == sample(trace, MACHINE, BASELINE, SETTINGS).to_dict()
    )


def test_what_was_done_is_recorded() -> None:
    made = sample(waves(ctas=6, launches=9), MACHINE, BASELINE, SETTINGS)
    data = made.to_dict()
    assert data["simulated"] == sum(part["simulated"] for part in data["parts"])
    assert data["ratio"] == pytest.approx(9)
    assert [part["stands_for"] for part in data["parts"]] == [list(range(9))]
    assert data["settings"]["wave_instructions"] == 64
    assert data["counter_margins"].keys() == made.result.counters.keys()


def test_the_table_of_errors() -> None:
    row = measure("vectoradd", "tiny", "tiny", "baseline")
    assert row["ratio"] >= 1
    assert row["error"] == pytest.approx(row["estimate"] / row["ipc"] - 1)
    assert row["inside"] == (abs(row["estimate"] - row["ipc"]) <= row["margin"] * row["estimate"])
    worse = {**row, "error": -0.5, "ratio": 4 * row["ratio"], "inside": False}
    means = summary([{**row, "error": 0.1, "inside": True}, worse])
    assert (means["mean_error"], means["worst_error"], means["inside"]) == (pytest.approx(0.3), 0.5, 1)
    assert means["ratio"] == pytest.approx(2 * row["ratio"])
