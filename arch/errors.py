"""Errors that every room may raise, and the root of all of them. `warpbank.errors` lists the whole hierarchy.

The command line prints an error's text, one paragraph, and ends with the error's exit code.
"""

from __future__ import annotations

from typing import Any, ClassVar


class WarpbankError(Exception):
    """Anything that Warpbank refuses or finds wrong: the message names what is wrong, where, and what would
    be right.

    An error survives its way from a worker process: pickling keeps its class, message and attributes,
    whatever arguments the class takes.
    """

    #: How the command line ends: 2 is a mistake of the user's, 1 a defect that a run has found.
    exit_code: ClassVar[int] = 2

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[WarpbankError], arguments: tuple[Any, ...], attributes: dict[str, Any]
) -> WarpbankError:
    """The error as it was before pickling; `__init__`, which makes the message, is not called again."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


def shown(value: object, most: int = 100) -> str:
    """Return a value as a message shows it: of a long one the beginning."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


class ArgumentError(WarpbankError, ValueError):
    """An argument of the wrong type or value, or two arguments that exclude each other."""


class ConfigError(WarpbankError, ValueError):
    """A machine that cannot be: an unknown preset or field, a value out of range, fields that do not fit each
    other, or a configuration file that cannot be read."""


class SchemeError(WarpbankError, ValueError):
    """A register-file scheme that cannot be: an unknown name, a combination that cannot work, or a machine
    that cannot have it."""


class MissingPackageError(WarpbankError):
    """A Python package that this needs is not installed; the message holds the command that installs it."""


class OutputError(WarpbankError):
    """A file or folder that cannot be written."""
