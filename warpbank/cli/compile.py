"""`warpbank compile`: CUDA C++ to PTX. `warpbank launch-template`: the launch description of a kernel, to be
completed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from warpbank.cli import output
from warpbank.program.cuda.compiler import LEVELS, STANDARDS, Compiled, compile_source
from warpbank.program.cuda.template import launch_template, read_source
from warpbank.program.description import read_ptx
from warpbank.program.errors import CompileError
from warpbank.program.ptx.parser import parse
from warpbank.sim.output import check_file, write_text

_ArchOption = Annotated[
    str | None,
    typer.Option(
        "--arch", help="Target, such as sm_75.", show_default="as the source's first line says, or sm_75"
    ),
]
_IncludeOption = Annotated[
    list[Path] | None, typer.Option("--include", "-I", metavar="FOLDER", help="Folder to search for headers.")
]
_DefineOption = Annotated[
    list[str] | None, typer.Option("--define", "-D", metavar="NAME[=VALUE]", help="Preprocessor macro.")
]
_StandardOption = Annotated[
    str, typer.Option("--std", metavar="DIALECT", help=f"Dialect of C++: {', '.join(STANDARDS)}.")
]
_LevelOption = Annotated[str, typer.Option("-O", metavar="LEVEL", help=f"Optimization: {', '.join(LEVELS)}.")]


def compile_(
    source: Annotated[Path, typer.Argument(metavar="FILE.cu", help="CUDA C++ source.")],
    target: Annotated[
        Path | None, typer.Option("--output", "-o", help="PTX file.", show_default="FILE.ptx")
    ] = None,
    arch: _ArchOption = None,
    include: _IncludeOption = None,
    define: _DefineOption = None,
    standard: _StandardOption = "gnu++17",
    optimize: _LevelOption = "3",
) -> None:
    """Compile CUDA C++ to PTX with the LLVM of the ziglang wheel; host code in the source is dropped."""
    file = target or source.with_suffix(".ptx")
    check_file(file)
    compiled = _compile(source, arch, include, define, standard, optimize)
    write_text(file, compiled.ptx)
    for note in compiled.notes:
        output.note(f"note: {note}")
    output.wrote(file)


def template(
    file: Annotated[Path, typer.Argument(metavar="FILE.cu|FILE.ptx", help="CUDA C++ source, or PTX.")],
    target: Annotated[
        Path | None, typer.Option("--output", "-o", help="TOML file.", show_default="FILE.toml")
    ] = None,
    arch: _ArchOption = None,
    include: _IncludeOption = None,
    define: _DefineOption = None,
    standard: _StandardOption = "gnu++17",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that is there already.")
    ] = False,
) -> None:
    """Write a launch description from the signatures of the kernels, to be completed by hand."""
    toml = target or file.with_suffix(".toml")
    if toml.exists() and not overwrite:
        raise CompileError(f"{toml} is there already; name another file with --output, or give --overwrite")
    text = ""
    if file.suffix == ".ptx":
        ptx = read_ptx(file)
    else:
        ptx = _compile(file, arch, include, define, standard, "3").ptx
        text = read_source(file)
    module = parse(ptx, str(file.with_suffix(".ptx")))
    if not any(function.entry for function in module.functions.values()):
        raise CompileError(f"{file} has no kernel, so there is nothing to launch")
    write_text(toml, launch_template(module, file.with_suffix(".ptx").name, text))
    output.wrote(toml)


def _compile(
    source: Path,
    arch: str | None,
    include: list[Path] | None,
    define: list[str] | None,
    standard: str,
    optimize: str,
) -> Compiled:
    macros = {}
    for text in define or []:
        name, equals, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*(\([\w, .]*\))?", name):
            raise CompileError(f"-D {text}: a macro is written NAME or NAME=VALUE, as in -D SIZE=16")
        macros[name] = value if equals else "1"
    return compile_source(
        source, arch=arch, defines=macros, include=include or [], standard=standard, optimize=optimize
    )
