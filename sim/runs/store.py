"""Store of results in the user's cache folder, by content hash (`warpbank.program.cache`).

A result is a JSON file whose name is its key, in the folder `results` beside the cached traces
(`warpbank.program.trace.cache`). Results are small, so their folder has no limit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warpbank.program import runner
from warpbank.program.cache import Cache, whole
from warpbank.program.trace import cache as trace_cache

#: Raised by one when the meaning of a stored result changes.
RESULT_VERSION = 2
#: Digest of the code that a result depends on.
code_digest = runner.code_digest


def folder() -> Path:
    """Folder of the results."""
    return trace_cache.folder() / "results"


def key(*parts: object) -> str:
    """Content hash of what a result depends on."""
    return hashlib.sha256(json.dumps([RESULT_VERSION, *(str(part) for part in parts)]).encode()).hexdigest()[
        :32
    ]


def read(name: str) -> dict[str, Any] | None:
    """Result of this key; None if there is none, or none that can be read."""
    try:
        data = json.loads((folder() / f"{name}.json").read_text())
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def put(name: str, data: dict[str, Any]) -> None:
    """Keep a result that was computed elsewhere, unless it is there. Without a folder that can be written a
    warning says so."""
    if read(name) is None:
        get(name, lambda: data)


def get(name: str, compute: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], bool]:
    """Result of this key, computed unless it is there; and whether it was there.

    Raises what `compute` raises.
    """
    return Cache(folder(), f"results cannot be kept in {folder()}", read, _write).get(name, compute)


def _write(name: str, data: dict[str, Any]) -> None:
    """Write a result, with its lock held: what a killed process left half written is written over."""
    path = folder() / f"{name}.json"
    with whole(path, path.with_name(f".{name}.part")) as temporary:
        temporary.write_text(json.dumps(data))
