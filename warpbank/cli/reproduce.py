"""`warpbank reproduce`: a paper's figures, published values beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from warpbank.arch.names import unknown
from warpbank.cli import completion, output
from warpbank.cli.options import (
    CodeOrderOption,
    ConfigOption,
    ConstantsOption,
    FreeRegistersOption,
    JsonOption,
    RegistersOption,
    SchedulerOption,
    SetOption,
    Size,
    SizeOption,
    listed,
)
from warpbank.cli.progress import runs
from warpbank.program.errors import WarpbankError
from warpbank.program.options import FREE_REGISTERS, CodeOrder, CompileOptions, ConstantPlace
from warpbank.sim.experiment import machine_name
from warpbank.sim.output import check_folder
from warpbank.studies.reproduce import PAPERS, Reproduction, scorecard
from warpbank.studies.reproduce import reproduce as make
from warpbank.studies.reproduce.paper import table_rows
from warpbank.studies.reproduce.write import number, write, write_scorecard


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER|all",
            help=f"A paper: {', '.join(PAPERS)}; or all.",
            autocompletion=completion.paper,
        ),
    ],
    size: SizeOption = Size.SMALL,
    kernel: Annotated[
        list[str] | None,
        typer.Option("--kernel", help="A kernel, or a group; may be repeated.", show_default="core"),
    ] = None,
    kernels: Annotated[
        str | None,
        typer.Option("--kernels", metavar="NAME,NAME", help="Kernels or groups, separated by commas."),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option("--figure", help="A figure, such as fig10; may be repeated.", show_default="all"),
    ] = None,
    max_registers: RegistersOption = None,
    code_order: CodeOrderOption = CodeOrder.SCHEDULED,
    constants: ConstantsOption = ConstantPlace.BANK,
    free_registers: FreeRegistersOption = FREE_REGISTERS,
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            help="Machine that the runs have; prices and counted values stay those of the paper's.",
            show_default="the paper's",
            autocompletion=completion.machine,
        ),
    ] = "",
    config: ConfigOption = None,
    overrides: SetOption = None,
    experiments: Annotated[
        bool,
        typer.Option(
            "--explain/--no-explain",
            help="Run the experiments that may explain the numbers that do not agree.",
        ),
    ] = True,
    folder: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for HTML, Markdown, JSON and CSV.")
    ] = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a paper's figures from runs of our kernels, and set the published values beside them.

    A scorecard of every published number comes last: it agrees, an experiment
    explains it, or it is open. A reproduction resumes where it was stopped.
    """
    if paper != "all" and paper not in PAPERS:
        raise WarpbankError(unknown("paper", paper, [*PAPERS, "all"]))
    chosen = list(PAPERS.values()) if paper == "all" else [PAPERS[paper]]
    if figure and paper == "all":
        raise WarpbankError("--figure names a figure of one paper; name the paper instead of all")
    if folder is not None:
        check_folder(folder)
    machine = machine_name(preset or None, config, "")
    if kernels is not None and not listed(kernels):
        raise WarpbankError("--kernels needs at least one name; `warpbank kernels` lists them")
    named = [*(kernel or []), *listed(kernels or "")]
    options = CompileOptions(code_order, constants, free_registers, max_registers)
    made = []
    for choice in chosen:
        with runs() as report:
            made.append(
                make(
                    choice,
                    named,
                    size,
                    figures=figure or [],
                    options=options,
                    overrides=overrides or [],
                    machine=machine,
                    experiments=experiments,
                    scheduler=scheduler,
                    progress=report,
                    on_wait=output.note,
                )
            )
        if folder is not None:
            write(made[-1], folder)
    if folder is not None and len(made) > 1:
        write_scorecard([entry for each in made for entry in each.scorecard], made[0].made_by, folder)
    output.listing("papers", made, as_json, _tables)
    failures = {label: cause for each in made for label, cause in each.failures.items()}
    if failures:
        output.complain(f"{len(failures)} runs failed; their kernels are missing from the tables:", failures)
        raise typer.Exit(1)


def _tables(papers: Sequence[Reproduction]) -> Iterator[RenderableType]:
    """Of each paper every figure as a table with what is to be said of it, and what made them."""
    for made in papers:
        yield output.heading(made.paper.title)
        for part in made.comparisons:
            rows = [
                (name, *(number(value, part.figure.digits) for value in values))
                for name, values in table_rows(part)
            ]
            title = ", in ".join(filter(None, (part.figure.title, part.figure.unit)))
            columns = part.figure.columns
            yield output.table(title, ("kernel", *columns), rows, numbers=len(columns))
            yield Text(" ".join(part.sentences) + "\n")
        by = made.made_by
        versions = ", ".join(f"{name} {value}" for name, value in by["versions"].items())
        parts = (by["command"], ", ".join(by["configurations"]), versions)
        yield Text(f"made by: {'; '.join(part for part in parts if part)}\n")
    card = [entry for made in papers for entry in made.scorecard]
    for made in papers:
        if made.scorecard:
            yield output.table(
                f"Scorecard: {made.paper.name}", scorecard.HEADS, map(scorecard.row, made.scorecard)
            )
    if card:
        yield Text(f"{scorecard.summary(card)}\n")
    tried = scorecard.commands(card)
    if tried:
        lines = [f"{experiment}\n    {command}" for experiment, command in tried]
        yield Text("Experiments that were tried:\n" + "\n".join(lines))
