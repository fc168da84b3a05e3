"""What somebody else may have written is named, with a remedy."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from warpbank.program import trust


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of this user's with one file."""
    made = tmp_path / "models"
    made.mkdir(mode=0o755)
    (made / "model.so").write_bytes(b"code")
    (made / "model.so").chmod(0o644)
    return made


def test_what_is_ones_own_is_trusted(folder: Path) -> None:
    assert trust.doubt([folder, folder / "model.so", folder / "not there"]) == ""


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_what_others_may_write_is_named(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    said = trust.doubt([folder])
    assert said.startswith(f"{folder} may be written by others (mode {mode:o})")
    assert f"chmod -R go-w {folder}" in said
    trust.seal(folder)
    assert trust.doubt([folder]) == ""


def test_a_file_counts_as_its_folder_does(folder: Path) -> None:
    (folder / "model.so").chmod(0o666)
    assert "model.so may be written by others" in trust.doubt([folder, *folder.iterdir()])
    trust.seal(folder)
    assert trust.doubt([folder, *folder.iterdir()]) == ""


def test_what_belongs_to_somebody_else_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.stat

    def stat(self: Path, **options: bool) -> object:
        found = real(self, **options)
        return SimpleNamespace(st_uid=os.geteuid() + 1, st_mode=found.st_mode)

    monkeypatch.setattr(Path, "stat", stat)
    said = trust.doubt([folder])
    assert f"{folder} belongs to user {os.geteuid() + 1}, not to user {os.geteuid()} who runs this" in said
    assert "WARPBANK_CACHE" in said


def test_the_administrator_is_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "stat", lambda self: SimpleNamespace(st_uid=0, st_mode=0o40755))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert trust.doubt([folder]) == ""


def test_a_path_that_is_not_there_hides_none_behind_it(folder: Path) -> None:
    folder.chmod(0o777)
    assert str(folder) in trust.doubt([folder / "not there", folder])


def test_sealing_gives_nobody_a_right(folder: Path) -> None:
    (folder / "model.so").chmod(0o660)
    trust.seal(folder)
    assert (folder / "model.so").stat().st_mode & 0o777 == 0o640
