"""The `warpbank` command: every command in its panel, and how a mistake ends."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from warpbank.cli import output, trace
from warpbank.cli.compare import compare
from warpbank.cli.compile import compile_
from warpbank.cli.explain import explain
from warpbank.cli.explore import explore
from warpbank.cli.export import export
from warpbank.cli.fpga import fpga
from warpbank.cli.gating import gating
from warpbank.cli.kernels import kernels
from warpbank.cli.launch_template import launch_template
from warpbank.cli.lockstep import lockstep
from warpbank.cli.reproduce import reproduce
from warpbank.cli.run import run
from warpbank.cli.schemes import schemes
from warpbank.cli.sweep import sweep
from warpbank.cli.synth import synth
from warpbank.cli.units import units
from warpbank.cli.verify import verify
from warpbank.cli.view import view
from warpbank.cli.waiting import waiting
from warpbank.program.errors import WarpbankError
from warpbank.sim import extensions

#: Panels of `warpbank --help`, and the commands in each.
PANELS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "Run": {
        "run": run,
        "view": view,
        "lockstep": lockstep,
        "compile": compile_,
        "launch-template": launch_template,
        "trace": trace.app,
    },
    "Study": {
        "compare": compare,
        "reproduce": reproduce,
        "sweep": sweep,
        "explore": explore,
        "waiting": waiting,
        "gating": gating,
    },
    "Hardware": {"synth": synth, "export": export, "fpga": fpga, "verify": verify},
    "Look up": {"kernels": kernels, "schemes": schemes, "units": units, "explain": explain},
}


class InOrder(TyperGroup):
    """A group whose help lists the commands in the order of `PANELS`: typer would list groups first."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the commands."""
        return [name for commands in PANELS.values() for name in commands]


app = typer.Typer(
    name="warpbank",
    cls=InOrder,
    help="GPU register files: real kernels on published register-file architectures, cycle by cycle.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for panel, commands in PANELS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(command)


def _version(wanted: bool) -> None:
    if wanted:
        output.line(f"warpbank {version('warpbank')}")
        raise typer.Exit


@app.callback()
def _options(
    load: Annotated[
        list[Path] | None,
        typer.Option("--load", metavar="FILE.py|FOLDER", help="Python that registers schemes of your own."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    extensions.inherit()
    for path in load or []:
        extensions.load(path)


def main() -> None:
    """Entry point: a user's mistake is one paragraph on the error stream and exit code 2, never a traceback.
    A wrong operand, which is the register file's mistake, ends with exit code 1."""
    try:
        try:
            app(prog_name="warpbank")  # also the name that completion is installed for
        finally:
            sys.stdout.flush()
    except WarpbankError as error:
        with suppress(OSError):  # the exit code is right even where nobody can be told
            output.error(str(error))
            for note in getattr(error, "__notes__", ()):
                output.note(note)
        sys.exit(error.exit_code)
    except OSError as error:
        if error.filename is not None and error.errno in (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG):
            output.error(f"{os.fsdecode(error.filename)}: {error.strerror}")
            sys.exit(2)
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EPIPE) or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        if error.errno == errno.EPIPE:  # whoever read has seen enough
            sys.exit(1)
        output.error(f"cannot write standard output: {error.strerror}")
        sys.exit(2)
