"""Lowering of loads and stores of every space, width and vector, and of parameters."""

from __future__ import annotations

from dataclasses import dataclass

from warpbank.program.isa import Const, DType, Imm, Op, Reg, Source, Space
from warpbank.program.lowering.context import MASK32, Context, word
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.frame import Buffer
from warpbank.program.lowering.groups import whole
from warpbank.program.lowering.moves import pack_words
from warpbank.program.lowering.ordering import take_order, take_policy
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import TYPES, PtxType
from warpbank.program.ptx.ast import Address, Immediate, Operand, Register, Symbol, Vector

_SPACES = {
    "global": Space.GLOBAL,
    "shared": Space.SHARED,
    "local": Space.LOCAL,
    "const": Space.CONST,
    "param": Space.CONST,
}
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}


@dataclass(frozen=True, slots=True)
class Place:
    """A memory operand: space, base and constant offset; or a parameter buffer in registers.

    Parameters
    ----------
    space, base, offset : as LD and ST take them.
    buffer : set if the operand is a .param variable that lives in registers; offset is then the byte in it.
    """

    space: Space
    base: Source
    offset: int
    buffer: Buffer | None = None


def take_space(form: Form) -> str:
    """Consumes the state space; "" is generic."""
    for i, name in enumerate(form.left):
        base = name.partition("::")[0]
        if base in _SPACES:
            del form.left[i]
            return base
    return ""


def place(ctx: Context, operand: Operand | None, space_name: str) -> Place:
    """Resolves an address operand."""
    form = ctx.form
    if not isinstance(operand, Address):
        form.refuse("an address in brackets is expected")
    base = operand.base
    if isinstance(base, Symbol):
        return _symbol_place(ctx, base, base.offset, space_name)
    if space_name == "param":
        space_name = "const" if ctx.frame.caller is None else "local"
    space = _SPACES.get(space_name, Space.GENERIC)
    wide = space in (Space.GLOBAL, Space.GENERIC)
    if isinstance(base, Immediate):
        if wide:
            return Place(space, Imm(base.value & (1 << 64) - 1, 2), 0)
        return Place(space, Imm(0), base.value & MASK32)
    declared = ctx.register_type(base)
    bits = declared.bits
    if declared.is_float:
        form.refuse(f"its address {base.name} is a .{declared.name}: take an integer register or a .b64")
    source = ctx.value(base, TYPES["b64" if bits == 64 else "b32"])
    if wide and bits != 64:
        source = ctx.pair(source, Imm(0))
    # Only the low word of an address in a 32-bit space matters.
    return Place(space, source if wide else word(source, 0), operand.offset)


def _symbol_place(ctx: Context, symbol: Symbol, offset: int, space_name: str) -> Place:
    """A variable by name; generic access to one goes straight to its space."""
    frame, name = ctx.frame, symbol.name
    if name in frame.locals:
        return Place(Space.LOCAL, Imm(0), frame.locals[name] + offset)
    kernel_parameter = frame.caller is None and any(p.name == name for p in frame.function.parameters)
    buffer = None if kernel_parameter else frame.buffer(name)
    if buffer is not None:
        if buffer.local is not None:
            return Place(Space.LOCAL, Imm(0), buffer.local + offset)
        return Place(Space.LOCAL, Imm(0), offset, buffer)
    found = ctx.layout.find(frame.function, name)
    if found is not None:
        return Place(_SPACES[found[0]], Imm(0), found[1] + offset)
    if name in ctx.layout.module.functions:
        ctx.form.refuse(
            f"{name!r} is a function, which is no memory: only call it, or take its address with mov"
        )
    base = ctx.address_of(Symbol(name), 2)
    if space_name not in ("", "global"):
        ctx.form.refuse(f"{name!r} is a .global variable, not a .{space_name} one")
    return Place(Space.GLOBAL, base, offset)


def _elements(ctx: Context, operand: Operand | None, count: int) -> tuple[Operand | None, ...]:
    """Elements of a load or store: its one operand, or those of a vector of equally wide registers."""
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    if len(elements) != count:
        ctx.form.refuse(f"it has {len(elements)} operands for {count} elements")
    widths = {ctx.register_type(e).bits for e in elements if isinstance(e, Register)}
    if len(widths) > 1:
        ctx.form.refuse("its vector has registers of different widths: take equal ones")
    return elements


@lowers("ld", "ldu")
def load(ctx: Context, form: Form) -> None:
    """ld: of constant-bank words a move, of anything else LD."""
    space = take_space(form)
    if form.opcode == "ldu" and space not in ("", "global"):
        form.refuse(f"ldu loads from .global, not from .{space}: take ld")
    take_policy(ctx, form, space, 2)
    order = take_order(form, space)
    count = form.maybe(_VECTORS) or 1
    ptx = form.type()
    form.done()
    target = form.operands[0]
    elements = _elements(ctx, target, count)
    where = place(ctx, form.operands[1], space)
    if where.buffer is not None:
        _load_buffer(ctx, form, where.buffer, where.offset, elements, ptx)
    elif where.space == Space.CONST and where.base == Imm(0):
        _load_constant(ctx, where.offset, elements, ptx)
    else:
        _load_memory(ctx, where, elements, ptx, order.volatile)
    if order.acquire:
        ctx.emit(Op.MEMBAR, volatile=True)


def _finish(ctx: Context, dst: Reg, ptx: PtxType) -> None:
    """Extends into the high word of a destination that is wider than the type."""
    if dst.width > ptx.words and ptx.words == 1:
        if ptx.signed:
            ctx.emit(Op.SHR, dst.word(1), dst.word(0), Imm(31), dtype=DType.S32)
        else:
            ctx.emit(Op.MOV, dst.word(1), Imm(0))


def _load_constant(ctx: Context, offset: int, elements: tuple[Operand | None, ...], ptx: PtxType) -> None:
    """Parameters and .const variables at known places are operands of the instruction that needs them."""
    _check_aligned(ctx, "loads", offset, len(elements) * ptx.bits // 8)
    for i, element in enumerate(elements):
        if element is None:
            continue
        at = offset + i * ptx.bits // 8
        dst = ctx.dst(element, ptx.words, wider=True)
        _load_word_parts(ctx, dst, [Const(at - at % 4 + 4 * w) for w in range(ptx.words)], at % 4, ptx)


def _load_word_parts(ctx: Context, dst: Reg, words: list[Source], byte: int, ptx: PtxType) -> None:
    """A value that begins at a byte of the first of some words, into dst."""
    if ptx.bits < 32:
        ctx.emit(Op.BFE, dst.word(0), words[0], Imm(8 * byte), Imm(ptx.bits), dtype=ptx.compute)
    else:
        for w in range(ptx.words):
            ctx.emit(Op.MOV, dst.word(w), words[w])
    _finish(ctx, dst, ptx)


def _check_aligned(ctx: Context, what: str, at: int, size: int) -> None:
    """Refuses an access at a known place that no machine makes: all elements of a vector count as one."""
    if at % size:
        ctx.form.refuse(
            f"it {what} {size} bytes at an address that is not a multiple of {size}: every access must be "
            "aligned to its size, so take smaller ones"
        )


def _load_buffer(
    ctx: Context, form: Form, buffer: Buffer, offset: int, elements: tuple[Operand | None, ...], ptx: PtxType
) -> None:
    """Parameters of an inlined call are registers."""
    _check_aligned(ctx, "loads", offset, len(elements) * ptx.bits // 8)
    for i, element in enumerate(elements):
        at = offset + i * ptx.bits // 8
        if at < 0 or at + ptx.bits // 8 > buffer.size:
            form.refuse(
                f"it reads bytes {at} to {at + ptx.bits // 8 - 1} of a parameter of {buffer.size} bytes"
            )
        if element is not None:
            words: list[Source] = list(buffer.words[at // 4 : at // 4 + ptx.words])
            _load_word_parts(ctx, ctx.dst(element, ptx.words, wider=True), words, at % 4, ptx)


def _chunks(
    elements: tuple[Operand | None, ...], ptx: PtxType
) -> list[tuple[int, tuple[Operand | None, ...]]]:
    """Vectors in pieces of at most 16 bytes, with their offsets."""
    per = max(1, 128 // ptx.bits)
    return [(i * ptx.bits // 8, elements[i : i + per]) for i in range(0, len(elements), per)]


def _load_memory(
    ctx: Context, where: Place, elements: tuple[Operand | None, ...], ptx: PtxType, volatile: bool
) -> None:
    for at, part in _chunks(elements, ptx):
        size = len(part) * ptx.bits // 8
        fields = {"space": where.space, "offset": where.offset + at, "size": size, "volatile": volatile}
        if len(part) == 1:
            dst = ctx.dst(part[0], ptx.words, wider=True)
            extension = (
                (DType.S8 if ptx.signed else DType.U8)
                if ptx.bits == 8
                else (DType.S16 if ptx.signed else DType.U16)
            )
            ctx.emit(
                Op.LD,
                Reg(dst.index, ptx.words),
                where.base,
                dtype=extension if ptx.bits < 32 else ptx.compute,
                **fields,
            )
            _finish(ctx, dst, ptx)
            continue
        targets = None
        if ptx.bits >= 32 and None not in part:
            targets = [ctx.dst(e, ptx.words, wider=True) for e in part]
        group = whole(ctx.kernel, targets) if targets and targets[0].width == ptx.words else None
        if group is not None:
            ctx.emit(Op.LD, group, where.base, dtype=DType.U32, **fields)
            continue
        words = max(1, size // 4)
        loaded = ctx.temp(words)
        ctx.emit(Op.LD, loaded, where.base, dtype=DType.U16 if size == 2 else DType.U32, **fields)
        for i, element in enumerate(part):
            if element is not None:
                dst = targets[i] if targets else ctx.dst(element, ptx.words, wider=True)
                first = i * ptx.bits // 32
                _load_word_parts(
                    ctx, dst, [loaded.word(first + w) for w in range(ptx.words)], i * ptx.bits // 8 % 4, ptx
                )


@lowers("st")
def store(ctx: Context, form: Form) -> None:
    """st: to a parameter buffer in registers moves, to anything else ST."""
    space = take_space(form)
    take_policy(ctx, form, space, 2)
    order = take_order(form, space)
    count = form.maybe(_VECTORS) or 1
    ptx = form.type()
    form.done()
    source = form.operands[1]
    elements = _elements(ctx, source, count)
    where = place(ctx, form.operands[0], space)
    if where.space == Space.CONST:
        form.refuse("constant memory and kernel parameters cannot be written")
    if None in elements:
        form.refuse("_ takes a result that nobody needs; it has no value to store")
    values = [ctx.value(element, ptx) for element in elements]
    if order.release:
        ctx.emit(Op.MEMBAR, volatile=True)
    if where.buffer is not None:
        store_buffer(ctx, where.buffer, where.offset, values, ptx)
    else:
        _store_memory(ctx, where, values, ptx, order.volatile)


def store_buffer(ctx: Context, buffer: Buffer, offset: int, values: list[Source], ptx: PtxType) -> None:
    """Values into the registers of a parameter buffer."""
    _check_aligned(ctx, "stores", offset, len(values) * ptx.bits // 8)
    for i, value in enumerate(values):
        at = offset + i * ptx.bits // 8
        if at < 0 or at + ptx.bits // 8 > buffer.size:
            ctx.form.refuse(
                f"it writes bytes {at} to {at + ptx.bits // 8 - 1} of a parameter of {buffer.size} bytes"
            )
        if ptx.bits < 32 and buffer.size > ptx.bits // 8:
            target = buffer.words[at // 4]
            ctx.emit(Op.BFI, target, value, target, Imm(8 * (at % 4)), Imm(ptx.bits))
        else:
            for w in range(ptx.words):
                ctx.emit(Op.MOV, buffer.words[at // 4 + w], word(value, w))


def _store_memory(ctx: Context, where: Place, values: list[Source], ptx: PtxType, volatile: bool) -> None:
    per = max(1, 128 // ptx.bits)
    for start in range(0, len(values), per):
        part = values[start : start + per]
        size = len(part) * ptx.bits // 8
        data = part[0] if len(part) == 1 else _vector(ctx, part, ptx)
        ctx.emit(
            Op.ST,
            None,
            where.base,
            data,
            space=where.space,
            offset=where.offset + start * ptx.bits // 8,
            size=size,
            volatile=volatile,
            dtype=DType.U32,
        )


def _vector(ctx: Context, values: list[Source], ptx: PtxType) -> Source:
    """Several values as one group of registers."""
    registers = [v for v in values if isinstance(v, Reg)]
    if ptx.bits >= 32 and len(registers) == len(values):
        group = whole(ctx.kernel, registers)
        if group is not None:
            return group
    words = pack_words(ctx, [word(v, w) for v in values for w in range(ptx.words)], ptx.bits)
    if len(words) == 1:
        return words[0]
    made = ctx.temp(len(words))
    for i, source in enumerate(words):
        ctx.emit(Op.MOV, made.word(i), source)
    return made
