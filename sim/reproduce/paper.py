"""What a paper is to us: figures, each with the runs it needs, a way from their results to a table, and published values."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import fmean, geometric_mean
from typing import Any

from program.errors import WarpbankError
from sim.runs import Task

#: Results by the task that gave them.
Results = Mapping[Task, dict[str, Any]]
#: Ways to make one number of a column: of ratios the geometric mean, as percentages changed.
MEANS: dict[str, Callable[[Sequence[float]], float]] = {
    "arithmetic": fmean,
    "change": lambda values: 100 * (geometric_mean([1 + value / 100 for value in values]) - 1),
}


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper.

    Parameters
    ----------
    name : "fig10"; key of its published values.
    title : what it shows.
    unit : of all its values.
    columns : one name per value of a row.
    tasks : (kernel, size) -> what has to be done for the kernel's row.
    row : (kernel, size, results) -> the row.
    reason : why ours and the paper's differ, in a sentence.
    mean : a key of `MEANS`.
    kernels : the kernels it is about; empty: those asked for.
    digits : of its values behind the point, as people see them.
    """

    name: str
    title: str
    unit: str
    columns: tuple[str, ...]
    tasks: Callable[[str, str], list[Task]]
    row: Callable[[str, str, Results], tuple[float, ...]]
    reason: str
    mean: str = "arithmetic"
    kernels: tuple[str, ...] = ()
    digits: int = 1


@dataclass(frozen=True)
class Paper:
    """A paper: name (that of its data file), title, figures in its order."""

    name: str
    title: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Comparison:
    """A figure with our values and the published ones.

    Parameters
    ----------
    rows : kernel -> our values; kernels whose runs failed are missing.
    mean : our means, empty without rows.
    published : column -> published value, for those that the paper states.
    source : where the paper states them.
    failures : label of a failed task -> its cause.
    """

    figure: Figure
    rows: dict[str, tuple[float, ...]]
    mean: tuple[float, ...]
    published: dict[str, float]
    source: str
    failures: dict[str, str]

    @property
    def sentences(self) -> list[str]:
        """Ours beside the published value for each column that has one, and why they differ."""
        unit, digits = self.figure.unit, self.figure.digits
        said = [
            f"{column}: ours {ours:.{digits}f} {unit}, published {self.published[column]:g} {unit}, "
            f"difference {ours - self.published[column]:+.{digits}f}."
            for column, ours in zip(self.figure.columns, self.mean, strict=False)
            if column in self.published
        ]
        return [*said, self.figure.reason]

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries for JSON."""
        figure = self.figure
        return {
            "figure": figure.name, "title": figure.title, "unit": figure.unit, "columns": list(figure.columns),
            "rows": {kernel: list(row) for kernel, row in self.rows.items()},
            "mean_kind": figure.mean, "mean": list(self.mean), "published": self.published, "source": self.source,
            "sentences": self.sentences, "failures": self.failures,
        }


def table_rows(part: Comparison) -> list[tuple[str, tuple[float | None, ...]]]:
    """Rows of a figure's table: the kernels, our mean, the published values where there are any."""
    rows: list[tuple[str, tuple[float | None, ...]]] = list(part.rows.items())
    if part.mean:
        rows.append(("mean", part.mean))
    if part.published:
        rows.append(("published", tuple(part.published.get(column) for column in part.figure.columns)))
    return rows


def compare(paper: Paper, figure: Figure, kernels: Sequence[str], size: str, results: Results,
            failures: Mapping[Task, str]) -> Comparison:
    """The figure's table from what could be done of its tasks."""
    rows = {}
    failed: dict[str, str] = {}
    for kernel in figure.kernels or kernels:
        causes = {task.label: failures[task] for task in figure.tasks(kernel, size) if task in failures}
        failed |= causes
        if not causes:
            rows[kernel] = figure.row(kernel, size, results)
    mean = tuple(MEANS[figure.mean](column) for column in zip(*rows.values(), strict=True))
    values, source = published(paper).get(figure.name, ({}, ""))
    return Comparison(figure, rows, mean, values, source, failed)


@cache
def published(paper: Paper) -> dict[str, tuple[dict[str, float], str]]:
    """Published values of a paper: figure -> (column -> value, where they stand), from its data file.

    Raises WarpbankError if the file names a figure or column that the paper's module does not have.
    """
    name = f"{paper.name}.toml"
    data = tomllib.loads((files(__package__) / "published" / name).read_text())
    columns = {figure.name: figure.columns for figure in paper.figures}
    read = {}
    for figure, entry in data.items():
        unknown = [column for column in entry["values"] if column not in columns.get(figure, ())]
        if figure not in columns or unknown:
            raise WarpbankError(f"{name}: {figure} has no column {unknown[0]!r}" if unknown else f"{name}: no figure {figure!r}")
        read[figure] = ({column: float(value) for column, value in entry["values"].items()}, str(entry["source"]))
    return read
