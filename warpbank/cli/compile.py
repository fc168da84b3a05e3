"""`warpbank compile`: CUDA C++ to PTX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpbank.cli import cuda, output
from warpbank.cli.cuda import STANDARD, ArchOption, DefineOption, IncludeOption, LevelOption, StandardOption
from warpbank.sim.output import check_file, write_text


def compile_(
    source: Annotated[Path, typer.Argument(metavar="FILE.cu", help="CUDA C++ source.")],
    target: Annotated[
        Path | None, typer.Option("--output", "-o", help="PTX file.", show_default="FILE.ptx")
    ] = None,
    arch: ArchOption = None,
    include: IncludeOption = None,
    define: DefineOption = None,
    standard: StandardOption = STANDARD,
    optimize: LevelOption = "3",
) -> None:
    """Compile CUDA C++ to PTX with the LLVM of the ziglang wheel; host code in the source is dropped."""
    file = target or cuda.beside(source, ".ptx")
    check_file(file, source)
    compiled = cuda.compiled(source, arch, include, define, standard, optimize)
    write_text(file, compiled.ptx)
    for note in compiled.notes:
        output.note(f"note: {note}")
    output.wrote(file)
