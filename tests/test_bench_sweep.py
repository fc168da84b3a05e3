"""`python -m bench.sweep`: a part of a sweep is measured and the whole extrapolated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from bench import sweep
from warpbank.studies.sweep import read_sweep

PLAN = Path(__file__).parent.parent / "examples" / "sweep" / "plan.toml"


def test_hours() -> None:
    made = sweep.extrapolated([2.0, 4.0], 1200, 3600.0)
    assert made["seconds_per_run"] == 3.0
    assert made["relative_error"] == pytest.approx(1 / 3, abs=0.001)  # standard deviation / sqrt(2) / mean
    assert made["hours"] == {"1": 2.0, "16": 0.125, "256": 0.008}


def test_a_part_is_run(tmp_path: Path) -> None:
    file = tmp_path / "few.toml"
    file.write_text(
        'kernels = ["vectoradd"]\nsize = "tiny"\npreset = "tiny"\n[fields]\n"sub_core.banks" = [2, 4]\n'
    )
    app = Typer()
    app.command()(sweep.main)
    done = CliRunner().invoke(app, [str(file), "--json"])
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert (data["runs"], data["measured"], data["refused"]) == (2, 2, 0)
    assert data["seconds_per_run"] > 0


def test_the_shipped_plan() -> None:
    description = read_sweep(PLAN)
    assert len(description) == 2064
    assert all(spec.sample for spec, _ in description.points())
