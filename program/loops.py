"""Compiled loops of analyses: numba, with its disk cache where a folder for one can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def loop(function: Callable[..., Any]) -> Any:
    """`function` compiled on first use. Where no folder is writable every process compiles for itself."""
    try:
        return njit(cache=True)(function)
    except RuntimeError:
        return njit(function)
