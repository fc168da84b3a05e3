"""`warpbank explore`: which register file should I build?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from warpbank.arch.errors import ArgumentError
from warpbank.cli import completion, output
from warpbank.cli.options import (
    ConfigOption,
    EngineName,
    EngineOption,
    JsonOption,
    LibertyOption,
    PresetOption,
    SchedulerOption,
    SetOption,
    Size,
    SizeOption,
    WorkersOption,
    listed,
)
from warpbank.cli.progress import runs
from warpbank.sim.experiment import machine_name
from warpbank.sim.output import check_folder
from warpbank.studies.explore import DEFAULT_KERNELS, FACTOR, MOST_SEED, SAMPLES, Exploration
from warpbank.studies.explore import explore as make
from warpbank.studies.explore.measure import AIMS, DEFAULT_AIMS
from warpbank.studies.explore.page import FILES, write
from warpbank.studies.explore.sentences import headline, limits, model, worth

if TYPE_CHECKING:
    from warpbank.studies.explore.result import Explored
    from warpbank.studies.explore.space import Value

#: Folder of the page where none is named.
FOLDER = Path("warpbank-explore")
#: Most points that are sampled.
MOST_SAMPLES = 100_000


def explore(
    kernels: Annotated[
        str,
        typer.Option(
            "--kernels",
            metavar="NAME,FILE.ptx|GROUP|all",
            help="Kernels, or groups of them (`warpbank kernels`).",
            show_default=", ".join(DEFAULT_KERNELS),
            autocompletion=completion.kernels,
        ),
    ] = ",".join(DEFAULT_KERNELS),
    size: SizeOption = Size.TINY,
    preset: PresetOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="NAME+NAME",
            help="Combinations that have all of these rows.",
            show_default="all legal ones",
            autocompletion=completion.scheme,
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="FIELD=VALUE,VALUE",
            help="Further field and its values, for all combinations: sub_core.collectors=2,4.",
        ),
    ] = None,
    aims: Annotated[
        str,
        typer.Option("--aims", metavar="NAME,NAME", help=f"What points are judged by: {', '.join(AIMS)}."),
    ] = ",".join(DEFAULT_AIMS),
    samples: Annotated[
        int,
        typer.Option(
            "--samples",
            metavar="N",
            min=0,
            max=MOST_SAMPLES,
            help="Points with other parameters, which Optuna chooses.",
        ),
    ] = SAMPLES,
    factor: Annotated[
        int,
        typer.Option(
            "--factor",
            metavar="N",
            min=1,
            max=100,
            help="Factor by which kernels grow and points shrink from rung to rung; 1: all on all.",
        ),
    ] = FACTOR,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, max=MOST_SEED, help="Seed of all that is chosen.")
    ] = 1,
    synthesize: Annotated[
        int,
        typer.Option(
            "--synthesize",
            metavar="N",
            min=0,
            max=1000,
            help="Finalists to synthesize, the knee first (minutes to an hour each).",
        ),
    ] = 0,
    liberty: LibertyOption = None,
    engine: EngineOption = EngineName.GOLDEN,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for explore.html and explore.json.",
            show_default=f"{FOLDER}, with --json none",
        ),
    ] = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explore which register file to build: every legal combination and its main parameters.

    Points are judged by IPC, work per energy and area. The best run on more
    kernels, until those left have run on all. An exploration resumes where
    it was stopped, and equal seeds give equal fronts.
    """
    if not listed(kernels):
        raise ArgumentError("--kernels needs at least one name; `warpbank kernels` lists them")
    if liberty and not synthesize:
        raise ArgumentError("--liberty is for finalists that are synthesized; say how many with --synthesize")
    values = dict(_field(text) for text in vary or [])
    machine = machine_name(preset, config)
    if folder is None and not as_json:
        folder = FOLDER
    if folder is not None:
        check_folder(folder, *FILES)
    with runs() as report:
        made = make(
            listed(kernels),
            size=size,
            preset=machine,
            overrides=overrides or [],
            only=only,
            vary=values,
            aims=listed(aims),
            samples=samples,
            factor=factor,
            seed=seed,
            synthesize=synthesize,
            liberty=liberty,
            engine=engine,
            workers=workers,
            scheduler=scheduler,
            progress=report,
            on_wait=output.note,
        )
    written = write(made, folder) if folder is not None else []
    output.emit(made, as_json, _tables)
    for path in written:
        output.wrote(path)
    there, done = made.there
    output.note(f"{done} evaluations, {there} of them were there already")
    if made.refused:
        output.complain(f"{len(made.refused)} register files were left out:", made.refused)
        raise typer.Exit(1)


def _field(text: str) -> tuple[str, tuple[Value, ...]]:
    """Field and values of a `--vary`."""
    path, equals, values = text.partition("=")
    found = listed(values)
    if not equals or not path.strip() or not found:
        raise ArgumentError(
            f"--vary takes a field and its values, such as sub_core.collectors=2,4, not {text!r}"
        )
    return path.strip(), tuple(int(value) if value.isdecimal() else value for value in found)


def _tables(made: Exploration) -> Iterator[RenderableType]:
    for sentence in (headline(made), worth(made), limits(made), model(made)):
        yield Text(sentence + "\n")
    best = made.front()
    yield output.table("The front", _HEADS, _rows(made, best), numbers=len(AIMS))
    base = [made.points[0]] if made.points[0] not in best else []
    if base:
        yield output.table("For comparison", _HEADS, _rows(made, base), numbers=len(AIMS))
    rungs = [
        (len(rung.kernels), sum(each.rung >= place for each in made.points), ", ".join(rung.kernels))
        for place, rung in enumerate(made.rungs)
    ]
    yield output.table("Rungs", ("kernels", "register files", "which"), rungs)


_HEADS = ("register file", "published", *(f"{aim.title}\n{aim.unit}" for aim in AIMS.values()))


def _rows(made: Exploration, points: Sequence[Explored]) -> Iterator[tuple[str, ...]]:
    knee = made.knee().name
    for each in points:
        name = f"{each.name} (knee)" if each.name == knee else each.name
        numbers = (f"{each.values[key]:.{aim.digits}f}" for key, aim in AIMS.items())
        yield name, "yes" if each.published else "no", *numbers
