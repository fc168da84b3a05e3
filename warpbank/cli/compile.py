"""`warpbank compile`: CUDA C to PTX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpbank.cli import output
from warpbank.program.cuda import compile_cuda
from warpbank.sim.output import check_file, write_text


def compile_(
    source: Annotated[Path, typer.Argument(metavar="FILE.cu", help="CUDA C source.")],
    target: Annotated[
        Path | None, typer.Option("--output", "-o", help="PTX file.", show_default="FILE.ptx")
    ] = None,
    arch: Annotated[
        str | None,
        typer.Option(
            "--arch", help="Target, such as sm_75.", show_default="as the source's first line says, or sm_75"
        ),
    ] = None,
) -> None:
    """Compile CUDA C to PTX with the LLVM of the ziglang wheel."""
    file = target or source.with_suffix(".ptx")
    check_file(file)
    write_text(file, compile_cuda(source, arch=arch))
    output.wrote(file)
