"""Compiled models kept in the user's cache folder, by the hash of all that made them.

An entry is a folder with the files of a model and `entry.json`, which holds their digests. It is made under
another name and renamed when it is whole, so that a killed build leaves nothing that could be taken for an
entry; the next build sweeps the rest away. One process builds, others that want the same wait for it. An
entry whose files do not have their digests is built anew. When the folder outgrows its limit the entries used
longest ago go first. Where the folder cannot be written, models are built into a temporary folder that lasts
as long as the process.

Environment: WARPBANK_CACHE, the folder (models are in `models` below it); WARPBANK_CACHE_LIMIT, MiB of models
(default 8192).
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock

_DEFAULT_LIMIT = 8192
#: Build folders older than this many seconds belong to no living process.
_ABANDONED = 4 * 3600
_temporary: dict[str, Path] = {}


def folder() -> Path:
    """Where the models are kept."""
    chosen = os.environ.get("WARPBANK_CACHE")
    return (Path(chosen) if chosen else platformdirs.user_cache_path("warpbank")) / "models"


def key_of(parts: dict[str, object]) -> str:
    """The name of the entry that `parts` makes."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:24]


def get(parts: dict[str, object], build: Callable[[Path], None], *, fresh: bool = False) -> Path:
    """The folder of the model that `parts` describes; `build` fills an empty folder with one if there is
    none, or if `fresh`.

    Raises what `build` raises.
    """
    key = key_of(parts)
    entry = folder() / key
    if not fresh and _whole(entry):
        return entry
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(entry.with_suffix(".lock"))
        lock.acquire()
    except OSError as error:
        return _without_cache(key, build, error)
    try:
        if fresh or not _whole(entry):  # another process may have built it while this one waited
            _sweep(entry.parent)
            _build(entry, parts, build)
            _shrink(entry.parent, keep=entry)
    finally:
        lock.release()
    return entry


def _build(entry: Path, parts: dict[str, object], build: Callable[[Path], None]) -> None:
    work = Path(tempfile.mkdtemp(prefix=f"{entry.name}.", suffix=".part", dir=entry.parent))
    try:
        build(work)
        digests = {path.name: _digest(path) for path in sorted(work.iterdir()) if path.is_file()}
        (work / "entry.json").write_text(
            json.dumps({"parts": parts, "files": digests}, indent=1, default=str)
        )
        if entry.exists():
            shutil.rmtree(entry)
        os.replace(work, entry)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _without_cache(key: str, build: Callable[[Path], None], error: OSError) -> Path:
    """Build for this process only, and tell the user why it will be slow again next time."""
    if key not in _temporary:
        remedy = "set WARPBANK_CACHE to a folder that can be written"
        warnings.warn(f"the model cache {folder()} cannot be used ({error}); {remedy}", stacklevel=4)
        work = Path(tempfile.mkdtemp(prefix="warpbank-model-"))
        atexit.register(shutil.rmtree, work, ignore_errors=True)
        build(work)
        _temporary[key] = work
    return _temporary[key]


def _whole(entry: Path) -> bool:
    """The entry is there and its files are what they were when it was made. Looking makes it the newest."""
    try:
        content = json.loads((entry / "entry.json").read_text())
        files = content["files"]
        if not files or any(_digest(entry / name) != digest for name, digest in files.items()):
            raise ValueError("a file has changed")
        os.utime(entry)
    except (FileNotFoundError, NotADirectoryError):
        if entry.exists():
            warnings.warn(f"the model cache entry {entry} is incomplete and is built anew", stacklevel=3)
        return False
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        warnings.warn(f"the model cache entry {entry} is damaged ({error}) and is built anew", stacklevel=3)
        return False
    return True


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sweep(at: Path) -> None:
    """Remove what killed builds left."""
    for part in at.glob("*.part"):
        try:
            if time.time() - part.stat().st_mtime > _ABANDONED:
                shutil.rmtree(part)
        except OSError:
            continue  # another process was quicker


def _shrink(at: Path, keep: Path) -> None:
    """Remove the entries used longest ago until the folder is within its limit."""
    text = os.environ.get("WARPBANK_CACHE_LIMIT", "")
    limit = (int(text) if text.isdecimal() else _DEFAULT_LIMIT) << 20
    entries = []
    for path in at.glob("*/entry.json"):
        try:
            size = sum(file.stat().st_size for file in path.parent.iterdir())
            entries.append((path.parent.stat().st_mtime, size, path.parent))
        except OSError:
            continue
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= limit:
            return
        if path != keep:
            shutil.rmtree(path, ignore_errors=True)
            total -= size
