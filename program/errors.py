"""Errors between a kernel's source and its trace: what a user can have done wrong on the program side."""

from __future__ import annotations

from warpbank.arch.errors import WarpbankError

__all__ = [
    "CacheError",
    "CompileError",
    "ExecutionError",
    "KernelError",
    "LaunchError",
    "PtxError",
    "TraceError",
    "WarpbankError",
]


class CacheError(WarpbankError):
    """A cache folder that holds compiled code and that somebody else may have written."""


class KernelError(WarpbankError, ValueError):
    """A shipped kernel, or a problem size of one, that does not exist."""


class CompileError(WarpbankError, ValueError):
    """CUDA C that cannot be compiled: the compiler is missing or refused the source, and the message holds
    what it said."""


class PtxError(WarpbankError):
    """PTX that cannot be read or lowered. The message starts with `path:line:`.

    Parameters
    ----------
    path, line : where the PTX is wrong; attributes, too.
    message : what is wrong there.
    """

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line


class LaunchError(WarpbankError):
    """A launch description that cannot be read, or a launch that does not fit its kernel or its machine."""


class ExecutionError(WarpbankError):
    """A kernel that went wrong while running: out of bounds, misaligned, deadlock, trap, wrong memory."""


class TraceError(WarpbankError):
    """A trace file, ours or Accel-Sim's, that cannot be read, or that a scheme cannot run on."""
