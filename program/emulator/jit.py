"""Compilation of the emulator's loops: numba, with a disk cache that notices a change in any of their files.

Numba caches each function by the age of its own file, yet compiles what the function calls into it. So the stamp that it compares
is replaced by a digest of everything the loops are made of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit


@cache
def source_stamp() -> str:
    """Digest of the sources that end up in compiled code."""
    here = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for path in [*sorted(here.rglob("*.py")), here.parent / "isa.py"]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def jit(function: Callable[..., Any]) -> Any:
    """`function` compiled on first use; division by zero follows IEEE, wherever a cache can be kept it is.

    Raises nothing if no folder is writable: then every process compiles anew.
    """
    try:
        compiled: Any = njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        return njit(error_model="numpy")(function)
    compiled._cache._cache_file._source_stamp = source_stamp()
    return compiled
