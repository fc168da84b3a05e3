"""`python -m bench.rtl_builds`: ways to build the RTL's model, as ratios to the engine's own."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from bench import rtl_builds
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden.result import Result
from warpbank.golden.sm import simulate
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.model import Build

#: Seconds of CPU that a run takes, by way: the second round is the faster one.
SECONDS = ([4.0, 2.0], [5.0, 4.0], [1.0, 2.0], [8.0, 9.0], [2.0, 4.0])


def test_ratios_are_of_the_best_rounds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = {str(number): list(each) for number, each in enumerate(SECONDS)}

    def built(way: rtl_builds.Way, build: Build, *_: object) -> tuple[Path, float]:
        assert not build.fast
        number = rtl_builds.WAYS.index(way)
        return Path(str(number)), 30.0 + number

    def measured(library: Path, kernel: str, *_: str) -> dict[str, float]:
        assert kernel == "bfs"
        return {"cycles": 80, "cpu": left[library.name].pop(0), "wall": 10}

    monkeypatch.setattr(rtl_builds, "built", built)
    monkeypatch.setattr(rtl_builds, "measured", measured)
    rtl_builds.main(["bfs"], rounds=2, quick_build=True)
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split(" | ")[1:] for row in rows] == [
        ["30", "40", "8", "1.00 |"],
        ["31", "20", "8", "0.50 |"],
        ["32", "80", "8", "2.00 |"],
        ["33", "10", "8", "0.25 |"],
        ["34", "40", "8", "1.00 |"],
    ]
    left |= {"0": [1.0], "1": [2.0]}
    rtl_builds.main(["bfs"], rounds=1, quick_build=True, way=["g++", "as the engine does"])
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| as the engine does", "| g++"]
    with pytest.raises(typer.BadParameter, match=r"no way 'gcc'; known: as the engine does, g\+\+"):
        rtl_builds.main(["bfs"], way=["gcc"])


def test_a_library_is_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What a process of its own prints is what `measured` reads."""
    monkeypatch.setattr(rtl_builds, "run", lambda *asked: {"cycles": len(asked)})
    rtl_builds.main(["bfs"], library=Path("model.so"))
    assert capsys.readouterr().out == '{"cycles": 5}\n'


def test_a_scheme_runs_the_code_that_its_passes_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a register-file cache asks for intervals, which only the scheme's compiler makes."""
    asked: list[str] = []

    class Engine:
        def __init__(self, build: Build) -> None:
            assert build.fast

        def run(self, trace: Trace, config: SmConfig, scheme: Scheme) -> Result:
            asked.append(scheme.name)
            return simulate(trace, scheme.machine(config), scheme)

    monkeypatch.setattr(rtl_builds.verilator, "VerilatorEngine", Engine)
    found = rtl_builds.run(Path("model.so"), "vectoradd", "tiny", "tiny", "ltrf")
    assert found["cycles"] > 0
    assert asked == ["ltrf"]
