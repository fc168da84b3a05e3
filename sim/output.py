"""Result files that are whole or not there, and checks before the work that they can be written after it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NoReturn

from warpbank.arch.errors import OutputError
from warpbank.program.cache import behind_links, whole


def check_file(path: Path, *inputs: Path | None) -> None:
    """Check, before the work, that a file can be written after it, and is none of the work's `inputs`. Raises
    OutputError."""
    folder = Path(os.path.realpath(path)).parent
    try:
        if path.is_dir():
            raise OutputError(f"cannot write {path}: it is a folder; name a file")
        if path.exists() and not path.is_file():
            raise OutputError(f"cannot write {path}: it is a device or a pipe; name a file")
        if not folder.is_dir():
            _refuse(path, errno.ENOTDIR if folder.exists() else errno.ENOENT)
        if not os.access(folder, os.W_OK | os.X_OK):
            _refuse(path, errno.EACCES)
        there = path.exists()
    except OSError as error:  # a folder that may not be searched, a name that is too long
        _refuse(path, error.errno or errno.EIO)
    for file in inputs:
        if file is not None and os.path.exists(file) and there and os.path.samefile(path, file):
            raise OutputError(f"cannot write {path}: it is what the command reads; name another file")


def check_folder(path: Path, *names: str, option: str = "--output") -> None:
    """Check, before the work, that a folder is there or can be made, and can be written to, and so can files
    of these `names` in it. `option`: the one that named it. Raises OutputError."""
    there = path.absolute()
    wrong: int | None = 0
    try:
        while not there.exists():
            there = there.parent
        if not there.is_dir():
            wrong = errno.ENOTDIR
        elif not os.access(there, os.W_OK | os.X_OK):
            wrong = errno.EACCES
    except OSError as error:
        wrong = error.errno
    if wrong:
        raise OutputError(f"cannot make the folder {path}: {os.strerror(wrong)}; name another with {option}")
    if there == path.absolute():
        for name in names:
            check_file(path / name)


def _refuse(path: Path, number: int) -> NoReturn:
    raise OutputError(
        f"cannot write {path}: {os.strerror(number)}; name a folder that exists and can be written to"
    )


def write_text(path: Path, text: str) -> None:
    """Writes a text file so that no reader, and no crash, ever sees half of it."""
    try:
        file = behind_links(path)
        temporary = file.with_name(f".{file.name}.{os.getpid()}.part")
        with whole(file, temporary):
            # File names that are no UTF-8 are in some texts.
            temporary.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror}; name a file, in a folder that exists and can be written "
            "to"
        ) from None
