"""Runner of the long suite in slices: parts of at most twenty minutes on two quiet cores, balanced by
recorded durations.

    python -m tests.slices list             # the slices and how long each is expected to take
    python -m tests.slices run 3            # slice 3
    python -m tests.slices run --by-commit  # the slice whose turn it is: each commit runs another
    python -m tests.slices run 3 --minutes 20  # what of it begins within twenty minutes; the rest is named
    python -m tests.slices all              # every test without a result that still stands, and a report
    python -m tests.slices all --recorded   # the same, without what passed.json says to have passed elsewhere
    python -m tests.slices all --compiled   # every test, lockstep's with the compiled golden model
    python -m tests.slices keep             # write into passed.json which tests have passed
    python -m tests.slices report           # which results stand
    python -m tests.slices sample           # a few tests of every function, to see whether each still passes
    python -m tests.slices record build/slices/*.xml  # keep the durations of what has run

The long suite is every test marked `long`, and every random search of the default suite with a seed of the
slice's own. `durations.json` holds seconds per test, by test function; pytest-split cuts the suite by them.
The result of a test stands as long as nothing changes that the test reaches (tests.reach), so that a pass of
the whole suite may take several commits, and with `passed.json` several machines. A test that failed is not
done: `all` draws its numbers again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from pytest_split import algorithms

from tests.ledger import Ledger, Result, by_function, function, page, passed, passes, read
from tests.reach import Reach
from warpbank import native

ROOT = Path(__file__).parent.parent
#: Mean seconds of a test on a quiet core, by test function.
DURATIONS = Path(__file__).with_name("durations.json")
#: Which tests passed, by test function, on which commit: what `keep` wrote.
PASSED = Path(__file__).with_name("passed.json")
#: Where the results are kept; ignored by git.
FOLDER = ROOT / "build" / "slices"
#: The tests that are sliced.
MARKS = "(long or hypothesis) and not hardware and not benchmark"
WORKERS = 2
#: Seconds of wall time that a slice may take.
LIMIT = 20 * 60
#: Tests that `--compiled` runs with golden compiled. They spend their time in it, the RTL being machine code,
#: and plant no mutant there.
COMPILED = re.compile(r"tests/sim/test_lockstep\w*_long\.py::")
#: Share of a slice's time that its tests fill: workers wait for each other's model builds and at the end.
FILL = 0.8
#: Tests of a function of which `sample` takes one more.
SAMPLED = 100
#: Seconds of a test whose file has no duration yet: more than most take, so that no slice is too long.
UNKNOWN = 20.0

Run = Callable[[Sequence[str]], int]
Stands = Callable[[str, Result], bool]


class _Item(str):
    """Id of a test, as pytest-split reads it."""

    @property
    def nodeid(self) -> str:
        return str(self)


def expected(tests: Sequence[str], recorded: Mapping[str, float]) -> dict[str, float]:
    """Seconds that each of `tests` is expected to take: the mean of its function, else of its file."""
    files: defaultdict[str, list[float]] = defaultdict(list)
    for name, seconds in recorded.items():
        files[name.split("::", 1)[0]].append(seconds)
    times = {}
    for test in tests:
        others = files.get(test.split("::", 1)[0])
        default = sum(others) / len(others) if others else UNKNOWN
        times[test] = recorded.get(function(test), default)
    return times


def cut(times: Mapping[str, float]) -> list[list[str]]:
    """Slices of the tests in order, none of them empty or longer than `LIMIT`. `times`: seconds that each
    takes."""
    count = max(1, math.ceil(sum(times.values()) / (WORKERS * LIMIT * FILL)))
    algorithm = algorithms.DurationBasedChunksAlgorithm()
    groups = algorithm(count, [_Item(test) for test in times], dict(times))
    # An empty one would not be none: without a name pytest runs the whole suite.
    return [[str(item) for item in group.selected] for group in groups if group.selected]


def sample(tests: Sequence[str], seed: int) -> list[str]:
    """Random tests of every function of `tests`, one in a hundred and at least one, in order."""
    rng = random.Random(seed)
    few = {
        test
        for members in by_function(tests).values()
        for test in rng.sample(members, -(-len(members) // SAMPLED))
    }
    return [test for test in tests if test in few]


def turn(commits: int, slices: int) -> int:
    """The slice whose turn it is after so many commits. Consecutive commits run consecutive slices."""
    return commits % slices + 1


def git(*arguments: str) -> str:
    """Output of a git command in the repository."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, text=True, capture_output=True)
    return done.stdout.strip()


def commits() -> int:
    """Number of commits up to the one that is checked out. A shallow clone is deepened first."""
    if git("rev-parse", "--is-shallow-repository") == "true":
        git("fetch", "--unshallow", "--quiet")
    return int(git("rev-list", "--count", "HEAD"))


def collect() -> list[str]:
    """Ids of all tests of the long suite, in the order in which they run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-m", MARKS]
    done = subprocess.run(command, cwd=ROOT, check=False, text=True, capture_output=True)
    tests = [line for line in done.stdout.splitlines() if "::" in line and not line.startswith(" ")]
    if done.returncode or not tests:
        raise SystemExit(f"the tests could not be collected:\n{done.stdout}{done.stderr}")
    return tests


def recorded() -> dict[str, float]:
    """Seconds per test that `durations.json` holds, by test function."""
    return dict(json.loads(DURATIONS.read_text())) if DURATIONS.exists() else {}


def learn(times: Sequence[tuple[str, float]], known: Mapping[str, float]) -> dict[str, float]:
    """`known` durations with the means of `times` in place of what they measured again."""
    seen: defaultdict[str, list[float]] = defaultdict(list)
    for test, seconds in times:
        seen[function(test)].append(seconds)
    means = {name: round(sum(each) / len(each), 3) for name, each in seen.items()}
    return dict(sorted({**known, **means}.items()))


def pytest(arguments: Sequence[str], *, compiled: bool = False) -> int:
    """Run pytest with `arguments` in the repository. Returns its exit code. `compiled`: golden's form."""
    environment = {**os.environ, "WARPBANK_COMPILED": str(int(compiled))}
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False, env=environment).returncode


def run(
    tests: Sequence[str], report: Path, seed: int, runner: Run = pytest, *, limit: float | None = None
) -> int:
    """Run `tests` of the long suite; pytest writes the JUnit file `report`. Returns its exit code.

    Tests that have not begun `limit` seconds after the start are skipped, and said to be.
    """
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    return runner(
        [
            *("-m", MARKS, "-n", str(WORKERS), "--quiet", "--timeout=1800"),
            *("--hypothesis-profile=fresh", f"--hypothesis-seed={seed}", f"--junitxml={report}"),
            *(("-rs", f"--stop-after={limit:.0f}") if limit is not None else ()),
            *tests,
        ]
    )


def run_all(
    ledger: Ledger,
    tests: Sequence[str],
    stands: Stands,
    commit: str,
    seed: int,
    folder: Path,
    runner: Run = pytest,
    compiled: Run | None = None,
) -> bool:
    """Run in slices what of `tests` has no result that stands, or failed. True if all of them passed.

    A slice's results are kept when it has ended: a run that was stopped starts that slice again. Each slice
    leaves its JUnit file and `report.md`, the report of all results, in `folder`.

    Parameters
    ----------
    ledger : the results; those of the slices go into it.
    tests : all of the long suite.
    stands : whether a test's result stands.
    commit : the commit that is checked out.
    seed : of random searches; a test that failed and still may draws from the seed that it failed with.
    folder : of the reports.
    runner : runs the slices.
    compiled : runs slices of their own, made of the tests that `COMPILED` names.
    """
    failed = {test: result for test, result in ledger.results.items() if result.outcome == "failed"}
    done = found(ledger, tests, stands).keys() - failed.keys()
    due: defaultdict[tuple[int, bool], list[str]] = defaultdict(list)
    for test in tests:
        if test not in done:
            fast = compiled is not None and COMPILED.match(test) is not None
            due[failed[test].seed if test in failed else seed, fast].append(test)
    runners = {False: runner, True: compiled or runner}
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for (drawn, fast), these in sorted(due.items()):
        for piece in cut(expected(these, recorded())):
            number += 1
            report = folder / f"slice-{number}.xml"
            code = run(piece, report, drawn, runners[fast])
            if code > 1 or not report.exists():  # stopped, or pytest itself failed: no result
                raise SystemExit(f"slice {number} did not run to its end: pytest's exit code was {code}")
            ledger.keep(report, commit, drawn)
            (folder / "report.md").write_text(page(tests, found(ledger, tests, stands), WORKERS))
    results = found(ledger, tests, stands)
    (folder / "report.md").write_text(page(tests, results, WORKERS))
    return len(results) == len(tests) and all(each.outcome != "failed" for each in results.values())


def found(ledger: Ledger, tests: Sequence[str], stands: Stands) -> dict[str, Result]:
    """Results of `ledger` that stand, of `tests`."""
    kept = {test: ledger.results[test] for test in tests if test in ledger.results}
    return {test: result for test, result in kept.items() if stands(test, result)}


def standing() -> Stands:
    """Whether a test's result stands on the commit that is checked out: nothing that the test reaches has
    changed since it ran."""
    reach = Reach(ROOT, git("ls-files").splitlines())

    @cache
    def changed(commit: str) -> frozenset[str] | None:
        try:
            return frozenset(git("diff", "--name-only", "--no-renames", commit, "HEAD").splitlines())
        except subprocess.CalledProcessError:  # a commit of another clone
            return None

    @cache
    def touched(file: str, commit: str) -> bool:
        files = changed(commit)
        return files is None or reach.touched(file, files)

    return lambda test, result: not touched(test.split("::", 1)[0], result.commit)


def record(reports: Sequence[Path]) -> None:
    """Put the durations of JUnit files into `durations.json`."""
    known = recorded()
    for report in reports:
        ran = [(test, each.seconds) for test, each in read(report) if each.outcome != "skipped"]
        known = learn(ran, known)
    DURATIONS.write_text(json.dumps(known, indent=1) + "\n")


def from_elsewhere(tests: Sequence[str]) -> dict[str, Result]:
    """Results that `passed.json` holds."""
    return passed(tests, json.loads(PASSED.read_text())) if PASSED.exists() else {}


def keep(tests: Sequence[str], results: Mapping[str, Result]) -> None:
    """Write into `passed.json` which of `tests` have passed. `results`: those that stand."""
    kept = passes(tests, results)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(runs)}" for name, runs in kept.items())
    PASSED.write_text(f"{{\n{lines}\n}}\n")


def part(text: str) -> tuple[int, int]:
    """The part `K/N` of a work. ArgumentTypeError: it is none."""
    fields = re.fullmatch(r"(\d+)/(\d+)", text)
    if fields is None or not 1 <= int(fields[1]) <= int(fields[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is no part: give one of 1/4 to 4/4, say")
    return int(fields[1]), int(fields[2])


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m tests.slices", description=__doc__.split("\n\n")[0])
    commands = made.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="print the slices and their expected minutes")
    one = commands.add_parser("run", help="run one slice")
    one.add_argument("number", nargs="?", type=int, help="the slice, from 1")
    one.add_argument("--by-commit", action="store_true", help="the slice whose turn it is")
    one.add_argument("--minutes", type=float, help="begin no test after so many minutes, and name the rest")
    every = commands.add_parser("all", help="run every test without a result that stands, and write a report")
    every.add_argument(
        "--recorded", action="store_true", help="count what passed.json says to have passed as run"
    )
    every.add_argument("--compiled", action="store_true", help="run lockstep with the compiled golden model")
    every.add_argument(
        "--part", type=part, default=(1, 1), metavar="K/N", help="of N machines' work the Kth's"
    )
    commands.add_parser("report", help="print which results stand, those in passed.json included")
    commands.add_parser("keep", help="write into passed.json which tests have passed")
    some = commands.add_parser("sample", help="run a few tests of every function, chosen by the commit")
    some.add_argument("--minutes", type=float, help="begin no test after so many minutes, and name the rest")
    times = commands.add_parser("record", help="take durations from JUnit files of pytest")
    times.add_argument("reports", nargs="+", type=Path)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line's work. Returns the exit code."""
    usage = parser()
    asked = usage.parse_args(arguments)
    if asked.command == "record":
        record(asked.reports)
        return 0
    if asked.command == "run" and (asked.number is None) != asked.by_commit:
        usage.error("run: name a slice, or give --by-commit")
    if asked.command == "all" and git("status", "--porcelain", "--untracked-files=no"):
        raise SystemExit("results are kept by commit: commit what has changed first, or stash it")
    if asked.command == "all" and asked.compiled and not native.install():
        raise SystemExit("golden is not compiled: run python -m warpbank.native.build")
    tests = collect()
    slices = cut(expected(tests, recorded()))
    if asked.command == "list":
        each = sum(expected(tests, recorded()).values()) / len(slices) / WORKERS / 60
        text = f"{len(tests)} tests in {len(slices)} slices of {each:.0f} minutes on {WORKERS} cores\n"
        sys.stdout.write(text)
        return 0
    seed, commit, ledger = commits(), git("rev-parse", "HEAD"), Ledger(FOLDER / "results.json")
    if asked.command in ("report", "keep") or (asked.command == "all" and asked.recorded):
        ledger.results = {**from_elsewhere(tests), **ledger.results}
    if asked.command == "keep":
        keep(tests, found(ledger, tests, standing()))
        return 0
    if asked.command == "all":
        number, parts = asked.part
        tests = [test for each in slices[number - 1 :: parts] for test in each]
        fast = {"compiled": partial(pytest, compiled=True)} if asked.compiled else {}
        return 0 if run_all(ledger, tests, standing(), commit, seed, FOLDER, **fast) else 1
    if asked.command == "report":
        sys.stdout.write(page(tests, found(ledger, tests, standing()), WORKERS))
        return 0
    limit = asked.minutes * 60 if asked.minutes is not None else None
    if asked.command == "sample":
        name, chosen = "sample", sample(tests, seed)
        sys.stdout.write(f"{len(chosen)} of {len(tests)} tests, those of seed {seed}\n")
    else:
        number = turn(seed, len(slices)) if asked.by_commit else asked.number
        if not 1 <= number <= len(slices):
            raise SystemExit(f"there is no slice {number}: the slices are 1 to {len(slices)}")
        name, chosen = f"slice-{number}", slices[number - 1]
        sys.stdout.write(f"slice {number} of {len(slices)}, random searches from seed {seed}\n")
    sys.stdout.flush()
    report = FOLDER / f"{name}.xml"
    code = run(chosen, report, seed, limit=limit)
    if report.exists() and not git("status", "--porcelain", "--untracked-files=no"):
        ledger.keep(report, commit, seed)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
