"""Lowering of mov in all its forms: registers, constants, special registers, addresses, packing and
unpacking."""

from __future__ import annotations

from warpbank.program.isa import Imm, Op, Reg, Source
from warpbank.program.lowering.context import Context, word
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import TYPES, PtxType
from warpbank.program.ptx.ast import Vector


@lowers("mov")
def move(ctx: Context, form: Form) -> None:
    """mov: a copy."""
    width = form.maybe({"v2": 2, "v4": 4})
    ptx = form.type()
    form.arity(2)
    form.done()
    target, source = form.operands
    if ptx.kind == "pred":
        ctx.emit(Op.PLOP, pdst=(ctx.pdst(target),), psrc=(ctx.pred(source),), aux=0xF0)
        return
    if not width and ptx.kind != "b" and any(isinstance(o, Vector) for o in form.operands):
        form.refuse(f"what packs and unpacks has bits, not a .{ptx.name}: take mov.b{ptx.bits}")
    if width and isinstance(target, Vector) and isinstance(source, Vector):
        for to, value in zip(target.elements, source.elements, strict=True):
            ctx.move(ctx.dst(to, ptx.words), ctx.value(value, ptx))
    elif isinstance(target, Vector):
        unpack(ctx, form, target, ctx.value(source, ptx), ptx)
    elif isinstance(source, Vector):
        pack(ctx, form, ctx.dst(target, ptx.words), source, ptx)
    else:
        ctx.move(ctx.dst(target, ptx.words), ctx.value(source, ptx))


def _element(form: Form, vector: Vector, ptx: PtxType) -> PtxType:
    """The type of one element of a packed value."""
    bits, rest = divmod(ptx.bits, len(vector.elements))
    if rest or f"b{bits}" not in TYPES:
        form.refuse(f"{len(vector.elements)} elements do not make a .{ptx.name}")
    return TYPES[f"b{bits}"]


def unpack(ctx: Context, form: Form, vector: Vector, source: Source, ptx: PtxType) -> None:
    """mov.b32 {lo, hi}, a and the like: words by MOV, parts of words by shifts."""
    part = _element(form, vector, ptx)
    for i, element in enumerate(vector.elements):
        if element is None:
            continue
        position = i * part.bits
        dst = ctx.dst(element, part.words, bits=part.bits)
        if part.bits >= 32:
            for w in range(part.words):
                ctx.emit(Op.MOV, dst.word(w), word(source, position // 32 + w))
        elif position % 32 == 0:
            ctx.emit(Op.MOV, dst, word(source, position // 32))
        else:
            ctx.emit(Op.SHR, dst, word(source, position // 32), Imm(position % 32))


def pack(ctx: Context, form: Form, dst: Reg, vector: Vector, ptx: PtxType) -> None:
    """mov.b32 a, {lo, hi} and the like: words by MOV, parts of words by PRMT."""
    part = _element(form, vector, ptx)
    values = [ctx.value(e, part) if e is not None else Imm(0, part.words) for e in vector.elements]
    words: list[Source] = []
    if part.bits >= 32:
        words = [word(v, w) for v in values for w in range(part.words)]
    elif (part.bits == 16 and len(values) == 1) or ptx.bits == 8:
        words = values
    else:
        words = pack_words(ctx, values, part.bits)
    for i in range(dst.width):
        ctx.emit(Op.MOV, dst.word(i), words[i] if i < len(words) else Imm(0))


def pack_words(ctx: Context, values: list[Source], bits: int) -> list[Source]:
    """Sub-word values gathered into words, the first lowest; unused bytes are unspecified."""
    halves: list[Source] = values
    if bits == 8:
        halves = []
        for i in range(0, len(values), 2):
            made = ctx.temp()
            upper = values[i + 1] if i + 1 < len(values) else Imm(0)
            ctx.emit(Op.PRMT, made, values[i], upper, Imm(0x5540))
            halves.append(made)
    words: list[Source] = []
    for i in range(0, len(halves), 2):
        if i + 1 == len(halves):
            words.append(halves[i])
        else:
            made = ctx.temp()
            ctx.emit(Op.PRMT, made, halves[i], halves[i + 1], Imm(0x5410))
            words.append(made)
    return words
