"""`warpbank export`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import warpbank


def test_command(tmp_path: Path) -> None:
    done = warpbank(
        "export", "scoreboard", "--preset", "tiny", "--set", "sub_core.warps=8", "-o", str(tmp_path / "s.v")
    )
    assert done.code == 0, done.err
    assert "module scoreboard(" in (tmp_path / "s.v").read_text()
    assert warpbank("export", "lrr", "--preset", "tiny", "-o", str(tmp_path / "l.il")).code == 0
    assert "module \\lrr" in (tmp_path / "l.il").read_text()


def test_errors(tmp_path: Path) -> None:
    done = warpbank("export", "scorebord", "-o", str(tmp_path / "x.v"))
    assert done.code == 2
    assert "Did you mean scoreboard" in " ".join(done.err.split())
    done = warpbank("export", "lrr", "-o", str(tmp_path / "x.txt"))
    assert done.code == 2
    assert ".il" in done.err
    done = warpbank("export", "lrr", "-o", str(tmp_path / "no" / "x.v"))
    assert done.code == 2
    assert "cannot write" in " ".join(done.err.split())
