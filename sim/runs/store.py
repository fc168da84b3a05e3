"""Results kept in the user's cache folder, by content hash.

A result is a JSON file whose name is its key, in the folder `results` beside the cached traces
(`warpbank.program.trace.cache`, which reads WARPBANK_CACHE). It is written whole or not at all. A file lock
per key makes one process compute a result while others that want the same wait for it; the system drops the
lock of a killed one.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from filelock import FileLock

from warpbank.program.runner import source_digest
from warpbank.program.trace import cache as trace_cache

#: Raised by one when the meaning of a stored result changes.
RESULT_VERSION = 2


def folder() -> Path:
    """Where results are kept."""
    return trace_cache.folder() / "results"


def key(*parts: object) -> str:
    """Content hash of what a result depends on."""
    return hashlib.sha256(json.dumps([RESULT_VERSION, *(str(part) for part in parts)]).encode()).hexdigest()[
        :32
    ]


@cache
def code_digest(*modules: str) -> str:
    """Digest of the sources of these packages and modules, those of `program` included: changed code gives
    other results."""
    digest = hashlib.sha256(source_digest().encode())
    for module in sorted(modules):
        spec = find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        for path in sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]:
            digest.update(f"{module}/{path.relative_to(origin.parent)}".encode() + path.read_bytes())
    return digest.hexdigest()


def read(name: str) -> dict[str, Any] | None:
    """The result of this key; None if there is none, or none that can be read."""
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
    """The result of this key, computed unless it is there; and whether it was. Raises what `compute`
    raises."""
    found = read(name)
    if found is not None:
        return found, True
    try:
        folder().mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder() / f"{name}.lock")
        lock.acquire()
    except OSError as error:
        _warn(error)
        return compute(), False
    try:
        found = read(name)  # another process may have made it while this one waited
        if found is not None:
            return found, True
        data = compute()
        _write(name, data)
    finally:
        lock.release()
    return data, False


def _write(name: str, data: dict[str, Any]) -> None:
    """Write a result, with its lock held: what a killed process left half written is written over."""
    path = folder() / f"{name}.json"
    temporary = path.with_name(f".{name}.part")
    try:
        try:
            temporary.write_text(json.dumps(data))
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        _warn(error)


def _warn(error: OSError) -> None:
    remedy = "set WARPBANK_CACHE to a folder that can be written"
    warnings.warn(f"results cannot be kept in {folder()} ({error}); {remedy}", stacklevel=3)
