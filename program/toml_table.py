"""TOML tables whose every mistake becomes one sentence: which file, which key, what is wrong, what would be
right."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NoReturn

from warpbank.arch.errors import WarpbankError, shown
from warpbank.program.errors import LaunchError

_WORDS: dict[type, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "a table",
}


class Table:
    """TOML table that hands out its values by key and afterwards knows which keys nobody asked for.

    Parameters
    ----------
    file : the file's name.
    key : where the table stands in it: "buffers.x"; "" for the top level.
    values : the table.
    error : class of the errors that are raised.
    """

    def __init__(
        self, file: str, key: str, values: dict[str, Any], error: type[WarpbankError] = LaunchError
    ) -> None:
        self.error = error
        self.file = file
        self.key = key
        self.values = values
        self.known: list[str] = []

    def fail(self, key: str, message: str) -> NoReturn:
        """Raises the table's error about `key`; "" for the table itself."""
        where = ".".join(part for part in (self.key, key) if part)
        raise self.error(f"{self.file}: {where + ': ' if where else ''}{message}")

    def take(self, key: str, kinds: tuple[type, ...], default: Any = None, *, required: bool = False) -> Any:
        """The value of `key`, which must be of one of `kinds`; an integer also serves where a float is
        wanted."""
        self.known.append(key)
        if key not in self.values:
            if required:
                found = get_close_matches(key, self.values, 1)
                self.fail(
                    "", f"the key {key!r} is missing{f' (did you mean it by {found[0]!r}?)' if found else ''}"
                )
            return default
        value = self.values[key]
        matches = isinstance(value, kinds) or (float in kinds and isinstance(value, int))
        if not matches or (isinstance(value, bool) and bool not in kinds):
            self.fail(key, f"must be {' or '.join(_WORDS[kind] for kind in kinds)}, not {shown(value)}")
        return value

    def table(self, key: str) -> Table | None:
        """The table under `key`; None if there is none."""
        value = self.take(key, (dict,))
        return None if value is None else self.child(key, value)

    def child(self, key: str, values: Any) -> Table:
        """A table inside this one; `values` may still turn out to be none."""
        child = Table(self.file, f"{self.key}.{key}" if self.key else key, values, self.error)
        if not isinstance(values, dict):
            child.fail("", f"must be a table, not {shown(values)}")
        return child

    def done(self) -> None:
        """Refuses keys that nobody took."""
        for key in self.values:
            if key not in self.known:
                close = get_close_matches(key, self.known, 1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                self.fail(key, f"there is no such key; {hint}the keys here are {', '.join(self.known)}")
