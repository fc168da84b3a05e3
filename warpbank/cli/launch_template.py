"""`warpbank launch-template`: the launch description of a kernel, to be completed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpbank.arch.errors import OutputError
from warpbank.cli import cuda, output
from warpbank.cli.cuda import STANDARD, ArchOption, DefineOption, IncludeOption, StandardOption
from warpbank.program.cuda import template
from warpbank.program.description import read_ptx
from warpbank.program.errors import CompileError
from warpbank.program.ptx.parser import parse
from warpbank.sim.output import check_file, write_text


def launch_template(
    file: Annotated[Path, typer.Argument(metavar="FILE.cu|FILE.ptx", help="CUDA C++ source, or PTX.")],
    target: Annotated[
        Path | None, typer.Option("--output", "-o", help="TOML file.", show_default="FILE.toml")
    ] = None,
    arch: ArchOption = None,
    include: IncludeOption = None,
    define: DefineOption = None,
    standard: StandardOption = STANDARD,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that is there already.")
    ] = False,
) -> None:
    """Write a launch description from the signatures of the kernels, to be completed by hand."""
    toml = target or cuda.beside(file, ".toml")
    check_file(toml, file)
    if toml.exists() and not overwrite:
        raise OutputError(f"{toml} is there already; name another file with --output, or give --overwrite")
    text = ""
    if file.suffix == ".ptx":
        if arch is not None or include or define or standard != STANDARD:
            raise CompileError(
                f"{file} is PTX, which is compiled already; leave out --arch, --include, --define and --std"
            )
        ptx = read_ptx(file)
    else:
        ptx = cuda.compiled(file, arch, include, define, standard, "3").ptx
        text = template.read_source(file)
    module = parse(ptx, str(file.with_suffix(".ptx")))
    if not any(function.entry for function in module.functions.values()):
        raise CompileError(f"{file} has no kernel, so there is nothing to launch")
    write_text(toml, template.launch_template(module, file.with_suffix(".ptx").name, text))
    output.wrote(toml)
