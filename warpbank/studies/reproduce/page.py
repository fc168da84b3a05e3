"""Reproduction page: each figure drawn in its paper's shape, our mean and the published values in it, and its
numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpbank.sim.report import Page, Plot, Section, Table, marker
from warpbank.studies.reproduce.paper import Comparison, Figure, table_rows
from warpbank.studies.reproduce.run import Reproduction
from warpbank.studies.reproduce.scorecard import summary

#: Pixels that a bar needs.
_BAR = 9
#: Colour of a line across bars: red, as the paper's.
_LINE = "#d62728"


def page(made: Reproduction) -> Page:
    """Page with a section for each figure."""
    text = "Ours from runs of our kernels; published values where the paper states them."
    return Page(
        made.paper.title,
        text,
        [*(_section(part) for part in made.comparisons), *_scorecard(made)],
        list(made.failures.items()),
        made.made_by,
    )


def _scorecard(made: Reproduction) -> list[Section]:
    """Every published number beside ours, with its verdict; nothing where the figures have none."""
    if not made.scorecard:
        return []
    rows = [
        (
            f"{entry.name}, {entry.unit}: {entry.verdict.value}"
            + (f" by {entry.explanation.experiment}" if entry.explanation is not None else ""),
            [
                entry.published,
                entry.ours,
                entry.difference,
                entry.explanation.ours if entry.explanation else None,
            ],
        )
        for entry in made.scorecard
    ]
    heads = ("figure: verdict", "published", "ours", "difference", "ours, with one thing as in the paper")
    text = (
        f"{summary(made.scorecard)} What was tried, and its command, stands in the Markdown and JSON files."
    )
    return [Section("Scorecard", text, [], [Table("Published numbers", heads, rows, (2, 2, 2, 2))])]


def _section(part: Comparison) -> Section:
    figure, rows = part.figure, table_rows(part)
    text = " ".join(
        (*part.sentences, f"Published: {part.published.source}." if part.published.rows else "")
    ).strip()
    table = Table(_caption(part), ("kernel", *figure.columns), rows, [figure.digits] * len(figure.columns))
    return Section(figure.title, text, [_plot(part)] if part.rows else [], [table], folded=bool(part.rows))


def _caption(part: Comparison) -> str:
    unit = part.figure.unit
    said = [f"In {unit}" * bool(unit), f"mean: {part.figure.mean}" * (len(part.rows) > 1)]
    return "; ".join(filter(None, said))


def _plot(part: Comparison) -> Plot:
    figure = part.figure
    data, layout, width = _SHAPES[figure.shape](part)
    said = (
        f"{figure.title}: {', '.join(figure.columns)}, in {figure.unit}, of "
        f"{', '.join(name for name, _ in table_rows(part))}"
    )
    return Plot(
        f"plot-{figure.name}", said, data, {"yaxis": {"title": {"text": figure.unit}}, **layout}, width
    )


#: Traces, layout, and least width of a plot.
_Drawn = tuple[list[dict[str, Any]], dict[str, Any], int]


def _bars(part: Comparison, mode: str = "group") -> _Drawn:
    """Bars by kernel, in a group or on top of each other."""
    figure = part.figure
    rows = [row for row in table_rows(part) if figure.level is None or row[0] != figure.level[0]]
    names = [name for name, _ in rows]
    places = [
        place for place, column in enumerate(figure.columns) if mode == "group" or column not in figure.beside
    ]
    data = [
        {
            "type": "bar",
            "name": figure.columns[place],
            "x": names,
            "y": [values[place] for _, values in rows],
            "marker": marker(count),
            "hovertemplate": f"%{{x}}: %{{y:.{figure.digits}f}}",
        }
        for count, place in enumerate(places)
    ]
    bars = len(places) + 1 if mode == "group" else 2
    return data, {"barmode": mode, **_across(figure)}, len(names) * bars * _BAR


def _across(figure: Figure) -> dict[str, Any]:
    """The line across, if there is one, with its name."""
    if figure.level is None:
        return {}
    name, value = figure.level
    line = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": value,
        "y1": value,
        "line": {"color": _LINE, "width": 2},
    }
    said = {
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "y": value,
        "yanchor": "bottom",
        "text": name,
        "showarrow": False,
        "font": {"color": _LINE},
    }
    return {"shapes": [line], "annotations": [said]}


def _parts(part: Comparison) -> _Drawn:
    """Parts of a whole; columns that are none stand in the table only."""
    return _bars(part, "stack")


def _line(
    part: Comparison, name: str, heads: list[str], values: list[float | None], place: int, **shape: Any
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": heads,
        "y": values,
        "marker": {"color": marker(place)["color"]},
        "hovertemplate": f"{name}, %{{x}}: %{{y:.{part.figure.digits}f}}",
        **shape,
    }


def _lines(part: Comparison) -> _Drawn:
    """A line per kernel along the columns; our mean is thicker, published values are points."""
    heads, data = list(part.figure.columns), []
    for place, (name, values) in enumerate(table_rows(part)):
        if name in part.rows:
            shape: dict[str, Any] = {"line": {"width": 1}, "opacity": 0.6}
        else:
            shape = (
                {"line": {"width": 4}}
                if name == "mean"
                else {"mode": "markers", "marker": {"size": 12, "symbol": "x"}}
            )
        data.append(_line(part, name, heads, list(values), place, **shape))
    return data, {}, 0


def _curves(part: Comparison) -> _Drawn:
    """Columns are called "curve, place": a line for each curve through our means, along the places."""
    curves: dict[str, list[tuple[str, float]]] = {}
    for column, value in zip(part.figure.columns, part.mean, strict=True):
        curve, _, place = column.partition(", ")
        curves.setdefault(curve, []).append((place, value))
    data = [
        _line(part, curve, [place for place, _ in points], [value for _, value in points], count)
        for count, (curve, points) in enumerate(curves.items())
    ]
    return data, {}, 0


_SHAPES: dict[str, Callable[[Comparison], _Drawn]] = {
    "bars": _bars,
    "parts": _parts,
    "lines": _lines,
    "curves": _curves,
}
