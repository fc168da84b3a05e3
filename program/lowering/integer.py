"""Lowering of integer arithmetic of 8, 16 and 32 bits, carries included; 64 bits go to `wide`."""

from __future__ import annotations

from warpbank.program.isa import DType, Imm, Op, Pred, Source
from warpbank.program.lowering import floating, wide
from warpbank.program.lowering.carry import add_words, saturating_add
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import TYPES, PtxType

#: Two 16-bit integers in one register, by the type of one.
_PAIRS = {"u16x2": TYPES["u16"], "s16x2": TYPES["s16"]}


@lowers("add", "sub", in_place=True)
def add(ctx: Context, form: Form) -> None:
    """add, sub, add.cc, sub.cc, add.sat of every type."""
    subtract = form.opcode == "sub"
    carry_out = form.flag("cc")
    rest = [TYPES[m] for m in form.left if m in TYPES]
    if (rest and rest[0].is_float) or "f32x2" in form.left:
        if carry_out:
            form.refuse("carries are those of 32- and 64-bit integers such as .u32, not of floats")
        floating.add(ctx, form, subtract)
        return
    packed = form.maybe(_PAIRS)
    if packed is not None:
        _packed(ctx, form, Op.ISUB if subtract else Op.IADD, packed, False)
        return
    saturate = form.flag("sat")
    ptx = form.type()
    form.arity(3)
    form.done()
    if ptx.packed or ptx.name in ("b8", "b128"):
        form.refuse(f".{ptx.name} addition is not supported")
    if saturate and (ptx.name != "s32" or carry_out):
        form.refuse(f"of integers only {form.opcode}.sat.s32 saturates: clamp others with min and max")
    if carry_out:
        _check_carry(form, ptx)
    a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    if saturate:
        _saturating(ctx, form, subtract, a, b)
        return
    dst = ctx.dst(form.operands[0], ptx.words)
    add_words(ctx, dst, a, b, ptx, subtract, None, carry_out)


@lowers("addc", "subc", in_place=True)
def add_with_carry(ctx: Context, form: Form) -> None:
    """addc, subc and their .cc forms."""
    carry_out = form.flag("cc")
    ptx = form.type()
    form.arity(3)
    form.done()
    _check_carry(form, ptx)
    a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    subtract = form.opcode == "subc"
    carry = Pred(ctx.frame.carry_flag())
    add_words(ctx, ctx.dst(form.operands[0], ptx.words), a, b, ptx, subtract, carry, carry_out)


def _check_carry(form: Form, ptx: PtxType) -> None:
    """Refuses carries of floats and of less than a word, whose carry is not that of the 32-bit adder."""
    if ptx.is_float or ptx.bits not in (32, 64):
        form.refuse(f"carries are those of 32- and 64-bit integers such as .u32, not of .{ptx.name}")


def _saturating(ctx: Context, form: Form, subtract: bool, a: Source, b: Source) -> None:
    """add.sat.s32: on overflow the result is the extreme of a's sign."""
    dst = ctx.dst(form.operands[0], 1)
    saturating_add(ctx, dst, a, b, subtract)


@lowers("mul", "mad")
def multiply(ctx: Context, form: Form) -> None:
    """mul and mad: .lo, .hi, .wide, .cc, .sat of integers; floats go to `floating`."""
    kinds = [TYPES[m] for m in form.left if m in TYPES]
    if (kinds and kinds[0].is_float) or "f32x2" in form.left:
        floating.multiply(ctx, form)
        return
    part = form.choice({"lo": "lo", "hi": "hi", "wide": "wide"})
    carry_out, saturate = form.flag("cc"), form.flag("sat")
    ptx = form.type()
    form.done()
    _multiply(ctx, form, part, ptx, None, carry_out, saturate)


@lowers("madc")
def multiply_with_carry(ctx: Context, form: Form) -> None:
    """madc.lo, madc.hi: the addition takes CC.CF."""
    part = form.choice({"lo": "lo", "hi": "hi"})
    carry_out = form.flag("cc")
    ptx = form.type()
    form.done()
    _multiply(ctx, form, part, ptx, Pred(ctx.frame.carry_flag()), carry_out, False)


def _multiply(
    ctx: Context, form: Form, part: str, ptx: PtxType, carry: Pred | None, carry_out: bool, saturate: bool
) -> None:
    """Every integer product, with what is to be added."""
    addend = form.opcode != "mul"
    if ptx.is_float or ptx.bits not in (16, 32, 64):
        form.refuse(f"integer products are those of 16, 32 and 64 bits such as .s32, not of .{ptx.name}")
    if saturate and (not addend or part != "hi" or ptx.name != "s32" or carry_out):
        form.refuse("of integer products only mad.hi.sat.s32 saturates: clamp others with min and max")
    if carry_out or carry is not None:
        if not addend or part == "wide":
            form.refuse("carries are those of mad.lo and mad.hi: add a wide product with add.cc")
        _check_carry(form, ptx)
    form.arity(4 if addend else 3)
    a_op, b_op = form.operands[1:3]
    if ptx.bits == 64:
        if part == "wide":
            form.refuse("a 128-bit product is not supported: take .lo and .hi")
        wide.multiply(ctx, form, part, ptx, carry, carry_out)
        return
    if ptx.bits == 16:
        _multiply_half(ctx, form, part, ptx, addend)
        return
    a, b = ctx.value(a_op, ptx), ctx.value(b_op, ptx)
    dtype = ptx.compute
    if part == "wide":
        result = TYPES[f"{ptx.kind}64"]
        if addend:
            ctx.emit(
                Op.IMADW, ctx.dst(form.operands[0], 2), a, b, ctx.value(form.operands[3], result), dtype=dtype
            )
        else:
            ctx.emit(Op.IMULW, ctx.dst(form.operands[0], 2), a, b, dtype=dtype)
        return
    dst = ctx.dst(form.operands[0], 1)
    single, fused = (Op.IMUL, Op.IMAD) if part == "lo" else (Op.IMULHI, Op.IMADHI)
    if not addend:
        ctx.emit(single, dst, a, b, dtype=dtype)
        return
    c = ctx.value(form.operands[3], ptx)
    if carry is None and not carry_out and not saturate:
        ctx.emit(fused, dst, a, b, c, dtype=dtype)
        return
    product = ctx.temp()
    ctx.emit(single, product, a, b, dtype=dtype)
    if saturate:
        saturating_add(ctx, dst, product, c, False)
    else:
        add_words(ctx, dst, product, c, ptx, False, carry, carry_out)


def _multiply_half(ctx: Context, form: Form, part: str, ptx: PtxType, addend: bool) -> None:
    """16-bit products: exact in 32 bits, so .wide and .hi take theirs from there."""
    if part == "lo":
        a, b = ctx.value(form.operands[1], ptx), ctx.value(form.operands[2], ptx)
    else:
        a, b = ctx.extended(form.operands[1], ptx), ctx.extended(form.operands[2], ptx)
    dst = ctx.dst(form.operands[0], 1, bits=32 if part == "wide" else None)
    if part == "hi":
        product = ctx.temp()
        ctx.emit(Op.IMUL, product, a, b)
        ctx.emit(Op.SHR, product if addend else dst, product, Imm(16), dtype=ptx.compute)
        if addend:
            ctx.emit(Op.IADD, dst, product, ctx.value(form.operands[3], ptx))
    elif addend:
        c = ctx.value(form.operands[3], TYPES[f"{ptx.kind}32"] if part == "wide" else ptx)
        ctx.emit(Op.IMAD, dst, a, b, c, dtype=ptx.compute)
    else:
        ctx.emit(Op.IMUL, dst, a, b, dtype=ptx.compute)


@lowers("mul24", "mad24")
def multiply_24(ctx: Context, form: Form) -> None:
    """mul24, mad24: the low 24 bits of each factor; .hi takes bits 16 to 47 of the product."""
    part = form.choice({"lo": "lo", "hi": "hi"})
    saturate = form.flag("sat")
    ptx = form.type(32)
    form.arity(3 if form.opcode == "mul24" else 4)
    form.done()
    if ptx.is_float:
        form.refuse(f"24-bit products are those of .u32 and .s32, not of .{ptx.name}")
    if saturate and (form.opcode, part, ptx.name) != ("mad24", "hi", "s32"):
        form.refuse("of 24-bit products only mad24.hi.sat.s32 saturates: clamp others with min and max")
    factors = []
    for operand in form.operands[1:3]:
        factor = ctx.temp()
        ctx.emit(Op.BFE, factor, ctx.value(operand, ptx), Imm(0), Imm(24), dtype=ptx.compute)
        factors.append(factor)
    dst = ctx.dst(form.operands[0], 1)
    target = dst if form.opcode == "mul24" else ctx.temp()
    if part == "lo":
        ctx.emit(Op.IMUL, target, *factors, dtype=ptx.compute)
    else:
        product = ctx.temp(2)
        ctx.emit(Op.IMULW, product, *factors, dtype=ptx.compute)
        ctx.emit(Op.SHF, target, product.word(0), product.word(1), Imm(16), aux=2)
    if target is not dst:
        c = ctx.value(form.operands[3], ptx)
        if saturate:
            saturating_add(ctx, dst, target, c, False)
        else:
            ctx.emit(Op.IADD, dst, target, c)


@lowers("div", "rem")
def divide(ctx: Context, form: Form) -> None:
    """div: integer division is a macro op; float division goes to `floating`."""
    kinds = [TYPES[m] for m in form.left if m in TYPES]
    if kinds and kinds[0].is_float:
        if form.opcode == "rem":
            form.refuse("rem is one of integers: of floats compute a - b * trunc(a / b), with cvt.rzi")
        floating.divide(ctx, form)
        return
    ptx = form.type()
    form.arity(3)
    form.done()
    a, b = ctx.extended(form.operands[1], ptx), ctx.extended(form.operands[2], ptx)
    ctx.emit(
        Op.IDIV if form.opcode == "div" else Op.IREM,
        ctx.dst(form.operands[0], ptx.words),
        a,
        b,
        dtype=ptx.compute,
    )


@lowers("min", "max")
def extremum(ctx: Context, form: Form) -> None:
    """min, max of integers (.relu clamps at zero) and of floats."""
    kinds = [TYPES[m] for m in form.left if m in TYPES] + [
        TYPES["u16"] for m in form.left if m in ("u16x2", "s16x2")
    ]
    if not kinds:
        form.refuse("an operand type such as .s32 is needed")
    op = Op.IMIN if form.opcode == "min" else Op.IMAX
    if kinds[0].is_float:
        floating.extremum(ctx, form)
        return
    relu, packed = form.flag("relu"), form.maybe(_PAIRS)
    if relu and not (packed.signed if packed is not None else kinds[0].name == "s32"):
        form.refuse("of integers only .s32 and .s16x2 take .relu: take the maximum with 0 behind it")
    if packed is not None:
        _packed(ctx, form, op, packed, relu)
        return
    ptx = form.type()
    form.arity(3)
    form.done()
    if ptx.bits == 64:
        wide.extremum(ctx, form, ptx)
        return
    dst = ctx.dst(form.operands[0], 1)
    target = ctx.temp() if relu else dst
    ctx.emit(
        op,
        target,
        ctx.extended(form.operands[1], ptx),
        ctx.extended(form.operands[2], ptx),
        dtype=ptx.compute,
    )
    if relu:
        ctx.emit(Op.IMAX, dst, target, Imm(0), dtype=DType.S32)


def _packed(ctx: Context, form: Form, op: Op, ptx: PtxType, relu: bool) -> None:
    """min.s16x2, add.u16x2 and the like: both halves by themselves."""
    form.arity(3)
    form.done()
    halves = []
    a, b = (ctx.value(o, TYPES["b32"]) for o in form.operands[1:3])
    for shift in (0, 16):
        parts = []
        for source in (a, b):
            part = ctx.temp()
            ctx.emit(Op.BFE, part, source, Imm(shift), Imm(16), dtype=ptx.compute)
            parts.append(part)
        ctx.emit(op, parts[0], *parts, dtype=ptx.compute)
        if relu:
            ctx.emit(Op.IMAX, parts[0], parts[0], Imm(0), dtype=DType.S32)
        halves.append(parts[0])
    ctx.emit(Op.PRMT, ctx.dst(form.operands[0], 1), *halves, Imm(0x5410))


@lowers("neg", "abs")
def sign(ctx: Context, form: Form) -> None:
    """neg and abs of integers and floats."""
    kinds = [TYPES[m] for m in form.left if m in TYPES]
    if kinds and kinds[0].is_float:
        floating.sign(ctx, form)
        return
    ptx = form.type()
    form.arity(2)
    form.done()
    if form.opcode == "abs" and not ptx.signed:
        form.refuse(f"abs is one of signed numbers such as .s32, not of .{ptx.name}")
    if ptx.bits == 64:
        wide.sign(ctx, form, ptx)
    elif form.opcode == "neg":
        ctx.emit(Op.ISUB, ctx.dst(form.operands[0], 1), Imm(0), ctx.value(form.operands[1], ptx))
    else:
        source = ctx.extended(form.operands[1], ptx)
        ctx.emit(Op.IABS, ctx.dst(form.operands[0], 1), source, dtype=DType.S32)


@lowers("sad")
def absolute_difference(ctx: Context, form: Form) -> None:
    """sad: |a - b| + c."""
    ptx = form.type()
    form.arity(4)
    form.done()
    if ptx.bits == 64:
        wide.absolute_difference(ctx, form, ptx)
        return
    a, b = ctx.extended(form.operands[1], ptx), ctx.extended(form.operands[2], ptx)
    ctx.emit(Op.SAD, ctx.dst(form.operands[0], 1), a, b, ctx.value(form.operands[3], ptx), dtype=ptx.compute)


@lowers("dp4a")
def dot_product_4(ctx: Context, form: Form) -> None:
    """dp4a: four byte products."""
    a_type, b_type = form.type(32), form.type(32)
    form.arity(4)
    form.done()
    signed = a_type.signed or b_type.signed
    sources = [ctx.value(o, TYPES["b32"]) for o in form.operands[1:]]
    ctx.emit(
        Op.DP4A,
        ctx.dst(form.operands[0], 1),
        *sources,
        dtype=DType.S32 if signed else DType.U32,
        aux=int(a_type.signed) | int(b_type.signed) << 1,
    )


@lowers("dp2a")
def dot_product_2(ctx: Context, form: Form) -> None:
    """dp2a: two products of a half word and a byte; .lo takes b's low two bytes."""
    start = form.choice({"lo": 0, "hi": 16})
    a_type, b_type = form.type(32), form.type(32)
    form.arity(4)
    form.done()
    a, b, total = (ctx.value(o, TYPES["b32"]) for o in form.operands[1:])
    for i in (0, 1):
        left, right = ctx.temp(), ctx.temp()
        ctx.emit(Op.BFE, left, a, Imm(16 * i), Imm(16), dtype=a_type.compute)
        ctx.emit(Op.BFE, right, b, Imm(start + 8 * i), Imm(8), dtype=b_type.compute)
        result = ctx.dst(form.operands[0], 1) if i else ctx.temp()
        ctx.emit(Op.IMAD, result, left, right, total, dtype=DType.S32)
        total = result
