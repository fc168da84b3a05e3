"""Compile options: the choices of the compiler that papers on register files differ in, and that a user may
make.

Every trace, result and figure says which of them made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, TypeVar

from warpbank.arch.errors import ArgumentError
from warpbank.arch.names import unknown

#: Fewest and most registers per thread that the allocator takes: fewer cannot hold a 64-bit compare-and-swap
#: and what surrounds it.
MIN_REGISTERS, MAX_REGISTERS = 16, 255
#: Registers that the list scheduler may use without asking, unless a run says otherwise.
FREE_REGISTERS = 24


class CodeOrder(StrEnum):
    """Order of the instructions within a block."""

    SCHEDULED = "scheduled"
    SOURCE = "source"


class ConstantPlace(StrEnum):
    """Place of kernel parameters and constants while a kernel runs."""

    BANK = "bank"
    REGISTERS = "registers"


Choice = TypeVar("Choice", bound=StrEnum)


def choice(kind: type[Choice], name: str, value: object) -> Choice:
    """Choice that a user's text names, for the option `name`. Raises ArgumentError for any other text."""
    if value not in list(kind):
        raise ArgumentError(unknown(name, str(value), list(kind)))
    return kind(str(value))


@dataclass(frozen=True)
class CompileOptions:
    """Compile options of a job.

    Parameters
    ----------
    code_order : `scheduled`: the list scheduler orders each block; `source`: as the PTX has it.
    constants : `bank`: instructions read parameters and constants from the constant bank; `registers`: they
        are loaded into registers when a thread starts.
    free_registers : registers per thread that the list scheduler may use even if no place of the kernel needs
        as many, 0..255.
    max_registers : registers per thread that the allocator may use, 16..255; None: as many as the job's
        machine lets it, 255 without a machine.

    Raises ArgumentError for a number that is none of these.
    """

    code_order: CodeOrder = CodeOrder.SCHEDULED
    constants: ConstantPlace = ConstantPlace.BANK
    free_registers: int = FREE_REGISTERS
    max_registers: int | None = None

    def __post_init__(self) -> None:
        bounds = [("free_registers", self.free_registers, 0)]
        if self.max_registers is not None:
            bounds.append(("max_registers", self.max_registers, MIN_REGISTERS))
        for name, value, least in bounds:
            if type(value) is not int or not least <= value <= MAX_REGISTERS:
                raise ArgumentError(
                    f"{name} takes a whole number from {least} to {MAX_REGISTERS}, not {value!r}"
                )

    @property
    def registers(self) -> int:
        """Registers per thread that the allocator may use."""
        return MAX_REGISTERS if self.max_registers is None else self.max_registers

    def words(self) -> list[str]:
        """Words of a command line that make these options; none for those that nobody has to name."""
        return [word for name, value in self._chosen().items() for word in (f"--{name}", value)]

    @property
    def label(self) -> str:
        """Label of the options that differ from the usual: `code-order=source`; nothing if none does."""
        return " ".join(f"{name}={value}" for name, value in self._chosen().items())

    def to_dict(self) -> dict[str, Any]:
        """Options by name, for JSON."""
        return {each.name: getattr(self, each.name) for each in fields(CompileOptions)}

    def _chosen(self) -> Mapping[str, str]:
        """Values that differ from the defaults, by the name that they have on a command line."""
        return {
            each.name.replace("_", "-"): str(value)
            for each in fields(CompileOptions)
            if (value := getattr(self, each.name)) != each.default
        }


#: Options of a run that names none.
DEFAULT_OPTIONS = CompileOptions()
