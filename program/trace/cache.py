"""Cache of traces in the user's cache folder, by content hash (`warpbank.program.cache`).

An entry is a trace file. When the folder outgrows its limit the entries read longest ago go first.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from warpbank.program.cache import Cache, user_folder
from warpbank.program.errors import WarpbankError
from warpbank.program.trace.file import read_trace, write_trace
from warpbank.program.trace.schema import SCHEMA_VERSION, Trace


def folder() -> Path:
    """Folder of the cached traces."""
    return user_folder(f"traces-{SCHEMA_VERSION}")


def get(key: str, build: Callable[[], Trace]) -> Trace:
    """Trace of this key, built if there is none or a damaged one.

    Raises what `build` raises.
    """
    at = folder()
    cache = Cache(
        at,
        f"the trace cache {at} cannot be used",
        read=lambda key: _read(at / f"{key}.npz"),
        write=lambda key, trace: write_trace(trace, at / f"{key}.npz"),
        sized="*.npz",
    )
    return cache.get(key, build)[0]


def _read(path: Path) -> Trace | None:
    """An entry, or None if there is none that can be read. Reading makes it the newest."""
    try:
        trace = read_trace(path)
        os.utime(path)
    except (WarpbankError, OSError):
        return None
    return trace
