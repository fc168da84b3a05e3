"""Lowering of textures on linear memory: tex becomes address arithmetic and one load of a whole texel from
global memory."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.program.contents import type_name
from warpbank.program.isa import Cmp, Const, DType, Imm, Op, Pred, Rnd, Source, Space
from warpbank.program.launch import Border, Texture
from warpbank.program.lowering.calls import branch_around
from warpbank.program.lowering.context import MASK32, Context, unbound, word
from warpbank.program.lowering.driver import names_in
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import B64, PtxType, float_bits
from warpbank.program.ptx.ast import Address, Call, Function, Immediate, Operand, Register, Symbol, Vector

_GEOMETRIES = {"1d": 1, "2d": 2}
#: Kinds of textures that do not lie in linear memory, and levels of detail.
_REFUSED = {
    **dict.fromkeys(("3d", "cube", "acube", "a1d", "a2d"), "lay the slices out as rows of a 2D texture"),
    **dict.fromkeys(("2dms", "a2dms"), "lay the samples out as rows of a 2D texture"),
    **dict.fromkeys(("level", "grad"), "bind each level of detail as a texture of its own"),
}


@lowers("tex")
def sample(ctx: Context, form: Form) -> None:
    """tex: four elements of one texel, by point sampling."""
    form.flag("base")
    for modifier in form.left:
        if modifier in _REFUSED:
            form.refuse(f"textures with .{modifier} are not supported: {_REFUSED[modifier]}")
    dimensions = form.choice(_GEOMETRIES)
    if not form.flag("v4"):
        form.refuse("a texture gives four elements of 32 bits: take .v4.f32, .v4.s32 or .v4.u32")
    result, kind = form.type(), form.type()
    form.done()
    if result.name not in ("f32", "s32", "u32") or kind.name not in ("f32", "s32"):
        form.refuse(
            f".{result.name}.{kind.name} is not supported: results are .f32, .s32 or .u32, coordinates .f32 "
            "or .s32"
        )
    if len(form.operands) != 3:
        form.refuse(
            "samplers, offsets and depth comparisons of their own are not supported: a texture has its "
            "addressing mode from the launch description; add an offset to the coordinates"
        )
    target, base, at = form.operands
    if not isinstance(target, Vector) or len(target.elements) != 4:
        form.refuse("four registers in braces are expected as its destination")
    coordinates = at.elements if isinstance(at, Vector) else (at,)
    if len(coordinates) < dimensions:
        form.refuse(f"a {dimensions}D texture takes {dimensions} coordinates, not {len(coordinates)}")
    values = [ctx.value(operand, kind) for operand in coordinates[:dimensions]]
    targets = [None if e is None else ctx.dst(e, 1) for e in target.elements]
    behind = branch_around(ctx)
    bound = ctx.layout.textures.textures

    def read(name: str, texture: Texture) -> None:
        indices = [_index(ctx, value, kind, texture, axis) for axis, value in enumerate(values)]
        elements = _fetch(ctx, texture, ctx.layout.texture_slot(name, ctx.line), indices)
        for i, to in enumerate(targets):
            if to is not None:
                ctx.emit(Op.MOV, to, _converted(ctx, elements[i], texture) if i < len(elements) else Imm(0))

    _with_each(ctx, form, base, read, lambda name: _misfit(bound[name], dimensions, result, kind))
    if behind is not None:
        ctx.start_block(behind)


@lowers("txq")
def query(ctx: Context, form: Form) -> None:
    """txq: width or height of a texture, a constant of the code."""
    name = form.maybe({"width": "width", "height": "height"})
    if name is None:
        form.refuse("only .width and .height of a texture can be asked for: pass the rest as a parameter")
    form.demand("b32")
    form.arity(2)
    form.done()
    target = ctx.dst(form.operands[0], 1)
    behind = branch_around(ctx)
    _with_each(
        ctx,
        form,
        form.operands[1],
        lambda _, texture: ctx.emit(
            Op.MOV, target, Imm(texture.width if name == "width" else texture.height)
        ),
    )
    if behind is not None:
        ctx.start_block(behind)


def _with_each(
    ctx: Context,
    form: Form,
    operand: Operand | None,
    read: Callable[[str, Texture], None],
    misfit: Callable[[str], str] = lambda _: "",
) -> None:
    """Code for each texture that an operand may mean and that fits, chosen by its handle; another handle is a
    trap."""
    bound = ctx.layout.textures
    names, handle = _candidates(ctx, form, operand)
    fitting = [name for name in names if not misfit(name)]
    if not fitting:
        form.refuse(f"texture {names[0]!r} {misfit(names[0])}")
    if handle is None:
        read(names[0], bound.textures[names[0]])
        return
    behind = ctx.fresh_label("texture")
    for name in fitting:
        other = ctx.temp_predicate()
        following = ctx.fresh_label("other")
        known = Imm(bound.handle(name) & MASK32)
        ctx.emit(Op.ISETP, None, word(handle, 0), known, pdst=(other,), cmp=Cmp.NE, dtype=DType.U32)
        ctx.branch(following, Pred(other))
        read(name, bound.textures[name])
        ctx.branch(behind)
        ctx.start_block(following)
    ctx.emit(Op.TRAP, volatile=True)
    ctx.start_block(behind)


def _candidates(ctx: Context, form: Form, operand: Operand | None) -> tuple[tuple[str, ...], Source | None]:
    """The textures that an operand may mean, and the handle that decides; None where one is certain."""
    bound = ctx.layout.textures
    wanted = "a texture in brackets is expected: a .texref variable, or a register with its handle"
    if not isinstance(operand, Address) or operand.offset or isinstance(operand.base, Immediate):
        form.refuse(wanted)
    base = operand.base
    if isinstance(base, Symbol) and base.offset:
        form.refuse(wanted)
    if isinstance(base, Symbol) and base.name in ctx.layout.module.variables:
        variable = ctx.layout.module.variables[base.name]
        if variable.type != "texref":
            form.refuse(f"{base.name!r} is no texture but a .{variable.space} variable")
        if base.name not in bound.textures:
            form.refuse(unbound(base.name))
        return (base.name,), None
    handle: Source
    if isinstance(base, Register):
        parameter, handle = _parameter(ctx, base.name), ctx.value(base, B64)
    else:
        parameter = _index_of(ctx.frame.function, base.name) if ctx.frame.caller is None else None
        if parameter is None:
            form.refuse(f"{base.name!r} is no texture")
        handle = Const(ctx.kernel.parameters[parameter].offset, 2)
    known = parameter is not None and parameter < len(bound.passed)
    given = bound.passed[parameter] if known and parameter is not None else tuple(bound.textures)
    names = tuple(name for name in given if name)
    if not names:
        form.refuse(
            "no launch passes a texture here: bind a buffer by [textures.NAME] in the launch description and "
            "give NAME as the argument"
        )
    return names, None if known and len(given) == 1 else handle


def _index_of(function: Function, name: str) -> int | None:
    """Place of a parameter in a function's list; None if it has none of that name."""
    return next((i for i, p in enumerate(function.parameters) if p.name == name), None)


def _parameter(ctx: Context, register: str) -> int | None:
    """The kernel's parameter that a register of its body holds for certain, by its number; None if there is
    none."""
    if ctx.frame.caller is not None:
        return None
    function = ctx.frame.function
    for _ in range(8):  # copies of copies
        written = [s for s in function.instructions if s.operands and _may_write(s.operands[0], register)]
        if len(written) != 1 or written[0].guard is not None or len(written[0].operands) != 2:
            return None
        source = written[0].operands[1]
        if written[0].opcode == "mov" and isinstance(source, Register):
            register = source.name
        elif written[0].opcode == "ld" and isinstance(source, Address) and isinstance(source.base, Symbol):
            whole = "param" in written[0].modifiers and not (source.base.offset or source.offset)
            return _index_of(function, source.base.name) if whole else None
        else:
            return None
    return None


def _may_write(target: Operand | None, register: str) -> bool:
    """Whether an instruction with this first operand may write a register."""
    return register in target.returns if isinstance(target, Call) else register in names_in(target)


def _fetch(ctx: Context, texture: Texture, slot: int, indices: list[Source]) -> list[Source]:
    """The elements of a texel as 32-bit values, integers extended. Coordinates beyond a border of zeros load
    nothing."""
    inside = _inside(ctx, texture, indices)
    at: Source = Const(slot, 2)
    if texture.dimensions == 2:
        row = ctx.temp(2)
        ctx.emit(Op.IMADW, row, indices[1], Imm(texture.pitch), at, dtype=DType.U32)
        at = row
    address = ctx.temp(2)
    ctx.emit(Op.IMADW, address, indices[0], Imm(texture.texel_bytes), at, dtype=DType.U32)
    size, bits = texture.texel_bytes, 8 * texture.dtype.itemsize
    signed = texture.dtype.kind == "i"
    texel = ctx.temp(max(1, size // 4))
    if inside is not None:
        for i in range(texel.width):
            ctx.emit(Op.MOV, texel.word(i), Imm(0))
    extension = (DType.U8, DType.U16, DType.U32)[min(size, 4) // 2]
    if signed and texture.channels == 1 and bits < 32:
        extension = DType.S8 if bits == 8 else DType.S16
    ctx.guard = inside
    ctx.emit(Op.LD, texel, address, space=Space.GLOBAL, size=size, dtype=extension)
    ctx.guard = None
    if bits == 32 or texture.channels == 1:
        return [texel.word(i) for i in range(texture.channels)]
    elements: list[Source] = []
    for i in range(texture.channels):
        element = ctx.temp()
        field = (Imm(i * bits % 32), Imm(bits))
        ctx.emit(
            Op.BFE, element, texel.word(i * bits // 32), *field, dtype=DType.S32 if signed else DType.U32
        )
        elements.append(element)
    return elements


def _inside(ctx: Context, texture: Texture, indices: list[Source]) -> Pred | None:
    """Whether the coordinates whose border is zero lie inside; None if none has such a border."""
    found: Pred | None = None
    for index, size, border in zip(indices, (texture.width, texture.height), texture.borders, strict=False):
        if border is Border.ZERO:
            p = ctx.temp_predicate()
            and_before = () if found is None else (found,)
            ctx.emit(
                Op.ISETP, None, index, Imm(size), pdst=(p,), psrc=and_before, cmp=Cmp.LT, dtype=DType.U32
            )
            found = Pred(p)
    return found


def _index(ctx: Context, value: Source, kind: PtxType, texture: Texture, axis: int) -> Source:
    """Number of a column or row of texels; without a border of zeros it is one that the texture has."""
    size, border = (texture.width, texture.height)[axis], texture.borders[axis]
    if kind.is_float:
        if texture.normalized:
            if border is Border.WRAP:
                below, fraction = ctx.temp(), ctx.temp()
                ctx.emit(Op.CVT, below, value, dtype=DType.F32, stype=DType.F32, rnd=Rnd.RM, aux=1)
                ctx.emit(Op.FADD, fraction, value, below, dtype=DType.F32, neg=0b10)
                value = fraction
            scaled = ctx.temp()
            ctx.emit(Op.FMUL, scaled, value, Imm(float_bits(size, 32)), dtype=DType.F32)
            value = scaled
        whole = ctx.temp()
        ctx.emit(Op.CVT, whole, value, dtype=DType.S32, stype=DType.F32, rnd=Rnd.RM)
        value = whole
    if border is Border.ZERO:
        return value
    low, index = ctx.temp(), ctx.temp()
    ctx.emit(Op.IMAX, low, value, Imm(0), dtype=DType.S32)
    ctx.emit(Op.IMIN, index, low, Imm(size - 1), dtype=DType.S32)
    return index


def _converted(ctx: Context, element: Source, texture: Texture) -> Source:
    """An element as tex gives it: halves and fractions as f32."""
    bits = 8 * texture.dtype.itemsize
    signed = texture.dtype.kind == "i"
    if texture.dtype.kind == "f" and bits == 16:
        single = ctx.temp()
        ctx.emit(Op.CVT, single, element, dtype=DType.F32, stype=DType.F16)
        return single
    if not texture.fractions:
        return element
    number, fraction = ctx.temp(), ctx.temp()
    largest = (1 << bits - signed) - 1
    ctx.emit(Op.CVT, number, element, dtype=DType.F32, stype=DType.S32 if signed else DType.U32)
    ctx.emit(Op.FMUL, fraction, number, Imm(float_bits(1 / largest, 32)), dtype=DType.F32)
    if not signed:
        return fraction
    bounded = ctx.temp()
    ctx.emit(Op.FMAX, bounded, fraction, Imm(float_bits(-1.0, 32)), dtype=DType.F32)
    return bounded


def _misfit(texture: Texture, dimensions: int, result: PtxType, kind: PtxType) -> str:
    """Why a tex with these types cannot read a texture; "" if it can."""
    if texture.dimensions != dimensions:
        return f"has {texture.dimensions} dimension{'s' if texture.dimensions > 1 else ''}, not {dimensions}"
    floating = texture.dtype.kind == "f" or texture.fractions
    if texture.dtype.itemsize < 4 and floating != result.is_float:
        holds = type_name(texture.dtype) + (" read as fractions" if texture.fractions else "")
        return f"holds {holds}: it gives {'.f32' if floating else '.s32 or .u32'}, not .{result.name}"
    if texture.normalized and not kind.is_float:
        return f"has normalized coordinates: they are .f32, not .{kind.name}"
    return ""
