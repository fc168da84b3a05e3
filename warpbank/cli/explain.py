"""`warpbank explain`: a kernel's machine code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpbank.cli import explain_tables, output
from warpbank.cli.options import JsonOption, KernelArgument, LaunchOption, LimitOption, Size, SizeOption
from warpbank.program import runner
from warpbank.program.errors import WarpbankError
from warpbank.program.options import CodeOrder
from warpbank.sim import experiment as exp
from warpbank.sim.output import check_file, write_text
from warpbank.studies import explain as explaining
from warpbank.studies.explain import Liveness

#: Most registers of an interval, where the command does not say.
_REGISTERS = 16


def explain(
    kernel: KernelArgument,
    size: SizeOption = Size.TINY,
    launch: LaunchOption = None,
    max_registers: LimitOption = 255,
    liveness: Annotated[
        Liveness, typer.Option("--liveness", help="Per thread, or safe for the whole warp.")
    ] = Liveness.THREAD,
    virtual: Annotated[
        bool, typer.Option("--virtual", help="Show the code before register allocation.")
    ] = False,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Draw the register-intervals (SVG).")
    ] = False,
    limit: Annotated[
        int,
        typer.Option(
            "--registers-per-interval", metavar="N", min=8, max=256, help="Most registers of an interval."
        ),
    ] = _REGISTERS,
    drawing: Annotated[
        Path | None, typer.Option("--output", "-o", help="Drawing (SVG).", show_default="KERNEL.svg")
    ] = None,
    release: Annotated[
        bool, typer.Option("--release", help="Show the release flags of register renaming.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a kernel's machine code: blocks, loops, reconvergence points, registers, liveness.

    --release shows the release flags of register renaming, and --intervals
    draws the register-intervals.
    """
    if intervals and release:
        raise WarpbankError("--intervals makes a drawing and --release tables; choose one")
    if intervals and as_json:
        raise WarpbankError("--intervals makes a drawing and prints nothing; leave --json out")
    if limit != _REGISTERS and not intervals:
        raise WarpbankError("--registers-per-interval says what --intervals draws; give both")
    if drawing is not None and not intervals:
        raise WarpbankError("--output names the drawing that --intervals makes; give both")
    job = exp.find_job(kernel, size, launch)
    file = drawing or Path(f"{job.name}.svg")
    if intervals:
        check_file(file, *exp.files(kernel, launch, None))
    options = runner.Options(
        max_registers=max_registers,
        allocate=not virtual,
        code_order=CodeOrder.SOURCE if virtual else CodeOrder.SCHEDULED,
    )
    code = runner.compile_job(job, options)
    if intervals:
        write_text(file, explaining.interval_drawing(code, limit))
        output.wrote(file)
    elif release:
        output.emit(explaining.release(code), as_json, explain_tables.released)
    else:
        output.emit(explaining.explain(code, liveness), as_json, explain_tables.explained)
