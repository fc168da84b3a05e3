"""Compiled code is what it was: no change of the compiler spills more, or keeps a move, without being seen.

A change records new rows, with the reason in its commit: `python -m tests.program.compiled_code record`.
"""

from __future__ import annotations

import json

import pytest

from tests.program.compiled_code import RECORDED, Row, names, rows


@pytest.fixture(scope="module")
def recorded() -> dict[str, Row]:
    found: dict[str, Row] = json.loads(RECORDED.read_text())
    return found


def test_every_name_is_recorded(recorded: dict[str, Row]) -> None:
    assert list(dict.fromkeys(row.split(" ")[0] for row in recorded)) == names()


@pytest.mark.parametrize("name", names())
def test_code_is_as_recorded(name: str, recorded: dict[str, Row]) -> None:
    assert rows(name) == {row: found for row, found in recorded.items() if row.split(" ")[0] == name}


def test_a_limit_is_kept_and_spills_are_where_it_binds(recorded: dict[str, Row]) -> None:
    for row, found in recorded.items():
        assert int(found["registers"]) <= int(row.split(" ")[-1])
    spilled = {row.split(" ")[-1] for row, found in recorded.items() if found["spill_stores"]}
    assert spilled >= {"16", "24"}
