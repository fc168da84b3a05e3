"""Traces kept in the user's cache folder, by content hash.

An entry is a trace file whose name is its key, so a key must cover all that the trace depends on. One process
makes an entry, others that want the same wait for it; a killed one leaves a temporary file at most, which the
next to write sweeps away. When the folder outgrows its limit the entries read longest ago go first. Without a
folder that can be written there is no cache, only a warning.

Environment: WARPBANK_CACHE, another folder; WARPBANK_CACHE_LIMIT, its size in MiB (default 8192).
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock

from warpbank.program.errors import WarpbankError
from warpbank.program.trace.file import read_trace, write_trace
from warpbank.program.trace.schema import SCHEMA_VERSION, Trace

_DEFAULT_LIMIT = 8192
#: Temporary files older than this many seconds belong to no living writer.
_ABANDONED = 3600


def folder() -> Path:
    """Where entries are kept."""
    chosen = os.environ.get("WARPBANK_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("warpbank") / f"traces-{SCHEMA_VERSION}"


def get(key: str, build: Callable[[], Trace]) -> Trace:
    """The trace of this key, built if there is none or a damaged one.

    Raises what `build` raises.
    """
    at = folder()
    path = at / f"{key}.npz"
    trace = _read(path)
    if trace is not None:
        return trace
    try:
        at.mkdir(parents=True, exist_ok=True)
        lock = FileLock(at / f"{key}.lock")
        lock.acquire()
    except OSError as error:
        _warn(at, error)
        return build()
    try:
        trace = _read(path)  # another process may have made it while this one waited
        if trace is None:
            trace = build()
            _sweep(at)
            try:
                write_trace(trace, path)
            except WarpbankError as error:
                _warn(at, error)
            _shrink(at, keep=path)
    finally:
        lock.release()
    return trace


def _warn(at: Path, error: Exception) -> None:
    """The run goes on without the cache, and the user learns why it is slow."""
    remedy = "set WARPBANK_CACHE to a folder that can be written"
    warnings.warn(f"the trace cache {at} cannot be used ({error}); {remedy}", stacklevel=3)


def _read(path: Path) -> Trace | None:
    """An entry, or None if there is none that can be read. Reading makes it the newest."""
    if not path.exists():
        return None
    try:
        trace = read_trace(path)
        os.utime(path)
    except (WarpbankError, OSError):
        return None
    return trace


def _sweep(at: Path) -> None:
    """Remove what killed writers left."""
    for part in at.glob("*.part"):
        try:
            if time.time() - part.stat().st_mtime > _ABANDONED:
                part.unlink()
        except OSError:
            continue  # another process was quicker


def _shrink(at: Path, keep: Path) -> None:
    """Remove the entries read longest ago until the folder is within its limit."""
    text = os.environ.get("WARPBANK_CACHE_LIMIT", "")
    limit = (int(text) if text.isdecimal() else _DEFAULT_LIMIT) << 20
    entries = []
    for path in at.glob("*.npz"):
        try:
            status = path.stat()
        except OSError:
            continue
        entries.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= limit:
            return
        if path != keep:
            path.unlink(missing_ok=True)
            total -= size
