"""`warpbank sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from warpbank.cli import tables as render
from warpbank.cli.options import SchedulerOption, WorkersOption
from warpbank.cli.progress import runs
from warpbank.studies.sweep import read_sweep, write
from warpbank.studies.sweep import sweep as make
from warpbank.studies.sweep.table import check_writable


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("sweep")(sweep)


def sweep(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.toml", help="Description: kernels, schemes, fields (docs/sweep.md)."),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.parquet", help="[default: FILE.parquet]")
    ] = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Run kernels x schemes x values of fields, and write one Parquet file. Resumes where it was stopped."""
    description = read_sweep(file)
    target = output or Path(file.name).with_suffix(".parquet")
    check_writable(target)
    with runs() as report:
        outcomes = make(description, scheduler=scheduler, workers=workers, progress=report)
    write(description, outcomes, target)
    there = sum(outcome.cached for outcome in outcomes)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"wrote {target}: {len(outcomes)} runs, {there} of them were there already", markup=False)
    failures = {
        " ".join((spec.kernel, spec.size, spec.scheme, spec.preset, *spec.overrides)): outcome.error
        for (spec, _), outcome in zip(description.points(), outcomes, strict=True)
        if outcome.result is None
    }
    if failures:
        render.complain(
            f"{len(failures)} of {len(outcomes)} runs failed; the column `error` has the cause of each:",
            failures,
        )
        raise typer.Exit(1)
