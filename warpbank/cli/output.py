"""Output of commands: tables or JSON on standard output, messages on the error stream."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

#: Failures that are printed one by one.
_SHOWN = 10

Result = TypeVar("Result")


def emit(result: Result, as_json: bool, tables: Callable[[Result], Iterable[RenderableType]]) -> None:
    """Print a result.

    Parameters
    ----------
    result : a mapping, a dataclass, or anything with a `to_dict()`.
    as_json : one JSON object; otherwise the tables.
    tables : makes what a person reads; called only if it is wanted.
    """
    if as_json:
        _json(_plain(result))
    else:
        show(*tables(result))


def listing(
    name: str, rows: Sequence[Result], as_json: bool, tables: Callable[[Sequence[Result]], Iterable[Any]]
) -> None:
    """Print rows as `emit` prints a result; the JSON object has one key, `name`, with a list."""
    if as_json:
        _json({name: [_plain(row) for row in rows]})
    else:
        show(*tables(rows))


def show(*parts: RenderableType) -> None:
    """Print tables and texts on standard output."""
    console = Console()
    for part in parts:
        console.print(part)


def line(text: str) -> None:
    """Print a sentence on standard output, as long as it is and as it is written."""
    _plainly(Console(), text)


def wrote(file: Path | str, more: str = "") -> None:
    """Say on the error stream that a file has been written, and a few words about it."""
    note(f"wrote {file}: {more}" if more else f"wrote {file}")


def note(text: str) -> None:
    """Say a sentence on the error stream."""
    _plainly(Console(stderr=True), text)


def error(message: str) -> None:
    """Say on the error stream what went wrong, in one paragraph."""
    Console(stderr=True, highlight=False).print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)


def complain(message: str, failures: Mapping[str, str]) -> None:
    """Say on the error stream what failed and why: the first few."""
    error(message)
    for label, cause in list(failures.items())[:_SHOWN]:
        note(f"  {label}: {cause}")
    if len(failures) > _SHOWN:
        note(f"  and {len(failures) - _SHOWN} more")


@contextmanager
def working(text: str = "") -> Iterator[Callable[[str], None]]:
    """Show on a terminal's error stream what is being done; gives a function that changes the text."""
    with Console(stderr=True).status(escape(text)) as status:
        yield lambda now: status.update(escape(now))


def width() -> int:
    """Columns of the terminal."""
    return Console().width


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], *, numbers: int = 0) -> Table:
    """A table whose last `numbers` columns are right-aligned."""
    names = list(columns)
    made = Table(
        title=escape(title),
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for place, name in enumerate(names):
        made.add_column(name, justify="right" if place >= len(names) - numbers else "left")
    for row in rows:
        made.add_row(*(escape(_cell(value)) for value in row))
    return made


def grouped(
    title: str, columns: Iterable[str], groups: Mapping[str, Iterable[Iterable[object]]], *, numbers: int = 0
) -> Table:
    """A table of groups of rows, each under its name; columns as in `table`."""
    made = table(title, columns, (), numbers=numbers)
    for name, rows in groups.items():
        made.add_row(Text(name, style="bold"))
        for row in rows:
            made.add_row(*(escape(_cell(value)) for value in row))
        made.add_section()
    return made


def heading(text: str) -> Text:
    """A line above several tables."""
    return Text(text, style="bold")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}"
    return str(value)


def _plain(result: Any) -> Any:
    """A result as JSON takes it."""
    if isinstance(result, Mapping):
        return result
    if hasattr(result, "to_dict"):
        return result.to_dict()
    assert is_dataclass(result)
    assert not isinstance(result, type)
    return asdict(result)


def _json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=2, allow_nan=False) + "\n")


def _plainly(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
