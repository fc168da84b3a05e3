"""`warpbank units`."""

from __future__ import annotations

import json

from tests.cli.command import warpbank
from warpbank.synth.units import UNITS


def test_units_command() -> None:
    done = warpbank("units")
    assert done.code == 0
    assert all(unit in done.out for unit in UNITS)
    assert '"scoreboard"' in warpbank("units", "--json").out


def test_json() -> None:
    rows = json.loads(warpbank("units", "--json").out)["units"]
    assert [row["name"] for row in rows] == list(UNITS)
    assert {tuple(row) for row in rows} == {("name", "what", "source")}
    assert all(row["what"] and row["source"].startswith("hdl/") for row in rows)
