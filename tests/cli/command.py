"""The command line, called in this process as the installed script would call it."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from unittest import mock

from warpbank.cli.app import main


@dataclass(frozen=True)
class Done:
    """How a command ended: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


def warpbank(*arguments: str) -> Done:
    """`warpbank arguments...`"""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch.object(sys, "argv", ["warpbank", *arguments]))
        patches.enter_context(contextlib.redirect_stdout(out))
        patches.enter_context(contextlib.redirect_stderr(err))
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Done(code, out.getvalue(), err.getvalue())
