"""Entry point of the command line: lets golden's compiled modules in before anything imports sources."""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
from importlib.metadata import PackageNotFoundError, distribution
from typing import TextIO

from warpbank import native

#: Commands that simulate nothing on the golden model.
_OTHERS = ("kernels", "schemes", "units", "compile", "export", "synth", "fpga", "trace", "verify")


def _editable() -> bool:
    """Whether the sources are a developer's: they change too often to be compiled without being asked."""
    try:
        text = distribution("warpbank").read_text("direct_url.json")
    except PackageNotFoundError:
        return True
    return bool(json.loads(text or "{}").get("dir_info", {}).get("editable", False))


def _simulates(arguments: list[str]) -> bool:
    commands = [each for each in arguments if not each.startswith("-")]
    asks = any(each in ("--help", "--version", "--show-completion") for each in arguments)
    return bool(commands) and commands[0] not in _OTHERS and not asks


def _compile() -> None:
    """Compile golden once, if the extra `fast` is there and the installation is no developer's."""
    from warpbank.native import build
    from warpbank.native.errors import ModelError

    if build.missing():
        return
    sys.stderr.write("compiling the golden model: a minute or two, once\n")
    try:
        build.ensure()
    except (ModelError, OSError) as error:
        sys.stderr.write(f"{error}\nthe golden model runs interpreted\n")
        return
    native.install()


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as a sentence: the place in our code tells a user nothing."""
    (file or sys.stderr).write(f"warning: {message}\n")


def _nowhere() -> TextIO:
    """A stream in the place of one that was closed: whoever did that does not want what is written there."""
    return io.TextIOWrapper(io.FileIO(os.devnull, "w"))


def main() -> None:
    """Run the command line."""
    warnings.showwarning = _show
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a locale without the sign for "give or take"
    if native.wanted() and not native.active() and not _editable() and _simulates(sys.argv[1:]):
        _compile()
    from warpbank.cli.app import main as app

    app()
