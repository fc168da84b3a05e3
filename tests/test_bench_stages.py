"""`python -m bench.stages`: IPC with pipeline stages."""

from __future__ import annotations

import pytest

from bench import stages


def test_the_stages_may_be_others(capsys: pytest.CaptureFixture[str]) -> None:
    stages.main(["renaming"], ["vectoradd"], "tiny", "tiny", ["sub_core.mapping.lookup_stages=2"])
    head, *_, row = capsys.readouterr().out.splitlines()
    assert head == "tiny, tiny, sub_core.mapping.lookup_stages=2"
    assert "| -" in row


def test_a_row_a_scheme(capsys: pytest.CaptureFixture[str]) -> None:
    """One kernel: mean, least and greatest change are its own."""
    stages.main(["baseline", "bow-wr"], ["vectoradd"], "tiny", "tiny")
    head, *_, baseline, bow = capsys.readouterr().out.splitlines()
    assert head == "tiny, tiny, sub_core.front_end.issue_stages=1"
    for row, scheme in ((baseline, "baseline"), (bow, "bow-wr")):
        name, mean, least, _, greatest, _ = row.strip("| ").split(" | ")
        assert name == f"`{scheme}`"
        assert mean == least == greatest != "+0.0 %"
