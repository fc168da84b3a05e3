"""`warpbank gating`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest

from tests.cli.command import warpbank
from warpbank.studies.gating import draw


def test_gating_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = warpbank("gating", "vectoradd", "--size", "tiny", "--preset", "fermi")
    assert done.code == 0, done.err
    assert "sub-arrays powered, mean" in done.out
    drawing = xml.fromstring((tmp_path / "vectoradd-gating.svg").read_text())
    assert any(
        "registers of a warp" in (text.text or "")
        for text in drawing.iter("{http://www.w3.org/2000/svg}text")
    )
    words = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert words.count("cycle") == 3
    assert {"register", "registers", "sub-arrays"} <= set(words)
    done = warpbank("gating", "vectoradd", "--size", "tiny", "--preset", "fermi", "--json")
    data = json.loads(done.out)
    assert data["renaming"]["registers"] < data["first touch"]["registers"]
    assert draw("again", data["renaming"], data["first touch"])


def test_gating_of_a_scheme_that_does_not_rename() -> None:
    done = warpbank("gating", "vectoradd", "--size", "tiny", "--scheme", "bow")
    assert done.code == 2
    assert "does not rename registers" in done.err
