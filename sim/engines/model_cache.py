"""Cache of compiled models in the user's cache folder, by the hash of all that made them.

An entry is a folder with the files of a model and `entry.json`, which holds their digests. It is made under
another name and renamed when it is whole, so that a killed build leaves nothing that could be taken for an
entry; the next build sweeps the rest away. An entry whose files do not have their digests is built again.
A folder or an entry that somebody else may have written is refused: a model is code.
When the folder outgrows its limit the entries used longest ago go first. Where the folder cannot be written,
models are built into a temporary folder that lasts as long as the process.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

from warpbank.program import trust
from warpbank.program.cache import Cache, user_folder
from warpbank.program.errors import CacheError

#: Build folders older than this many seconds belong to no living process.
_ABANDONED = 4 * 3600
_temporary: dict[str, Path] = {}


def folder() -> Path:
    """Folder of the cached models."""
    return user_folder() / "models"


def key_of(parts: dict[str, object]) -> str:
    """Key of the model that `parts` makes, a content hash."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:24]


def get(parts: dict[str, object], build: Callable[[Path], None], *, fresh: bool = False) -> Path:
    """Folder of the model that `parts` describes; `build` fills an empty folder with one if there is none, or
    if `fresh`.

    Raises CacheError if somebody else may have written the cache, and what `build` raises.
    """
    at, key = folder(), key_of(parts)
    _trust(at)
    cache = Cache(
        at,
        f"the model cache {at} cannot be used",
        read=lambda key: at / key if _whole(at / key) else None,
        write=lambda key, work: None,  # a build is renamed to its entry when it is whole
        sized="*/entry.json",
        abandoned=_ABANDONED,
    )
    model, _ = cache.get(
        key,
        lambda: _build(at / key, parts, build),
        alone=lambda: _without_cache(key, build),
        fresh=fresh,
        quiet=key in _temporary,
    )
    return model


def _build(entry: Path, parts: dict[str, object], build: Callable[[Path], None]) -> Path:
    work = Path(tempfile.mkdtemp(prefix=f"{entry.name}.", suffix=".part", dir=entry.parent))
    try:
        build(work)
        digests = {path.name: _digest(path) for path in sorted(work.iterdir()) if path.is_file()}
        (work / "entry.json").write_text(
            json.dumps({"parts": parts, "files": digests}, indent=1, default=str)
        )
        trust.seal(work)
        if entry.exists():
            shutil.rmtree(entry)
        os.replace(work, entry)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return entry


def _without_cache(key: str, build: Callable[[Path], None]) -> Path:
    """Build for this process only."""
    if key not in _temporary:
        work = Path(tempfile.mkdtemp(prefix="warpbank-model-"))
        atexit.register(shutil.rmtree, work, ignore_errors=True)
        build(work)
        _temporary[key] = work
    return _temporary[key]


def _trust(*paths: Path) -> None:
    """Raise CacheError if somebody else may have written one of `paths`."""
    why = trust.doubt(paths)
    if why:
        raise CacheError(f"compiled models are not loaded from a cache that is not yours alone: {why}")


def _whole(entry: Path) -> bool:
    """The entry is there and its files are what they were when it was made. Looking makes it the newest."""
    _trust(entry, *entry.glob("*"))
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
