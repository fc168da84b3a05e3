"""PTX instruction while it is being lowered: its modifiers are consumed by name, so that none is silently
ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, TypeVar

from warpbank.program.errors import PtxError
from warpbank.program.lowering.types import TYPES, PtxType
from warpbank.program.ptx.ast import Instruction, Operand

T = TypeVar("T")


class Form:
    """PTX instruction and the modifiers that no one has asked for yet.

    Parameters
    ----------
    instruction : as parsed.
    path : of the file, for messages.
    """

    def __init__(self, instruction: Instruction, path: str) -> None:
        self.instruction = instruction
        self.path = path
        self.left = list(instruction.modifiers)

    @property
    def opcode(self) -> str:
        """Opcode without its modifiers."""
        return self.instruction.opcode

    @property
    def operands(self) -> tuple[Operand | None, ...]:
        """Operands in the order of the text."""
        return self.instruction.operands

    @property
    def first_type(self) -> PtxType | None:
        """The first type among the modifiers, consumed or not: of most instructions that of the result."""
        return next((TYPES[name] for name in self.instruction.modifiers if name in TYPES), None)

    def flag(self, *names: str) -> bool:
        """Whether one of the modifiers is there; consumes it."""
        found = False
        for name in names:
            while name in self.left:
                self.left.remove(name)
                found = True
        return found

    def demand(self, *names: str) -> None:
        """Consumes modifiers that must be there; refuses the instruction without one of them."""
        for name in names:
            if not self.flag(name):
                self.refuse(f"{self.opcode} is .{'.'.join(names)}: .{name} is missing")

    def choice(self, options: Mapping[str, T], default: T | None = None) -> T:
        """Meaning of the first modifier that is one of `options`; consumes it."""
        for i, name in enumerate(self.left):
            if name in options:
                del self.left[i]
                return options[name]
        if default is None:
            self.refuse(f"one of {', '.join('.' + o for o in options)} is needed")
        return default

    def maybe(self, options: Mapping[str, T]) -> T | None:
        """Meaning of the first modifier that is one of `options`, which is consumed; None where none fits."""
        for i, name in enumerate(self.left):
            if name in options:
                del self.left[i]
                return options[name]
        return None

    def ignore(self, *prefixes: str) -> None:
        """Drops modifiers that begin with one of the prefixes: hints without effect on results."""
        self.left = [m for m in self.left if not m.startswith(prefixes)]

    def type(self, *bits: int) -> PtxType:
        """The first type among the modifiers, which is consumed; refuses one of other `bits` than those, if
        any are given."""
        for i, name in enumerate(self.left):
            if name in TYPES:
                del self.left[i]
                if bits and TYPES[name].bits not in bits:
                    widths = " or ".join(map(str, bits))
                    self.refuse(f"{self.opcode} works on {widths} bits, not on .{name}")
                return TYPES[name]
        self.refuse("an operand type such as .b32 is needed")

    def arity(self, *counts: int) -> None:
        """Refuses any other number of operands."""
        if len(self.operands) not in counts:
            self.refuse(f"it takes {' or '.join(map(str, counts))} operands, not {len(self.operands)}")

    def done(self) -> None:
        """Refuses what no one has asked for."""
        if self.left:
            self.refuse(f"modifier .{self.left[0]} is not supported on {self.opcode}")

    def refuse(self, why: str) -> NoReturn:
        """Stops with file, line and the text of the instruction."""
        raise PtxError(self.path, self.instruction.line, f"cannot lower {self.instruction.text!r}: {why}")
