"""Runner of the long suite in slices: parts of at most twenty minutes on two quiet cores, balanced by
recorded durations.

    python -m tests.slices list             # the slices and how long each is expected to take
    python -m tests.slices run 3            # slice 3
    python -m tests.slices run --by-commit  # the slice whose turn it is: each commit runs another
    python -m tests.slices run 3 --minutes 20  # what of it begins within twenty minutes; the rest is named
    python -m tests.slices all              # all that have not run on this commit, and a report
    python -m tests.slices sample           # a few tests of every function, to see whether each still passes
    python -m tests.slices record build/slices/*.xml  # keep the durations of what has run

The long suite is every test marked `long`, and every random search of the default suite with a seed of the
slice's own. `durations.json` holds seconds per test, by test function; pytest-split cuts the suite by them.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
#: Mean seconds of a test on a quiet core, by test function.
DURATIONS = Path(__file__).with_name("durations.json")
#: Where `all` keeps what has run; ignored by git.
FOLDER = ROOT / "build" / "slices"
#: The tests that are sliced.
MARKS = "(long or hypothesis) and not hardware and not benchmark"
WORKERS = 2
#: Seconds of wall time that a slice may take.
LIMIT = 20 * 60
#: Share of a slice's time that its tests fill: workers wait for each other's model builds and at the end.
FILL = 0.8
#: Tests of a function of which `sample` takes one more.
SAMPLED = 100
#: Seconds of a test whose file has no duration yet: more than most take, so that no slice is too long.
UNKNOWN = 20.0

Run = Callable[[Sequence[str]], int]


@dataclass(frozen=True)
class Outcome:
    """The result of a slice.

    Parameters
    ----------
    number : the slice, from 1.
    commit : the commit that it ran on.
    seed : seed of its random searches.
    seconds : wall time of its tests, added up over the workers.
    passed : how many tests passed.
    failed : names of the tests that failed, with the first line of the reason.
    skipped : reason -> how many tests were skipped for it. A baseline that could not be compared is here.
    """

    number: int
    commit: str
    seed: int
    seconds: float
    passed: int
    failed: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)


def function(test: str) -> str:
    """The test function of a test's id: `tests/x.py::test_y[a-b]` is one of `tests/x.py::test_y`."""
    return test.split("[", 1)[0]


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


def count(times: Mapping[str, float]) -> int:
    """How many slices the suite is cut into, so that none is longer than `LIMIT`."""
    return max(1, math.ceil(sum(times.values()) / (WORKERS * LIMIT * FILL)))


def sample(tests: Sequence[str], seed: int) -> list[str]:
    """Random tests of every function of `tests`, one in a hundred and at least one, in order."""
    functions: defaultdict[str, list[str]] = defaultdict(list)
    for test in tests:
        functions[function(test)].append(test)
    rng = random.Random(seed)
    few = {
        test for members in functions.values() for test in rng.sample(members, -(-len(members) // SAMPLED))
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
    """How many commits lead to the one that is checked out. A shallow clone is deepened first."""
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


def read_report(report: Path) -> tuple[list[tuple[str, float]], dict[str, str], dict[str, int]]:
    """Tests with their seconds, failures and skips of a JUnit file that pytest wrote."""
    times: list[tuple[str, float]] = []
    failed: dict[str, str] = {}
    skipped: defaultdict[str, int] = defaultdict(int)
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        skip = case.find("skipped")
        if problem is not None:
            failed[name] = (problem.get("message") or "no message").splitlines()[0][:200]
        elif skip is not None:
            skipped[skip.get("message") or "no reason"] += 1
            continue
        times.append((name, float(case.get("time") or 0)))
    return times, failed, dict(skipped)


def learn(times: Sequence[tuple[str, float]], known: Mapping[str, float]) -> dict[str, float]:
    """`known` durations with the means of `times` in place of what they measured again."""
    seen: defaultdict[str, list[float]] = defaultdict(list)
    for test, seconds in times:
        seen[function(test)].append(seconds)
    means = {name: round(sum(each) / len(each), 3) for name, each in seen.items()}
    return dict(sorted({**known, **means}.items()))


def pytest(arguments: Sequence[str]) -> int:
    """Run pytest with `arguments` in the repository. Returns its exit code."""
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode


def run(
    number: int,
    tests: Sequence[str],
    report: Path,
    seed: int,
    runner: Run = pytest,
    *,
    limit: float | None = None,
) -> int:
    """Run slice `number` of `tests`; pytest writes the JUnit file `report`. Returns its exit code.

    Tests that have not begun `limit` seconds after the start are skipped, and said to be.
    """
    times = expected(tests, recorded())
    slices = count(times)
    if not 1 <= number <= slices:
        raise SystemExit(f"there is no slice {number}: the slices are 1 to {slices}")
    with tempfile.TemporaryDirectory() as folder:
        durations = Path(folder) / "durations.json"
        durations.write_text(json.dumps(times))
        # In one word: pytest takes a path that stands alone for tests, and looks there for its settings.
        split = ("--splits", str(slices), "--group", str(number), f"--durations-path={durations}")
        return runner([*options(report, seed, limit), *split])


def options(report: Path, seed: int, limit: float | None) -> list[str]:
    """How pytest runs tests of the long suite: as `run` says. Makes the report's folder."""
    report.parent.mkdir(parents=True, exist_ok=True)
    return [
        *("-m", MARKS, "-n", str(WORKERS), "--quiet", "--timeout=1800"),
        *("--hypothesis-profile=fresh", f"--hypothesis-seed={seed}", f"--junitxml={report}"),
        *(("-rs", f"--stop-after={limit:.0f}") if limit is not None else ()),
    ]


def outcome(number: int, report: Path, commit: str, seed: int) -> Outcome:
    """What a slice's JUnit file says."""
    times, failed, skipped = read_report(report)
    seconds = sum(each for _, each in times)
    return Outcome(number, commit, seed, round(seconds, 1), len(times) - len(failed), failed, skipped)


def page(outcomes: Sequence[Outcome], slices: int) -> str:
    """Markdown report of the slices that have run."""
    lines = [
        f"# Long suite, {len(outcomes)} of {slices} slices",
        "",
        "| slice | commit | seed | minutes of two cores | passed | failed | skipped |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for each in outcomes:
        minutes = each.seconds / 60 / WORKERS
        skips = sum(each.skipped.values())
        lines.append(
            f"| {each.number} | {each.commit[:10]} | {each.seed} | {minutes:.1f} | {each.passed} | "
            f"{len(each.failed)} | {skips} |"
        )
    failures = [(each.number, *item) for each in outcomes for item in each.failed.items()]
    if failures:
        lines += ["", "## Failed", ""]
        lines += [f"- slice {number}: `{test}`: {why}" for number, test, why in failures]
    skipped: defaultdict[str, int] = defaultdict(int)
    for each in outcomes:
        for why, many in each.skipped.items():
            skipped[why] += many
    if skipped:
        lines += ["", "## Not compared, skipped", ""]
        lines += [f"- {many} tests: {why}" for why, many in sorted(skipped.items())]
    return "\n".join(lines) + "\n"


def run_all(folder: Path, tests: Sequence[str], commit: str, seed: int, runner: Run = pytest) -> bool:
    """Run every slice that has no result of `commit` in `folder`, and write `report.md`. True if all passed.

    A slice's result is written when the slice has ended: a run that was stopped starts that slice again.
    """
    slices = count(expected(tests, recorded()))
    outcomes = []
    for number in range(1, slices + 1):
        kept = folder / f"slice-{number}.json"
        done = json.loads(kept.read_text()) if kept.exists() else {}
        if done.get("commit") == commit and done.get("slices") == slices:
            result = Outcome(**done["outcome"])
        else:
            report = folder / f"slice-{number}.xml"
            report.unlink(missing_ok=True)
            code = run(number, tests, report, seed, runner)
            if code > 1 or not report.exists():  # stopped, or pytest itself failed: no result
                raise SystemExit(f"slice {number} did not run to its end: pytest's exit code was {code}")
            result = outcome(number, report, commit, seed)
            kept.write_text(json.dumps({"commit": commit, "slices": slices, "outcome": asdict(result)}))
        outcomes.append(result)
        (folder / "report.md").write_text(page(outcomes, slices))
    return not any(each.failed for each in outcomes)


def record(reports: Sequence[Path]) -> None:
    """Put the durations of JUnit files into `durations.json`."""
    known = recorded()
    for report in reports:
        known = learn(read_report(report)[0], known)
    DURATIONS.write_text(json.dumps(known, indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.slices", description=__doc__.split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="print the slices and their expected minutes")
    one = commands.add_parser("run", help="run one slice")
    one.add_argument("number", nargs="?", type=int, help="the slice, from 1")
    one.add_argument("--by-commit", action="store_true", help="the slice whose turn it is")
    one.add_argument("--minutes", type=float, help="begin no test after so many minutes, and name the rest")
    every = commands.add_parser("all", help="run every slice that has not run on this commit")
    every.add_argument("--folder", type=Path, default=FOLDER, help="results (default: %(default)s)")
    some = commands.add_parser("sample", help="run a few tests of every function, chosen by the commit")
    some.add_argument("--minutes", type=float, help="begin no test after so many minutes, and name the rest")
    times = commands.add_parser("record", help="take durations from JUnit files of pytest")
    times.add_argument("reports", nargs="+", type=Path)
    asked = parser.parse_args(arguments)
    if asked.command == "record":
        record(asked.reports)
        return 0
    if asked.command == "run" and (asked.number is None) != asked.by_commit:
        parser.error("run: name a slice, or give --by-commit")
    tests = collect()
    durations = expected(tests, recorded())
    slices = count(durations)
    if asked.command == "list":
        each = sum(durations.values()) / slices / WORKERS / 60
        sys.stdout.write(f"{len(tests)} tests in {slices} slices of {each:.0f} minutes on {WORKERS} cores\n")
        return 0
    seed = commits()
    if asked.command == "all":
        return 0 if run_all(asked.folder, tests, git("rev-parse", "HEAD"), seed) else 1
    limit = asked.minutes * 60 if asked.minutes is not None else None
    if asked.command == "sample":
        few = sample(tests, seed)
        sys.stdout.write(f"{len(few)} of {len(tests)} tests, those of seed {seed}\n")
        sys.stdout.flush()
        return pytest([*options(FOLDER / "sample.xml", seed, limit), *few])
    number = turn(seed, slices) if asked.by_commit else asked.number
    sys.stdout.write(f"slice {number} of {slices}, random searches from seed {seed}\n")
    sys.stdout.flush()
    return run(number, tests, FOLDER / f"slice-{number}.xml", seed, limit=limit)


if __name__ == "__main__":
    raise SystemExit(main())
