"""Ledger of the long suite: the last result of every test, and the commit that it ran on."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, islice
from pathlib import Path
from xml.etree import ElementTree

from tests.conftest import NO_TIME

#: Longest reason of a failure that is kept, in characters.
REASON = 200


#: Neighbours among the tests of a function that passed on one commit with one seed, or did not: how many,
#: the commit or "", the seed, the mean of their seconds.
Run = tuple[int, str, int, float]


@dataclass(frozen=True)
class Result:
    """The result of a test.

    Parameters
    ----------
    outcome : `passed`, `failed` or `skipped`.
    seconds : wall time.
    said : first line of the reason of a failure or a skip. A baseline that could not be compared is skipped.
    commit : the commit that the test ran on.
    seed : seed of its random searches.
    """

    outcome: str
    seconds: float
    said: str = ""
    commit: str = ""
    seed: int = 0


def read(report: Path) -> Iterator[tuple[str, Result]]:
    """Tests and their results in a JUnit file that pytest wrote, but for those that had no time to begin."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        outcome, said = "passed", ""
        for tag, what in (("skipped", "skipped"), ("error", "failed"), ("failure", "failed")):
            found = case.find(tag)
            if found is not None:
                outcome, said = what, (found.get("message") or "no reason").splitlines()[0][:REASON]
        if said != NO_TIME:
            yield name, Result(outcome, float(case.get("time") or 0), said)


def function(test: str) -> str:
    """The test function of a test's id: `tests/x.py::test_y[a-b]` is one of `tests/x.py::test_y`."""
    return test.split("[", 1)[0]


def by_function(tests: Sequence[str]) -> dict[str, list[str]]:
    """Tests by their function, in order."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for test in tests:
        found[function(test)].append(test)
    return found


def passes(tests: Sequence[str], results: Mapping[str, Result]) -> dict[str, list[Run]]:
    """Record of which of `tests` passed, short enough to be kept in the repository: runs of them in order, by
    function."""

    def passed(test: str) -> tuple[str, int] | None:
        result = results.get(test)
        return (
            (result.commit[:12], result.seed) if result is not None and result.outcome == "passed" else None
        )

    kept = {}
    for name, members in sorted(by_function(tests).items()):
        runs: list[Run] = []
        for where, group in groupby(members, passed):
            those = list(group)
            if where is None:
                runs.append((len(those), "", 0, 0.0))
            else:
                mean = sum(results[test].seconds for test in those) / len(those)
                runs.append((len(those), *where, round(mean, 2)))
        if any(commit for _, commit, _, _ in runs):
            kept[name] = runs
    return kept


def passed(tests: Sequence[str], kept: Mapping[str, Sequence[Run]]) -> dict[str, Result]:
    """The results that `passes` kept. A function that has more tests by now, or fewer, has none."""
    found = {}
    for name, members in by_function(tests).items():
        runs = kept.get(name, ())
        if sum(count for count, _, _, _ in runs) == len(members):
            rest = iter(members)
            for count, commit, seed, seconds in runs:
                for test in islice(rest, count):
                    if commit:
                        found[test] = Result("passed", seconds, "", commit, seed)
    return found


class Ledger:
    """The last results of tests, kept in a file.

    Parameters
    ----------
    file : JSON, by test id. It is made where it is not there.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        kept = json.loads(file.read_text()) if file.exists() else {}
        self.results = {test: Result(**fields) for test, fields in kept.items()}

    def keep(self, report: Path, commit: str, seed: int) -> None:
        """Take the results of a JUnit file that pytest wrote on `commit` with `seed`."""
        for test, result in read(report):
            self.results[test] = Result(result.outcome, result.seconds, result.said, commit, seed)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        new = self._file.with_suffix(".new")
        kept = {test: asdict(result) for test, result in sorted(self.results.items())}
        new.write_text(json.dumps(kept, indent=0) + "\n")
        os.replace(new, self._file)


def page(tests: Sequence[str], results: Mapping[str, Result], workers: int) -> str:
    """Markdown report of the tests that have a result which stands.

    Parameters
    ----------
    tests : all of the suite.
    results : those that stand, by test.
    workers : how many cores ran them side by side.
    """
    total = Counter(result.outcome for result in results.values())
    lines = [
        f"# Long suite: {len(results)} of {len(tests)} tests have run, {total['failed']} failed",
        "",
        "Nothing that a test reaches has changed since the commit that it ran on.",
        "",
        f"| commit | seed | minutes of {workers} cores | passed | failed | skipped |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    runs: defaultdict[tuple[int, str], list[Result]] = defaultdict(list)
    for result in results.values():
        runs[result.seed, result.commit].append(result)
    for (seed, commit), found in sorted(runs.items()):
        minutes = sum(each.seconds for each in found) / 60 / workers
        many = Counter(each.outcome for each in found)
        counts = " | ".join(str(many[outcome]) for outcome in ("passed", "failed", "skipped"))
        lines.append(f"| {commit[:10]} | {seed} | {minutes:.1f} | {counts} |")
    if total["failed"]:
        lines += ["", "## Failed", ""]
        lines += [f"- `{test}`: {each.said}" for test, each in results.items() if each.outcome == "failed"]
    if total["skipped"]:
        reasons = Counter(each.said for each in results.values() if each.outcome == "skipped")
        lines += ["", "## Not compared, skipped", ""]
        lines += [f"- {many} tests: {why}" for why, many in sorted(reasons.items())]
    return "\n".join(lines) + "\n"
