"""README's terminal output: what its main command prints in a terminal of `COLUMNS`. `python -m
tests.readme_output` runs the command and brings README up to date."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parent.parent / "README.md"
COMMAND = ("warpbank", "compare")
COLUMNS = 110
BLOCK = re.compile(r"(<!-- output: warpbank compare -->\n```text\n)(.*?)(```\n<!-- end -->)", re.DOTALL)


def shown() -> str:
    """Output that README shows."""
    found = BLOCK.search(PAGE.read_text())
    assert found is not None, "README has lost the output of its main command"
    return found[2]


def printed() -> str:
    """What the command prints now."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", *COMMAND],
            env={**os.environ, "COLUMNS": str(COLUMNS)},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    return tidy(done.stdout)


def tidy(text: str) -> str:
    """Text without blanks at the ends of lines, and without two empty lines together."""
    return re.sub(r"\n{3,}", "\n\n", re.sub(r" +$", "", text, flags=re.MULTILINE)).strip("\n") + "\n"


if __name__ == "__main__":
    output = printed()
    PAGE.write_text(BLOCK.sub(lambda match: match[1] + output + match[3], PAGE.read_text()))
