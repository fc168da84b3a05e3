"""A reproduction as a page: each figure as bars by kernel, our mean and the published values beside them, and its numbers."""

from __future__ import annotations

from sim.report import Page, Plot, Section, Table, marker
from sim.reproduce.paper import Comparison, table_rows
from sim.reproduce.run import Reproduction

#: Pixels that a bar needs.
_BAR = 9


def page(made: Reproduction) -> Page:
    """A section for each figure."""
    text = "Ours from runs of our kernels; published values where the paper states them."
    return Page(made.paper.title, text, [_section(part) for part in made.comparisons], list(made.failures.items()), made.made_by)


def _section(part: Comparison) -> Section:
    figure, rows = part.figure, table_rows(part)
    text = " ".join((*part.sentences, f"Published: {part.source}." if part.published else "")).strip()
    table = Table(f"In {figure.unit}; mean: {figure.mean}", ("kernel", *figure.columns), rows,
                  [figure.digits] * len(figure.columns))
    return Section(figure.title, text, [_plot(part)] if rows else [], [table], folded=True)


def _plot(part: Comparison) -> Plot:
    figure, rows = part.figure, table_rows(part)
    names = [name for name, _ in rows]
    data = [
        {"type": "bar", "name": column, "x": names, "y": [values[place] for _, values in rows], "marker": marker(place),
         "hovertemplate": f"%{{x}}: %{{y:.{figure.digits}f}}"}
        for place, column in enumerate(figure.columns)
    ]
    layout = {"barmode": "group", "yaxis": {"title": {"text": figure.unit}}}
    said = f"{figure.title}: {', '.join(figure.columns)}, in {figure.unit}, of {', '.join(names)}"
    return Plot(f"plot-{figure.name}", said, data, layout, len(names) * (len(figure.columns) + 1) * _BAR)
