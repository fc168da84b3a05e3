"""Cache folders of the user: an entry is made once, by one process, and is there whole or not at all.

Traces (`warpbank.program.trace.cache`), compiled models and results of runs are kept so. An entry's name is
its key, so a key must cover all that the entry depends on. One process makes an entry under a file lock,
others that want the same wait for it; the system drops the lock of a killed process. A killed writer leaves a
temporary file or folder at most, whose name ends in `.part`. Without a folder that can be written there is no
cache, only a warning.

Environment: WARPBANK_CACHE, another folder; WARPBANK_CACHE_LIMIT, the size of a folder with a limit in MiB
(default 8192).
"""

from __future__ import annotations

import errno
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import platformdirs
from filelock import FileLock

from warpbank.program.errors import WarpbankError

_DEFAULT_LIMIT = 8192
Value = TypeVar("Value")


def user_folder(default: str = "") -> Path:
    """Cache folder that WARPBANK_CACHE names, otherwise `default` in the folder that the system has for
    caches; an absolute path, since tools run in folders of their own."""
    chosen = os.environ.get("WARPBANK_CACHE")
    return Path(chosen).absolute() if chosen else platformdirs.user_cache_path("warpbank") / default


@contextmanager
def whole(path: Path, temporary: Path) -> Iterator[Path]:
    """Context of a file writer: what the block writes to `temporary` becomes `path` at its end, and is
    removed if it raises.

    Raises OSError if the file cannot be moved.
    """
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def behind_links(path: Path) -> Path:
    """The file that a name stands for: `whole` would put its own in the place of a link, or of a device.

    Raises OSError if what is there is no regular file.
    """
    real = Path(os.path.realpath(path))
    if real.exists() and not real.is_file():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return real


@dataclass(frozen=True)
class Cache(Generic[Value]):
    """Cache of values by key in one folder.

    Parameters
    ----------
    folder : holds the entries and their locks.
    complaint : first words of the warning when the folder cannot be written.
    read : the entry of a key; None if there is none that can be read.
    write : keep a value as the entry of a key; raises OSError or WarpbankError if it cannot be written.
    sized : glob of the files that tell where an entry is, in a folder with a limit; "" without one. `*/NAME`
        stands for entries that are folders.
    abandoned : seconds after which a temporary file or folder belongs to no living writer.
    """

    folder: Path
    complaint: str
    read: Callable[[str], Value | None]
    write: Callable[[str, Value], None]
    sized: str = ""
    abandoned: float = 3600

    def get(
        self,
        key: str,
        make: Callable[[], Value],
        *,
        alone: Callable[[], Value] | None = None,
        fresh: bool = False,
        quiet: bool = False,
    ) -> tuple[Value, bool]:
        """Value of a key, made unless it is there; and whether it was there.

        Parameters
        ----------
        make : makes the value, with the key locked.
        alone : makes it instead where the folder cannot be written; `make` by default.
        fresh : make it even if it is there.
        quiet : no warning if the folder cannot be written.

        Raises what `make` and `alone` raise.
        """
        found = None if fresh else self.read(key)
        if found is not None:
            return found, True
        try:
            self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            lock = FileLock(self.folder / f"{key}.lock")
            lock.acquire()
        except OSError as error:
            if not quiet:
                self._warn(error)
            return (alone or make)(), False
        try:
            found = (
                None if fresh else self.read(key)
            )  # another process may have made it while this one waited
            if found is not None:
                return found, True
            if self.sized:
                self._sweep()
            value = make()
            try:
                self.write(key, value)
            except (OSError, WarpbankError) as error:
                self._warn(error)
            if self.sized:
                self._shrink(key)
        finally:
            lock.release()
        return value, False

    def _warn(self, error: Exception) -> None:
        """The run goes on without the cache, and the user learns why it is slow."""
        remedy = "set WARPBANK_CACHE to a folder that can be written"
        warnings.warn(f"{self.complaint} ({error}); {remedy}", stacklevel=4)

    def _sweep(self) -> None:
        """Remove what killed writers left."""
        for part in self.folder.glob("*.part"):
            try:
                if time.time() - part.stat().st_mtime > self.abandoned:
                    _remove(part)
            except OSError:
                continue  # another process was quicker

    def _shrink(self, keep: str) -> None:
        """Remove the entries read longest ago until the folder is within its limit."""
        text = os.environ.get("WARPBANK_CACHE_LIMIT", "")
        limit = (int(text) if text.isdecimal() else _DEFAULT_LIMIT) << 20
        entries = []
        for path in self.folder.glob(self.sized):
            entry = path if path.parent == self.folder else path.parent
            try:
                files = [entry] if entry == path else entry.iterdir()
                entries.append((entry.stat().st_mtime, sum(file.stat().st_size for file in files), entry))
            except OSError:
                continue
        total = sum(size for _, size, _ in entries)
        for _, size, entry in sorted(entries):
            if total <= limit:
                return
            if entry.stem != keep:
                _remove(entry, ignore_errors=True)
                total -= size


def _remove(path: Path, *, ignore_errors: bool = False) -> None:
    """Remove a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=ignore_errors)
    else:
        path.unlink(missing_ok=ignore_errors)
