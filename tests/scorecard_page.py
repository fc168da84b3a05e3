"""docs/scorecard.md, made from a recorded run of `warpbank reproduce`.

`python -m tests.scorecard_page record FOLDER` records the PAPER.json files of a folder that `--output` named,
and `python -m tests.scorecard_page` writes the page. Verdicts are computed from the recorded numbers.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from warpbank.studies.reproduce import PAPERS
from warpbank.studies.reproduce.scorecard import Entry, from_dict, markdown

RECORDED = Path(__file__).with_name("scorecard.json")
PAGE = Path(__file__).parent.parent / "docs" / "scorecard.md"
BLOCK = re.compile(r"(<!-- scorecard -->\n)(.*?)(<!-- end -->)", re.DOTALL)
#: What is kept of the provenance of each paper.
KEPT = ("command", "size", "compile", "configurations", "versions")


def record(folder: Path) -> None:
    """Record the runs of a folder, each paper's that is there; those of other papers stay."""
    data: dict[str, Any] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for name in PAPERS:
        path = folder / f"{name}.json"
        if path.exists():
            found = json.loads(path.read_text())
            made_by = {key: found["made_by"][key] for key in KEPT}
            data[name] = {"made_by": made_by, "entries": found["scorecard"]}
    whole = {name: data[name] for name in PAPERS if name in data}
    RECORDED.write_text(json.dumps(whole, indent=1) + "\n")


def entries() -> list[Entry]:
    """Recorded entries of all papers."""
    data = json.loads(RECORDED.read_text())
    return [from_dict(row) for paper in data.values() for row in paper["entries"]]


def updated() -> str:
    """The page with its tables as recorded."""
    made = [paper["made_by"]["command"] for paper in json.loads(RECORDED.read_text()).values()]
    commands = "\n".join(f"    {command}" for command in made)
    text = f"{markdown(entries())}\nRecorded by:\n\n{commands}\n"
    return BLOCK.sub(lambda match: match[1] + text + match[3], PAGE.read_text())


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(Path(sys.argv[2]))
    PAGE.write_text(updated())
