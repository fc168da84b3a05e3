"""Imports of what only an extra installs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from warpbank.sim.engines import EngineError


@contextmanager
def wheels(extra: str = "rtl") -> Iterator[None]:
    """Turn an import that fails into a sentence that names the extra that installs all the command needs.

    Raises
    ------
    EngineError : a package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise EngineError(
            f"this needs the {error.name} package; install it with: pip install 'warpbank[{extra}]'"
        ) from None
