"""Reproduction files: Markdown, JSON and a page for the paper, CSV for each figure, each written whole or not
at all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpbank.program.errors import WarpbankError
from warpbank.sim.output import write_text
from warpbank.sim.report import html
from warpbank.studies.reproduce import scorecard
from warpbank.studies.reproduce.page import page
from warpbank.studies.reproduce.paper import Comparison, table_rows
from warpbank.studies.reproduce.run import Reproduction
from warpbank.studies.reproduce.scorecard import Entry


def write(made: Reproduction, folder: Path) -> list[Path]:
    """Write the files into the folder, which is made if need be, and return their paths. Raises WarpbankError
    if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WarpbankError(
            f"cannot make the folder {folder}: {error.strerror}; name another with --output"
        ) from None
    name = made.paper.name
    texts = {f"{name}-{part.figure.name}.csv": csv_text(part, made) for part in made.comparisons}
    texts |= {
        f"{name}.md": markdown(made),
        f"{name}.json": json.dumps(made.to_dict(), indent=2, allow_nan=False) + "\n",
    }
    texts[f"{name}.html"] = html(page(made))
    for file, text in texts.items():
        write_text(folder / file, text)
    return [folder / file for file in texts]


def csv_text(part: Comparison, made: Reproduction) -> str:
    """CSV of one figure: a comment on what made it, a header, a row per kernel, the mean, the published
    values."""
    text = io.StringIO()
    text.write(f"# {json.dumps(made.made_by)}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["kernel", *part.figure.columns])
    writer.writerows([name, *values] for name, values in table_rows(part))
    return text.getvalue()


def markdown(made: Reproduction) -> str:
    """Markdown page of all figures."""
    lines = [
        f"# {made.paper.title}",
        "",
        *(f"- {key}: {_inline(value)}" for key, value in made.made_by.items()),
    ]
    for part in made.comparisons:
        figure = part.figure
        mean = f"{figure.mean}, but where the text below says otherwise" if figure.means else figure.mean
        lines += ["", f"## {figure.title}", "", f"In {figure.unit or 'units as named'}. Mean: {mean}."]
        if part.published.rows:
            lines[-1] += f" Published: {part.published.source}."
        lines += [
            "",
            "| kernel | " + " | ".join(figure.columns) + " |",
            "|---" + "|---:" * len(figure.columns) + "|",
        ]
        rows = [
            (name, *(number(value, figure.digits) for value in values)) for name, values in table_rows(part)
        ]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        lines += ["", " ".join(part.sentences)]
        lines += [f"- failed: {label}: {cause}" for label, cause in part.failures.items()]
    lines += ["", "## Scorecard", "", scorecard.markdown(made.scorecard).rstrip()] * bool(made.scorecard)
    return "\n".join(lines) + "\n"


def write_scorecard(card: Sequence[Entry], made_by: dict[str, Any], folder: Path) -> list[Path]:
    """Write the scorecard of several papers, `scorecard.md` and `scorecard.json`, and return their paths."""
    data = {"made_by": made_by, "entries": [entry.to_dict() for entry in card]}
    texts = {
        "scorecard.md": f"# Scorecard\n\n{scorecard.markdown(card)}",
        "scorecard.json": json.dumps(data, indent=1, allow_nan=False) + "\n",
    }
    for file, text in texts.items():
        write_text(folder / file, text)
    return [folder / file for file in texts]


def number(value: float | None, digits: int = 1) -> str:
    """Number as people read it; nothing for one that was not published."""
    return "" if value is None else f"{value:.{digits}f}"


def _inline(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
