"""`warpbank explore`: mistakes, and what it prints. Explorations themselves: tests/studies/explore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import warpbank
from warpbank.studies.explore import Exploration
from warpbank.studies.explore.area_model import Error
from warpbank.studies.explore.halving import rungs
from warpbank.studies.explore.measure import find_aims
from warpbank.studies.explore.result import Explored, Size
from warpbank.studies.explore.space import Point

MADE = Exploration(
    tuple(
        Explored(
            Point(scheme),
            0,
            {"ipc": ipc, "work": work, "area": area, "clock": 1.0},
            {"nn": {"ipc": ipc, "picojoules": 100.0 / work}},
            {"collectors": Size(area * 1e6, 0.0, 1.0)},
        )
        for scheme, ipc, work, area in (
            ("baseline", 1.0, 1.0, 0.4),
            ("malekeh", 1.1, 1.1, 0.6),
            ("malekeh+bdi", 1.2, 1.3, 0.7),
            ("rfc", 0.9, 1.05, 0.9),
        )
    ),
    tuple(rungs(["nn"], 3)),
    find_aims(("ipc", "work", "area")),
    (Error("cells", {"a": 0.5, "b": 1.1}),),
    {},
    (3, 4),
    {"command": "warpbank explore", "machine": "turing", "size": "tiny"},
)


@pytest.fixture(autouse=True)
def _made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpbank.cli.explore.make", lambda *_, **__: MADE)


def test_the_front_is_printed_and_written(tmp_path: Path) -> None:
    done = warpbank("explore", "--output", str(tmp_path / "made"))
    assert done.code == 0
    text = " ".join(done.out.split())
    assert "4 register files on turing" in text
    assert "knee: malekeh+bdi" in text
    assert "nobody has published it" in text
    assert "rfc" not in done.out
    assert done.err.splitlines()[-1] == "4 evaluations, 3 of them were there already"
    assert {path.name for path in (tmp_path / "made").iterdir()} == {"explore.html", "explore.json"}


def test_json_is_what_the_file_holds(tmp_path: Path) -> None:
    done = warpbank("explore", "--json", "--output", str(tmp_path))
    assert json.loads(done.out) == json.loads((tmp_path / "explore.json").read_text())
    assert json.loads(done.out)["beaten"] == {"rfc": ["malekeh", "malekeh+bdi"]}


def test_what_was_left_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    failed = replace(MADE, refused={"sw-rfc": "nn: too large"})
    monkeypatch.setattr("warpbank.cli.explore.make", lambda *_, **__: failed)
    done = warpbank("explore", "--output", str(tmp_path))
    assert done.code == 1
    assert "sw-rfc: nn: too large" in done.err


def test_options_reach_the_exploration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr("warpbank.cli.explore.make", lambda *_, **named: given.update(named) or MADE)
    vary = ("--vary", "sub_core.banks=2,4", "--vary", "sub_core.collector.sthld=adaptive,0")
    done = warpbank("explore", *vary, "--aims", "ipc,clock", "--output", str(tmp_path))
    assert done.code == 0
    assert given["vary"] == {"sub_core.banks": (2, 4), "sub_core.collector.sthld": ("adaptive", 0)}
    assert given["aims"] == ["ipc", "clock"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--kernels", ","), "--kernels needs at least one name"),
        (("--vary", "sub_core.banks"), "--vary takes a field and its values"),
        (("--vary", "sub_core.banks="), "--vary takes a field and its values"),
        (("--liberty", "x.lib"), "say how many with --synthesize"),
        (("--preset", "tiny", "--config", "m.toml"), "both name a machine"),
        (("--output", "/dev/null/x"), "cannot make the folder"),
    ],
)
def test_a_mistake_is_one_sentence(options: tuple[str, ...], said: str) -> None:
    done = warpbank("explore", *options)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert "Traceback" not in done.err


@pytest.mark.parametrize("options", [("--factor", "0"), ("--samples", "-1"), ("--seed", "x")])
def test_numbers_have_bounds(options: tuple[str, ...]) -> None:
    done = warpbank("explore", *options)
    assert done.code == 2
    assert options[0] in done.err
