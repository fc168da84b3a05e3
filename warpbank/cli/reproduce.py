"""Commands of `warpbank` about published figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from warpbank.arch.names import unknown
from warpbank.cli import tables as render
from warpbank.cli.options import JsonOption, SchedulerOption, Size, SizeOption
from warpbank.cli.progress import runs
from warpbank.program.errors import WarpbankError
from warpbank.studies.reproduce import PAPERS, Reproduction
from warpbank.studies.reproduce import reproduce as make
from warpbank.studies.reproduce.paper import table_rows
from warpbank.studies.reproduce.write import number, write


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("reproduce")(reproduce)


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER|all", help="A paper; `all` for every one.")],
    size: SizeOption = Size.SMALL,
    kernel: Annotated[
        list[str] | None, typer.Option("--kernel", help="A kernel, may be repeated [default: all].")
    ] = None,
    kernels: Annotated[
        str, typer.Option("--kernels", metavar="NAME,NAME", help="The same, separated by commas.")
    ] = "",
    figure: Annotated[
        list[str] | None, typer.Option("--figure", help="A figure, may be repeated [default: all].")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for HTML, Markdown, JSON and CSV.")
    ] = None,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a paper's figures again from runs of our kernels, published values beside ours. Resumes where it
    was stopped."""
    if paper != "all" and paper not in PAPERS:
        raise WarpbankError(unknown("paper", paper, [*PAPERS, "all"]))
    chosen = list(PAPERS.values()) if paper == "all" else [PAPERS[paper]]
    if figure and paper == "all":
        raise WarpbankError("--figure names a figure of one paper; name the paper instead of all")
    named = [*(kernel or []), *(name.strip() for name in kernels.split(",") if name.strip())]
    made = []
    for choice in chosen:
        with runs() as report:
            made.append(make(choice, named, size, figures=figure or [], scheduler=scheduler, progress=report))
        if output is not None:
            write(made[-1], output)
    if as_json:
        sys.stdout.write(json.dumps({"papers": [each.to_dict() for each in made]}, indent=2) + "\n")
    else:
        for each in made:
            _print(each)
    failures = {label: cause for each in made for label, cause in each.failures.items()}
    if failures:
        render.complain(f"{len(failures)} runs failed; their kernels are missing from the tables:", failures)
        raise typer.Exit(1)


def _print(made: Reproduction) -> None:
    console = Console()
    console.print(f"[bold]{render.escape(made.paper.title)}[/]")
    for part in made.comparisons:
        rows = [
            (name, *(number(value, part.figure.digits) for value in values))
            for name, values in table_rows(part)
        ]
        title = ", in ".join(filter(None, (part.figure.title, part.figure.unit)))
        console.print(
            render.table(title, ("kernel", *part.figure.columns), rows, numbers=len(part.figure.columns))
        )
        console.print(render.escape(" ".join(part.sentences)) + "\n", highlight=False)
    by = made.made_by
    versions = ", ".join(f"{name} {value}" for name, value in by["versions"].items())
    parts = (by["command"], ", ".join(by["configurations"]), versions)
    console.print(f"made by: {'; '.join(part for part in parts if part)}", highlight=False, markup=False)
