"""Fixtures of the tests of the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import scale


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CUDA program in the working folder (`tests.cli.scale`)."""
    pytest.importorskip("ziglang")
    monkeypatch.chdir(tmp_path)
    scale.write(tmp_path)
    return tmp_path
