"""`warpbank view`: cycles, formats, and what a file is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import warpbank


@pytest.mark.parametrize("cycles", ["5", "9:9", "9:3", "a:b", "-1:4", "5:"])
def test_cycles_that_are_none(cycles: str) -> None:
    done = warpbank("view", "vectoradd", f"--cycles={cycles}")
    assert done.code == 2
    assert "--cycles takes" in done.err


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("kanata", "vectoradd.kanata"),
        ("perfetto", "vectoradd.perfetto.json"),
        ("html", "vectoradd-banks.html"),
    ],
)
def test_the_file_is_named_after_the_kernel(
    form: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = warpbank("view", "vectoradd", "--preset", "tiny", "--cycles", "10:40", "--format", form)
    assert done.code == 0, done.err
    assert done.err.startswith(f"wrote {name}: cycles 10 to 39, ")
    assert (tmp_path / name).stat().st_size > 500
