"""Page elements, and the page as text.

Plots are descriptions that plotly.js draws (https://plotly.com/javascript/reference); it comes with the
plotly package and is written into the page. Colours of text and grid are the page's own, by the reader's
light or dark preference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Plot:
    """Plot of a page: its traces and layout, a sentence for those who cannot see it, and the width in pixels
    below which it scrolls."""

    name: str
    text: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    least_width: int = 0


@dataclass(frozen=True)
class Table:
    """A table that sorts by any column when its head is pressed.

    Parameters
    ----------
    caption : what it shows.
    columns : heads; the first column holds names, the others numbers.
    rows : a name and its values; None: there is none.
    digits : behind the point, for each column of numbers.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]
    digits: Sequence[int]


@dataclass(frozen=True)
class Section:
    """A part of the page: heading, text, plots, tables; folded tables open when pressed."""

    title: str
    text: str = ""
    plots: Sequence[Plot] = ()
    tables: Sequence[Table] = ()
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """A page: title, a sentence, sections, what failed, and what made it."""

    title: str
    text: str
    sections: Sequence[Section]
    failures: Sequence[tuple[str, str]] = ()
    made_by: Mapping[str, Any] = field(default_factory=dict)


def html(page: Page) -> str:
    """Page as one file."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=PackageLoader("warpbank.sim.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inline"] = inline
    return environment.get_template("page.html.j2").render(page=page, plotly=get_plotlyjs())


def inline(value: object) -> str:
    """Text of a value of `made_by`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
