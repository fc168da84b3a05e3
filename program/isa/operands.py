"""Operands: registers, constants, predicates."""

from __future__ import annotations

from dataclasses import dataclass

from warpbank.arch.uop import RZ

VIRTUAL = 256
PT = 7
VIRTUAL_PREDICATE = 8


@dataclass(frozen=True, slots=True)
class Reg:
    """Registers index .. index+width-1; width 1, 2 (even index) or 4 (index a multiple of 4)."""

    index: int
    width: int = 1

    def __str__(self) -> str:
        if self.index == RZ:
            return "RZ"
        name = f"V{self.index - VIRTUAL}" if self.index >= VIRTUAL else f"R{self.index}"
        return name if self.width == 1 else f"{name}.{32 * self.width}"

    def word(self, i: int) -> Reg:
        """The i-th 32-bit word."""
        return self if self.index == RZ else Reg(self.index + i)


ZERO = Reg(RZ)


@dataclass(frozen=True, slots=True)
class Imm:
    """A constant: its bits, unsigned. width 2: 64 bits."""

    value: int
    width: int = 1

    def __str__(self) -> str:
        return f"0x{self.value:x}"


@dataclass(frozen=True, slots=True)
class Const:
    """32 * width bits of the constant bank at a byte offset."""

    offset: int
    width: int = 1

    def __str__(self) -> str:
        return f"c[0x{self.offset:x}]" + ("" if self.width == 1 else f".{32 * self.width}")


Source = Reg | Imm | Const


@dataclass(frozen=True, slots=True)
class Pred:
    """A predicate operand; PT for true, negated PT for false."""

    index: int
    negated: bool = False

    def __str__(self) -> str:
        name = (
            "PT"
            if self.index == PT
            else f"P{self.index}"
            if self.index < PT
            else f"VP{self.index - VIRTUAL_PREDICATE}"
        )
        return ("!" if self.negated else "") + name
