"""`warpbank reproduce`: what cannot be meant. Figures and files: tests/studies/test_reproduce.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import warpbank


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bwo",), "Unknown paper 'bwo'. Did you mean bow"),
        (("bow", "--kernel", "vectorad"), "Unknown kernel 'vectorad'. Did you mean vectoradd"),
        (("bow", "--kernels", ""), "--kernels needs at least one name"),
        (("bow", "--kernels", ","), "--kernels needs at least one name"),
        (("bow", "--figure", "fig99"), "Unknown figure of bow 'fig99'"),
        (("all", "--figure", "fig4"), "name the paper instead of all"),
        (("bow", "--config", "own.json"), "its name ends in .toml"),
        (("bow", "--config", "own.toml", "--preset", "tiny"), "both name a machine"),
        (("bow", "--kernel", "nn", "--size", "tiny", "--config", "none.toml"), "none.toml"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], message: str) -> None:
    done = warpbank("reproduce", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


def test_a_machine_of_ones_own(tmp_path: Path) -> None:
    machine = tmp_path / "own.toml"
    machine.write_text('preset = "pascal"\n[l1]\nlatency = 31\n')
    words = ("bow", "--figure", "fig10", "--kernel", "nn", "--size", "tiny", "--no-explain", "--json")
    done = warpbank("reproduce", *words, "--config", str(machine))
    assert done.code == 0, done.err
    (made,) = json.loads(done.out)["papers"]
    assert f"--config {machine}" in made["made_by"]["command"]
    assert all(str(machine) in name for name in made["made_by"]["configurations"])
