"""Flag instructions: 64-bit words of the code that carry release flags (renaming, section 5, Fig. 6).

A word has a 10-bit opcode, split around 54 bits of payload: its low four bits stand in bits 3..0, its high
six in bits 63..58.

- pir: 18 flags of 3 bits for the instructions that follow it, the first in the lowest bits. It stands at the
  start of a block and behind every 18 instructions of it.
- pbr: 9 register numbers of 6 bits, the first in the lowest bits. It stands at the start of a block, before
  its pir. Places that are not needed name the first register again.

Code that uses a register above R63 needs 8-bit numbers, of which a pbr holds six.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpbank.arch.uop import Control
from warpbank.program.cfg import Cfg
from warpbank.program.isa import Kernel
from warpbank.program.liveness import members
from warpbank.program.release.flags import OPERANDS, Flags

PAYLOAD_BITS = 54
#: Instructions that a pir covers.
COVERED = PAYLOAD_BITS // OPERANDS
#: Opcodes of ours.
PIR_OPCODE, PBR_OPCODE = 0x2A8, 0x2A9
_LOW = 4


@dataclass(frozen=True)
class FlagWord:
    """Flag instruction of the code.

    Parameters
    ----------
    control : `Control.PIR` or `Control.PBR`.
    first : pc of the instruction that it stands before.
    covers : instructions from there on whose flags it carries (pir); 0 (pbr).
    payload : its 54 bits.
    registers : registers that it releases, as a bit mask (pbr); 0 (pir).
    width : bits of a field of the payload: 3 (pir), 6 or 8 (pbr).
    """

    control: Control
    first: int
    covers: int
    payload: int
    registers: int = 0
    width: int = OPERANDS

    @property
    def bits(self) -> int:
        """Encoding of the instruction, 64 bits."""
        opcode = PIR_OPCODE if self.control is Control.PIR else PBR_OPCODE
        return opcode >> _LOW << _LOW + PAYLOAD_BITS | self.payload << _LOW | opcode & (1 << _LOW) - 1

    @property
    def text(self) -> str:
        """Disassembly, one line."""
        if self.control is Control.PIR:
            flags = (f"{self.payload >> OPERANDS * i & 7:03b}" for i in range(self.covers))
            return f"PIR {' '.join(flags)}"
        return f"PBR {', '.join(f'R{r}' for r in members(self.registers))}"


def number_bits(kernel: Kernel) -> int:
    """Bits of a register number in the kernel's pbr instructions: 6, or 8 for code that uses more than
    R0..R63."""
    return 6 if kernel.registers <= 64 else 8


def flag_words(kernel: Kernel, flags: Flags, *, empty: bool = False) -> list[FlagWord]:
    """The flag instructions of a kernel in the order of its code.

    Parameters
    ----------
    empty : keep pir instructions without any flag, as the paper does; they tell nothing.

    Raises
    ------
    ValueError : the registers are virtual, which have no numbers that fit.
    """
    if not kernel.allocated:
        raise ValueError(
            f"kernel {kernel.name} is on virtual registers; flag instructions need allocated ones."
        )
    starts, words = Cfg(kernel).starts, []
    width = number_bits(kernel)
    each = PAYLOAD_BITS // width
    for b, mask in enumerate(flags.pbr):
        registers = list(members(mask))
        for i in range(0, len(registers), each):
            words.append(_pbr(starts[b], registers[i : i + each], width))
        for first in range(starts[b], starts[b + 1], COVERED):
            pir = flags.pir[first : min(first + COVERED, starts[b + 1])].tolist()
            if empty or any(pir):
                words.append(FlagWord(Control.PIR, first, len(pir), _pack(pir, OPERANDS)))
    return words


def _pbr(first: int, registers: list[int], width: int) -> FlagWord:
    filled = registers + registers[:1] * (PAYLOAD_BITS // width - len(registers))
    return FlagWord(Control.PBR, first, 0, _pack(filled, width), sum(1 << r for r in registers), width)


def _pack(fields: Sequence[int], width: int) -> int:
    payload = 0
    for i, field in enumerate(fields):
        payload |= field << width * i
    return payload


def unpack(bits: int, width: int) -> tuple[int, list[int]]:
    """Opcode of a 64-bit word, and the fields of `width` bits in its payload. What a decoder does."""
    opcode = bits >> _LOW + PAYLOAD_BITS << _LOW | bits & (1 << _LOW) - 1
    return opcode, [bits >> _LOW >> width * i & (1 << width) - 1 for i in range(PAYLOAD_BITS // width)]
