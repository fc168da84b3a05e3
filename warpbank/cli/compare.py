"""`warpbank compare`: register files side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from warpbank.cli import completion, output
from warpbank.cli.options import (
    CodeOrderOption,
    ConfigOption,
    ConstantsOption,
    EngineName,
    EngineOption,
    FreeRegistersOption,
    JsonOption,
    PresetOption,
    RegistersOption,
    SchedulerOption,
    SetOption,
    Size,
    SizeOption,
    WorkersOption,
    listed,
)
from warpbank.cli.progress import runs
from warpbank.program.errors import WarpbankError
from warpbank.program.options import FREE_REGISTERS, CodeOrder, CompileOptions, ConstantPlace
from warpbank.sim.experiment import machine_name
from warpbank.sim.output import check_folder
from warpbank.studies.compare import DEFAULT_KERNELS, DEFAULT_SCHEMES, Comparison
from warpbank.studies.compare import compare as make
from warpbank.studies.compare.measures import MEASURES
from warpbank.studies.compare.page import FILES, write
from warpbank.studies.compare.table import labels

#: Folder of the page where none is named.
FOLDER = Path("warpbank-compare")
#: Characters of the terminal that the names of measures need, and between columns.
_NAMES, _GAP = 26, 3


def compare(
    schemes: Annotated[
        str,
        typer.Option(
            "--schemes",
            metavar="NAME,NAME|all",
            help="Register files (`warpbank schemes`).",
            show_default=", ".join(DEFAULT_SCHEMES),
            autocompletion=completion.schemes,
        ),
    ] = ",".join(DEFAULT_SCHEMES),
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
    size: SizeOption = Size.SMALL,
    preset: PresetOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    max_registers: RegistersOption = None,
    code_order: CodeOrderOption = CodeOrder.SCHEDULED,
    constants: ConstantsOption = ConstantPlace.BANK,
    free_registers: FreeRegistersOption = FREE_REGISTERS,
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published",
            help="Each scheme on its paper's machine, under its scheduler and in its code order, beside that "
            "paper's baseline.",
        ),
    ] = False,
    engine: EngineOption = EngineName.GOLDEN,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for compare.html and compare.json.",
            show_default=f"{FOLDER}, with --json none",
        ),
    ] = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare register files on one machine under one warp scheduler, normalised to the baseline.

    Compared are IPC, traffic, hits, conflicts and energy. A scheme that needs
    a warp scheduler of its own stands beside a baseline under that scheduler.
    """
    for option, text in (("schemes", schemes), ("kernels", kernels)):
        if not listed(text):
            raise WarpbankError(f"--{option} needs at least one name; `warpbank {option}` lists them")
    machine = machine_name(preset, config) if preset is not None or config is not None else None
    if folder is None and not as_json:
        folder = FOLDER
    if folder is not None:
        check_folder(folder, *FILES)
    with runs() as report:
        made = make(
            listed(schemes),
            listed(kernels),
            size=size,
            preset=machine,
            overrides=overrides or [],
            options=CompileOptions(code_order, constants, free_registers, max_registers),
            published=as_published,
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
    if made.failures:
        failures = {f"{kernel} {scheme}": cause for (scheme, kernel), cause in made.failures.items()}
        output.complain(
            f"{len(failures)} of {len(made.schemes) * len(made.kernels)} runs failed; means leave their "
            "kernels out:",
            failures,
        )
        raise typer.Exit(1)


def _tables(made: Comparison) -> Iterator[RenderableType]:
    """What runs, then means of everything, and the IPC of every kernel: as many schemes beside the baseline
    as the terminal is wide."""
    yield Text(" ".join(made.sentences) + "\n")
    beside = "of its paper's baseline" if made.published else "of baseline"
    for schemes in _chunks(made, output.width() - _NAMES):
        places = [made.schemes.index(scheme) for scheme in schemes]
        rows = [(name, *(_broken(cells[place]) for place in places)) for name, cells in made.heads()]
        rows += [
            (
                measure.title if measure.relative else f"{measure.title}, {measure.unit}",
                *(_text(made.mean(measure, scheme), measure.digits) for scheme in schemes),
            )
            for measure in MEASURES
        ]
        rows.append(("units of known area", *(_area(made.area.get(scheme)) for scheme in schemes)))
        title = f"Means over {len(made.mean_kernels)} kernels, {beside} where nothing else is said"
        heads = [_broken(scheme) for scheme in schemes]
        yield output.table(title, ("", *heads), rows, numbers=len(schemes))
        values = made.values(MEASURES[0])
        rows = [
            (label, *(_text(values[scheme].get(kernel), MEASURES[0].digits) for scheme in schemes))
            for kernel, label in zip(made.kernels, labels(made.kernels), strict=True)
        ]
        yield output.table(f"IPC by kernel, {beside}", ("kernel", *heads), rows, numbers=len(schemes))


def _broken(name: str) -> str:
    """A name of several words, a word on each line."""
    return name.replace(" ", "\n")


def _wide(name: str) -> int:
    """Characters that a name needs beside others."""
    return max(map(len, name.split())) + _GAP


def _area(parts: Mapping[str, Mapping[str, Any] | None] | None) -> str:
    """How many of a scheme's units have been recorded: areas of different machines cannot be added (see the
    page)."""
    if parts is None:
        return ""
    known = sum(found is not None for found in parts.values())
    return f"{known} of {len(parts)}" if known else "not recorded"


def _chunks(made: Comparison, width: int) -> list[list[str]]:
    """Columns that fit beside each other, at least one: the baseline with as many of the others, or, where
    each has a baseline of its own, as many as there is room for."""
    heads = [_wide(scheme) for scheme in made.schemes]
    for _, cells in made.heads():
        heads = [max(head, _wide(cell)) for head, cell in zip(heads, cells, strict=True)]
    needs = dict(zip(made.schemes, heads, strict=True))
    always = [] if made.published else [made.schemes[0]]
    chunks = [list(always)]
    for scheme in made.schemes[len(always) :]:
        if len(chunks[-1]) > len(always) and sum(needs[name] for name in (*chunks[-1], scheme)) > width:
            chunks.append(list(always))
        chunks[-1].append(scheme)
    return chunks


def _text(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
