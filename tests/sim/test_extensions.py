"""Extensions that a worker is sent are unpacked where nobody else can change them."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import pytest

from warpbank.sim import extensions
from warpbank.sim.errors import ExtensionError

SOURCE = b"LOADED = True\n"


def _place(tmp_path: Path) -> Path:
    key = hashlib.sha256(b"mine.py" + SOURCE).hexdigest()[:12]
    return tmp_path / f"warpbank-extension-{os.getuid()}-{key}"


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(extensions, "_LOADED", {})
    monkeypatch.delenv(extensions.VARIABLE, raising=False)


def test_the_folder_is_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(extensions.VARIABLE, "")  # what `load` adds is taken back
    extensions.Parcel((("mine.py", (("mine.py", SOURCE),)),)).unpack()
    assert _place(tmp_path).stat().st_mode & 0o777 == 0o700
    assert (_place(tmp_path) / "mine.py").read_bytes() == SOURCE


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    place = _place(tmp_path)
    place.mkdir()
    place.chmod(0o777)
    with pytest.raises(ExtensionError, match=r"mine\.py has no place to be unpacked: .* written by others"):
        extensions.Parcel((("mine.py", (("mine.py", SOURCE),)),)).unpack()
    assert not (place / "mine.py").exists()
