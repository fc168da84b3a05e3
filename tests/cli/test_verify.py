"""`warpbank verify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import warpbank


def test_a_rung(tmp_path: Path) -> None:
    done = warpbank("verify", "gto", "--rung", "RTL", "--json", "--junit", str(tmp_path))
    assert done.code == 0, done.err
    shown = json.loads(done.out)["rungs"]
    assert [rung["rung"] for rung in shown] == ["RTL"]
    assert shown[0]["passed"] > shown[0]["mutants"] > 0
    assert (tmp_path / "RTL.xml").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify", "gtoo"], "gto"),
        (["verify", "gto", "--rung", "top"], "rungs are golden, RTL"),
        (["verify", "gto", "--junit", "/proc/x"], "cannot make the folder /proc/x"),
    ],
)
def test_user_errors(arguments: list[str], words: str) -> None:
    done = warpbank(*arguments)
    assert done.code == 2
    assert words in " ".join(done.err.split())


@pytest.mark.long
def test_a_whole_ladder() -> None:
    done = warpbank("verify", "arbiter", "--json")
    assert done.code == 0, done.err
    content = json.loads(done.out)
    shown = {rung["rung"]: rung for rung in content["rungs"]}
    for rung in ("golden", "RTL", "proofs", "netlist", "cocotb"):
        assert shown[rung]["passed"], rung
    assert content["coverage"]["hit"] / content["coverage"]["bins"] > 0.9
