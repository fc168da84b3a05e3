"""`warpbank reproduce malekeh`: rows against counters and traces, and what becomes of kept results."""

from __future__ import annotations

import pytest

from warpbank.arch.config import preset
from warpbank.program import runner
from warpbank.program.reuse import histogram
from warpbank.program.trace.builder import TraceBuilder, alu
from warpbank.sim import experiment as exp
from warpbank.sim.events import Batch, encode
from warpbank.sim.runs import RunSpec
from warpbank.studies.reproduce import PAPERS, reproduce
from warpbank.studies.reproduce.kept import Kept
from warpbank.studies.reproduce.measures import hit_ratio
from warpbank.studies.reproduce.sthld import REPEATS, walk
from warpbank.synth.energy import energy, table

KERNELS = ("vectoradd", "hotspot")
WAITING = "warpbank.studies.waiting:Waiting"


@pytest.mark.long
def test_two_kernels() -> None:
    """Every figure has a row for every kernel, and rows hold what the counters say."""
    made = reproduce(PAPERS["malekeh"], KERNELS, "tiny", experiments=False)
    assert made.failures == {}
    figures = {part.figure.name: part for part in made.comparisons}
    for part in figures.values():
        assert set(part.rows) == set(part.figure.kernels or KERNELS)
        assert all(len(row) == len(part.figure.columns) for row in part.rows.values())
    columns = {
        name: dict(zip(part.figure.columns, part.rows["hotspot"], strict=True))
        for name, part in figures.items()
        if not part.figure.kernels
    }

    runs = {
        scheme: exp.run(RunSpec("hotspot", "tiny", scheme).experiment())
        for scheme in ("baseline", "malekeh", "malekeh-pr")
    }
    results = {scheme: report.result for scheme, report in runs.items()}
    assert columns["fig12"]["Malekeh"] == pytest.approx(
        100 * results["malekeh"].ipc / results["baseline"].ipc - 100
    )
    found, read = results["malekeh"].counters["boc.forwards"], results["malekeh"].counters["rf.reads"]
    assert (
        columns["fig13"]["Malekeh"]
        == columns["fig17"]["Malekeh"]
        == pytest.approx(100 * found / (found + read))
    )
    hits = columns["fig13"]
    assert hits["Malekeh_PR"] - hits["BOW"] == pytest.approx(columns["fig13-pairs"]["Malekeh_PR over BOW"])
    ratio = (100 + columns["fig12"]["BOW"]) / (100 + columns["fig12"]["Malekeh"])
    assert columns["fig12-pairs"]["BOW over Malekeh"] == pytest.approx(100 * ratio - 100)
    spent = [
        energy(runs[name].to_dict(), table("common"), preset("turing")).dynamic_total
        for name in ("malekeh", "baseline")
    ]
    assert columns["fig15"]["Malekeh"] == pytest.approx(100 * spent[0] / spent[1] - 100)
    assert columns["fig15"]["Malekeh"] < 0

    distances = columns["fig1"]
    job = RunSpec("hotspot", "tiny").experiment()
    classes = histogram(runner.trace_job(job.job, exp.compile_options(job)))
    assert distances["over 10"] == pytest.approx(100 * classes[4] / classes.sum())
    assert distances["over 3"] == pytest.approx(100 * classes[3:].sum() / classes.sum())
    assert sum(list(distances.values())[:5]) == pytest.approx(100)
    assert 50 < columns["hints"]["first warps"] <= columns["hints"]["all warps"] <= 100

    fixed = figures["fig7-hits"].rows["hotspot"]
    assert fixed[-1] > fixed[0] > 0  # whoever waits longer, finds more
    assert columns["reads"]["Malekeh"] == pytest.approx(
        100 - 100 * read / results["baseline"].counters["rf.reads"]
    )
    results_kept = columns["fig16"]
    assert results_kept["Malekeh"] < 100
    assert 0 < results_kept["Malekeh, reused"] <= 100


def test_walk_of_the_waiting_time() -> None:
    """Quarters of a run's intervals have the means of what the run's events say."""
    names = ["sthld-walk", "sthld-intervals"]
    made = reproduce(PAPERS["malekeh"], ["hotspot"], "tiny", figures=names, experiments=False)
    rows = {part.figure.name: part.rows["hotspot"] for part in made.comparisons}
    overrides = ("sub_core.collector.sthld_interval=200",)
    data = RunSpec("hotspot", "tiny", "malekeh", "turing", overrides, observer=WAITING).compute()
    walk = [each["sthld"] for each in data["observed"]["intervals"]]
    assert rows["sthld-intervals"][1] == data["cycles"] // 200
    assert len(walk) == data["cycles"] // 200
    assert rows["sthld-walk"][4] == max(walk) > 0
    quarter = walk[: len(walk) // 4]
    assert rows["sthld-walk"][0] == pytest.approx(sum(quarter) / len(quarter))


def test_a_program_that_runs_four_times() -> None:
    names = ["sthld-long", "sthld-long-worth"]
    made = reproduce(PAPERS["malekeh"], ["hotspot"], "tiny", figures=names, experiments=False)
    rows = {part.figure.name: part.rows["hotspot"] for part in made.comparisons}
    once = RunSpec("hotspot", "tiny", "malekeh", "turing").compute()
    longer = RunSpec("hotspot", "tiny", "malekeh", "turing", repeat=4).compute()
    assert longer["warp_instructions"] == 4 * once["warp_instructions"]
    assert longer["repeat"] == REPEATS["hotspot"] == 4
    assert rows["sthld-long"][0] == longer["cycles"] // 10_000 >= once["cycles"] // 10_000
    assert rows["sthld-long-worth"][0] == hit_ratio(longer)


def test_quarters_of_a_walk() -> None:
    values = [0, 2, 4, 6, 1, 1, 0, 5]
    assert walk({"observed": {"intervals": [{"sthld": each} for each in values]}}) == (1, 5, 1, 2.5, 6)
    assert walk({"observed": {"intervals": []}}) == (0, 0, 0, 0, 0)


def test_storage_is_as_published() -> None:
    made = reproduce(PAPERS["malekeh"], ["nn"], "tiny", figures=["storage", "storage-shares"])
    rooms, shares = (part.rows["one SM"] for part in made.comparisons)
    assert rooms == (
        6.0,
        8.0,
        32.0,
        96.0,
        2.0,
    )  # KiB: 4 sub-cores of 2 x 6, 2 x 8, 8 x 8, 8 x 24 registers of 128 bytes
    assert shares == pytest.approx((0.78125, 100 / 12, 100 / 3))


@pytest.mark.parametrize("scheme", ["malekeh", "bow"])
def test_kept_results_agree_with_counters(scheme: str) -> None:
    """Of pathfinder several CTAs follow each other in the same warp slots."""
    spec = RunSpec("pathfinder", "tiny", scheme, observer="warpbank.studies.reproduce.kept:Kept")
    data = spec.compute()
    kept, counters = data["observed"], data["counters"]
    assert kept["written"] == counters["boc.writes"] > 0
    assert 0 < kept["reused"] <= min(kept["written"], counters["boc.forwards"])


def test_kept_by_hand() -> None:
    """r1 is kept and found twice, which counts once; r2 is kept, leaves, and is fetched anew, which counts as
    none; r3 is never read; what another warp keeps is its own."""
    records = [
        (0, 0, "warp_start", (1, 4)),
        (0, 0, "warp_start", (2, 8)),
        (1, 0, "collector_write", (0, 1, 9, 1)),
        (1, 0, "collector_write", (0, 1, 9, 2)),
        (1, 0, "collector_write", (0, 1, 9, 3)),
        (2, 0, "issue", (1, 0, 0)),
        (2, 0, "forward", (0, 1, 0, 1, 1)),
        (4, 0, "dispatch", (0, 0, 1, 0)),
        (5, 0, "issue", (1, 1, 0)),
        (5, 0, "forward", (0, 1, 1, 1, 1)),
        (7, 0, "dispatch", (0, 0, 1, 1)),
        (8, 0, "issue", (1, 2, 1)),
        (9, 0, "dispatch", (0, 0, 1, 2)),
        (10, 0, "issue", (1, 3, 1)),
        (10, 0, "forward", (0, 1, 3, 1, 1)),
        (12, 0, "dispatch", (0, 0, 1, 3)),
        (13, 0, "issue", (2, 0, 0)),
        (13, 0, "forward", (1, 2, 0, 1, 1)),
        (14, 0, "dispatch", (1, 0, 2, 0)),
    ]
    kept = Kept()
    kept.start(TraceBuilder().launch([[alu(9, 1), alu(9, 2)]]).build(), preset("tiny"))
    kept(Batch(0, 7, encode([record for record in records if record[0] < 7])))
    kept(Batch(7, 100, encode([record for record in records if record[0] >= 7])))
    assert kept.result() == {"written": 3, "reused": 1}
