"""Errors that a user can cause, each a sentence without a traceback. The command line prints their text, one
paragraph, and exits with code 2."""

from __future__ import annotations


class WarpbankError(Exception):
    """Error of a user's mistake: the message names what is wrong, where, and what would be right."""


class PtxError(WarpbankError):
    """Error of PTX that cannot be read or lowered. The message starts with `path:line:`."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line


class LaunchError(WarpbankError):
    """Error of a launch that does not fit its kernel or its machine."""


class ExecutionError(WarpbankError):
    """Error of a kernel that went wrong while running: out of bounds, misaligned, deadlock, trap."""
