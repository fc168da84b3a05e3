"""Spools: arrays that are written row by row, in memory while they are small and in a file of the cache
folder from then on, so that a trace of any length is made and read in bounded memory."""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from warpbank.program.cache import user_folder
from warpbank.program.errors import TraceError

#: Bytes that a spool keeps in memory.
LIMIT = 16 << 20
#: Bytes that are collected before they are written to the file.
_BUFFER = 1 << 18


class Spool:
    """Spool of rows of one type. The file has no name in the folder, so that nothing stays behind, however
    the process ends.

    Parameters
    ----------
    dtype : of a row.
    limit : bytes that may stay in memory.

    Raises
    ------
    TraceError : the file cannot be written; from `append` and `array`.
    """

    def __init__(self, dtype: np.dtype[Any], limit: int = LIMIT) -> None:
        self._dtype = dtype
        self._limit = limit
        self._buffer = bytearray()
        self._flushed = 0
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        """Rows so far."""
        return (self._flushed + len(self._buffer)) // self._dtype.itemsize

    def append(self, rows: bytes | bytearray) -> None:
        """Append the bytes of whole rows."""
        self._buffer += rows
        if len(self._buffer) >= (self._limit if self._file is None else _BUFFER):
            self._flush()

    def _flush(self) -> None:
        try:
            if self._file is None:
                descriptor, name = tempfile.mkstemp(dir=_folder())
                self._file = os.fdopen(descriptor, "w+b")
                os.unlink(name)
            self._file.write(self._buffer)
            self._file.flush()
        except OSError as error:
            raise TraceError(
                "a trace of this length is kept in a file while it runs, which "
                f"{_folder() or tempfile.gettempdir()} cannot take ({error.strerror or error}); set "
                "WARPBANK_CACHE to a folder with room"
            ) from None
        self._flushed += len(self._buffer)
        self._buffer.clear()

    def array(self) -> np.ndarray:
        """The rows, read-only: an array in memory, or one whose rows come from the file when they are asked
        for."""
        if self._file is None:
            return np.frombuffer(bytes(self._buffer), self._dtype)
        if self._buffer:
            self._flush()
        return np.frombuffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ), self._dtype)


def _folder() -> Path | None:
    """Folder of the files: the cache folder, since a system's folder of temporary files may be memory. None:
    that one all the same, where the cache cannot be written."""
    folder = user_folder("spool")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder


def let_go(array: np.ndarray) -> None:
    """Give back the memory of what has been read of a spool's file; it is read again when it is asked for.
    Other arrays are left as they are."""
    source: Any = array
    while source is not None and not isinstance(source, mmap.mmap):
        source = source.obj if isinstance(source, memoryview) else getattr(source, "base", None)
    if source is not None:
        source.madvise(mmap.MADV_DONTNEED)
