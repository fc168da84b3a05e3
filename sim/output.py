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


def check_writable(path: Path) -> None:
    """Check, before any work, that a file can be written at `path`; raises OutputError that says what to name
    instead."""
    folder = path.parent
    if path.is_dir():
        reason = "it is a folder"
    elif not folder.is_dir():
        reason = f"there is no folder {folder}"
    elif not os.access(path if path.exists() else folder, os.W_OK):
        reason = "it may not be written"
    else:
        return
    raise OutputError(f"cannot write {path}: {reason}; name a file in a folder that can be written to")
