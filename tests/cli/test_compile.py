"""`warpbank compile`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.command import warpbank

SAXPY = Path(__file__).parents[2] / "examples" / "saxpy" / "saxpy.cu"


@pytest.mark.parametrize("options", [(), ("--output", "other.ptx", "--arch", "sm_80")])
def test_ptx_of_a_source(options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang")
    monkeypatch.chdir(tmp_path)
    shutil.copy(SAXPY, tmp_path)
    done = warpbank("compile", "saxpy.cu", *options)
    assert done.code == 0, done.err
    file, target = ("other.ptx", "sm_80") if options else ("saxpy.ptx", "sm_75")
    assert done.err == f"wrote {file}\n"
    assert f".target {target}" in (tmp_path / file).read_text()
