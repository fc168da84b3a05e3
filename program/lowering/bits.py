"""Lowering of logic, shifts, bit fields and bit counts."""

from __future__ import annotations

from warpbank.program.isa import (
    SHF_LEFT_CLAMP,
    SHF_LEFT_WRAP,
    SHF_RIGHT_CLAMP,
    SHF_RIGHT_WRAP,
    Cmp,
    DType,
    Imm,
    Op,
    Pred,
    Reg,
    Source,
)
from warpbank.program.lowering import wide
from warpbank.program.lowering.context import MASK32, Context, word
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import B32, U32, PtxType

_LOGIC = {"and": (Op.AND, 0xC0), "or": (Op.OR, 0xFC), "xor": (Op.XOR, 0x3C)}
_PRMT = {"f4e": 1, "b4e": 2, "rc8": 3, "ecl": 4, "ecr": 5, "rc16": 6}


@lowers("and", "or", "xor", in_place=True)
def logic(ctx: Context, form: Form) -> None:
    """Bitwise and, or, xor; of predicates by PLOP."""
    ptx = form.type()
    form.arity(3)
    form.done()
    op, table = _LOGIC[form.opcode]
    if ptx.kind == "pred":
        psrc = (ctx.pred(form.operands[1]), ctx.pred(form.operands[2]))
        ctx.emit(Op.PLOP, pdst=(ctx.pdst(form.operands[0]),), psrc=psrc, aux=table)
        return
    a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    dst = ctx.dst(form.operands[0], ptx.words)
    for i in range(ptx.words):
        ctx.emit(op, dst.word(i), word(a, i), word(b, i))


@lowers("not", in_place=True)
def invert(ctx: Context, form: Form) -> None:
    """Bitwise complement."""
    ptx = form.type()
    form.arity(2)
    form.done()
    if ptx.kind == "pred":
        ctx.emit(Op.PLOP, pdst=(ctx.pdst(form.operands[0]),), psrc=(ctx.pred(form.operands[1]),), aux=0x0F)
        return
    a = ctx.value(form.operands[1], ptx)
    dst = ctx.dst(form.operands[0], ptx.words)
    for i in range(ptx.words):
        ctx.emit(Op.NOT, dst.word(i), word(a, i))


@lowers("cnot")
def logical_not(ctx: Context, form: Form) -> None:
    """cnot: 1 if the operand is zero, else 0."""
    ptx = form.type()
    form.arity(2)
    form.done()
    zero = ctx.temp_predicate()
    a = ctx.extended(form.operands[1], ptx)
    if ptx.bits == 64:
        zero = wide.compare(ctx, Cmp.EQ, a, Imm(0, 2), False)
    else:
        ctx.emit(Op.ISETP, None, a, Imm(0), pdst=(zero,), cmp=Cmp.EQ, dtype=DType.U32)
    dst = ctx.dst(form.operands[0], ptx.words)
    ctx.emit(Op.SEL, dst.word(0), Imm(1), Imm(0), psrc=(Pred(zero),))
    if ptx.bits == 64:
        ctx.emit(Op.MOV, dst.word(1), Imm(0))


@lowers("lop3", in_place=True)
def truth_table(ctx: Context, form: Form) -> None:
    """lop3.b32 with an 8-bit table, whose bit order is the machine's."""
    form.type(32)
    form.arity(5)
    form.done()
    table = ctx.value(form.operands[4], B32)
    if not isinstance(table, Imm):
        form.refuse("the truth table must be a constant")
    ctx.emit(
        Op.LOP3,
        ctx.dst(form.operands[0], 1),
        *(ctx.value(o, B32) for o in form.operands[1:4]),
        aux=table.value & 0xFF,
    )


@lowers("shl", "shr")
def shift(ctx: Context, form: Form) -> None:
    """shl, shr: amounts above the width clamp to it."""
    ptx = form.type()
    form.arity(3)
    form.done()
    amount = ctx.value(form.operands[2], U32)
    left = form.opcode == "shl"
    if ptx.bits == 64:
        a = ctx.value(form.operands[1], ptx)
        dst = ctx.dst(form.operands[0], 2)
        if left:
            wide.shift_left(ctx, dst, a, amount)
        else:
            wide.shift_right(ctx, dst, a, amount, ptx.signed)
        return
    # A left shift of 16 bits needs no clamp of its own: what leaves the low half is unspecified there anyway.
    a = ctx.value(form.operands[1], ptx) if left else ctx.extended(form.operands[1], ptx)
    ctx.emit(Op.SHL if left else Op.SHR, ctx.dst(form.operands[0], 1), a, amount, dtype=ptx.compute)


@lowers("shf", in_place=True)
def funnel(ctx: Context, form: Form) -> None:
    """shf.l, shf.r with .wrap or .clamp."""
    left = form.choice({"l": True, "r": False})
    wrap = form.choice({"wrap": True, "clamp": False})
    form.type(32)
    form.arity(4)
    form.done()
    aux = (
        (SHF_LEFT_WRAP if wrap else SHF_LEFT_CLAMP) if left else (SHF_RIGHT_WRAP if wrap else SHF_RIGHT_CLAMP)
    )
    ctx.emit(
        Op.SHF,
        ctx.dst(form.operands[0], 1),
        *(ctx.value(o, B32) for o in form.operands[1:3]),
        ctx.value(form.operands[3], U32),
        aux=aux,
    )


@lowers("bfe")
def extract(ctx: Context, form: Form) -> None:
    """bfe: a bit field, sign-extended for signed types."""
    ptx = form.type(32, 64)
    form.arity(4)
    form.done()
    if ptx.bits == 64:
        wide.extract(ctx, form, ptx)
        return
    a, position, length = (
        ctx.value(form.operands[1], ptx),
        ctx.value(form.operands[2], U32),
        ctx.value(form.operands[3], U32),
    )
    ctx.emit(Op.BFE, ctx.dst(form.operands[0], 1), a, position, length, dtype=ptx.compute)


@lowers("bfi")
def insert(ctx: Context, form: Form) -> None:
    """bfi: a's low bits into a field of b."""
    ptx = form.type(32, 64)
    form.arity(5)
    form.done()
    if ptx.bits == 64:
        wide.insert(ctx, form, ptx)
        return
    types = (B32, B32, U32, U32)
    parts = [ctx.value(o, ptx) for o, ptx in zip(form.operands[1:], types, strict=True)]
    ctx.emit(Op.BFI, ctx.dst(form.operands[0], 1), *parts)


@lowers("bmsk")
def mask(ctx: Context, form: Form) -> None:
    """bmsk.clamp, bmsk.wrap: a field of ones; position and length clamp to 32 or wrap at 32."""
    wrap = form.choice({"clamp": False, "wrap": True})
    form.type(32)
    form.arity(3)
    form.done()
    position, length = (ctx.value(o, B32) for o in form.operands[1:])
    if wrap:
        for i, source in enumerate((position, length)):
            wrapped = ctx.temp()
            ctx.emit(Op.AND, wrapped, source, Imm(31))
            position, length = (wrapped, length) if i == 0 else (position, wrapped)
    ones = ctx.temp()
    ctx.emit(Op.SHL, ones, Imm(MASK32), length)
    ctx.emit(Op.NOT, ones, ones)
    ctx.emit(Op.SHL, ctx.dst(form.operands[0], 1), ones, position)


@lowers("szext")
def extend_from(ctx: Context, form: Form) -> None:
    """szext.clamp, szext.wrap: sign- or zero-extends the low bits."""
    wrap = form.choice({"clamp": False, "wrap": True})
    ptx = form.type(32)
    form.arity(3)
    form.done()
    length = ctx.temp()
    amount = ctx.value(form.operands[2], B32)
    ctx.emit(Op.AND if wrap else Op.IMIN, length, amount, Imm(31 if wrap else 32))
    ctx.emit(
        Op.BFE,
        ctx.dst(form.operands[0], 1),
        ctx.value(form.operands[1], ptx),
        Imm(0),
        length,
        dtype=ptx.compute,
    )


@lowers("prmt", in_place=True)
def permute(ctx: Context, form: Form) -> None:
    """prmt: any four of eight bytes, or one of six fixed modes."""
    form.type(32)
    aux = form.maybe(_PRMT) or 0
    form.arity(4)
    form.done()
    ctx.emit(Op.PRMT, ctx.dst(form.operands[0], 1), *(ctx.value(o, B32) for o in form.operands[1:]), aux=aux)


@lowers("clz", "popc")
def count(ctx: Context, form: Form) -> None:
    """clz, popc; of 64 bits from both words."""
    ptx = form.type(32, 64)
    form.arity(2)
    form.done()
    op = Op.CLZ if form.opcode == "clz" else Op.POPC
    a = ctx.value(form.operands[1], ptx)
    dst = ctx.dst(form.operands[0], 1)
    if ptx.bits == 32:
        ctx.emit(op, dst, a)
        return
    low, high = ctx.temp(), ctx.temp()
    ctx.emit(op, low, word(a, 0))
    ctx.emit(op, high, word(a, 1))
    if op == Op.POPC:
        ctx.emit(Op.IADD, dst, low, high)
        return
    empty = ctx.temp_predicate()
    ctx.emit(Op.ISETP, None, word(a, 1), Imm(0), pdst=(empty,), cmp=Cmp.EQ, dtype=DType.U32)
    ctx.emit(Op.IADD, low, low, Imm(32))
    ctx.emit(Op.SEL, dst, low, high, psrc=(Pred(empty),))


@lowers("brev")
def reverse(ctx: Context, form: Form) -> None:
    """brev: a 64-bit reversal swaps the words."""
    ptx = form.type(32, 64)
    form.arity(2)
    form.done()
    a = ctx.value(form.operands[1], ptx)
    dst = ctx.dst(form.operands[0], ptx.words)
    for i in range(ptx.words):
        ctx.emit(Op.BREV, dst.word(i), word(a, ptx.words - 1 - i))


@lowers("bfind")
def find_first(ctx: Context, form: Form) -> None:
    """bfind: position of the highest bit that is not a copy of the sign; .shiftamt: the shift that brings it
    to the top."""
    shift_amount = form.flag("shiftamt")
    ptx = form.type(32, 64)
    form.arity(2)
    form.done()
    a = ctx.value(form.operands[1], ptx)
    dst = ctx.dst(form.operands[0], 1)
    if ptx.bits == 32:
        ctx.emit(Op.BFIND, dst, a, dtype=ptx.compute, aux=int(shift_amount))
        return
    _find_first_wide(ctx, dst, a, ptx, shift_amount)


def _find_first_wide(ctx: Context, dst: Reg, a: Source, ptx: PtxType, shift_amount: bool) -> None:
    """Of 64 bits: in the high word if anything is there, else in the low word."""
    words = [word(a, 0), word(a, 1)]
    if ptx.signed:
        spread = ctx.temp()
        ctx.emit(Op.SHR, spread, words[1], Imm(31), dtype=DType.S32)
        for i in (0, 1):
            flipped = ctx.temp()
            ctx.emit(Op.XOR, flipped, words[i], spread)
            words[i] = flipped
    low, high = ctx.temp(), ctx.temp()
    empty = ctx.temp_predicate()
    ctx.emit(Op.BFIND, low, words[0], dtype=DType.U32, aux=int(shift_amount))
    ctx.emit(Op.BFIND, high, words[1], dtype=DType.U32, aux=int(shift_amount))
    ctx.emit(Op.ISETP, None, words[1], Imm(0), pdst=(empty,), cmp=Cmp.EQ, dtype=DType.U32)
    if shift_amount:
        # The low word's shift is 32 more, unless there is no bit at all: all ones must stay all ones.
        none = ctx.temp_predicate()
        ctx.emit(Op.ISETP, None, words[0], Imm(0), pdst=(none,), cmp=Cmp.EQ, dtype=DType.U32)
        more = ctx.temp()
        ctx.emit(Op.IADD, more, low, Imm(32))
        ctx.emit(Op.SEL, low, Imm(MASK32), more, psrc=(Pred(none),))
    else:
        ctx.emit(Op.IADD, high, high, Imm(32))
    ctx.emit(Op.SEL, dst, low, high, psrc=(Pred(empty),))


@lowers("fns")
def find_nth_set(ctx: Context, form: Form) -> None:
    """fns: the n-th set bit from a base."""
    form.type(32)
    form.arity(4)
    form.done()
    ctx.emit(Op.FNS, ctx.dst(form.operands[0], 1), *(ctx.value(o, B32) for o in form.operands[1:]))
