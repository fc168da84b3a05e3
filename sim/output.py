"""Result files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

from warpbank.arch.errors import OutputError
from warpbank.program.cache import whole


def write_text(path: Path, text: str) -> None:
    """Writes a text file so that no reader, and no crash, ever sees half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with whole(path, temporary):
            temporary.write_text(text)
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror}; name a folder that exists and can be written to"
        ) from None
