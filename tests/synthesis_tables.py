"""The generated tables of docs/synthesis.md. `python -m tests.synthesis_tables` brings the page up to
date."""

from __future__ import annotations

from pathlib import Path

from tests.machine_tables import BLOCK
from warpbank.synth.report import tables

PAGE = Path(__file__).parent.parent / "docs" / "synthesis.md"


def updated(page: str) -> str:
    """The page with its generated tables made anew."""
    made = tables()
    return BLOCK.sub(lambda match: match[1] + made[match[2]] + match[4], page)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
