"""`python -m bench.ends`: delays of groups of ends by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from bench import command_line, ends
from tests.synth import library
from warpbank.program.errors import WarpbankError
from warpbank.synth import flow
from warpbank.synth.errors import MapperError
from warpbank.synth.flow import Tools


def test_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each group of ends that has gates before it has a row, the latest first."""
    (tmp_path / "small.lib").write_text(library.text())
    ends.main("places", only="", liberty=[str(tmp_path / "small.lib")], gates=20)
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    delays = [float(row[3]) for row in rows]
    assert delays == sorted(delays, reverse=True)
    assert delays[-1] > 0
    assert {"output place__#"} < {row[0] for row in rows}
    ends.main("places", only="output", liberty=[str(tmp_path / "small.lib")], gates=20)
    assert capsys.readouterr().out.splitlines()[2:] == [
        f"| {' | '.join(row)} |" for row in rows if "output" in row[0]
    ]


def test_a_group_that_the_mapper_fails_at_does_not_lose_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.lib").write_text(library.text())
    asked: list[str] = []
    alone = flow.alone

    def failing(tools: Tools, folder: Path, picoseconds: float, way: str = flow.QUICK) -> float:
        asked.append(way)
        if len(asked) <= 2:
            raise MapperError("Assertion failed")
        return alone(tools, folder, picoseconds, way)

    monkeypatch.setattr(flow, "alone", failing)
    ends.main("places", only="", liberty=[str(tmp_path / "small.lib")], gates=20)
    said = [line.strip("| ").split(" | ")[3] for line in capsys.readouterr().out.splitlines()[2:]]
    assert asked[:2] == [flow.QUICK, flow.BARE]
    assert said[-1] == "the mapper failed"
    assert len(said) > 1
    assert all(float(each) > 0 for each in said[:-1])


def test_another_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--preset` and `--scheme` take the place of the baseline's machine: fewer registers, fewer places."""
    (tmp_path / "small.lib").write_text(library.text())
    found = []
    for name in ("", "tiny"):
        ends.main("places", name, "ltrf-plus", only="output", liberty=[str(tmp_path / "small.lib")], gates=1)
        found.append(capsys.readouterr().out)
    assert found[0] != found[1]


def test_mistakes(tmp_path: Path) -> None:
    """An unknown unit, and a clock that is over before a register has answered, are refused."""
    (tmp_path / "small.lib").write_text(library.text())
    with pytest.raises(WarpbankError, match=r"place.*places"):
        ends.main("place", liberty=[str(tmp_path / "small.lib")])
    with pytest.raises(typer.BadParameter, match="more than what a register takes"):
        ends.main("places", clock=0.001, liberty=[str(tmp_path / "small.lib")])


def test_a_mistake_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A preset that is none, and no library, end a benchmark with exit code 2 and no traceback."""
    for preset, said in (("large", "Unknown preset 'large'"), ("tiny", "a cell library is needed")):
        monkeypatch.setattr("sys.argv", ["bench.ends", "places", "--preset", preset, "--liberty", "none"])
        with pytest.raises(SystemExit) as end:
            command_line.run(ends.main)
        assert end.value.code == 2
        assert capsys.readouterr().err.startswith(f"error: {said}")
