"""Inputs that other inputs name: the traces of a list, the data files of a launch description."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from warpbank.arch import toml


def named_in(path: Path) -> list[Path]:
    """Files that a list of traces or a launch description names; none of one that cannot be read, which is
    refused elsewhere."""
    try:
        if path.suffix == ".g":
            lines = path.read_text(encoding="utf-8-sig").splitlines()
            return [path.parent / line.strip() for line in lines if line.startswith("kernel")]
        content = toml.loads(path.read_text(encoding="utf-8-sig")) if path.suffix == ".toml" else {}
    except (OSError, ValueError, RecursionError):  # ValueError: neither UTF-8 nor TOML
        return []
    return [path.parent / name for name in _values_of("file", content)]


def _values_of(key: str, content: object) -> Iterator[str]:
    """Texts of a key, anywhere in the content of a TOML file."""
    if isinstance(content, dict):
        for name, value in content.items():
            if name == key and isinstance(value, str):
                yield value
            yield from _values_of(key, value)
    elif isinstance(content, list):
        for value in content:
            yield from _values_of(key, value)
