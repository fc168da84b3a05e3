"""Exploration page, and its files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpbank.arch.errors import OutputError
from warpbank.arch.schemes import BASELINE
from warpbank.sim.output import write_text
from warpbank.sim.report import Page, Plot, Section, Table, html
from warpbank.sim.report.colours import COLOURS
from warpbank.studies.explore.front import Aim
from warpbank.studies.explore.measure import AIMS
from warpbank.studies.explore.result import Exploration, Explored
from warpbank.studies.explore.sentences import headline, limits, model, worth

#: Files that are written.
FILES = ("explore.html", "explore.json")
#: Pixels that a plane needs.
_PLANE = 640


def write(made: Exploration, folder: Path) -> list[Path]:
    """Write `explore.html` and `explore.json` into the folder, each whole or not at all. Returns their
    paths. Raises OutputError."""
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


def page(made: Exploration) -> Page:
    """Page of an exploration: the front first, then a plane for every two aims, what beats what, rungs,
    points, areas, and the error of the models."""
    sections = [
        Section("The front", f"{worth(made)} {limits(made)}", tables=[_front(made)]),
        *(_plane(made, across, up) for across, up in made.pairs),
        _beaten(made),
        _halving(made),
        _kernels(made),
        _areas(made),
        _errors(made),
    ]
    return Page(
        "Warpbank: which register file?", headline(made), sections, list(made.refused.items()), made.made_by
    )


def _values(points: Sequence[Explored]) -> list[tuple[str, list[float | None]]]:
    return [(each.name, [each.values[name] for name in AIMS]) for each in points]


def _heads() -> tuple[str, ...]:
    return tuple(f"{aim.title}, {aim.unit}" for aim in AIMS.values())


def _digits() -> list[int]:
    return [aim.digits for aim in AIMS.values()]


def _front(made: Exploration) -> Table:
    judged = ", ".join(aim.title for aim in made.aims)
    return Table(
        f"Register files that no other beats in {judged}",
        ("register file", *_heads()),
        _values(made.front()),
        _digits(),
    )


def _plane(made: Exploration, across: Aim, up: Aim) -> Section:
    """Finalists in the plane of two aims, with the front of these two alone."""
    best = sorted(made.front((across, up)), key=lambda each: each.values[across.name])
    knee = made.knee(best, (across, up))
    others = [each for each in made.finalists if each not in best]
    groups = (
        ("dominated here", others, {"color": COLOURS[0], "size": 7}, "markers"),
        ("front of these two", best, {"color": COLOURS[6], "size": 9}, "lines+markers"),
        ("knee", [knee], {"color": COLOURS[4], "size": 15, "symbol": "diamond-open"}, "markers"),
        (BASELINE.name, [made.points[0]], {"color": COLOURS[1], "size": 13, "symbol": "star"}, "markers"),
    )
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": mode,
            "name": label,
            "x": [each.values[across.name] for each in points],
            "y": [each.values[up.name] for each in points],
            "text": [each.name for each in points],
            "marker": style,
            "hovertemplate": f"%{{text}}<br>{across.title} %{{x:.{across.digits}f}}, "
            f"{up.title} %{{y:.{up.digits}f}}",
        }
        for label, points, style, mode in groups
        if points
    ]
    axes = {
        key: {"title": {"text": f"{aim.title}, {aim.unit} ({'more' if aim.larger else 'less'} is better)"}}
        for key, aim in (("xaxis", across), ("yaxis", up))
    }
    title = f"{across.title.capitalize() if across.name != 'ipc' else across.title} and {up.title}"
    text = f"{title} of {len(made.finalists)} register files; knee: {knee.name}"
    return Section(
        title,
        f"{len(best)} register files are on the front of these two aims. Its knee, nearest to the best of "
        f"both, is {knee.name}.",
        [Plot(f"plot-{across.name}-{up.name}", text, data, axes, _PLANE)],
        [
            Table(
                f"Front of {title}",
                ("register file", across.title, up.title),
                [(each.name, [each.values[across.name], each.values[up.name]]) for each in best],
                [across.digits, up.digits],
            )
        ],
        folded=True,
    )


def _beaten(made: Exploration) -> Section:
    """Each finalist that something beats, beside the first that does."""
    by_name = {each.name: each for each in made.finalists}
    rows: list[tuple[str, list[float | None]]] = []
    for name, beaters in made.beaten().items():
        first, own = beaters[0], by_name[name].values
        ratios: list[float | None] = [by_name[first].values[aim.name] / own[aim.name] for aim in made.aims]
        rows.append((f"{name}: beaten by {first}", [float(len(beaters)), *ratios]))
    return Section(
        "What beats what",
        "Every finalist that is not on the front, with the first register file of the front that is at "
        "least as good in every aim; how many of the front are; and the values of that "
        "first one, divided by those of the finalist.",
        tables=[
            Table(
                "Dominated register files",
                ("register file", "beaten by", *(f"{aim.title}, ratio" for aim in made.aims)),
                rows,
                [0, *[3] * len(made.aims)],
            )
        ],
        folded=True,
    )


def _halving(made: Exploration) -> Section:
    rows: list[tuple[str, list[float | None]]] = []
    for place, rung in enumerate(made.rungs):
        ran = sum(each.rung >= place for each in made.points)
        rows.append((", ".join(rung.kernels), [float(len(rung.kernels)), float(ran)]))
    return Section(
        "Successive halving",
        "Every point runs on the kernels of the first rung; the best of each rung, front by front, run on "
        "those of the next. Values of a point are over the kernels of its last rung.",
        tables=[
            Table("Rungs", ("kernels", "number", "register files"), rows, [0, 0]),
            Table("Every point", ("register file", *_heads()), _values(made.points), _digits()),
        ],
        folded=True,
    )


def _kernels(made: Exploration) -> Section:
    base, kernels = made.points[0], made.rungs[-1].kernels
    tables = [
        Table(
            f"{title}, of baseline",
            ("register file", *kernels),
            [
                (each.name, [ratio(each.kernels[kernel], base.kernels[kernel]) for kernel in kernels])
                for each in made.front()
            ],
            [3] * len(kernels),
        )
        for title, ratio in (
            ("IPC", lambda own, of: own["ipc"] / of["ipc"]),
            ("Work per energy", lambda own, of: of["picojoules"] / own["picojoules"]),
        )
    ]
    return Section("By kernel", "The register files of the front.", tables=tables, folded=True)


def _areas(made: Exploration) -> Section:
    rows: list[tuple[str, list[float | None]]] = [
        (f"{each.name}: {part} ({size.source})", [size.cells_um2, size.memory_um2, size.delay_ns])
        for each in made.front()
        for part, size in (each.synthesized or each.parts).items()
    ]
    return Section(
        "Area by part",
        "A register file is taken for the sum of its rooms: collectors, the banks and network that serve "
        "them, and what each other unit adds to the baseline's banks and network.",
        tables=[
            Table(
                "Parts of the front's register files",
                ("part", "cells, um2", "memories, um2", "critical path, ns"),
                rows,
                [0, 0, 2],
            )
        ],
        folded=True,
    )


def _errors(made: Exploration) -> Section:
    units = dict.fromkeys(unit for error in made.errors for unit in error.ratios)
    return Section(
        "How far to trust area and clock",
        model(made),
        tables=[
            Table(
                "Error, leaving one out: a factor up or down",
                ("model", "units", "half are within", "nine of ten are within"),
                [
                    (error.of, [float(len(error.ratios)), error.within(0.5), error.within(0.9)])
                    for error in made.errors
                ],
                [0, 2, 2],
            ),
            Table(
                "What the model says of a unit that it has not seen, divided by its record",
                ("unit", *(error.of for error in made.errors)),
                [(unit, [error.ratios.get(unit) for error in made.errors]) for unit in units],
                [2] * len(made.errors),
            ),
        ],
        folded=True,
    )
