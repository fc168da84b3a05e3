"""The mutation tool: a planted mutant is seen by tests, results are kept, and the page holds the record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import mutate
from tests.mutation.mapping import ROOT
from tests.mutation.operators import Mutant, mutants

FILE = ROOT / "golden" / "lfsr.py"
TESTS = ["tests/golden/test_lfsr.py"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutate, "FOLDER", tmp_path / "mutants")
    monkeypatch.setattr(mutate, "RECORD", tmp_path / "mutation.json")


class _Tests:
    """Stand-in for pytest: a mutant's code is what `codes` says, in turn; without one the tests pass."""

    def __init__(self, codes: Sequence[int | None]) -> None:
        self.codes = list(codes)
        self.runs = 0

    def __call__(
        self, tests: Sequence[str], mutant: Path | None, limit: float | None
    ) -> tuple[int | None, float, str]:
        assert tests == TESTS
        if mutant is None:
            return 0, 1.0, ""
        assert limit == mutate.SLOWER + mutate.MORE
        assert json.loads(mutant.read_text())["module"] == "warpbank.golden.lfsr"
        self.runs += 1
        return self.codes.pop(0), 2.0, "FAILED tests/golden/test_lfsr.py::test_x - no\n"


def _first(count: int) -> list[Mutant]:
    return list(mutants(FILE.read_text()))[:count]


def test_results_are_kept_and_not_made_twice() -> None:
    every, said = _first(4), list[str]()
    stopped = _Tests([1, 0])
    with pytest.raises(IndexError):  # the third mutant: the run is stopped
        mutate.run(FILE, every, TESTS, said.append, stopped)
    resumed = _Tests([None, 1])
    results = mutate.run(FILE, every, TESTS, said.append, resumed)
    assert [each.result for each in results.values()] == ["killed", "survived", "killed", "killed"]
    assert resumed.runs == 2
    assert next(iter(results.values())).why == "tests/golden/test_lfsr.py::test_x"
    assert "no end after 2 s" in [each.why for each in results.values()]
    assert mutate.run(FILE, every, TESTS, said.append, _Tests([])) == results


def test_tests_that_fail_without_a_mutant_are_no_tests() -> None:
    with pytest.raises(SystemExit, match=r"lfsr\.py fail without a mutant"):
        mutate.run(FILE, _first(1), TESTS, print, lambda tests, mutant, limit: (1, 1.0, "F"))


def test_a_planted_mutant_is_seen() -> None:
    """A real run of the tests of a small file: without a mutant they pass, with one they do not."""
    mutant = next(each for each in mutants(FILE.read_text()) if each.kind == "arithmetic")
    result = mutate.judge(FILE, mutant, TESTS, 120.0, lambda planted: "")
    assert (result.result, result.why.split("::")[0]) == ("killed", TESTS[0]), result
    broken = Mutant("statement", 1, 0, 0, "", "raise RuntimeError\n")
    assert mutate.judge(FILE, broken, TESTS, 120.0, lambda planted: "").result == "invalid"
    nothing = Mutant("statement", 1, 0, 0, "", "\n")
    assert mutate.judge(FILE, nothing, TESTS, 120.0, lambda planted: "").result == "survived"
    assert mutate.judge(FILE, nothing, TESTS, 120.0, lambda planted: "proof").result == "equivalent"


def test_a_sample_is_seeded() -> None:
    every = _first(20)
    picked = mutate.chosen(every, 5, 3, None)
    assert picked == mutate.chosen(every, 5, 3, None)
    assert picked != mutate.chosen(every, 5, 4, None)
    assert [every.index(each) for each in picked] == sorted(every.index(each) for each in picked)
    assert mutate.chosen(every, None, 1, every[0].line) == [e for e in every if e.line == every[0].line]


def test_the_score_leaves_out_what_cannot_be_imported() -> None:
    assert mutate.score({"killed": 8, "equivalent": 1, "survived": 1, "invalid": 30}) == 90
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
