"""Checks of the arguments of `warpbank.api`: each returns an argument as the code behind it takes it, or
raises an error that names the argument, what was given, and what it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from warpbank import workloads
from warpbank.arch.errors import ArgumentError
from warpbank.arch.names import unknown
from warpbank.program.errors import KernelError
from warpbank.program.options import CodeOrder, CompileOptions, ConstantPlace, choice
from warpbank.sim.engines.checkpoint import MOST_SECONDS
from warpbank.sim.runs.execute import MOST_WORKERS

_Value = TypeVar("_Value")


def optional(check: Callable[[str, Any], _Value], argument: str, value: object) -> _Value | None:
    """An argument that may be left out, which is None."""
    return None if value is None else check(argument, value)


def text(argument: str, value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ArgumentError(f"{argument} takes a text in quotes, not {value!r}")
    return _without_nul(argument, value)


def name(argument: str, value: object) -> str:
    """A name of what is shipped, or a file."""
    if not isinstance(value, str | Path):
        raise ArgumentError(f"{argument} takes a text in quotes or a Path, not {value!r}")
    return _without_nul(argument, str(value))


def _without_nul(argument: str, value: str) -> str:
    """A text that may be a file's name, which has no NUL."""
    if "\0" in value:
        raise ArgumentError(f"{argument} takes a name without NUL characters, not {value!r}")
    return value


def path(argument: str, value: object) -> Path:
    """A file or a folder."""
    return Path(name(argument, value))


def switch(argument: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{argument} takes True or False, not {value!r}")
    return value


def whole(argument: str, value: object, low: int = 1, high: int | None = None) -> int:
    """A whole number within limits."""
    limits = f"from {low} to {high}" if high is not None else f"of at least {low}"
    if type(value) is not int or value < low or (high is not None and value > high):
        raise ArgumentError(f"{argument} takes a whole number {limits}, not {value!r}")
    return value


def seconds(argument: str, value: object) -> float:
    """A time between two checkpoints."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_SECONDS:
        raise ArgumentError(f"{argument} takes seconds, from 0 to {MOST_SECONDS}, not {value!r}")
    return float(value)


def compile_options(
    code_order: object, constants: object, free_registers: int, max_registers: int | None
) -> CompileOptions:
    """The four arguments that say how a kernel is compiled."""
    return CompileOptions(
        choice(CodeOrder, "code_order", code_order),
        choice(ConstantPlace, "constants", constants),
        free_registers,
        max_registers,
    )


def workers(argument: str, value: object) -> int:
    """A number of processes."""
    return whole(argument, value, 1, MOST_WORKERS)


def size(value: object) -> str:
    """A size of the kernels that are shipped."""
    given = text("size", value)
    if given not in workloads.SIZES:
        raise KernelError(unknown("size", given, workloads.SIZES))
    return given


def function(argument: str, value: object) -> Callable[..., None]:
    """A function that is called with progress."""
    if not callable(value):
        raise ArgumentError(f"{argument} takes a function, not {value!r}")
    return value


def macros(argument: str, value: object) -> dict[str, str | int]:
    """Macros of the preprocessor and their values."""
    if not isinstance(value, Mapping) or not all(isinstance(each, str | int) for each in value.values()):
        raise ArgumentError(f"{argument} takes macros and their values, {{'SIZE': 4}}, not {value!r}")
    return {text(argument, macro): given for macro, given in value.items()}


def several(argument: str, value: object) -> list[str]:
    """The names of an argument that takes several; a single one may stand by itself."""
    given = [value] if isinstance(value, str | Path) else value
    if not isinstance(given, Sequence):
        raise ArgumentError(f"{argument} takes a list of names, not {value!r}")
    return [name(argument, each) for each in given]


def names(argument: str, value: object) -> list[str]:
    """The names of an argument that needs at least one."""
    given = several(argument, value)
    if not given:
        raise ArgumentError(f"{argument} needs at least one name; warpbank.{argument}() lists them")
    return given


def overrides(value: object) -> list[str]:
    """Overrides of the machine's fields, as the command line writes them."""
    if isinstance(value, Mapping):
        for field, given in value.items():
            if not isinstance(given, int | str) or isinstance(given, bool):
                raise ArgumentError(
                    f"overrides: {field} takes a whole number or a text in quotes, not {given!r}"
                )
        return [f"{text('overrides', field)}={given}" for field, given in value.items()]
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Sequence):
        raise ArgumentError(
            f"overrides takes fields and their values, {{'sub_core.banks': 4}}, not {value!r}"
        )
    return [text("overrides", each) for each in value]


def varied(value: object) -> dict[str, tuple[int | str, ...]]:
    """Fields of the machine and the values that are tried."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(map(_listed, value.values())):
        raise ArgumentError(
            f"vary takes fields and their values, {{'sub_core.collectors': [2, 4]}}, not {value!r}"
        )
    return {text("vary", field): tuple(given) for field, given in value.items()}


def _listed(value: object) -> bool:
    """A list of whole numbers or texts that is not empty."""
    return isinstance(value, tuple | list) and bool(value) and all(type(each) in (int, str) for each in value)


def cycles(value: object) -> tuple[int, int | None]:
    """The first cycle of the waves, and their end."""
    if value is None:
        return 0, None
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ArgumentError(f"wave_cycles takes the first cycle and the end, (100, 200), not {value!r}")
    first, end = value
    return whole("wave_cycles", first, 0), None if end is None else whole("wave_cycles", end)
