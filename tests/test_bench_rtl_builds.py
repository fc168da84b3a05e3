"""`python -m bench.rtl_builds`: ways to build the RTL's model, as ratios to the engine's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import rtl_builds

#: Seconds of CPU that a run takes, by way: the second round is the faster one.
SECONDS = ([4.0, 2.0], [5.0, 4.0], [1.0, 2.0], [8.0, 9.0])


def test_ratios_are_of_the_best_rounds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = {str(number): list(each) for number, each in enumerate(SECONDS)}

    def built(way: rtl_builds.Way, *_: object) -> Path:
        return Path(str(rtl_builds.WAYS.index(way)))

    def measured(library: Path, kernel: str, *_: str) -> dict[str, float]:
        assert kernel == "bfs"
        return {"cycles": 80, "cpu": left[library.name].pop(0), "wall": 10}

    monkeypatch.setattr(rtl_builds, "built", built)
    monkeypatch.setattr(rtl_builds, "measured", measured)
    rtl_builds.main(["bfs"], rounds=2)
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split(" | ")[1:] for row in rows] == [
        ["40", "8", "1.00 |"],
        ["20", "8", "0.50 |"],
        ["80", "8", "2.00 |"],
        ["10", "8", "0.25 |"],
    ]


def test_a_library_is_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What a process of its own prints is what `measured` reads."""
    monkeypatch.setattr(rtl_builds, "run", lambda *asked: {"cycles": len(asked)})
    rtl_builds.main(["bfs"], library=Path("model.so"))
    assert capsys.readouterr().out == '{"cycles": 5}\n'
