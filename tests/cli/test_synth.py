"""`warpbank synth`: in generic gates, and what cannot be asked for. With libraries: tests/synth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import warpbank


def test_a_check() -> None:
    done = warpbank("synth", "lrr", "--check", "--liberty", "none")
    assert done.code == 0, done.err
    assert "as recorded (generic)" in done.out or "not compared" in done.out
    for more in (("--preset", "tiny"), ("--kernel", "nn")):
        done = warpbank("synth", "lrr", "--check", *more)
        assert done.code == 2
        assert "paper's size" in " ".join(done.err.split())
    done = warpbank("synth")
    assert done.code == 2
    assert "name a unit" in " ".join(done.err.split())


def test_generic_gates(tmp_path: Path) -> None:
    base = ("synth", "lfsr", "--preset", "tiny", "--liberty", "none")
    done = warpbank(*base, "--json", "--output", str(tmp_path / "l.v"))
    assert done.code == 0, done.err
    assert done.err == f"wrote {tmp_path / 'l.v'}\n"
    data = json.loads(done.out)
    assert (data["unit"], data["preset"], data["liberty"], data["effort"]) == ("lfsr", "tiny", None, "full")
    assert data["transistors"] > 0
    assert f"{data['transistors']:,}" in warpbank(*base).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("lrrr",), "Did you mean lrr"),
        (("lrrr", "--check"), "Unknown unit with a baseline 'lrrr'. Did you mean lrr"),
        (("lrr", "--scheme", "bowl"), "Unknown scheme 'bowl'"),
        (("lrr", "--set", "sub_core.banks=3"), "power of two"),
        (("lrr", "--scheme", "ltrf", "--set", "sub_core.front_end.scheduler=gto"), "needs the two_level"),
        (("lrr", "--record", "--output", "l.v"), "leave out machine"),
        (("lrr", "--record", "--check"), "and --record replaces it; give one"),
        (("lrr", "--table"), "leave out unit"),
        (("--table", "--json"), "--register-files and --json"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], words: str) -> None:
    done = warpbank("synth", *arguments, "--liberty", "none")
    assert done.code == 2
    assert words in " ".join(done.err.split())
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("period", ["0", "-1", "1001"])
def test_a_clock_has_bounds(period: str) -> None:
    done = warpbank("synth", "lrr", "--clock", period, "--liberty", "none")
    assert done.code == 2
    assert "Invalid value for '--clock'" in " ".join(done.err.split())
