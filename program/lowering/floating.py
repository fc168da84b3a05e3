"""Lowering of floating point: f32, f64, f16, bf16 and packed pairs."""

from __future__ import annotations

from warpbank.program.isa import BoolOp, Cmp, DType, Imm, Mufu, Op, Pred, Reg, Rnd, Source
from warpbank.program.lowering.context import Context, word
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import TYPES, PtxType

ROUNDINGS = {"rn": Rnd.RN, "rz": Rnd.RZ, "rm": Rnd.RM, "rp": Rnd.RP}
#: Sign bits of each type, per 32-bit word that has one.
_SIGNS = {
    "f16": 0x8000,
    "bf16": 0x8000,
    "f32": 0x80000000,
    "f64": 0x80000000,
    "f16x2": 0x80008000,
    "bf16x2": 0x80008000,
}
_HALVES, _BRAINS = ("f16", "f16x2"), ("bf16", "bf16x2")
_SUM = {"rounding": ("f32", "f64", "f32x2"), "ftz": ("f32", "f32x2", *_HALVES), "sat": ("f32", *_HALVES)}
_EXTREMUM = {
    "ftz": ("f32", *_HALVES),
    "NaN": ("f32", *_HALVES, *_BRAINS),
    "xorsign.abs": ("f32", *_HALVES, *_BRAINS),
}
#: Opcode -> modifier -> types with which PTX has it; `rounding` is any but to the nearest.
_MODIFIERS: dict[str, dict[str, tuple[str, ...]]] = {
    "add": _SUM,
    "sub": _SUM,
    "mul": _SUM,
    "mad": _SUM,
    "fma": {**_SUM, "rounding": (*_SUM["rounding"], *_BRAINS), "relu": (*_HALVES, *_BRAINS)},
    "min": _EXTREMUM,
    "max": _EXTREMUM,
    "neg": {"ftz": ("f32", *_HALVES)},
    "abs": {"ftz": ("f32", *_HALVES)},
    "div": {"ftz": ("f32",)},
    "rcp": {"ftz": ("f32", "f64")},
    "rsqrt": {"ftz": ("f32", "f64")},
    "sqrt": {"ftz": ("f32",)},
    "sin": {"ftz": ("f32",)},
    "cos": {"ftz": ("f32",)},
    "lg2": {"ftz": ("f32",)},
    "ex2": {"ftz": ("f32", *_BRAINS)},
}
_FUNCTIONS = {
    "rcp": Mufu.RCP,
    "rsqrt": Mufu.RSQRT,
    "sqrt": Mufu.SQRT,
    "sin": Mufu.SIN,
    "cos": Mufu.COS,
    "lg2": Mufu.LG2,
    "ex2": Mufu.EX2,
    "tanh": Mufu.TANH,
}


def _float_type(form: Form) -> PtxType:
    """The operand type; a second one, of forms with mixed precision, is left for the caller or for `done` to
    refuse."""
    ptx = form.type()
    if not ptx.is_float:
        form.refuse(f"it does not work on .{ptx.name}")
    return ptx


def _whole_type(form: Form) -> PtxType:
    """The operand type of an instruction that PTX has for f32 and f64 only."""
    ptx = _float_type(form)
    if ptx.name not in ("f32", "f64"):
        form.refuse(f"{form.opcode} works on .f32 and .f64, not on .{ptx.name}: convert to .f32 before")
    return ptx


def _check(form: Form, name: str, **given: bool) -> None:
    """Refuse modifiers that PTX does not have with a type."""
    known = _MODIFIERS.get(form.opcode, {})
    for modifier, there in given.items():
        spelled = modifier.replace("_", ".")
        types = known.get(spelled, ())
        if there and name not in types:
            what = f"{spelled} other than .rn" if spelled == "rounding" else f".{spelled}"
            form.refuse(
                f"{form.opcode} has no {what} with .{name}"
                + (f", with {' and '.join(f'.{each}' for each in types)} alone" if types else "")
            )


def _arithmetic(ctx: Context, form: Form, op: Op, sources: int, neg: int = 0) -> None:
    """FADD, FMUL or FFMA with every modifier they share; f32x2 word by word, and narrow factors and addends
    widened first."""
    rnd = form.choice(ROUNDINGS, None if op == Op.FFMA else Rnd.RN)
    ftz, sat, relu = form.flag("ftz"), form.flag("sat"), form.flag("relu")
    if sat and relu:
        form.refuse(".sat and .relu exclude each other")
    if form.flag("f32x2"):
        if form.opcode == "mad":
            form.refuse("mad works on .f32 and .f64, not on .f32x2: take fma")
        _check(form, "f32x2", rounding=rnd is not Rnd.RN, ftz=ftz, sat=sat, relu=relu)
        form.arity(1 + sources)
        form.done()
        pairs = [ctx.value(o, TYPES["b64"]) for o in form.operands[1:]]
        to = ctx.dst(form.operands[0], 2)
        for i in range(2):
            ctx.emit(op, to.word(i), *(word(p, i) for p in pairs), dtype=DType.F32, rnd=rnd, ftz=ftz, neg=neg)
        return
    ptx = _whole_type(form) if form.opcode == "mad" else _float_type(form)
    _check(form, ptx.name, rounding=rnd is not Rnd.RN, ftz=ftz, sat=sat, relu=relu)
    narrow = (
        form.maybe({name: TYPES[name] for name in ("f16", "bf16")})
        if ptx.name == "f32" and op != Op.FMUL
        else None
    )
    form.arity(1 + sources)
    form.done()
    values = [
        ctx.value(o, narrow if narrow and i < sources - 1 else ptx) for i, o in enumerate(form.operands[1:])
    ]
    if narrow:
        for i in range(sources - 1):
            widened = ctx.temp()
            ctx.emit(Op.CVT, widened, values[i], dtype=DType.F32, stype=narrow.dtype)
            values[i] = widened
    dst = ctx.dst(form.operands[0], ptx.words)
    ctx.emit(op, dst, *values, dtype=ptx.dtype, rnd=rnd, ftz=ftz, sat=sat, neg=neg)
    if relu:
        ctx.emit(Op.FMAX, dst, dst, Imm(0, ptx.words), dtype=ptx.dtype, ftz=ftz, aux=1)


def add(ctx: Context, form: Form, subtract: bool) -> None:
    """add, sub: subtraction negates b."""
    _arithmetic(ctx, form, Op.FADD, 2, 0b10 if subtract else 0)


def multiply(ctx: Context, form: Form) -> None:
    """mul; mad of floats is fma."""
    if form.opcode == "mul":
        _arithmetic(ctx, form, Op.FMUL, 2)
    else:
        _arithmetic(ctx, form, Op.FFMA, 3)


@lowers("fma")
def fused(ctx: Context, form: Form) -> None:
    """fma: one rounding."""
    if form.flag("oob"):
        form.refuse("out-of-bounds fma is not supported: use fma without .oob")
    _arithmetic(ctx, form, Op.FFMA, 3)


def extremum(ctx: Context, form: Form) -> None:
    """min, max of floats, with .NaN and .xorsign.abs."""
    ftz, nan, signs = form.flag("ftz"), form.flag("NaN"), form.flag("xorsign")
    if signs:
        form.flag("abs")
    aux = nan | signs << 1
    ptx = _float_type(form)
    _check(form, ptx.name, ftz=ftz, NaN=nan, xorsign_abs=signs)
    form.arity(3)
    form.done()
    a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    dst = ctx.dst(form.operands[0], ptx.words)
    ctx.emit(Op.FMIN if form.opcode == "min" else Op.FMAX, dst, a, b, dtype=ptx.dtype, ftz=ftz, aux=aux)


def sign(ctx: Context, form: Form) -> None:
    """neg, abs: the sign bit alone; with .ftz an addition of -0, which flushes."""
    ftz = form.flag("ftz")
    ptx = _float_type(form)
    _check(form, ptx.name, ftz=ftz)
    form.arity(2)
    form.done()
    a = ctx.value(form.operands[1], ptx)
    dst = ctx.dst(form.operands[0], ptx.words)
    negate = form.opcode == "neg"
    bit = _SIGNS[ptx.name]
    if ftz:
        ctx.emit(Op.FADD, dst, a, Imm(bit), dtype=ptx.dtype, ftz=True, neg=int(negate), abs=int(not negate))
        return
    if ptx.bits == 64:
        ctx.emit(Op.MOV, dst.word(0), word(a, 0))
    last = ptx.words - 1
    ctx.emit(
        Op.XOR if negate else Op.AND, dst.word(last), word(a, last), Imm(bit if negate else bit ^ 0xFFFFFFFF)
    )


def _needed(form: Form, rnd: Rnd | None) -> Rnd:
    """The rounding of an instruction that has an approximation as well."""
    if rnd is None:
        form.refuse("a rounding such as .rn is needed, or .approx of an .f32")
    return rnd


def divide(ctx: Context, form: Form) -> None:
    """div: rounded ones are a macro op; .approx is a reciprocal and a product, .full one with operands scaled
    into range."""
    approximate, full, ftz = form.flag("approx"), form.flag("full"), form.flag("ftz")
    rnd = form.maybe(ROUNDINGS)
    ptx = _float_type(form)
    form.arity(3)
    form.done()
    a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    dst = ctx.dst(form.operands[0], ptx.words)
    if ptx.name not in ("f32", "f64"):
        form.refuse(f"division of .{ptx.name} is not supported: divide in f32 and convert")
    _check(form, ptx.name, ftz=ftz)
    if not (approximate or full):
        ctx.emit(Op.FDIV, dst, a, b, dtype=ptx.dtype, rnd=_needed(form, rnd), ftz=ftz)
        return
    if ptx.name != "f32":
        form.refuse("approximations divide .f32 alone: take a rounding such as .rn")
    if full:
        large, small = ctx.temp_predicate(), ctx.temp_predicate()
        scale = ctx.temp()
        ctx.emit(
            Op.FSETP, None, b, Imm(0x7E800000), pdst=(large,), cmp=Cmp.GT, dtype=DType.F32, abs=1
        )  # |b| > 2**126
        ctx.emit(
            Op.FSETP, None, b, Imm(0x00800000), pdst=(small,), cmp=Cmp.LT, dtype=DType.F32, abs=1
        )  # |b| < 2**-126
        ctx.emit(Op.SEL, scale, Imm(0x3E800000), Imm(0x3F800000), psrc=(Pred(large),))  # 0.25 or 1
        ctx.emit(Op.SEL, scale, Imm(0x4B800000), scale, psrc=(Pred(small),))  # 2**24
        scaled: list[Source] = []
        for source in (a, b):
            product = ctx.temp()
            ctx.emit(Op.FMUL, product, source, scale, dtype=DType.F32, ftz=ftz)
            scaled.append(product)
        a, b = scaled
    reciprocal = ctx.temp()
    ctx.emit(Op.MUFU, reciprocal, b, dtype=DType.F32, aux=int(Mufu.RCP), ftz=ftz)
    ctx.emit(Op.FMUL, dst, a, reciprocal, dtype=DType.F32, ftz=ftz)


@lowers("rcp", "rsqrt", "sqrt", "sin", "cos", "lg2", "ex2", "tanh")
def function(ctx: Context, form: Form) -> None:
    """Functions of one operand: rounded rcp and sqrt are macro ops, everything else is approximate and runs
    on the SFU.

    Half-precision forms go through f32.
    """
    approximate = form.flag("approx")
    rnd = form.maybe(ROUNDINGS)
    ftz = form.flag("ftz")
    ptx = _float_type(form)
    form.arity(2)
    form.done()
    _check(form, ptx.name, ftz=ftz)
    a = ctx.value(form.operands[1], ptx)
    dst = ctx.dst(form.operands[0], ptx.words)
    rounded = {"rcp": Op.FRCP, "sqrt": Op.FSQRT}.get(form.opcode)
    if not approximate:
        if rounded is None or ptx.name not in ("f32", "f64"):
            form.refuse(
                "only its .approx form exists" if rounded is None else f".{ptx.name} is not supported"
            )
        ctx.emit(rounded, dst, a, dtype=ptx.dtype, rnd=_needed(form, rnd), ftz=ftz)
        return
    aux = int(_FUNCTIONS[form.opcode])
    if ptx.name == "f32":
        ctx.emit(Op.MUFU, dst, a, dtype=DType.F32, aux=aux, ftz=ftz)
    elif ptx.name == "f64":
        if form.opcode not in ("rcp", "rsqrt"):
            form.refuse("of the f64 approximations only rcp and rsqrt exist")
        if ftz:
            ctx.emit(Op.MUFU, dst, a, dtype=DType.F64, aux=aux, ftz=True)
            return
        if form.opcode == "rcp":
            form.refuse("rcp.approx of .f64 needs .ftz: take it, or a rounding such as .rn")
        # Without .ftz it is a function of all 64 bits, accurate to a few places of a double.
        root = ctx.temp(2)
        ctx.emit(Op.FSQRT, root, a, dtype=DType.F64)
        ctx.emit(Op.FRCP, dst, root, dtype=DType.F64)
    else:
        if form.opcode == "ex2" and ptx.name in _BRAINS and not ftz:
            form.refuse(f"ex2 of .{ptx.name} needs .ftz")
        _half_function(ctx, dst, a, ptx, aux, ftz)


def _half_function(ctx: Context, dst: Reg, a: Source, ptx: PtxType, aux: int, ftz: bool) -> None:
    """An approximate function of one or two 16-bit floats, computed in f32."""
    narrow = DType.BF16 if ptx.name.startswith("bf16") else DType.F16
    results = []
    for half in range(2 if ptx.packed else 1):
        source = a
        if half:
            source = ctx.temp()
            ctx.emit(Op.SHR, source, a, Imm(16))
        single = ctx.temp()
        ctx.emit(Op.CVT, single, source, dtype=DType.F32, stype=narrow)
        ctx.emit(Op.MUFU, single, single, dtype=DType.F32, aux=aux, ftz=ftz)
        last = ctx.temp() if ptx.packed else dst
        ctx.emit(Op.CVT, last, single, dtype=narrow, stype=DType.F32)
        results.append(last)
    if ptx.packed:
        ctx.emit(Op.PRMT, dst, *results, Imm(0x5410))


@lowers("copysign")
def copy_sign(ctx: Context, form: Form) -> None:
    """copysign: the sign of a on the magnitude of b."""
    ptx = _whole_type(form)
    form.arity(3)
    form.done()
    a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    dst = ctx.dst(form.operands[0], ptx.words)
    last = ptx.words - 1
    if last:
        ctx.emit(Op.MOV, dst.word(0), word(b, 0))
    # mask ? a : b
    ctx.emit(Op.LOP3, dst.word(last), Imm(0x80000000), word(a, last), word(b, last), aux=0xCA)


def _magnitude(ctx: Context, high: Reg, low: Source | None) -> Source:
    """Register that is zero where a number is: its high word without the sign, and its low word if any."""
    if low is None:
        return high
    whole = ctx.temp()
    ctx.emit(Op.OR, whole, high, low)
    return whole


@lowers("testp")
def test(ctx: Context, form: Form) -> None:
    """testp: the class of a number, by integer tests of its bits without the sign. Zeros are normal."""
    kinds = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    kind = form.choice({k: k for k in kinds})
    ptx = _whole_type(form)
    form.arity(2)
    form.done()
    a = ctx.value(form.operands[1], ptx)
    p = ctx.pdst(form.operands[0])
    if kind in ("number", "notanumber"):
        ctx.emit(
            Op.FSETP, None, a, a, pdst=(p,), cmp=Cmp.NUM if kind == "number" else Cmp.NAN, dtype=ptx.dtype
        )
        return
    exponent, one = (0x7F800000, 0x00800000) if ptx.name == "f32" else (0x7FF00000, 0x00100000)
    magnitude = ctx.temp()
    ctx.emit(Op.AND, magnitude, word(a, ptx.words - 1), Imm(0x7FFFFFFF))
    low = word(a, 0) if ptx.bits == 64 else None
    if kind == "finite":
        ctx.emit(Op.ISETP, None, magnitude, Imm(exponent), pdst=(p,), cmp=Cmp.LT, dtype=DType.U32)
    elif kind == "normal":
        # Any exponent but the subnormals' and the infinities', or nothing at all.
        shifted, rest = ctx.temp(), _magnitude(ctx, magnitude, low)
        q = ctx.temp_predicate()
        ctx.emit(Op.IADD, shifted, magnitude, Imm(-one & 0xFFFFFFFF))
        ctx.emit(Op.ISETP, None, shifted, Imm(exponent - one), pdst=(q,), cmp=Cmp.LT, dtype=DType.U32)
        ctx.emit(
            Op.ISETP,
            None,
            rest,
            Imm(0),
            pdst=(p,),
            psrc=(Pred(q),),
            cmp=Cmp.EQ,
            dtype=DType.U32,
            boolop=BoolOp.OR,
        )
    else:
        # Infinite: the exponent and nothing else. Subnormal: anything but the exponent.
        rest = _magnitude(ctx, magnitude, low)
        q = ctx.temp_predicate()
        if kind == "infinite":
            ctx.emit(Op.ISETP, None, magnitude, Imm(exponent), pdst=(q,), cmp=Cmp.EQ, dtype=DType.U32)
            other, cmp = (Imm(0), Cmp.EQ) if low is None else (low, Cmp.EQ)
            ctx.emit(Op.ISETP, None, other, Imm(0), pdst=(p,), psrc=(Pred(q),), cmp=cmp, dtype=DType.U32)
        else:
            ctx.emit(Op.ISETP, None, magnitude, Imm(one), pdst=(q,), cmp=Cmp.LT, dtype=DType.U32)
            ctx.emit(Op.ISETP, None, rest, Imm(0), pdst=(p,), psrc=(Pred(q),), cmp=Cmp.NE, dtype=DType.U32)
