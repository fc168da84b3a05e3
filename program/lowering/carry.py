"""Lowering of additions that keep or take the carry flag, and of additions that saturate."""

from __future__ import annotations

from typing import Any

from warpbank.program.isa import Cmp, DType, Imm, Op, Pred, Reg, Source
from warpbank.program.lowering.context import Context, word
from warpbank.program.lowering.types import PtxType

#: Table of LOP3 for (a ^ c) & (b ^ c): the sign bit tells whether a + b = c overflowed.
_OVERFLOW_ADD = sum(1 << i for i in range(8) if ((i >> 2 ^ i) & (i >> 1 ^ i)) & 1)
#: Table of LOP3 for (a ^ b) & (a ^ c): its counterpart for a - b = c.
_OVERFLOW_SUB = sum(1 << i for i in range(8) if ((i >> 2 ^ i >> 1) & (i >> 2 ^ i)) & 1)


def add_words(
    ctx: Context,
    dst: Reg,
    a: Source,
    b: Source,
    ptx: PtxType,
    subtract: bool,
    carry: Pred | None,
    carry_out: bool,
) -> None:
    """Adds or subtracts word by word.

    CC.CF holds the carry of the sum that the hardware makes, a + b or a + ~b + 1: of a subtraction it is set
    where nothing was borrowed. The PTX manual calls it the borrow; an H100 answers as here where addc follows
    sub.cc, or subc add.cc (tests/hardware).
    """
    plain, chained = (Op.ISUB, Op.ISUBC) if subtract else (Op.IADD, Op.IADDC)
    for i in range(ptx.words):
        last = i == ptx.words - 1
        out: int | None = None
        if not last or carry_out:
            out = ctx.temp_predicate() if not last else ctx.frame.carry_flag()
        fields: dict[str, Any] = {"pdst": (out,)} if out is not None else {}
        if carry is None:
            ctx.emit(plain, dst.word(i), word(a, i), word(b, i), **fields)
        else:
            ctx.emit(chained, dst.word(i), word(a, i), word(b, i), psrc=(carry,), **fields)
        if out is not None:
            carry = Pred(out)


def saturating_add(ctx: Context, dst: Reg, a: Source, b: Source, subtract: bool) -> None:
    """dst = a + b or a - b, clamped to s32."""
    total, flags, extreme = ctx.temp(), ctx.temp(), ctx.temp()
    overflow = ctx.temp_predicate()
    ctx.emit(Op.ISUB if subtract else Op.IADD, total, a, b)
    ctx.emit(Op.LOP3, flags, a, b, total, aux=_OVERFLOW_SUB if subtract else _OVERFLOW_ADD)
    ctx.emit(Op.ISETP, None, flags, Imm(0), pdst=(overflow,), cmp=Cmp.LT, dtype=DType.S32)
    ctx.emit(Op.SHR, extreme, a, Imm(31), dtype=DType.S32)
    ctx.emit(Op.XOR, extreme, extreme, Imm(0x7FFFFFFF))
    ctx.emit(Op.SEL, dst, extreme, total, psrc=(Pred(overflow),))
