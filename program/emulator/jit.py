"""Compilation of the emulator's loops: numba, with a disk cache that notices a change in any of their files.

Numba caches each function by the age of its own file, yet compiles what the function calls into it. So the
stamp that it compares is replaced by a digest of everything the loops are made of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from enum import EnumType
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit

from warpbank.arch import uop
from warpbank.program import isa
from warpbank.program.emulator import layout
from warpbank.program.trace import schema


@cache
def source_stamp() -> str:
    """Digest of the sources that end up in compiled code, and of the constants from elsewhere that do."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).resolve().parent.rglob("*.py")):
        text = path.read_bytes()
        if b"@jit" in text or path.name in ("bits.py", "state.py"):
            digest.update(path.name.encode() + text)
    for module in (uop, isa, layout, schema):
        for name, value in vars(module).items():
            if isinstance(value, (int, EnumType)):
                digest.update(f"{name}={list(value) if isinstance(value, EnumType) else value}".encode())
    return digest.hexdigest()


def jit(function: Callable[..., Any]) -> Any:
    """`function` compiled on first use; division by zero follows IEEE, wherever a cache can be kept it is.

    Raises nothing if no folder is writable: then every process compiles for itself.
    """
    try:
        compiled: Any = njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        return njit(error_model="numpy")(function)
    compiled._cache._cache_file._source_stamp = source_stamp()
    return compiled
