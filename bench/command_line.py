"""Command line of a benchmark: a user's mistake ends it with one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from warpbank.program.errors import WarpbankError


def run(main: Callable[..., None]) -> None:
    """Run a benchmark with the arguments of the process; exit code 2 after a mistake."""
    try:
        typer.run(main)
    except WarpbankError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
