"""docs/scorecard.md, made from a recorded run of `warpbank reproduce`.

`python -m tests.scorecard_page record FOLDER...` records the PAPER.json files of folders that `--output`
named, and `python -m tests.scorecard_page` writes the page. Verdicts are computed from the recorded numbers.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpbank.studies.reproduce import PAPERS
from warpbank.studies.reproduce.scorecard import Entry, from_dict, markdown

RECORDED = Path(__file__).with_name("scorecard.json")
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
    text = f"{markdown(entries())}\nRecorded by:\n\n{commands}\n"
    return BLOCK.sub(lambda match: match[1] + text + match[3], PAGE.read_text())


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record([Path(name) for name in sys.argv[2:]])
    PAGE.write_text(updated())
