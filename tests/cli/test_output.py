"""What commands print: JSON of any result, tables, and sentences that nothing changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import RenderableType

from warpbank.cli import output


@dataclass(frozen=True)
class Point:
    """A result without a method of its own."""

    x: int
    y: tuple[int, ...]


class Named:
    """A result that says how it is written."""

    def to_dict(self) -> dict[str, int]:
        """Plain."""
        return {"a b": 1}


def _never(_: object) -> list[RenderableType]:
    raise AssertionError("tables are made where none is wanted")


@pytest.mark.parametrize(
    ("result", "written"),
    [(Point(1, (2, 3)), {"x": 1, "y": [2, 3]}), (Named(), {"a b": 1}), ({"k": [None]}, {"k": [None]})],
)
def test_a_result_as_json(result: object, written: object, capsys: pytest.CaptureFixture[str]) -> None:
    output.emit(result, True, _never)
    assert json.loads(capsys.readouterr().out) == written


def test_rows_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    output.listing("points", [Point(1, ()), Point(2, (3,))], True, _never)
    assert json.loads(capsys.readouterr().out) == {"points": [{"x": 1, "y": []}, {"x": 2, "y": [3]}]}


def test_rows_as_tables(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Point(1000, ()), Point(2, ())]
    output.listing(
        "points",
        rows,
        False,
        lambda rows: [output.table("T [x]", ("[a]", "b"), ((p.x, "[b]c") for p in rows))],
    )
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["T", "[x]"]
    assert [line for line in lines if line[:1] == ["1,000"]] == [["1,000", "[b]c"]]


def test_a_sentence_is_written_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of files may look like markup, and lines are as long as they are."""
    name = Path("a[bold]" + "x" * 200)
    output.wrote(name)
    output.wrote(name, "3 runs")
    output.line(str(name))
    output.error(f"{name} is wrong")
    told = capsys.readouterr()
    assert told.out == f"{name}\n"
    assert told.err == f"wrote {name}\nwrote {name}: 3 runs\nerror: {name} is wrong\n"


def test_the_first_failures_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    output.complain("12 of 12 runs failed:", {f"run{n}": "why [not]" for n in range(12)})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "error: 12 of 12 runs failed:"
    assert lines[1] == "  run0: why [not]"
    assert (len(lines), lines[-1]) == (12, "  and 2 more")
