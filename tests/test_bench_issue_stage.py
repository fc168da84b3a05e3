"""`python -m bench.issue_stage`: IPC with a stage between choice and issue."""

from __future__ import annotations

import pytest

from bench import issue_stage


def test_a_row_a_scheme(capsys: pytest.CaptureFixture[str]) -> None:
    """One kernel: mean, least and greatest change are its own."""
    issue_stage.main(["baseline", "bow-wr"], ["vectoradd"], "tiny", "tiny")
    head, *_, baseline, bow = capsys.readouterr().out.splitlines()
    assert head == "tiny, tiny"
    for row, scheme in ((baseline, "baseline"), (bow, "bow-wr")):
        name, mean, least, _, greatest, _ = row.strip("| ").split(" | ")
        assert name == f"`{scheme}`"
        assert mean == least == greatest != "+0.0 %"
