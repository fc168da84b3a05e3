"""TOML reader with limits: what `tomllib` reads in no time, and nothing that costs more than its size."""

from __future__ import annotations

import re
import tomllib
from typing import Any

#: Deepest nesting of tables and lists, and most parts of a dotted key.
DEPTH = 50
#: Range of an integer: TOML promises to keep signed ones of 64 bits, and contents of buffers may be unsigned.
_SMALLEST, _LARGEST = -(1 << 63), (1 << 64) - 1
#: A key of more parts than `DEPTH` takes `tomllib` a time that grows with the square of their number.
_DOTTED = re.compile(rf"""(?:(?:"[^"]*"|'[^']*'|[\w-]+)[ \t]*\.[ \t]*){{{DEPTH}}}""")


def loads(text: str) -> dict[str, Any]:
    """Tables of a TOML text.

    Raises
    ------
    tomllib.TOMLDecodeError : the text is no TOML, nests deeper than `DEPTH`, or holds an integer of more than
        64 bits.
    """
    for line in text.splitlines():
        if line.count(".") >= DEPTH and _DOTTED.match(line.lstrip(" \t[")):
            raise tomllib.TOMLDecodeError(f"a key has more than {DEPTH} parts")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("lists or tables are nested too deeply to be read") from None
    except ValueError as error:  # of a number that Python refuses to convert
        raise tomllib.TOMLDecodeError(f"a number cannot be read: {error}") from None
    _check(tables)
    return tables


def _check(tables: dict[str, Any]) -> None:
    """Look at every value, level by level."""
    level: list[Any] = [tables]
    for _ in range(DEPTH):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            elif isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
                raise tomllib.TOMLDecodeError(f"an integer has more than 64 bits ({value.bit_length()})")
        if not inner:
            return
        level = inner
    raise tomllib.TOMLDecodeError(f"lists or tables are nested more than {DEPTH} deep")
