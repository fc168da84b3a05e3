"""`warpbank sweep`: many machines, one Parquet file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from warpbank.cli import output
from warpbank.cli.options import SampleOption, SchedulerOption, WorkersOption
from warpbank.cli.progress import runs
from warpbank.studies.sweep import failures, read_sweep, write
from warpbank.studies.sweep import sweep as make
from warpbank.studies.sweep.table import check_writable


def sweep(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.toml", help="Description: kernels, schemes, fields (docs/sweep.md)."),
    ],
    result: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.parquet",
            help="File to write.",
            show_default="the description's name, in this folder",
        ),
    ] = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    sample: SampleOption = False,
) -> None:
    """Run kernels x schemes x values of fields, and write one Parquet file.

    A sweep resumes where it was stopped.
    """
    description = read_sweep(file)
    if sample:
        description = replace(description, sample=True)
    target = result or Path(file.name).with_suffix(".parquet")
    check_writable(target, description, file)
    with runs() as report:
        outcomes = make(
            description, scheduler=scheduler, workers=workers, progress=report, on_wait=output.note
        )
    write(description, outcomes, target)
    there = sum(outcome.cached for outcome in outcomes)
    output.wrote(target, f"{len(outcomes)} runs, {there} of them were there already")
    failed = failures(description, outcomes)
    if failed:
        output.complain(
            f"{len(failed)} of {len(outcomes)} runs failed; the column `error` has the cause of each:", failed
        )
        raise typer.Exit(1)
