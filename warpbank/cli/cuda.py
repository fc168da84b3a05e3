"""Options of the CUDA compiler, which several commands share, and its call."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from warpbank.program.cuda.compiler import LEVELS, STANDARDS, Compiled, compile_source
from warpbank.program.errors import CompileError

#: Dialect of C++, unless an option says another one.
STANDARD = "gnu++17"
ArchOption = Annotated[
    str | None,
    typer.Option(
        "--arch", help="Target, such as sm_75.", show_default="as the source's first line says, or sm_75"
    ),
]
IncludeOption = Annotated[
    list[Path] | None, typer.Option("--include", "-I", metavar="FOLDER", help="Folder to search for headers.")
]
DefineOption = Annotated[
    list[str] | None, typer.Option("--define", "-D", metavar="NAME[=VALUE]", help="Preprocessor macro.")
]
StandardOption = Annotated[
    str, typer.Option("--std", metavar="DIALECT", help=f"Dialect of C++: {', '.join(STANDARDS)}.")
]
LevelOption = Annotated[str, typer.Option("-O", metavar="LEVEL", help=f"Optimization: {', '.join(LEVELS)}.")]


def compiled(
    source: Path,
    arch: str | None,
    include: list[Path] | None,
    define: list[str] | None,
    standard: str,
    optimize: str,
) -> Compiled:
    """Compile a CUDA source with the options of a command; `define` has NAME or NAME=VALUE. Raises
    CompileError."""
    macros = {}
    for text in define or []:
        name, equals, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*(\([\w, .]*\))?", name):
            raise CompileError(f"-D {text}: a macro is written NAME or NAME=VALUE, as in -D SIZE=16")
        macros[name] = value if equals else "1"
    return compile_source(
        source, arch=arch, defines=macros, include=include or [], standard=standard, optimize=optimize
    )


def beside(source: Path, suffix: str) -> Path:
    """The file beside a source that has its name and another suffix. Raises CompileError if the source is a
    folder."""
    if os.path.isdir(source):
        raise CompileError(f"{source} is a folder; name a file in it")
    return source.with_suffix(suffix)
