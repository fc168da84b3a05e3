"""`python -m bench.ends`: delays of groups of ends by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import ends
from tests.synth import library


def test_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each group of ends that has gates before it has a row, the latest first."""
    (tmp_path / "small.lib").write_text(library.text())
    ends.main("places", [], "", [str(tmp_path / "small.lib")], 20)
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    delays = [float(row[3]) for row in rows]
    assert delays == sorted(delays, reverse=True)
    assert delays[-1] > 0
    assert {"output place__#"} < {row[0] for row in rows}
    ends.main("places", [], "output", [str(tmp_path / "small.lib")], 20)
    assert capsys.readouterr().out.splitlines()[2:] == [
        f"| {' | '.join(row)} |" for row in rows if "output" in row[0]
    ]
