"""Comparison page, and its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpbank.arch.errors import OutputError
from warpbank.sim.output import write_text
from warpbank.sim.report import Page, Plot, Section, Table, html, marker
from warpbank.studies.compare.area import NOTE
from warpbank.studies.compare.measures import MEASURES, Measure
from warpbank.studies.compare.table import Comparison, labels

#: Files that are written.
FILES = ("compare.html", "compare.json")
#: Pixels that a bar needs.
_BAR = 9


def write(made: Comparison, folder: Path) -> list[Path]:
    """Write `compare.html` and `compare.json` into the folder, each whole or not at all. Returns their
    paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot make the folder {folder}: {error.strerror}; name another with --output"
        ) from None
    texts = (html(page(made)), json.dumps(made.to_dict(), indent=2, allow_nan=False) + "\n")
    for name, text in zip(FILES, texts, strict=True):
        write_text(folder / name, text)
    return [folder / name for name in FILES]


def page(made: Comparison) -> Page:
    """Page of a comparison: means first, then a plot for every measure, energy by structure, and scheduler
    cycles."""
    sections = [Section("Means", _means_text(made), tables=[_means(made)])]
    sections += [_measure(made, measure) for measure in MEASURES if any(_numbers(made, measure))]
    sections += [
        _stack(
            "Energy by structure",
            "structures",
            "Dynamic energy on the common table, all kernels together, as a share of the baseline's.",
            {scheme: made.structures(scheme) for scheme in made.schemes},
        ),
        _stack(
            "Scheduler cycles",
            "stalls",
            "What the schedulers did in every cycle, all kernels together, as a share of the "
            "baseline's cycles.",
            {scheme: made.stalls(scheme) for scheme in made.schemes},
        ),
    ]
    if made.area:
        sections.append(Section("Area where known", NOTE, tables=[_area(made)]))
    failures = [(f"{kernel} {scheme}", cause) for (scheme, kernel), cause in made.failures.items()]
    beside = "the baseline of its paper" if made.published else made.base(made.schemes[0])
    text = f"{len(made.schemes)} register files on {len(made.kernels)} kernels, normalised to {beside}."
    said = " ".join(made.sentences) or text
    return Page("Warpbank: register files compared", said, sections, failures, made.made_by)


def _means_text(made: Comparison) -> str:
    left = [kernel for kernel in made.kernels if kernel not in made.mean_kernels]
    text = (
        f"Ratios: geometric means over {len(made.mean_kernels)} kernels; hit ratio and conflicts: arithmetic "
        "ones."
    )
    heads = made.heads()
    for place, scheme in enumerate(made.schemes):
        words = [f"{name} {cells[place]}" for name, cells in heads]
        text += f" {scheme}: {', '.join(words)}." * bool(words)
    return text + (f" Left out, since a run of theirs failed: {', '.join(labels(left))}." if left else "")


def _means(made: Comparison) -> Table:
    rows = [(scheme, [made.mean(measure, scheme) for measure in MEASURES]) for scheme in made.schemes]
    columns = (
        "scheme",
        *(measure.title if measure.relative else f"{measure.title}, {measure.unit}" for measure in MEASURES),
    )
    digits = [measure.digits for measure in MEASURES]
    return Table("Means over kernels, of baseline where nothing else is said", columns, rows, digits)


def _area(made: Comparison) -> Table:
    names = ("area_um2", "memory_um2", "nand2_equivalents", "delay_ns")
    rows = [
        (f"{scheme}: {unit}", [found[name] if found else None for name in names])
        for scheme, parts in made.area.items()
        for unit, found in parts.items()
    ]
    return Table(
        "Units of each scheme",
        ("unit", "cells, um2", "memories, um2", "NAND2 equivalents", "critical path, ns"),
        rows,
        (0, 0, 0, 3),
    )


def _numbers(made: Comparison, measure: Measure) -> list[float]:
    return [value for row in made.values(measure).values() for value in row.values() if value is not None]


def _measure(made: Comparison, measure: Measure) -> Section:
    """A plot with a group of bars for each kernel and one for the mean, and its numbers."""
    values = made.values(measure)
    # The mean comes first, since a plot that is wider than the window shows its left end.
    names = ["mean", *labels(made.kernels)]
    rows = {
        scheme: [made.mean(measure, scheme), *(values[scheme].get(kernel) for kernel in made.kernels)]
        for scheme in made.schemes
    }
    rows = {scheme: row for scheme, row in rows.items() if any(value is not None for value in row)}
    data = [
        {
            "type": "bar",
            "name": scheme,
            "x": names,
            "y": row,
            "marker": marker(made.schemes.index(scheme)),
            "hovertemplate": f"%{{x}}: %{{y:.{measure.digits}f}}",
        }
        for scheme, row in rows.items()
    ]
    layout = {
        "barmode": "group",
        "yaxis": {"title": {"text": f"{measure.title}, {measure.unit}"}, "rangemode": "tozero"},
    }
    text = f"{measure.title}, {measure.unit}, of {', '.join(rows)} on {', '.join(names)}"
    table = Table(
        f"{measure.title}, {measure.unit}",
        ("kernel", *rows),
        [(name, [row[place] for row in rows.values()]) for place, name in enumerate(names)],
        [measure.digits] * len(rows),
    )
    plot = Plot(f"plot-{measure.name}", text, data, layout, len(names) * (len(rows) + 1) * _BAR)
    means = ", ".join(
        f"{scheme} {row[0]:.{measure.digits}f}" for scheme, row in rows.items() if row[0] is not None
    )
    words = f"{measure.text} Mean: {means}." if means else measure.text
    return Section(measure.title, words, [plot], [table], folded=True)


def _stack(title: str, name: str, text: str, shares: Mapping[str, Mapping[str, float]]) -> Section:
    """A stacked bar for every scheme."""
    rows = {scheme: row for scheme, row in shares.items() if row}
    parts = [
        part
        for part in dict.fromkeys(part for row in rows.values() for part in row)
        if any(row.get(part) for row in rows.values())
    ]
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": part.replace("_", " "),
            "orientation": "h",
            "y": list(rows),
            "x": [row.get(part, 0.0) for row in rows.values()],
            "marker": marker(place),
            "hovertemplate": "%{y}: %{x:.3f}",
        }
        for place, part in enumerate(parts)
    ]
    layout = {
        "barmode": "stack",
        "xaxis": {"title": {"text": "of baseline"}},
        "yaxis": {"autorange": "reversed"},
    }
    table = Table(
        f"{title}, of baseline",
        ("scheme", *(part.replace("_", " ") for part in parts)),
        [(scheme, [row.get(part, 0.0) for part in parts]) for scheme, row in rows.items()],
        [3] * len(parts),
    )
    return Section(
        title,
        text,
        [Plot(f"plot-{name}", f"{title} of {', '.join(rows)}", data, layout)],
        [table],
        folded=True,
    )
