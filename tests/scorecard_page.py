"""docs/scorecard.md, made from a recorded run of `warpbank reproduce`.

`python -m tests.scorecard_page record FOLDER...` records the PAPER.json files of folders that `--output`
named, and `python -m tests.scorecard_page` writes the page. Verdicts are computed from the recorded numbers.

`python -m tests.scorecard_page update FOLDER...` adds runs of some figures to the records of their papers
(`warpbank reproduce PAPER --figure NAME --no-explain --output FOLDER`).

`python -m tests.scorecard_page add PAPER...` runs the experiments that were added since a paper was recorded,
and those alone. It is for a tree whose runs still give what was recorded; one that gives other numbers is
recorded anew.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpbank.sim.runs import Outcome
from warpbank.studies.reproduce import PAPERS
from warpbank.studies.reproduce.run import supplemented
from warpbank.studies.reproduce.scorecard import Entry, Verdict, from_dict, markdown

RECORDED = Path(__file__).with_name("scorecard.json")
#: Verdicts of the first card that was recorded: 22 November 2026, `tiny`, commit 66a041bb.
FIRST = Path(__file__).with_name("scorecard_first.json")
PAGE = Path(__file__).parent.parent / "docs" / "scorecard.md"
BLOCK = re.compile(r"(<!-- scorecard -->\n)(.*?)(<!-- end -->)", re.DOTALL)
#: What is kept of the provenance of each paper.
KEPT = ("command", "size", "compile", "configurations", "versions")


def record(folders: Sequence[Path]) -> None:
    """Record the runs of folders. A paper that is in any of them loses what was recorded of it; a figure that
    is in several is taken from the last."""
    data: dict[str, list[dict[str, Any]]] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for name in PAPERS:
        found = [
            json.loads((folder / f"{name}.json").read_text())
            for folder in folders
            if (folder / f"{name}.json").exists()
        ]
        if found:
            data[name] = [
                {"made_by": {key: run["made_by"][key] for key in KEPT}, "entries": run["scorecard"]}
                for run in found
            ]
    whole = {name: data[name] for name in PAPERS if name in data}
    RECORDED.write_text(json.dumps(whole, indent=1) + "\n")


def update(folders: Sequence[Path]) -> None:
    """Add runs of some figures to the records of their papers. An entry whose number is as recorded keeps its
    experiments; those that another one lacks are for `add`."""
    data: dict[str, list[dict[str, Any]]] = json.loads(RECORDED.read_text())
    for folder, name in itertools.product(folders, PAPERS):
        if not (folder / f"{name}.json").exists():
            continue
        run = json.loads((folder / f"{name}.json").read_text())
        known = {_key(row): row for before in data[name] for row in before["entries"]}
        for row in run["scorecard"]:
            before = known.get(_key(row))
            if before is not None and before["ours"] == row["ours"]:
                row["trials"] = before["trials"]
        columns = {part["figure"]: part["columns"] for part in run["figures"]}
        # A column that a figure has no longer is forgotten.
        gone = {
            _key(row)
            for row in known.values()
            if row["column"] not in columns.get(row["figure"], [row["column"]])
        }
        for before in data[name]:
            before["entries"] = [row for row in before["entries"] if _key(row) not in gone]
        made_by = {key: run["made_by"][key] for key in KEPT}
        card = [from_dict(row).to_dict() for row in run["scorecard"]]  # verdicts follow from the experiments
        data[name].append({"made_by": made_by, "entries": card})
    RECORDED.write_text(json.dumps(data, indent=1) + "\n")


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    """Figure, column and end of an entry."""
    return row["figure"], row["column"], row["end"]


def add(name: str) -> None:
    """Run the experiments that the record of a paper lacks. Of an entry that two runs made, the later is
    kept."""
    data: dict[str, list[dict[str, Any]]] = json.loads(RECORDED.read_text())
    later: set[tuple[str, str, str]] = set()
    for run in reversed(data[name]):
        card = [
            entry
            for entry in map(from_dict, run["entries"])
            if (entry.figure, entry.column, entry.end) not in later
        ]
        later |= {(entry.figure, entry.column, entry.end) for entry in card}
        found = supplemented(PAPERS[name], card, run["made_by"]["size"], progress=_tell)
        run["entries"] = [entry.to_dict() for entry in found]
    RECORDED.write_text(json.dumps(data, indent=1) + "\n")


def _tell(outcome: Outcome, done: int, total: int) -> None:
    print(f"\r{done} of {total} runs", end="\n" * (done == total), flush=True)  # noqa: T201


def entries() -> list[Entry]:
    """Recorded entries of all papers, in the order of their figures."""
    found: list[Entry] = []
    for name, runs in json.loads(RECORDED.read_text()).items():
        rows = {}
        for run in runs:
            rows |= {(row["figure"], row["column"], row["end"]): from_dict(row) for row in run["entries"]}
        places = {figure.name: place for place, figure in enumerate(PAPERS[name].figures)}
        found += sorted(rows.values(), key=lambda entry: places[entry.figure])
    return found


def updated() -> str:
    """The page with its tables as recorded."""
    runs = [run for paper in json.loads(RECORDED.read_text()).values() for run in paper]
    commands = "\n".join(f"    {run['made_by']['command']}" for run in runs)
    first = {
        (paper, name): Verdict(verdict)
        for paper, verdicts in json.loads(FIRST.read_text()).items()
        for name, verdict in verdicts.items()
    }
    text = f"{markdown(entries(), first)}\nRecorded by:\n\n{commands}\n"
    return BLOCK.sub(lambda match: match[1] + text + match[3], PAGE.read_text())


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record([Path(name) for name in sys.argv[2:]])
    elif sys.argv[1:2] == ["update"]:
        update([Path(name) for name in sys.argv[2:]])
    elif sys.argv[1:2] == ["add"]:
        for paper in sys.argv[2:]:
            add(paper)
    PAGE.write_text(updated())
