"""Lowering of 64-bit integers in pairs of registers."""

from __future__ import annotations

from warpbank.program.isa import SHF_LEFT_HI64, SHF_RIGHT_LO64, BoolOp, Cmp, DType, Imm, Op, Pred, Reg, Source
from warpbank.program.lowering.carry import add_words
from warpbank.program.lowering.context import Context, word
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.types import B32, PtxType


def add(ctx: Context, dst: Reg, a: Source, b: Source, subtract: bool = False) -> Reg:
    """Add or subtract: dst = a + b or a - b."""
    carry = ctx.temp_predicate()
    ctx.emit(Op.ISUB if subtract else Op.IADD, dst.word(0), word(a, 0), word(b, 0), pdst=(carry,))
    ctx.emit(Op.ISUBC if subtract else Op.IADDC, dst.word(1), word(a, 1), word(b, 1), psrc=(Pred(carry),))
    return dst


def shift_left(ctx: Context, dst: Reg, a: Source, amount: Source) -> Reg:
    """Shift left: dst = a << min(amount, 64)."""
    if isinstance(amount, Imm):
        n = min(amount.value, 64)
        if n >= 32:
            ctx.emit(Op.MOV, dst.word(0), Imm(0))
            if n == 32:
                ctx.emit(Op.MOV, dst.word(1), word(a, 0))
            elif n == 64:
                ctx.emit(Op.MOV, dst.word(1), Imm(0))
            else:
                ctx.emit(Op.SHL, dst.word(1), word(a, 0), Imm(n - 32))
            return dst
    ctx.emit(Op.SHL, dst.word(0), word(a, 0), amount)
    ctx.emit(Op.SHF, dst.word(1), word(a, 0), word(a, 1), amount, aux=SHF_LEFT_HI64)
    return dst


def shift_right(ctx: Context, dst: Reg, a: Source, amount: Source, signed: bool) -> Reg:
    """Shift right: dst = a >> min(amount, 64)."""
    dtype = DType.S32 if signed else DType.U32
    if isinstance(amount, Imm):
        n = min(amount.value, 64)
        if n >= 32:
            if n == 32:
                ctx.emit(Op.MOV, dst.word(0), word(a, 1))
            else:
                ctx.emit(Op.SHR, dst.word(0), word(a, 1), Imm(n - 32), dtype=dtype)
            if signed:
                ctx.emit(Op.SHR, dst.word(1), word(a, 1), Imm(31), dtype=dtype)
            else:
                ctx.emit(Op.MOV, dst.word(1), Imm(0))
            return dst
    ctx.emit(Op.SHF, dst.word(0), word(a, 0), word(a, 1), amount, aux=SHF_RIGHT_LO64, dtype=dtype)
    ctx.emit(Op.SHR, dst.word(1), word(a, 1), amount, dtype=dtype)
    return dst


def compare(
    ctx: Context,
    cmp: Cmp,
    a: Source,
    b: Source,
    signed: bool,
    pdst: tuple[int, ...] | None = None,
    combine: Pred | None = None,
    boolop: BoolOp = BoolOp.AND,
) -> int:
    """A 64-bit comparison; returns the first predicate written."""
    low = ctx.temp_predicate()
    pdst = pdst or (ctx.temp_predicate(),)
    ctx.emit(Op.ISETP, None, word(a, 0), word(b, 0), pdst=(low,), cmp=cmp, dtype=DType.U32)
    psrc = (Pred(low),) if combine is None else (Pred(low), combine)
    ctx.emit(
        Op.ISETPX,
        None,
        word(a, 1),
        word(b, 1),
        pdst=pdst,
        psrc=psrc,
        cmp=cmp,
        boolop=boolop,
        dtype=DType.S32 if signed else DType.U32,
    )
    return pdst[0]


def select(ctx: Context, dst: Reg, predicate: Pred, a: Source, b: Source) -> Reg:
    """Select: dst = predicate ? a : b."""
    for i in (0, 1):
        ctx.emit(Op.SEL, dst.word(i), word(a, i), word(b, i), psrc=(predicate,))
    return dst


def extremum_of(ctx: Context, dst: Reg, a: Source, b: Source, signed: bool, maximum: bool) -> Reg:
    """Minimum or maximum: dst = the smaller or the larger."""
    first = compare(ctx, Cmp.GT if maximum else Cmp.LT, a, b, signed)
    return select(ctx, dst, Pred(first), a, b)


def extremum(ctx: Context, form: Form, ptx: PtxType) -> None:
    """min, max of 64-bit integers."""
    a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    extremum_of(ctx, ctx.dst(form.operands[0], 2), a, b, ptx.signed, form.opcode == "max")


def absolute(ctx: Context, dst: Reg, a: Source) -> Reg:
    """Absolute value, dst = |a|: flip by the sign, then subtract it."""
    mask = ctx.temp()
    flipped = ctx.temp(2)
    ctx.emit(Op.SHR, mask, word(a, 1), Imm(31), dtype=DType.S32)
    for i in (0, 1):
        ctx.emit(Op.XOR, flipped.word(i), word(a, i), mask)
    carry = ctx.temp_predicate()
    ctx.emit(Op.ISUB, dst.word(0), flipped.word(0), mask, pdst=(carry,))
    ctx.emit(Op.ISUBC, dst.word(1), flipped.word(1), mask, psrc=(Pred(carry),))
    return dst


def sign(ctx: Context, form: Form, ptx: PtxType) -> None:
    """neg.s64, abs.s64."""
    a = ctx.value(form.operands[1], ptx)
    dst = ctx.dst(form.operands[0], 2)
    if form.opcode == "neg":
        add(ctx, dst, Imm(0, 2), a, subtract=True)
    else:
        absolute(ctx, dst, a)


def absolute_difference(ctx: Context, form: Form, ptx: PtxType) -> None:
    """sad.s64: max - min + c."""
    a, b, c = (ctx.value(o, ptx) for o in form.operands[1:])
    high = extremum_of(ctx, ctx.temp(2), a, b, ptx.signed, True)
    low = extremum_of(ctx, ctx.temp(2), a, b, ptx.signed, False)
    difference = add(ctx, ctx.temp(2), high, low, subtract=True)
    add(ctx, ctx.dst(form.operands[0], 2), difference, c)


def product_low(ctx: Context, dst: Reg, a: Source, b: Source, c: Source | None) -> Reg:
    """Low product, dst = low 64 bits of a * b + c: one wide product and two that only reach the high word."""
    low = ctx.temp(2)
    high = ctx.temp()
    if c is None:
        ctx.emit(Op.IMULW, low, word(a, 0), word(b, 0), dtype=DType.U32)
    else:
        ctx.emit(Op.IMADW, low, word(a, 0), word(b, 0), c, dtype=DType.U32)
    ctx.emit(Op.IMAD, high, word(a, 0), word(b, 1), low.word(1))
    ctx.emit(Op.IMAD, dst.word(1), word(a, 1), word(b, 0), high)
    ctx.emit(Op.MOV, dst.word(0), low.word(0))
    return dst


def product_high(ctx: Context, dst: Reg, a: Source, b: Source, signed: bool) -> Reg:
    """High product, dst = high 64 bits of a * b by schoolbook; a signed product corrects the unsigned one."""
    low, first, second = ctx.temp(2), ctx.temp(2), ctx.temp(2)
    ctx.emit(Op.IMULW, low, word(a, 0), word(b, 0), dtype=DType.U32)
    ctx.emit(Op.IMADW, first, word(a, 0), word(b, 1), ctx.pair(low.word(1), Imm(0)), dtype=DType.U32)
    ctx.emit(Op.IMADW, second, word(a, 1), word(b, 0), ctx.pair(first.word(0), Imm(0)), dtype=DType.U32)
    top = ctx.temp(2)
    ctx.emit(Op.IMADW, top, word(a, 1), word(b, 1), ctx.pair(first.word(1), Imm(0)), dtype=DType.U32)
    result = add(ctx, ctx.temp(2) if signed else dst, top, ctx.pair(second.word(1), Imm(0)))
    if signed:
        for left, right, target in ((a, b, ctx.temp(2)), (b, a, dst)):
            mask = ctx.temp()
            ctx.emit(Op.SHR, mask, word(left, 1), Imm(31), dtype=DType.S32)
            correction = ctx.temp(2)
            for i in (0, 1):
                ctx.emit(Op.AND, correction.word(i), word(right, i), mask)
            result = add(ctx, target, result, correction, subtract=True)
    return result


def multiply(ctx: Context, form: Form, part: str, ptx: PtxType, carry: Pred | None, carry_out: bool) -> None:
    """mul and mad of 64 bits, .lo and .hi."""
    a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    c = ctx.value(form.operands[3], ptx) if form.opcode != "mul" else None
    dst = ctx.dst(form.operands[0], 2)
    chained = carry is not None or carry_out
    if part == "lo" and not chained:
        product_low(ctx, dst, a, b, c)
        return
    target = dst if c is None else ctx.temp(2)
    if part == "lo":
        product_low(ctx, target, a, b, None)
    else:
        product_high(ctx, target, a, b, ptx.signed)
    if c is not None:
        add_words(ctx, dst, target, c, ptx, False, carry, carry_out)


def extract(ctx: Context, form: Form, ptx: PtxType) -> None:
    """bfe.u64, bfe.s64: shift the field down, then its top bit up to bit 63 and back."""
    a = ctx.value(form.operands[1], ptx)
    position, keep = _byte(ctx, form.operands[2]), _complement(ctx, _byte(ctx, form.operands[3]))
    down, up = ctx.temp(2), ctx.temp(2)
    shift_right(ctx, down, a, position, ptx.signed)
    shift_left(ctx, up, down, keep)
    shift_right(ctx, ctx.dst(form.operands[0], 2), up, keep, ptx.signed)


def insert(ctx: Context, form: Form, ptx: PtxType) -> None:
    """bfi.b64: through a mask of the field."""
    a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    position, keep = _byte(ctx, form.operands[3]), _complement(ctx, _byte(ctx, form.operands[4]))
    ones, mask, moved = ctx.temp(2), ctx.temp(2), ctx.temp(2)
    shift_right(ctx, ones, Imm((1 << 64) - 1, 2), keep, False)
    shift_left(ctx, mask, ones, position)
    shift_left(ctx, moved, a, position)
    dst = ctx.dst(form.operands[0], 2)
    for i in (0, 1):
        # mask ? moved : b
        ctx.emit(Op.LOP3, dst.word(i), mask.word(i), moved.word(i), word(b, i), aux=0xCA)


def _byte(ctx: Context, operand: object) -> Source:
    """The low 8 bits of an amount."""
    source = ctx.value(operand, B32)  # type: ignore[arg-type]
    if isinstance(source, Imm):
        return Imm(source.value & 0xFF)
    made = ctx.temp()
    ctx.emit(Op.AND, made, source, Imm(0xFF))
    return made


def _complement(ctx: Context, length: Source) -> Source:
    """64 - min(length, 64)."""
    if isinstance(length, Imm):
        return Imm(64 - min(length.value, 64))
    made = ctx.temp()
    ctx.emit(Op.IMIN, made, length, Imm(64))
    rest = ctx.temp()
    ctx.emit(Op.ISUB, rest, Imm(64), made)
    return rest
