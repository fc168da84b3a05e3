"""`warpbank sweep`: what it says of its runs. Sweeps themselves: tests/studies/sweep."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import warpbank
from warpbank.sim.runs import Outcome, RunSpec


def test_a_file_that_cannot_be_written_is_found_out_first(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('kernels = ["nn"]')
    done = warpbank("sweep", str(tmp_path / "s.toml"), "--output", str(tmp_path / "none" / "s.parquet"))
    assert done.code == 2
    assert "cannot write" in done.err
    assert "cannot read the sweep" in warpbank("sweep", str(tmp_path / "t.toml")).err


def test_what_failed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(tasks: list[RunSpec], **_: object) -> list[Outcome]:
        return [Outcome(task, None, "too [large]") for task in tasks]

    monkeypatch.setattr("warpbank.studies.sweep.run.execute", ended)
    (tmp_path / "s.toml").write_text('kernels = ["nn"]\nsize = "tiny"\n[fields]\n"sub_core.banks" = [4]')
    file = tmp_path / "s.parquet"
    done = warpbank("sweep", str(tmp_path / "s.toml"), "--output", str(file))
    assert done.code == 1
    assert file.exists()
    assert done.err.splitlines() == [
        f"wrote {file}: 1 runs, 0 of them were there already",
        "error: 1 of 1 runs failed; the column `error` has the cause of each:",
        "  nn tiny baseline turing sub_core.banks=4: too [large]",
    ]
