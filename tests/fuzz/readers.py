"""Readers of users' files, run with limits of time and memory.

    python -m tests.fuzz.readers READER FILE

reads a file and prints what came of it: "read", or the sentence of an error that names itself as one.
Anything else is a traceback, which is what the fuzzing looks for.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import typer

from warpbank.arch.errors import WarpbankError

#: Limits of a read. A gigabyte is what the interpreter and numpy reserve at most without any file.
SECONDS, MEMORY = 20, 2 << 30
#: Longest sentence that may come out, in characters.
SENTENCE = 2000


class Outcome(NamedTuple):
    """What came of a read.

    Parameters
    ----------
    ended : "read", "refused" with a sentence, "slow", or "failed" with a traceback.
    message : what was said.
    """

    ended: str
    message: str


def _ptx(path: Path) -> None:
    from warpbank.program.ptx.parser import parse

    parse(path.read_text(), path.name)


def _code(path: Path) -> None:
    from warpbank.program.compiler import compile_kernel
    from warpbank.program.ptx.parser import parse

    module = parse(path.read_text(), path.name)
    for name, function in module.functions.items():
        if function.entry:
            compile_kernel(module, name)


def _launch(path: Path) -> None:
    from warpbank.program.description import load_job

    kernel = path.with_suffix(".ptx")
    kernel.write_text(
        ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".visible .entry k(.param .u64 p, .param .u32 n)\n{\nret;\n}\n"
    )
    load_job(kernel, path)


def _config(path: Path) -> None:
    from warpbank.arch.overrides import load_config

    load_config(path)


def _energy(path: Path) -> None:
    from warpbank.synth.energy.table import read_table

    read_table(path)


def _sweep(path: Path) -> None:
    from warpbank.studies.sweep.description import read_sweep

    len(read_sweep(path))


def _liberty(path: Path) -> None:
    from warpbank.synth.liberty import Library, parse

    library = Library([parse(path.read_text(), path.name)])
    list(library)
    _ = library.buffers


def _trace(path: Path) -> None:
    from warpbank.program.trace.file import read_trace

    read_trace(path)


def _accelsim(path: Path) -> None:
    from warpbank.program.accelsim import read_accelsim

    read_accelsim([path])


READERS: dict[str, Callable[[Path], None]] = {
    "ptx": _ptx,
    "code": _code,
    "launch": _launch,
    "config": _config,
    "energy": _energy,
    "sweep": _sweep,
    "liberty": _liberty,
    "trace": _trace,
    "accelsim": _accelsim,
}


def read(reader: str, path: Path) -> str:
    """Read a file here. Returns the sentence if it is refused, "" if not."""
    try:
        READERS[reader](path)
    except WarpbankError as error:
        return str(error) or "an error without a word"
    return ""


def limited(reader: str, path: Path, seconds: int = SECONDS) -> Outcome:
    """Read a file in a process of its own, with limits."""
    command = [sys.executable, "-m", "tests.fuzz.readers", reader, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return Outcome("slow", f"more than {seconds} seconds")
    if done.returncode:
        return Outcome("failed", done.stderr[-3000:])
    return Outcome("refused" if done.stdout.strip() else "read", done.stdout.strip())


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    typer.echo(read(sys.argv[1], Path(sys.argv[2])))
