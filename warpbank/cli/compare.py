"""`warpbank compare`: register files side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

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
from warpbank.studies.compare.page import write
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
    """Compare register files on several kernels, normalised to the baseline.

    Compared are IPC, traffic, hits, conflicts and energy.
    """
    for option, text in (("schemes", schemes), ("kernels", kernels)):
        if not listed(text):
            raise WarpbankError(f"--{option} needs at least one name; `warpbank {option}` lists them")
    machine = machine_name(preset, config)
    if folder is None and not as_json:
        folder = FOLDER
    if folder is not None:
        check_folder(folder)
    with runs() as report:
        made = make(
            listed(schemes),
            listed(kernels),
            size=size,
            preset=machine,
            overrides=overrides or [],
            options=CompileOptions(code_order, constants, free_registers, max_registers),
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
    """Means of everything, and the IPC of every kernel: as many schemes beside the baseline as the terminal
    is wide."""
    for schemes in _chunks(made.schemes, output.width() - _NAMES):
        means = [
            (
                measure.title if measure.relative else f"{measure.title}, {measure.unit}",
                *(_text(made.mean(measure, scheme), measure.digits) for scheme in schemes),
            )
            for measure in MEASURES
        ]
        means.append(("units of known area", *(_area(made.area[scheme]) for scheme in schemes)))
        title = f"Means over {len(made.mean_kernels)} kernels, of baseline where nothing else is said"
        yield output.table(title, ("", *schemes), means, numbers=len(schemes))
        values = made.values(MEASURES[0])
        rows = [
            (label, *(_text(values[scheme].get(kernel), MEASURES[0].digits) for scheme in schemes))
            for kernel, label in zip(made.kernels, labels(made.kernels), strict=True)
        ]
        yield output.table("IPC by kernel, of baseline", ("kernel", *schemes), rows, numbers=len(schemes))


def _area(parts: Mapping[str, Mapping[str, Any] | None]) -> str:
    """How many of a scheme's units have been recorded: areas of different machines cannot be added (see the
    page)."""
    known = sum(found is not None for found in parts.values())
    return f"{known} of {len(parts)}" if known else "not recorded"


def _chunks(schemes: Sequence[str], width: int) -> list[list[str]]:
    """The baseline with as many of the other schemes as fit beside each other, at least one."""
    base, *others = schemes
    chunks = [[base]]
    for scheme in others:
        if len(chunks[-1]) > 1 and sum(len(name) + _GAP for name in (*chunks[-1], scheme)) > width:
            chunks.append([base])
        chunks[-1].append(scheme)
    return chunks


def _text(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
