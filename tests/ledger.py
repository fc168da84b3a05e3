"""Ledger of the long suite: the last result of every test, and the commit that it ran on."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.conftest import NO_TIME

#: Longest reason of a failure that is kept, in characters.
REASON = 200


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
