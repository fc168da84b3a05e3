"""`warpbank run --over-time`: what it shows must add up to what the run says."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.command import warpbank
from tests.studies.figures import figures
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.release.statistics import live_registers
from warpbank.program.trace.builder import TraceBuilder, alu
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.runs.spec import Observed
from warpbank.studies import over_time
from warpbank.studies.over_time import COLUMNS, OverTime
from warpbank.synth.energy import energy, table

PRICES = table("common")


@pytest.mark.parametrize("scheme", ["baseline", "bow-wb", "malekeh"])
@pytest.mark.parametrize("intervals", [4, 1000])
def test_the_intervals_add_up_to_the_run(
    scheme: str, intervals: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(over_time, "INTERVALS", intervals)
    config, chosen = preset("tiny"), parse_scheme(scheme)
    seen = OverTime(chosen)
    result = Observed(GoldenEngine(), seen).run(random_trace(11, ctas=9, launches=2), config, chosen)
    rows = seen.table(PRICES, config)
    assert len(rows) <= intervals
    assert [row["cycle"] for row in rows] == [seen.length * place for place in range(len(rows))]
    assert all(row.keys() == COLUMNS.keys() for row in rows)

    def whole(column: str) -> float:
        return float(sum(row[column] * row["cycles"] for row in rows))

    assert sum(row["cycles"] for row in rows) == result.cycles
    assert whole("ipc") == pytest.approx(result.warp_instructions)
    assert whole("rf_reads") == pytest.approx(result.counters["rf.reads"])
    conflicts = sum(count for name, count in result.counters.items() if name.startswith("rf.conflict"))
    assert whole("conflicts") == pytest.approx(conflicts)
    spent = energy({"scheme": scheme, "cycles": result.cycles, "counters": result.counters}, PRICES, config)
    picojoules = 1e3 / PRICES.clock_mhz
    assert whole("dynamic_mw") * picojoules == pytest.approx(spent.dynamic_total)
    assert whole("leakage_mw") * picojoules == pytest.approx(spent.leakage_total)


def test_live_registers_of_one_warp() -> None:
    """Between two issues the warp has the live registers that the trace says it has after the earlier one."""
    trace = TraceBuilder().launch([[alu(1), alu(2), alu(3, 1, 2), alu(4, 3, 2), alu(5, 4)]]).build()
    assert live_registers(trace).tolist() == [1, 2, 2, 1, 0, 0]
    config, scheme = preset("tiny"), parse_scheme("baseline")
    seen, issues = OverTime(scheme), []

    def both(batch: object) -> None:
        seen(batch)  # type: ignore[arg-type]
        issues.extend(row for row in batch.records.tolist() if row[2] == over_time.IDS["issue"])  # type: ignore[attr-defined]

    seen.start(trace, config)
    result = GoldenEngine().run(trace, config, scheme, events=both)
    cycles = np.array([row[0] for row in issues] + [result.cycles])
    expected = float((np.diff(cycles) * [1, 2, 2, 1, 0, 0]).sum())
    rows = seen.table(PRICES, config)
    assert sum(row["live_registers"] * row["cycles"] for row in rows) == pytest.approx(expected)


@pytest.mark.quick("bow-wr", "renaming")
@pytest.mark.parametrize("scheme", ["ltrf", "renaming", "gscalar", "bow-wr"])
def test_files(scheme: str, tmp_path: Path) -> None:
    common = (
        "run",
        "reduction",
        "--size",
        "tiny",
        "--preset",
        "tiny",
        "--scheme",
        scheme,
        "--json",
        "--over-time",
    )
    for suffix in ("csv", "json", "html"):
        path = tmp_path / f"run.{suffix}"
        done = warpbank(*common, str(path))
        assert done.code == 0, done.err
    ipc = json.loads(done.out)["ipc"]
    told = json.loads((tmp_path / "run.json").read_text())
    assert told["columns"].keys() == COLUMNS.keys()
    cycles = sum(row["cycles"] for row in told["rows"])
    assert sum(row["ipc"] * row["cycles"] for row in told["rows"]) / cycles == pytest.approx(ipc)
    assert max(row["live_registers"] for row in told["rows"]) > 4
    with (tmp_path / "run.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(told["rows"])
    text = (tmp_path / "run.html").read_text()
    drawn = figures(text)
    assert [line.name for figure in drawn.values() for line in figure.data] == [
        "ipc",
        "hit ratio",
        "live registers",
        "rf reads",
        "rf writes",
        "conflicts",
        "dynamic mw",
        "leakage mw",
    ]
    assert all(len(line.y) == len(told["rows"]) for figure in drawn.values() for line in figure.data)
    assert "<script src=" not in text


def test_a_name_that_says_nothing() -> None:
    done = warpbank("run", "vectoradd", "--over-time", "run.xls")
    assert done.code == 2
    assert "run.xls" in done.err
