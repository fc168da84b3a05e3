"""The mutation tool: a planted mutant is seen by tests, results are kept, and the page holds the record."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import mutate
from tests.mutation.mapping import ROOT
from tests.mutation.operators import Mutant, mutants
from tests.mutation.warm import Judged, Measured, Warm

FILE = ROOT / "golden" / "lfsr.py"
TESTS = ["tests/golden/test_lfsr.py"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutate, "FOLDER", tmp_path / "mutants")
    monkeypatch.setattr(mutate, "RECORD", tmp_path / "mutation.json")


class _Judging:
    """Stand-in for pytest with forks: mutants become what `results` says, in turn."""

    def __init__(self, results: Sequence[Judged]) -> None:
        self.results = list(results)
        self.asked = 0

    def __call__(self, warm: Warm, tests: Sequence[str], select: str) -> None:
        assert (tests, select) == (TESTS, "")
        warm.measured = {"tests/golden/test_lfsr.py::test_x": Measured(0.1)}
        for path, every in warm.asked.items():
            for mutant in every:
                self.asked += 1
                warm.judged(path, mutant, self.results.pop(0))


def _first(count: int) -> list[Mutant]:
    return list(mutants(FILE.read_text()))[:count]


def _run(count: int, judging: _Judging) -> list[mutate.Result]:
    return list(mutate.run({FILE: _first(count)}, {FILE: TESTS}, print, judging=judging)[FILE].values())


KILLED = Judged("killed", "tests/golden/test_lfsr.py::test_x")


def test_results_are_kept_and_not_made_twice() -> None:
    with pytest.raises(IndexError):  # the third mutant: the run is stopped
        _run(4, _Judging([KILLED, Judged("survived")]))
    resumed = _Judging([Judged("killed", "no end of tests/golden/test_lfsr.py::test_x"), KILLED])
    results = _run(4, resumed)
    assert [each.result for each in results] == ["killed", "survived", "killed", "killed"]
    assert resumed.asked == 2
    assert results[0].why == "tests/golden/test_lfsr.py::test_x"
    assert _run(4, _Judging([])) == results


def test_only_a_kill_outlives_a_change_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    _run(2, _Judging([KILLED, Judged("survived")]))
    monkeypatch.setattr(mutate, "mapped_tests", lambda path: TESTS)
    kept = mutate.Kept(FILE, [*TESTS, "tests/golden/test_sm.py"])
    first, second = _first(2)
    assert kept.get(second) is None
    found = kept.get(first)
    assert found is not None
    assert found.result == "killed"


def test_a_reason_makes_a_survivor_an_equivalent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutate, "ARGUED", tmp_path / "equivalents.toml")
    mutant = _first(1)[0]
    line = FILE.read_text().splitlines()[mutant.line - 1].strip()
    entry = f"""[["golden/lfsr.py"]]\nline = '{line}'\nchange = '{mutant.change}'\nreason = "so"\n"""
    mutate.ARGUED.write_text(entry)
    results = _run(2, _Judging([Judged("survived"), Judged("survived")]))
    assert [(each.result, each.why) for each in results] == [("argued", "so"), ("survived", "")]
    recorded = mutate.entry(results, 2, 1)
    assert recorded["reasons"] == {str(mutant): "so"}
    kept = mutate.Kept(FILE, ["tests/golden/test_sm.py"])
    assert kept.get(mutant) == mutate.Result(str(mutant), "argued", "so")  # whatever its tests are
    mutate.ARGUED.write_text("")
    assert mutate.Kept(FILE, TESTS).get(mutant) is None
    mutate.ARGUED.write_text(entry.replace("change = '", "change = 'no "))
    with pytest.raises(ValueError, match=r"golden/lfsr\.py has no mutant no "):
        mutate.argued(FILE)


def test_every_reason_is_for_a_mutant() -> None:
    for name in tomllib.loads(mutate.ARGUED.read_text()):
        assert mutate.argued(ROOT / name)


def _warm(folder: Path, *more: str) -> tuple[str, int, int]:
    """A real run over a line of a small file, in a process of its own as pytest cannot run in itself.

    Returns what it says, the line and the number of its mutants.
    """
    every = list(mutants((ROOT / "program" / "trust.py").read_text()))
    line = next(each.line for each in every if each.change.startswith("found.st_mode & _OTHERS"))
    words = ["program/trust.py", "--line", str(line), *more]
    code = (
        "from pathlib import Path; from tests import mutate\n"
        f"mutate.FOLDER, mutate.RECORD = Path({str(folder)!r}), Path({str(folder / 'record.json')!r})\n"
        f"mutate.main({words})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    asked = sum(each.line == line for each in every)
    assert f"| `program/trust.py` | {len(every)} | {asked} |" in done.stdout, done.stdout + done.stderr
    return done.stdout, line, asked


def test_mutants_in_a_warm_process(tmp_path: Path) -> None:
    said, line, asked = _warm(tmp_path)
    assert said.count(f": killed: line {line}") == asked
    assert f"| {asked} | 0 | 0 | 0 | 0 | 100 % |" in said


def test_what_does_not_end_without_a_mutant_kills_nothing(tmp_path: Path) -> None:
    """A test that ends when it is measured, and never again."""
    stalls = tmp_path / "test_stalls.py"
    stalls.write_text(
        "from pathlib import Path\n"
        "from warpbank.program.trust import doubt\n"
        "def test_stalls():\n"
        f"    doubt([Path({str(tmp_path)!r})])\n"
        f"    mark = Path({str(tmp_path / 'measured')!r})\n"
        "    while mark.exists():\n"
        "        pass\n"
        "    mark.touch()\n"
    )
    said, line, asked = _warm(tmp_path, "--tests", str(stalls), "--select", "stalls")
    assert said.count("left out, it does not end without the mutant") == 1
    assert said.count(f": survived: line {line}") == asked


@pytest.mark.long
def test_a_planted_mutant_is_seen() -> None:
    """A real run in processes of their own: without a mutant the tests pass, with one they do not."""
    mutant = next(each for each in mutants(FILE.read_text()) if each.kind == "arithmetic")
    result = mutate.judge(FILE, mutant, TESTS, 120.0, lambda planted, mutant: "")
    assert (result.result, result.why.split("::")[0]) == ("killed", TESTS[0]), result
    broken = Mutant("statement", 1, 0, 0, "", "raise RuntimeError\n")
    assert mutate.judge(FILE, broken, TESTS, 120.0, lambda planted, mutant: "").result == "invalid"
    nothing = Mutant("statement", 1, 0, 0, "", "\n")
    assert mutate.judge(FILE, nothing, TESTS, 120.0, lambda planted, mutant: "").result == "survived"
    assert mutate.judge(FILE, nothing, TESTS, 120.0, lambda planted, mutant: "proof").result == "equivalent"


def test_a_sample_is_seeded() -> None:
    every = _first(20)
    picked = mutate.chosen(every, 5, 3, None)
    assert picked == mutate.chosen(every, 5, 3, None)
    assert picked != mutate.chosen(every, 5, 4, None)
    assert [every.index(each) for each in picked] == sorted(every.index(each) for each in picked)
    assert mutate.chosen(every, None, 1, every[0].line) == [e for e in every if e.line == every[0].line]


def test_the_score_leaves_out_what_cannot_be_imported() -> None:
    assert mutate.score({"killed": 7, "equivalent": 1, "argued": 1, "survived": 1, "invalid": 30}) == 90
    assert mutate.score({}) == 100


def test_the_page_is_that_of_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    text = mutate.PAGE.read_text()
    assert text == mutate.page(text, mutate._recorded()), "run `python -m tests.mutate --table`"


@pytest.mark.parametrize("words", [[], ["golden/nothing.py"], ["tests/test_mutate.py"]])
def test_a_wrong_file_is_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        mutate.main(words)
    assert stop.value.code == 2
    assert "name a source file in hdl, golden or program" in capsys.readouterr().err
