"""Machine instruction set that PTX is lowered to: 32-bit registers, pairs and quads, as in GPU hardware.

Conventions
-----------
Registers are 32 bits wide. A 64-bit value is an aligned pair (low word first), a 128-bit vector an aligned
quad. R255 (RZ) reads as zero and discards writes. Before register allocation, virtual registers are numbered
from `VIRTUAL`; after it, 0..254. Predicates are P0..P6, P7 (PT) is constant true; virtual predicates are
numbered from `VIRTUAL_PREDICATE`.

16- and 8-bit values live in the low bits of a register; the bits above are unspecified, and an instruction
that would see them is preceded by an extension. Loads of sub-word types extend as their dtype says.

Kernel parameters, launch dimensions and `.const` variables live in the constant bank (see `CONST_*`), read
either as an operand (`Const`) or by `LD` with space CONST.
"""

from __future__ import annotations

from warpbank.arch.uop import RZ
from warpbank.program.isa.code import Block, GlobalVariable, Instr, Kernel, Parameter
from warpbank.program.isa.modifiers import (
    SHF_LEFT_CLAMP,
    SHF_LEFT_HI64,
    SHF_LEFT_WRAP,
    SHF_RIGHT_CLAMP,
    SHF_RIGHT_LO64,
    SHF_RIGHT_WRAP,
    Atomic,
    BoolOp,
    Cmp,
    DType,
    Mufu,
    Rnd,
    Shuffle,
    Space,
    Sreg,
    Vote,
)
from warpbank.program.isa.opcodes import Op
from warpbank.program.isa.operands import PT, VIRTUAL, VIRTUAL_PREDICATE, ZERO, Const, Imm, Pred, Reg, Source
from warpbank.program.isa.units import unit_of
from warpbank.program.isa.windows import (
    CODE_WINDOW,
    CONST_DYNAMIC_SHARED,
    CONST_NCTAID,
    CONST_NTID,
    CONST_PARAMETERS,
    CONST_WINDOW,
    GLOBAL_BASE,
    LOCAL_WINDOW,
    SHARED_WINDOW,
    TEXTURE_WINDOW,
    WINDOW_SIZE,
)

__all__ = [
    "CODE_WINDOW",
    "CONST_DYNAMIC_SHARED",
    "CONST_NCTAID",
    "CONST_NTID",
    "CONST_PARAMETERS",
    "CONST_WINDOW",
    "GLOBAL_BASE",
    "LOCAL_WINDOW",
    "PT",
    "RZ",
    "SHARED_WINDOW",
    "SHF_LEFT_CLAMP",
    "SHF_LEFT_HI64",
    "SHF_LEFT_WRAP",
    "SHF_RIGHT_CLAMP",
    "SHF_RIGHT_LO64",
    "SHF_RIGHT_WRAP",
    "TEXTURE_WINDOW",
    "VIRTUAL",
    "VIRTUAL_PREDICATE",
    "WINDOW_SIZE",
    "ZERO",
    "Atomic",
    "Block",
    "BoolOp",
    "Cmp",
    "Const",
    "DType",
    "GlobalVariable",
    "Imm",
    "Instr",
    "Kernel",
    "Mufu",
    "Op",
    "Parameter",
    "Pred",
    "Reg",
    "Rnd",
    "Shuffle",
    "Source",
    "Space",
    "Sreg",
    "Vote",
    "unit_of",
]
