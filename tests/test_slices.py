"""The long suite in slices: nothing lost, nothing twice, balanced, resumed where it was stopped."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import slices
from tests.ledger import Ledger, Result, function

TESTS = [f"tests/a/test_{file}.py::test_{name}[{n}]" for file in "xy" for name in "ab" for n in range(50)]
#: Seconds a test, by function; test_y's second function has none.
TIMES = {
    "tests/a/test_x.py::test_a": 100.0,
    "tests/a/test_x.py::test_b": 10.0,
    "tests/a/test_y.py::test_a": 40.0,
}

REPORT = """<testsuites><testsuite>
<testcase classname="tests.a.test_x" name="test_a[0]" time="4.0"/>
<testcase classname="tests.a.test_x" name="test_a[1]" time="6.0"/>
<testcase classname="tests.a.test_x" name="test_b[0]" time="1.0">
<failure message="1 is not 2&#10;more"/></testcase>
<testcase classname="tests.a.test_y" name="test_a[0]" time="0.0"><skipped message="another Yosys"/></testcase>
</testsuite></testsuites>
"""


@pytest.fixture(autouse=True)
def _durations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded durations that belong to the test."""
    monkeypatch.setattr(slices, "DURATIONS", tmp_path / "durations.json")
    slices.DURATIONS.write_text(json.dumps(TIMES))


def _split() -> list[list[str]]:
    """The slices of `TESTS`, cut as in a run."""
    return slices.cut(slices.expected(TESTS, TIMES))


def test_a_test_without_a_duration_counts_as_its_file() -> None:
    times = slices.expected([*TESTS, "tests/b/test_z.py::test_new"], TIMES)
    assert times["tests/a/test_x.py::test_b[7]"] == 10.0
    assert times["tests/a/test_y.py::test_b[7]"] == 40.0
    assert times["tests/b/test_z.py::test_new"] == slices.UNKNOWN


def test_slices_hold_every_test_once_and_none_is_too_long() -> None:
    parts = _split()
    assert len(parts) > 3
    assert [each for part in parts for each in part] == TESTS
    times = slices.expected(TESTS, TIMES)
    for part in parts:
        assert sum(times[each] for each in part) <= slices.WORKERS * slices.LIMIT


def test_no_slice_is_empty() -> None:
    """pytest-split leaves some of its last groups empty: here 4 tests of a slice's length make 5."""
    times = dict.fromkeys(TESTS[:4], 0.99 * slices.WORKERS * slices.LIMIT)
    assert slices.cut(times) == [[test] for test in TESTS[:4]]
    assert slices.cut({}) == []


def test_a_part_without_tests_runs_none(tmp_path: Path) -> None:
    nothing = _Pytest()
    assert slices.run_all(_ledger(tmp_path), [], _always, "c0ffee", 1, tmp_path, nothing)
    assert not nothing.ran


def test_a_sample_has_tests_of_every_function() -> None:
    many = [f"tests/b/test_z.py::test_many[{number}]" for number in range(201)]
    found = [slices.sample([*TESTS, *many], seed) for seed in range(5)]
    for each in found:
        assert len(each) == 4 + 3
        assert {function(test) for test in each} == {function(test) for test in [*TESTS, *many]}
        assert each == [test for test in [*TESTS, *many] if test in each]
    assert len({tuple(each) for each in found}) > 1


def test_consecutive_commits_run_every_slice() -> None:
    assert sorted(slices.turn(commits, 7) for commits in range(1000, 1007)) == list(range(1, 8))


def test_durations_are_means_of_what_ran_last(tmp_path: Path) -> None:
    report = tmp_path / "slice-1.xml"
    report.write_text(REPORT)
    assert slices.main(["record", str(report)]) == 0
    assert json.loads(slices.DURATIONS.read_text()) == {
        **TIMES,
        "tests/a/test_x.py::test_a": 5.0,
        "tests/a/test_x.py::test_b": 1.0,
    }


def _value(arguments: Sequence[str], option: str) -> str:
    """The value of an option that is given as `option=value`."""
    return next(each.split("=", 1)[1] for each in arguments if each.startswith(f"{option}="))


class _Pytest:
    """A stand-in for pytest: the tests of `failing` fail, and at run `stop_at` it is stopped."""

    def __init__(self, failing: Sequence[str] = (), stop_at: int = 0) -> None:
        self.failing = failing
        self.stop_at = stop_at
        self.ran: list[list[str]] = []
        self.seeds: list[int] = []

    def __call__(self, arguments: Sequence[str]) -> int:
        tests = [each for each in arguments if "::" in each]
        if len(self.ran) + 1 == self.stop_at:
            return 2
        self.ran.append(tests)
        self.seeds.append(int(_value(arguments, "--hypothesis-seed")))
        cases = []
        for test in tests:
            file, name = test.split("::")
            why = '<failure message="1 is not 2&#10;more"/>' if test in self.failing else ""
            module = file.removesuffix(".py").replace("/", ".")
            cases.append(f'<testcase classname="{module}" name="{name}" time="1.0">{why}</testcase>')
        Path(_value(arguments, "--junitxml")).write_text(f"<testsuite>{''.join(cases)}</testsuite>")
        return int(bool({*self.failing} & {*tests}))

    @property
    def all(self) -> list[str]:
        """Tests that ran, in order."""
        return [test for tests in self.ran for test in tests]


def _ledger(folder: Path) -> Ledger:
    return Ledger(folder / "results.json")


def _always(_: str, __: Result) -> bool:
    return True


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    parts = _split()
    stopped = _Pytest(stop_at=3)
    with pytest.raises(SystemExit, match="slice 3 did not run to its end: pytest's exit code was 2"):
        slices.run_all(_ledger(tmp_path), TESTS, _always, "c0ffee", 1, tmp_path, stopped)
    assert stopped.ran == parts[:2]
    resumed = _Pytest()
    assert slices.run_all(_ledger(tmp_path), TESTS, _always, "c0ffee", 1, tmp_path, resumed)
    assert [*stopped.all, *resumed.all] == TESTS
    text = (tmp_path / "report.md").read_text()
    assert f"{len(TESTS)} of {len(TESTS)} tests have run, 0 failed" in text
    assert f"| c0ffee | 1 | {len(TESTS) / 120:.1f} | {len(TESTS)} | 0 | 0 |" in text
    done = _Pytest()
    assert slices.run_all(_ledger(tmp_path), TESTS, _always, "c0ffee", 1, tmp_path, done)
    assert not done.ran


def test_what_stands_is_not_run_again_and_what_failed_draws_its_numbers_again(tmp_path: Path) -> None:
    first = _Pytest(failing=[TESTS[3], TESTS[70]])
    assert not slices.run_all(_ledger(tmp_path), TESTS, _always, "c0ffee", 1, tmp_path, first)
    assert f"- `{TESTS[3]}`: 1 is not 2\n" in (tmp_path / "report.md").read_text()
    assert "2 failed" in (tmp_path / "report.md").read_text()

    def stands(test: str, result: Result) -> bool:
        return not test.startswith("tests/a/test_y.py::test_b") or result.commit == "decade"

    second = _Pytest(failing=[TESTS[70]])
    assert not slices.run_all(_ledger(tmp_path), TESTS, stands, "decade", 2, tmp_path, second)
    assert second.all == [TESTS[3], TESTS[70], *TESTS[150:]]
    assert second.seeds[0] == 1
    assert set(second.seeds[1:]) == {2}
    third = _Pytest()
    assert slices.run_all(_ledger(tmp_path), TESTS, stands, "facade", 3, tmp_path, third)
    assert third.ran == [[TESTS[70]]]
    assert third.seeds == [1]


def test_an_outcome_stands_until_the_test_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        ("ls-files",): "tests/test_x.py\ntests/test_y.py\n",
        ("diff", "--name-only", "--no-renames", "c0ffee", "HEAD"): "tests/test_x.py",
    }

    def git(*arguments: str) -> str:
        if arguments not in said:
            raise subprocess.CalledProcessError(128, arguments)
        return said[arguments]

    monkeypatch.setattr(slices, "git", git)
    monkeypatch.setattr(slices.Reach, "touched", lambda _, test, changed: test in changed)
    stands = slices.standing()
    here, elsewhere = Result("passed", 1.0, "", "c0ffee"), Result("passed", 1.0, "", "0ther")
    assert not stands("tests/test_x.py::test_a[1]", here)
    assert stands("tests/test_y.py::test_a[1]", here)
    assert not stands("tests/test_y.py::test_a[1]", elsewhere)


def test_results_are_kept_by_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "git", lambda *_: " M tests/test_x.py")
    with pytest.raises(SystemExit, match="commit what has changed first"):
        slices.main(["all"])


def test_what_passed_elsewhere_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "PASSED", tmp_path / "passed.json")
    monkeypatch.setattr(slices, "FOLDER", tmp_path / "slices")
    monkeypatch.setattr(slices, "collect", lambda: TESTS)
    monkeypatch.setattr(slices, "commits", lambda: 7)
    monkeypatch.setattr(slices, "git", lambda *asked: "c0ffee" if asked[0] == "rev-parse" else "")
    monkeypatch.setattr(slices, "standing", lambda: _always)
    first, second = _Pytest(failing=[TESTS[2]]), _Pytest()
    for runner in (first, second):
        monkeypatch.setattr(slices, "run_all", partial(slices.run_all, runner=runner))
        monkeypatch.setattr(slices, "FOLDER", tmp_path / str(len(first.ran)))  # another machine
        slices.main(["all", "--recorded"])
        slices.main(["keep"])
    assert sorted(first.all) == sorted(TESTS)
    assert second.all == [TESTS[2]]
    assert slices.from_elsewhere(TESTS).keys() == {*TESTS}


def test_lockstep_runs_with_the_compiled_model(tmp_path: Path) -> None:
    lockstep = [
        f"tests/sim/test_lockstep_{name}.py::test_pairs[{n}]" for name in ("ltrf_long", "long") for n in "01"
    ]
    others = [*TESTS, "tests/sim/test_lockstep_ltrf.py::test_pairs"]
    plain, compiled = _Pytest(), _Pytest()
    tests = [*lockstep[:2], *others, *lockstep[2:]]
    assert slices.run_all(_ledger(tmp_path), tests, _always, "c0ffee", 1, tmp_path, plain, compiled)
    assert plain.all == others
    assert compiled.all == lockstep
    alone = _Pytest()
    other = tmp_path / "other"
    assert slices.run_all(_ledger(other), tests, _always, "c0ffee", 1, other, alone)
    assert alone.all == tests


@pytest.mark.parametrize("compiled", [True, False])
def test_a_slice_runs_the_form_of_golden_that_is_asked_for(
    compiled: bool, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "import os; print(os.environ['WARPBANK_COMPILED'])"
    real = subprocess.run

    def run(_: list[str], **options: Any) -> object:
        return real([sys.executable, "-c", command], **options)

    monkeypatch.setattr(slices.subprocess, "run", run)
    assert slices.pytest([], compiled=compiled) == 0
    assert capfd.readouterr().out == f"{compiled:d}\n"


def test_a_model_that_is_not_compiled_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "git", lambda *_: "")
    monkeypatch.setattr(slices.native, "install", lambda: False)
    with pytest.raises(SystemExit, match=r"golden is not compiled: run python -m warpbank.native.build"):
        slices.main(["all", "--compiled"])


def test_machines_share_the_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def run_all(_: Ledger, tests: list[str], *__: object) -> bool:
        ran.append(tests)
        return len(ran) < 3

    monkeypatch.setattr(slices, "collect", lambda: TESTS)
    monkeypatch.setattr(slices, "git", lambda *_: "")
    monkeypatch.setattr(slices, "commits", lambda: 1)
    monkeypatch.setattr(slices, "run_all", run_all)
    assert [slices.main(["all", "--part", f"{part}/3"]) for part in (1, 2, 3)] == [0, 0, 1]
    assert sorted(test for tests in ran for test in tests) == sorted(TESTS)
    assert all(ran)


@pytest.mark.parametrize("text", ["4/3", "0/3", "3", "a/b"])
def test_a_part_that_is_none_is_named(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        slices.main(["all", "--part", text])
    assert f"'{text}' is no part: give one of 1/4 to 4/4, say" in capsys.readouterr().err


def test_a_slice_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "collect", lambda: TESTS)
    with pytest.raises(SystemExit, match="there is no slice 99: the slices are 1 to"):
        slices.main(["run", "99"])


@pytest.mark.parametrize("arguments", [["run"], ["run", "3", "--by-commit"]])
def test_a_run_names_one_slice(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        slices.main(arguments)
    assert stop.value.code == 2
    assert "name a slice, or give --by-commit" in capsys.readouterr().err


def test_a_run_without_time_names_what_it_leaves_out() -> None:
    one = f"{Path(__file__).relative_to(slices.ROOT)}::test_a_test_without_a_duration_counts_as_its_file"
    two_hours = "tests/formal/test_ltrf.py::test_slower"
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-rs", "-m", ""]
    none = "no time was left for it"
    for test, limit, said in ((one, "0", none), (one, "3600", "1 passed"), (two_hours, "3600", none)):
        done = subprocess.run(
            [*command, test, "--stop-after", limit],
            cwd=slices.ROOT,
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert said in done.stdout


def test_a_slice_is_told_when_to_stop(tmp_path: Path) -> None:
    asked: list[Sequence[str]] = []

    def runner(arguments: Sequence[str]) -> int:
        asked.append(arguments)
        return 0

    assert slices.run(TESTS, tmp_path / "x.xml", 1, runner, limit=90.0) == 0
    assert slices.run(TESTS, tmp_path / "x.xml", 1, runner) == 0
    assert "--stop-after=90" in asked[0]
    assert not any(each.startswith("--stop-after") for each in asked[1])


def test_a_slice_runs_with_the_settings_of_the_project(tmp_path: Path) -> None:
    said = []

    def runner(arguments: Sequence[str]) -> int:
        command = [sys.executable, "-m", "pytest", *arguments, "-n", "0", "--markers"]
        done = subprocess.run(command, cwd=slices.ROOT, text=True, capture_output=True, check=False)
        said.append(done.stdout)
        return done.returncode

    assert slices.run(TESTS, tmp_path / "x.xml", 1, runner) == 0
    assert "@pytest.mark.long: " in said[0]


def test_each_seed_draws_other_numbers_and_a_failure_says_how_to_draw_them_again(tmp_path: Path) -> None:
    file = tmp_path / "test_drawing.py"
    file.write_text("def test_one(drawn): assert drawn.getrandbits(64) == 0\ntest_other = test_one\n")
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "tests.conftest", "-c", "/dev/null"]
    numbers = []
    for seed in (1, 1, 2):
        done = subprocess.run(
            [*command, str(file), f"--hypothesis-seed={seed}"],
            cwd=slices.ROOT,
            text=True,
            capture_output=True,
            check=False,
        )
        numbers.append(re.findall(r"assert (\d+) == 0$", done.stdout, re.MULTILINE))
        assert re.search(rf'--hypothesis-seed={seed} ".*test_drawing\.py::test_one"', done.stdout)
    assert numbers[0] == numbers[1]
    assert len({*numbers[0], *numbers[2]}) == 4
