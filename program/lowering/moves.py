"""Lowering of mov in all its forms: registers, constants, special registers, addresses, packing and
unpacking."""

from __future__ import annotations

from warpbank.program.isa import Imm, Op, Reg, Source
from warpbank.program.lowering.context import Context, word
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import TYPES, PtxType
from warpbank.program.ptx.ast import Operand, Register, Vector

#: Selectors of the permutations that make a word of two values, and of two such pairs, by the values' width.
_PAIRS = {8: (0x5540, 0x5410), 16: (0x5410,)}


@lowers("mov")
def move(ctx: Context, form: Form) -> None:
    """mov: a copy of a scalar or of a vector, packing and unpacking."""
    count = form.maybe({"v2": 2, "v4": 4})
    ptx = form.type()
    form.arity(2)
    form.done()
    target, source = form.operands
    if count is not None:
        _copy_vector(ctx, form, count, ptx)
    elif ptx.kind == "pred":
        ctx.emit(Op.PLOP, pdst=(ctx.pdst(target),), psrc=(ctx.pred(source),), aux=0xF0)
    elif isinstance(target, Vector):
        unpack(ctx, form, target, ctx.value(source, ptx), ptx)
    elif isinstance(source, Vector):
        pack(ctx, form, ctx.dst(target, ptx.words), source, ptx)
    else:
        ctx.move(ctx.dst(target, ptx.words), ctx.value(source, ptx))


def _copy_vector(ctx: Context, form: Form, count: int, ptx: PtxType) -> None:
    """mov.v2.b32 {a, b}, {c, d} and the like: element by element."""
    if ptx.kind == "pred" or count * ptx.bits > 128:
        form.refuse(f"{count} elements of .{ptx.name} make no vector: take a mov for each")
    target, source = (_elements(form, operand, count) for operand in form.operands)
    for to, value in zip(target, source, strict=True):
        ctx.move(ctx.dst(to, ptx.words), ctx.value(value, ptx))


def _elements(form: Form, operand: Operand | None, count: int) -> tuple[Operand | None, ...]:
    """The elements of a vector, which has so many."""
    if not isinstance(operand, Vector) or len(operand.elements) != count:
        form.refuse(f"it copies a vector of {count} elements: write {count} in braces on either side")
    return operand.elements


def _element(ctx: Context, form: Form, vector: Vector, ptx: PtxType) -> PtxType:
    """The type of one element of a packed value, which has untyped bits. Registers are exactly as wide."""
    if ptx.kind != "b":
        form.refuse(f"what packs and unpacks has bits, not a .{ptx.name}: take mov.b{ptx.bits}")
    count = len(vector.elements)
    part = TYPES.get(f"b{ptx.bits / count:g}")
    if part is None:
        form.refuse(f"{count} elements do not make a .{ptx.name}")
    for element in vector.elements:
        if isinstance(element, Register) and ctx.register_type(element).bits != part.bits:
            form.refuse(
                f"{element.name} is a .{ctx.register_type(element).name}: {count} elements that make a "
                f".{ptx.name} have {part.bits} bits each"
            )
    return part


def unpack(ctx: Context, form: Form, vector: Vector, source: Source, ptx: PtxType) -> None:
    """mov.b32 {lo, hi}, a and the like: words by MOV, parts of words by shifts."""
    part = _element(ctx, form, vector, ptx)
    for i, element in enumerate(vector.elements):
        if element is None:
            continue
        first, bit = divmod(i * part.bits, 32)
        dst = ctx.dst(element, part.words, bits=part.bits)
        if bit:
            ctx.emit(Op.SHR, dst, word(source, first), Imm(bit))
        else:
            for w in range(part.words):
                ctx.emit(Op.MOV, dst.word(w), word(source, first + w))


def pack(ctx: Context, form: Form, dst: Reg, vector: Vector, ptx: PtxType) -> None:
    """mov.b32 a, {lo, hi} and the like: words by MOV, parts of words by PRMT."""
    part = _element(ctx, form, vector, ptx)
    if None in vector.elements:
        form.refuse("_ takes a result that nobody needs; it has no value to pack")
    values = [ctx.value(element, part) for element in vector.elements]
    words = pack_words(ctx, [word(v, w) for v in values for w in range(part.words)], part.bits)
    for i, source in enumerate(words):
        ctx.emit(Op.MOV, dst.word(i), source)


def pack_words(ctx: Context, values: list[Source], bits: int) -> list[Source]:
    """Values of so many bits gathered into words, the first lowest; unused bytes are unspecified. Those of 32
    bits and more are words already."""
    for selector in _PAIRS.get(bits, ()):
        if len(values) > 1:
            halves, values = values, []
            for low, high in zip(halves[::2], halves[1::2], strict=True):
                made = ctx.temp()
                ctx.emit(Op.PRMT, made, low, high, Imm(selector))
                values.append(made)
    return values
