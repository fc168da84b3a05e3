"""`warpbank trace`: trace files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from warpbank.cli import output, progress
from warpbank.cli.options import (
    InstructionsOption,
    JsonOption,
    KernelArgument,
    LaunchOption,
    LimitOption,
    Size,
    SizeOption,
)
from warpbank.program import runner
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.trace.file import read_trace, write_trace
from warpbank.program.trace.inspect import summarize
from warpbank.sim import experiment as exp
from warpbank.sim.output import check_file

app = typer.Typer(help="Write a kernel's trace to a file, or look into one.", no_args_is_help=True)


@app.command("write")
def write(
    kernel: KernelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Trace file to write.")],
    size: SizeOption = Size.SMALL,
    launch: LaunchOption = None,
    max_registers: LimitOption = 255,
    max_instructions: InstructionsOption = MAX_INSTRUCTIONS,
) -> None:
    """Emulate a kernel and write its trace (docs/trace.md)."""
    check_file(file, *exp.files(kernel, launch, None))
    job = exp.find_job(kernel, size, launch)
    options = runner.Options(max_registers=max_registers, max_instructions=max_instructions)
    with progress.reporter() as report:
        trace = runner.trace_job(job, options, on_emulate=report.emulating)
    write_trace(trace, file)
    output.wrote(file, f"{trace.warp_instructions} warp instructions")


@app.command("inspect")
def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Trace file.")], as_json: JsonOption = False
) -> None:
    """Summarise a trace file."""
    output.emit(summarize(read_trace(file)), as_json, _tables)


def _tables(summary: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Single values in one table, each nested mapping in one of its own."""
    single = [(name, value) for name, value in summary.items() if not isinstance(value, Mapping)]
    yield output.table("Trace", ("", "value"), single, numbers=1)
    for name, value in summary.items():
        if isinstance(value, Mapping):
            yield output.table(name, ("", "value"), value.items(), numbers=1)
