"""Papers as figures, each with the runs it needs, a way from their results to a table, and published
values."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from statistics import fmean, geometric_mean
from typing import Any

from warpbank.program.errors import WarpbankError
from warpbank.sim.runs import Task

#: Results by the task that gave them.
Results = Mapping[Task, dict[str, Any]]
#: Ways to make one number of a column: of ratios the geometric mean, as percentages changed.
MEANS: dict[str, Callable[[Sequence[float]], float]] = {
    "arithmetic": fmean,
    "change": lambda values: 100 * (geometric_mean([1 + value / 100 for value in values]) - 1),
}
#: Row of the means over the kernels that the paper has, too.
OWN_MEAN = "mean, the paper's own"
#: Ways to draw a figure (`warpbank.studies.reproduce.page`): bars beside each other, or on top of each other
#: as parts of a whole; lines of kernels along the columns; curves of means, whose columns are called "curve,
#: place".
SHAPES = ("bars", "parts", "lines", "curves")


@dataclass(frozen=True)
class Figure:
    """Figure or table of a paper.

    Parameters
    ----------
    name : "fig10"; key of its published values.
    title : what it shows.
    unit : of all its values.
    columns : one name per value of a row.
    tasks : (kernel, size) -> what has to be done for the kernel's row.
    row : (kernel, size, results) -> the row; None: ours cannot be had.
    reason : why ours and the paper's differ, or why ours cannot be had, in a sentence.
    mean : a key of `MEANS`.
    kernels : the kernels it is about; empty: those asked for.
    digits : of its values behind the point, as people see them.
    shape : of `SHAPES`, as the paper draws it.
    beside : columns that are no parts of the whole.
    level : name and value of a line that the paper draws across the bars.
    together : makes one row of those of all kernels, which are not shown then; None: each has its own.
    means : makes the row of means from those of the kernels, in the place of `mean`.
    """

    name: str
    title: str
    unit: str
    columns: tuple[str, ...]
    tasks: Callable[[str, str], list[Task]]
    row: Callable[[str, str, Results], tuple[float, ...]] | None
    reason: str
    mean: str = "arithmetic"
    kernels: tuple[str, ...] = ()
    digits: int = 1
    shape: str = "bars"
    beside: tuple[str, ...] = ()
    level: tuple[str, float] | None = None
    together: Callable[[Sequence[tuple[float, ...]]], tuple[float, ...]] | None = None
    means: Callable[[Sequence[tuple[float, ...]]], tuple[float, ...]] | None = None


@dataclass(frozen=True)
class Published:
    """Published values of a figure, by column.

    Parameters
    ----------
    values : means, or single values.
    least, most : of its benchmarks, or of a range that it states.
    source : where.
    bounds : "at least" or "at most", for a value that the paper states as a bound.
    inputs : columns whose value is an input of ours, or follows from one that was chosen by it.
    """

    values: Mapping[str, float]
    least: Mapping[str, float]
    most: Mapping[str, float]
    source: str
    bounds: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()

    @property
    def rows(self) -> dict[str, Mapping[str, float]]:
        """Rows by their names in tables, those that state anything."""
        named = {"published": self.values, "published, least": self.least, "published, most": self.most}
        return {name: values for name, values in named.items() if values}


#: Of a figure that the paper prints no number of.
NOTHING = Published({}, {}, {}, "")


@dataclass(frozen=True)
class Paper:
    """Published work whose figures are reproduced.

    Parameters
    ----------
    name : that of its data file.
    figures : in its order.
    kernels : our kernels that are its own benchmarks; means over them stand beside those over all kernels.
    """

    name: str
    title: str
    figures: tuple[Figure, ...]
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Comparison of a figure with our values and the published ones.

    Parameters
    ----------
    rows : kernel -> our values; kernels whose runs failed are missing.
    mean : our means, empty without rows.
    published : what the paper states.
    failures : label of a failed task -> its cause.
    own : those of our kernels that are the paper's own benchmarks, too, where they are some of the rows and
        not all.
    own_mean : our means over these, empty without them.
    """

    figure: Figure
    rows: dict[str, tuple[float, ...]]
    mean: tuple[float, ...]
    published: Published
    failures: dict[str, str]
    own: tuple[str, ...] = ()
    own_mean: tuple[float, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """Sentences on ours beside the published value for each column that has one, and why they differ."""
        stated, said = self.published, []
        for column in self.figure.columns:
            if column in stated.values:
                said.append(self._beside(column, self.ours(column)[1], stated.values[column]))
                if self.own_mean:
                    mean = self.own_mean[self.figure.columns.index(column)]
                    name = f"{column}, the paper's own kernels"
                    said.append(self._beside(name, mean, stated.values[column]))
            for end, ends in (("least", stated.least), ("most", stated.most)):
                if column in ends:
                    kernel, ours = self.ours(column, end)
                    said.append(self._beside(f"{column}, {end}", ours, ends[column], kernel))
        return [*said, self.figure.reason]

    def ours(self, column: str, end: str = "") -> tuple[str, float | None]:
        """Our mean of a column, or the kernel with our "least" or "most" of it and the number; None if no run
        of ours is here."""
        place = self.figure.columns.index(column)
        if not end:
            return "", self.mean[place] if self.mean else None
        values = [(name, row[place]) for name, row in self.rows.items()]
        choose = min if end == "least" else max
        return choose(values, key=lambda pair: pair[1]) if values else ("", None)

    def _beside(self, name: str, ours: float | None, published: float, kernel: str = "") -> str:
        """One number beside the published one."""
        digits, unit = self.figure.digits, f" {self.figure.unit}".rstrip()
        if ours is None:
            return f"{name}: published {published:g}{unit}, ours is not here."
        return (
            f"{name}: ours {ours:.{digits}f}{unit}{f' ({kernel})' * bool(kernel)}, published "
            f"{published:g}{unit}, difference {ours - published:+.{digits}f}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Comparison as plain dictionaries for JSON."""
        figure = self.figure
        return {
            "figure": figure.name,
            "title": figure.title,
            "unit": figure.unit,
            "columns": list(figure.columns),
            "rows": {kernel: list(row) for kernel, row in self.rows.items()},
            "mean_kind": figure.mean,
            "mean": list(self.mean),
            "own_kernels": list(self.own),
            "own_mean": list(self.own_mean),
            "published": dict(self.published.values),
            "published_least": dict(self.published.least),
            "published_most": dict(self.published.most),
            "source": self.published.source,
            "sentences": self.sentences,
            "failures": self.failures,
        }


def table_rows(part: Comparison) -> list[tuple[str, tuple[float | None, ...]]]:
    """Rows of a figure's table: the kernels, our mean if they are several, that over the paper's own kernels,
    the line across, the published values where there are any."""
    rows: list[tuple[str, tuple[float | None, ...]]] = list(part.rows.items())
    if len(part.rows) > 1:
        rows.append(("mean", part.mean))
    if part.own_mean:
        rows.append((OWN_MEAN, part.own_mean))
    if part.figure.level is not None:
        name, value = part.figure.level
        rows.append((name, (value,) * len(part.figure.columns)))
    for name, values in part.published.rows.items():
        rows.append((name, tuple(values.get(column) for column in part.figure.columns)))
    return rows


def compare(
    paper: Paper,
    figure: Figure,
    kernels: Sequence[str],
    size: str,
    results: Results,
    failures: Mapping[Task, str],
) -> Comparison:
    """Table of the figure from what could be done of its tasks."""
    rows = {}
    failed: dict[str, str] = {}
    for kernel in figure.kernels or kernels:
        causes = {task.label: failures[task] for task in figure.tasks(kernel, size) if task in failures}
        failed |= causes
        if figure.row is not None and not causes:
            rows[kernel] = figure.row(kernel, size, results)
    if figure.together is not None and rows:
        rows = {f"{len(rows)} kernels": figure.together(list(rows.values()))}
    own = tuple(kernel for kernel in rows if kernel in paper.kernels)
    if len(own) == len(rows):
        own = ()
    stated = published(paper).get(figure.name, NOTHING)
    own_mean = _mean(figure, [rows[kernel] for kernel in own])
    return Comparison(figure, rows, _mean(figure, list(rows.values())), stated, failed, own, own_mean)


def _mean(figure: Figure, rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Means of the figure's columns, empty without rows."""
    if figure.means is not None and rows:
        return figure.means(rows)
    return tuple(MEANS[figure.mean](column) for column in zip(*rows, strict=True))


@cache
def published(paper: Paper) -> dict[str, Published]:
    """Published values of a paper by figure, from its data file.

    Raises WarpbankError if the file names a figure or column that the paper's module does not have.
    """
    name = f"{paper.name}.toml"
    data = tomllib.loads((files(__package__) / "published" / name).read_text(encoding="utf-8"))
    columns = {figure.name: figure.columns for figure in paper.figures}
    read = {}
    for figure, entry in data.items():
        if figure not in columns:
            raise WarpbankError(f"{name}: no figure {figure!r}")
        means, least, most = (
            {column: float(value) for column, value in entry.get(kind, {}).items()}
            for kind in ("values", "least", "most")
        )
        bounds = {
            column: kind.replace("_", " ")
            for kind in ("at_least", "at_most")
            for column in entry.get(kind, ())
        }
        inputs = tuple(entry.get("inputs", ()))
        stated = (*means, *least, *most, *bounds, *inputs)
        unknown = [column for column in stated if column not in columns[figure]]
        if unknown:
            raise WarpbankError(f"{name}: {figure} has no column {unknown[0]!r}")
        read[figure] = Published(means, least, most, str(entry["source"]), bounds, inputs)
    return read
