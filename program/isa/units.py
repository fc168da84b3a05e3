"""Execution units by opcode."""

from __future__ import annotations

from warpbank.arch.uop import Unit
from warpbank.program.isa.code import Instr
from warpbank.program.isa.modifiers import DType
from warpbank.program.isa.opcodes import Op

_UNITS = {
    Unit.FMA: (
        Op.IMUL,
        Op.IMULHI,
        Op.IMULW,
        Op.IMAD,
        Op.IMADHI,
        Op.IMADW,
        Op.DP4A,
        Op.FADD,
        Op.FMUL,
        Op.FFMA,
    ),
    Unit.SFU: (
        Op.MUFU,
        Op.IDIV,
        Op.IREM,
        Op.FDIV,
        Op.FRCP,
        Op.FSQRT,
        Op.CVT,
        Op.POPC,
        Op.CLZ,
        Op.BREV,
        Op.BFIND,
    ),
    Unit.TENSOR: (Op.MMA,),
    Unit.LSU: (Op.LD, Op.ST, Op.ATOM, Op.SHFL, Op.MEMBAR),
    Unit.CONTROL: (Op.NOP, Op.BRA, Op.EXIT, Op.BAR, Op.TRAP),
}
_UNIT_OF = {op: unit for unit, ops in _UNITS.items() for op in ops}
_DOUBLE = (Op.FADD, Op.FMUL, Op.FFMA, Op.FMIN, Op.FMAX, Op.FSETP, Op.FDIV, Op.FRCP, Op.FSQRT, Op.MUFU, Op.CVT)


def unit_of(instr: Instr) -> Unit:
    """Execution unit of an instruction. Integer multiplication runs on the FMA pipe, conversions and bit
    counts on the SFU (as on Turing), anything double precision on the FP64 unit."""
    if instr.op in _DOUBLE and DType.F64 in (instr.dtype, instr.stype):
        return Unit.FP64
    return _UNIT_OF.get(instr.op, Unit.ALU)
