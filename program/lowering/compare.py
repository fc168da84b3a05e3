"""Lowering of setp, set, selp, slct."""

from __future__ import annotations

from warpbank.program.isa import BoolOp, Cmp, DType, Imm, Op, Pred, Source
from warpbank.program.lowering import wide
from warpbank.program.lowering.context import Context, word
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import TYPES, PtxType
from warpbank.program.ptx.ast import Operand, PredicatePair

_COMPARISONS = {
    "eq": Cmp.EQ,
    "ne": Cmp.NE,
    "lt": Cmp.LT,
    "le": Cmp.LE,
    "gt": Cmp.GT,
    "ge": Cmp.GE,
    "equ": Cmp.EQU,
    "neu": Cmp.NEU,
    "ltu": Cmp.LTU,
    "leu": Cmp.LEU,
    "gtu": Cmp.GTU,
    "geu": Cmp.GEU,
    "num": Cmp.NUM,
    "nan": Cmp.NAN,
    "lo": Cmp.LT,
    "ls": Cmp.LE,
    "hi": Cmp.GT,
    "hs": Cmp.GE,
}
_BOOL_OPS = {"and": BoolOp.AND, "or": BoolOp.OR, "xor": BoolOp.XOR}
_UNSIGNED_ONLY = ("lo", "ls", "hi", "hs")


class _Comparison:
    """What setp and set have in common: comparison, combination, operands."""

    def __init__(self, form: Form) -> None:
        self.unsigned = any(m in _UNSIGNED_ONLY for m in form.left)
        self.cmp = form.choice(_COMPARISONS)
        self.boolop = form.maybe(_BOOL_OPS)
        self.ftz = form.flag("ftz")

    def emit(
        self,
        ctx: Context,
        form: Form,
        ptx: PtxType,
        pdst: tuple[int, ...],
        a: Source,
        b: Source,
        combine: Operand | None,
    ) -> None:
        """Compares."""
        q = ctx.pred(combine) if self.boolop is not None else None
        boolop = self.boolop or BoolOp.AND
        if ptx.kind == "b" and self.cmp not in (Cmp.EQ, Cmp.NE):
            form.refuse(f"bits are compared with .eq and .ne alone: take .u{ptx.bits} or .s{ptx.bits}")
        if self.unsigned and ptx.kind != "u":
            form.refuse(f".lo .ls .hi .hs compare unsigned numbers, not .{ptx.name}: take .lt .le .gt .ge")
        if not ptx.is_float and self.cmp >= Cmp.EQU:
            form.refuse(f"this comparison is one of floats, not of .{ptx.name}")
        if ptx.is_float:
            psrc = () if q is None else (q,)
            ctx.emit(
                Op.FSETP,
                None,
                a,
                b,
                pdst=pdst,
                psrc=psrc,
                cmp=self.cmp,
                boolop=boolop,
                dtype=ptx.dtype,
                ftz=self.ftz,
            )
        elif ptx.bits == 64:
            wide.compare(ctx, self.cmp, a, b, ptx.signed, pdst, q, boolop)
        else:
            psrc = () if q is None else (q,)
            dtype = DType.S32 if ptx.signed else DType.U32
            ctx.emit(Op.ISETP, None, a, b, pdst=pdst, psrc=psrc, cmp=self.cmp, boolop=boolop, dtype=dtype)


@lowers("setp")
def set_predicate(ctx: Context, form: Form) -> None:
    """setp with one or two results and a combination."""
    comparison = _Comparison(form)
    ptx = form.type()
    form.arity(4 if comparison.boolop is not None else 3)
    form.done()
    target = form.operands[0]
    targets = (target.first, target.second) if isinstance(target, PredicatePair) else (target,)
    combine = form.operands[3] if comparison.boolop is not None else None
    if ptx.packed:
        _packed(ctx, form, comparison, ptx, targets, combine)
        return
    a, b = _operand(ctx, form.operands[1], ptx), _operand(ctx, form.operands[2], ptx)
    comparison.emit(ctx, form, ptx, tuple(ctx.pdst(t) for t in targets), a, b, combine)


def _packed(
    ctx: Context,
    form: Form,
    comparison: _Comparison,
    ptx: PtxType,
    targets: tuple[Operand | None, ...],
    combine: Operand | None,
) -> None:
    """setp.f16x2: the two results are those of the low and of the high halves."""
    half = TYPES[ptx.name[:-2]]
    for i, target in enumerate(targets):
        parts: list[Source] = []
        for operand in form.operands[1:3]:
            part = ctx.value(operand, ptx)
            if i:
                shifted = ctx.temp()
                ctx.emit(Op.SHR, shifted, part, Imm(16))
                part = shifted
            parts.append(part)
        comparison.emit(ctx, form, half, (ctx.pdst(target),), parts[0], parts[1], combine)


def _operand(ctx: Context, operand: Operand | None, ptx: PtxType) -> Source:
    """A float as it is, an integer extended to its 32 or 64 bits."""
    return ctx.value(operand, ptx) if ptx.is_float else ctx.extended(operand, ptx)


@lowers("set")
def set_register(ctx: Context, form: Form) -> None:
    """set: all ones or 1.0 where the comparison holds, 0 elsewhere."""
    comparison = _Comparison(form)
    result, ptx = form.type(), form.type()
    form.arity(4 if comparison.boolop is not None else 3)
    form.done()
    if result.bits == 64:
        form.refuse("a 64-bit result is not supported: use setp and selp")
    combine = form.operands[3] if comparison.boolop is not None else None
    a, b = _operand(ctx, form.operands[1], ptx), _operand(ctx, form.operands[2], ptx)
    dst = ctx.dst(form.operands[0], 1)
    if ptx.packed:
        _set_packed(ctx, form, comparison, result, ptx, a, b, combine)
        return
    p = ctx.temp_predicate()
    comparison.emit(ctx, form, ptx, (p,), a, b, combine)
    one = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}.get(result.name, 0xFFFFFFFF)
    ctx.emit(Op.SEL, dst, Imm(one), Imm(0), psrc=(Pred(p),))


def _set_packed(
    ctx: Context,
    form: Form,
    comparison: _Comparison,
    result: PtxType,
    ptx: PtxType,
    a: Source,
    b: Source,
    combine: Operand | None,
) -> None:
    """set.f16x2.f16x2: half by half."""
    half = TYPES[ptx.name[:-2]]
    one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(result.name, 0xFFFF)
    halves = []
    for shift in (0, 16):
        parts = []
        for source in (a, b):
            part = ctx.temp()
            ctx.emit(Op.SHR, part, source, Imm(shift))
            parts.append(part)
        p = ctx.temp_predicate()
        comparison.emit(ctx, form, half, (p,), parts[0], parts[1], combine)
        value = ctx.temp()
        ctx.emit(Op.SEL, value, Imm(one), Imm(0), psrc=(Pred(p),))
        halves.append(value)
    ctx.emit(Op.PRMT, ctx.dst(form.operands[0], 1), *halves, Imm(0x5410))


@lowers("selp", in_place=True)
def select(ctx: Context, form: Form) -> None:
    """selp: one of two values."""
    ptx = form.type()
    form.arity(4)
    form.done()
    p = ctx.pred(form.operands[3])
    a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    dst = ctx.dst(form.operands[0], ptx.words)
    for i in range(ptx.words):
        ctx.emit(Op.SEL, dst.word(i), word(a, i), word(b, i), psrc=(p,))


@lowers("slct")
def select_by_sign(ctx: Context, form: Form) -> None:
    """slct: a where c >= 0, else b."""
    ftz = form.flag("ftz")
    ptx, test = form.type(), form.type()
    form.arity(4)
    form.done()
    if test.name not in ("s32", "f32"):
        form.refuse(f"its last operand is an .s32 or an .f32, not a .{test.name}")
    p = ctx.temp_predicate()
    c = ctx.value(form.operands[3], test)
    if test.is_float:
        ctx.emit(Op.FSETP, None, c, Imm(0), pdst=(p,), cmp=Cmp.GE, dtype=DType.F32, ftz=ftz)
    else:
        ctx.emit(Op.ISETP, None, c, Imm(0), pdst=(p,), cmp=Cmp.GE, dtype=DType.S32)
    a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    dst = ctx.dst(form.operands[0], ptx.words)
    for i in range(ptx.words):
        ctx.emit(Op.SEL, dst.word(i), word(a, i), word(b, i), psrc=(Pred(p),))
