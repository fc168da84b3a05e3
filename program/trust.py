"""Check of who may have written code that is about to be loaded: it runs with the user's rights. Compiled
modules are code, and so is a pickle.

Digests beside a file prove nothing where somebody can write both. A folder or file counts only if it belongs
to this user or to the system's administrator, and nobody else may write it. Systems without owners of that
kind are not checked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

#: Users whose files are loaded, beside the one who runs this.
_ADMINISTRATOR = 0
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def doubt(paths: Iterable[Path]) -> str:
    """Sentence on the first path that somebody else may have written, with a remedy; "" if there is none.

    Paths that are not there are left out.
    """
    if not hasattr(os, "geteuid"):
        return ""
    for path in paths:
        try:
            found = path.stat()
        except OSError:
            continue
        why = doubt_of(path, found, "remove it, or set WARPBANK_CACHE to a folder of your own")
        if why:
            return why
    return ""


def doubt_of(path: Path, found: os.stat_result, remedy: str) -> str:
    """Sentence on a path whose owner and rights are `found`, if somebody else may have written it; "" if
    nobody may. `remedy`: what to do about one that belongs to another user."""
    if not hasattr(os, "geteuid"):
        return ""
    if found.st_uid not in (os.geteuid(), _ADMINISTRATOR):
        return f"{path} belongs to user {found.st_uid}, not to user {os.geteuid()} who runs this; {remedy}"
    if found.st_mode & _OTHERS:
        return (
            f"{path} may be written by others (mode {stat.S_IMODE(found.st_mode):o}); "
            f"if nobody has, run: chmod -R go-w {path}"
        )
    return ""


def seal(folder: Path) -> None:
    """Take the right to write a folder and its files from everybody else, whatever the umask is.

    Raises OSError if that cannot be done.
    """
    for path in (folder, *folder.iterdir()):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)
