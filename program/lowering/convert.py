"""Lowering of cvt between every pair of types, and cvta."""

from __future__ import annotations

from warpbank.program.isa import (
    CONST_WINDOW,
    LOCAL_WINDOW,
    SHARED_WINDOW,
    Cmp,
    DType,
    Imm,
    Op,
    Reg,
    Rnd,
    Source,
)
from warpbank.program.lowering import wide
from warpbank.program.lowering.context import MASK32, Context, word
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.small import SMALL, convert_small, pack_integers
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import F32, TYPES, PtxType
from warpbank.program.ptx.ast import Register

_FLOAT_ROUNDING = {"rn": Rnd.RN, "rz": Rnd.RZ, "rm": Rnd.RM, "rp": Rnd.RP, "rna": Rnd.RNA}
_INTEGER_ROUNDING = {"rni": Rnd.RN, "rzi": Rnd.RZ, "rmi": Rnd.RM, "rpi": Rnd.RP}
_WINDOWS = {
    "shared": SHARED_WINDOW,
    "local": LOCAL_WINDOW,
    "const": CONST_WINDOW,
    "param": CONST_WINDOW,
    "global": 0,
}
#: Bits of the largest finite numbers, for .satfinite.
_LARGEST = {"f16": 0x7BFF, "bf16": 0x7F7F, "f16x2": 0x7BFF7BFF, "bf16x2": 0x7F7F7F7F}
_SMALLER = ("e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2", "e4m3x4", "e5m2x4", "e2m1x4", "s2f6x2")


@lowers("cvt")
def convert(ctx: Context, form: Form) -> None:
    """cvt.dtype.stype: a conversion."""
    if any(m in _SMALLER for m in form.left):
        form.refuse(
            "conversions to floats of less than 8 bits, to scale factors and to four numbers at a time are "
            "not supported: convert pairs to .e4m3x2 or .e5m2x2"
        )
    if any(m in SMALL for m in form.left):
        convert_small(ctx, form)
        return
    if form.flag("pack"):
        pack_integers(ctx, form)
        return
    integral = form.maybe(_INTEGER_ROUNDING)
    rnd = form.maybe(_FLOAT_ROUNDING)
    ftz, sat, relu = form.flag("ftz"), form.flag("sat"), form.flag("relu")
    finite = form.flag("satfinite")
    to, source = form.type(), form.type()
    form.done()
    if source.packed:
        form.refuse(f"a pair of floats is no source: mov.b32 the .{source.name} apart and cvt its halves")
    _check_rounding(form, to, source, integral, rnd)
    _check_limits(form, to, source, rnd, ftz=ftz, sat=sat, limits=relu or finite)
    if to.packed:
        _pack(ctx, form, to, source, rnd or Rnd.RN, relu, finite)
        return
    form.arity(2)
    if not to.is_float and not source.is_float:
        _integer(ctx, form, to, source, sat)
    elif not to.is_float:
        if integral is None:
            form.refuse("a conversion to an integer needs one of .rni .rzi .rmi .rpi")
        _to_integer(ctx, form, to, source, integral, ftz)
    elif not source.is_float:
        a = ctx.extended(form.operands[1], source)
        ctx.emit(
            Op.CVT,
            ctx.converted(form.operands[0], to),
            a,
            dtype=to.dtype,
            stype=source.compute,
            rnd=rnd or Rnd.RN,
            ftz=ftz,
            sat=sat,
        )
    else:
        _limit(ctx, _float(ctx, form, to, source, rnd, integral, ftz, sat), to, relu, finite)


def _check_rounding(form: Form, to: PtxType, source: PtxType, integral: Rnd | None, rnd: Rnd | None) -> None:
    """Refuses a rounding where nothing is rounded, and none where something is."""
    if not to.is_float and not source.is_float and (integral is not None or rnd is not None):
        form.refuse("between integers nothing is rounded: leave the rounding out")
    if to.name == source.name and rnd is not None:
        form.refuse(
            f"from .{to.name} to .{to.name} nothing is rounded but to an integer: take .rni .rzi .rmi .rpi"
        )
    exact = to.is_float and source.is_float and to.bits > source.bits and not to.packed
    if exact and (integral is not None or (rnd is not None and source.name != "bf16")):
        form.refuse(f"a .{to.name} holds every .{source.name}: leave the rounding out")
    if to.is_float and source.is_float and to.name != source.name and integral is not None:
        form.refuse(f"a float becomes an integral value in its own type: cvt .{source.name} to itself before")
    narrows = to.is_float and (not source.is_float or source.bits > to.bits)
    if narrows and rnd is None:
        form.refuse("a conversion to a float that cannot hold every value needs one of .rn .rz .rm .rp")


def _check_limits(
    form: Form, to: PtxType, source: PtxType, rnd: Rnd | None, *, ftz: bool, sat: bool, limits: bool
) -> None:
    """Refuses .ftz, .sat, or one of .relu and .satfinite (`limits`) where PTX does not have it."""
    types = f".{to.name}.{source.name}"
    halves = source.name == "f32" and to.name in _LARGEST
    if rnd is Rnd.RNA or (to.packed and rnd not in (Rnd.RN, Rnd.RZ)):
        form.refuse(f"{types} takes {'.rn or .rz' if to.packed else '.rn .rz .rm or .rp'} alone")
    if limits and not (halves and rnd in (Rnd.RN, Rnd.RZ)):
        form.refuse(f".relu and .satfinite go with .rn or .rz from .f32 to 16-bit floats, not with {types}")
    if ftz and ("f32" not in (to.name, source.name) or to.packed or limits):
        form.refuse(f".ftz does not go with {types}{' and .relu or .satfinite' if limits else ''}")
    if sat and (limits or to.packed or "bf16" in (to.name, source.name) or _contains(to, source)):
        form.refuse(f".sat does not go with {types}{' and .relu or .satfinite' if limits else ''}")
    if "bf16" in (to.name, source.name) and min(to.bits, source.bits) == 8:
        form.refuse(f"there is no conversion {types}: take .f32 between them")


def _contains(to: PtxType, source: PtxType) -> bool:
    """Whether an integer type has every number of another one."""
    if to.is_float or source.is_float:
        return False
    if source.signed:
        return to.signed and to.bits >= source.bits
    return to.bits >= source.bits + to.signed


def _integer(ctx: Context, form: Form, to: PtxType, source: PtxType, sat: bool) -> None:
    """Integer to integer: truncation, extension, or a clamp first."""
    a = ctx.extended(form.operands[1], source)
    dst = ctx.dst(form.operands[0], to.words, wider=True, bits=to.bits)
    if sat:
        a = _clamp(ctx, a, to, source)
    low = word(a, 0)
    # The register holds the result extended as its own type says, so that wider registers may be read whole.
    if to.bits < 32 and (to.bits == 8 or dst.width > 1 or _wider(ctx, form, to)):
        narrow = ctx.extend(low, to, dst.word(0))
    else:
        ctx.emit(Op.MOV, dst.word(0), low)
        narrow = dst.word(0)
    if dst.width < 2:
        return
    if to.bits == 64 and source.bits == 64:
        ctx.emit(Op.MOV, dst.word(1), word(a, 1))
    else:
        # To 64 bits the source's sign counts, to fewer bits (in a wider register) the result's.
        signed = source.signed if to.bits == 64 else to.signed
        _fill(ctx, dst.word(1), narrow, signed)


def _wider(ctx: Context, form: Form, to: PtxType) -> bool:
    """Whether the destination register has more bits than the type."""
    target = form.operands[0]
    return isinstance(target, Register) and ctx.register_type(target).bits > to.bits


def _fill(ctx: Context, high: Reg, low: Source, signed: bool) -> None:
    """The high word of an extension."""
    if signed:
        ctx.emit(Op.SHR, high, low, Imm(31), dtype=DType.S32)
    else:
        ctx.emit(Op.MOV, high, Imm(0))


def _clamp(ctx: Context, a: Source, to: PtxType, source: PtxType) -> Source:
    """The source limited to the range of the destination, still in the source's type."""
    low = -(1 << to.bits - 1) if to.signed else 0
    high = (1 << to.bits - to.signed) - 1
    source_low = -(1 << source.bits - 1) if source.signed else 0
    source_high = (1 << source.bits - source.signed) - 1
    for bound, needed, maximum in ((low, low > source_low, True), (high, high < source_high, False)):
        if not needed:
            continue
        if source.bits == 64:
            limited = ctx.temp(2)
            wide.extremum_of(ctx, limited, a, Imm(bound & (1 << 64) - 1, 2), source.signed, maximum)
        else:
            limited = ctx.temp()
            ctx.emit(Op.IMAX if maximum else Op.IMIN, limited, a, Imm(bound & MASK32), dtype=source.compute)
        a = limited
    return a


def _to_integer(ctx: Context, form: Form, to: PtxType, source: PtxType, rnd: Rnd, ftz: bool) -> None:
    """Float to integer: clamps to the range of the type, sub-word ones included, whose NaN is not that of 32
    bits either."""
    a = ctx.value(form.operands[1], source)
    dst = ctx.dst(form.operands[0], to.words, wider=True, bits=to.bits)
    ctx.emit(Op.CVT, Reg(dst.index, to.words), a, dtype=to.dtype, stype=source.dtype, rnd=rnd, ftz=ftz)
    if dst.width > to.words:
        _fill(ctx, dst.word(1), dst.word(0), to.signed)


def _float(
    ctx: Context,
    form: Form,
    to: PtxType,
    source: PtxType,
    rnd: Rnd | None,
    integral: Rnd | None,
    ftz: bool,
    sat: bool,
) -> Reg:
    """Float to float: another width, an integral value, or only .ftz and .sat."""
    a = ctx.value(form.operands[1], source)
    dst = ctx.converted(form.operands[0], to)
    if source.name == "bf16" and to.name == "f32" and not (sat or ftz):
        ctx.emit(Op.SHL, dst, a, Imm(16))
        return dst
    through = (source.name == "bf16" and to.name in ("f16", "bf16")) or (
        to.name == "bf16" and source.name == "f16"
    )
    if through and to.name != source.name:
        single = ctx.temp()
        ctx.emit(Op.CVT, single, a, dtype=DType.F32, stype=source.dtype)
        a, source = single, F32
    aux = 0 if integral is None else 1
    mode = integral if integral is not None else rnd or Rnd.RN
    ctx.emit(Op.CVT, dst, a, dtype=to.dtype, stype=source.dtype, rnd=mode, ftz=ftz, sat=sat, aux=aux)
    return dst


def _limit(ctx: Context, dst: Reg, to: PtxType, relu: bool, finite: bool) -> None:
    """.relu and .satfinite: NaN stays NaN."""
    if finite:
        largest = _LARGEST[to.name]
        ctx.emit(Op.FMIN, dst, dst, Imm(largest), dtype=to.dtype, aux=1)
        ctx.emit(
            Op.FMAX, dst, dst, Imm(largest | (0x80008000 if to.packed else 0x8000)), dtype=to.dtype, aux=1
        )
    if relu:
        ctx.emit(Op.FMAX, dst, dst, Imm(0, to.words), dtype=to.dtype, aux=1)


def _pack(ctx: Context, form: Form, to: PtxType, source: PtxType, rnd: Rnd, relu: bool, finite: bool) -> None:
    """cvt.f16x2.f32 d, a, b: a to the high half, b to the low one."""
    form.arity(3)
    if source.name != "f32":
        form.refuse("a packed conversion takes two .f32 values")
    half = TYPES[to.name[:-2]]
    halves = []
    for operand in (form.operands[2], form.operands[1]):
        part = ctx.temp()
        ctx.emit(Op.CVT, part, ctx.value(operand, source), dtype=half.dtype, stype=DType.F32, rnd=rnd)
        halves.append(part)
    dst = ctx.converted(form.operands[0], to)
    ctx.emit(Op.PRMT, dst, *halves, Imm(0x5410))
    _limit(ctx, dst, to, relu, finite)


def _space(form: Form) -> str:
    """The state space of a cvta or isspacep."""
    for i, name in enumerate(form.left):
        base = name.partition("::")[0]
        if base in _WINDOWS:
            del form.left[i]
            return base
    form.refuse("a state space is needed: .global .shared .local .const .param")


@lowers("cvta", in_place=True)
def convert_address(ctx: Context, form: Form) -> None:
    """cvta: a window's base has a zero low word, so only the high word changes."""
    to_space = form.flag("to")
    space = _space(form)
    ptx = form.type()
    form.arity(2)
    form.done()
    if ptx.bits != 64:
        form.refuse("32-bit generic addresses are not supported: compile for 64-bit addresses")
    if space == "param" and ctx.frame.caller is not None:
        space = "local"  # a device function's parameter whose address is taken lives in local memory
    a = ctx.value(form.operands[1], ptx)
    dst = ctx.dst(form.operands[0], 2)
    high = _WINDOWS[space] >> 32
    ctx.emit(Op.MOV, dst.word(0), word(a, 0))
    if not high:
        ctx.emit(Op.MOV, dst.word(1), word(a, 1))
    else:
        ctx.emit(Op.IADD, dst.word(1), word(a, 1), Imm(-high & MASK32 if to_space else high))


@lowers("isspacep")
def is_in_space(ctx: Context, form: Form) -> None:
    """isspacep: a look at the high word of the address."""
    space = _space(form)
    form.arity(2)
    form.done()
    high = word(ctx.value(form.operands[1], TYPES["b64"]), 1)
    p = ctx.pdst(form.operands[0])
    if space == "global":
        shifted = ctx.temp()
        ctx.emit(Op.IADD, shifted, high, Imm(MASK32))
        ctx.emit(Op.ISETP, None, shifted, Imm(3), pdst=(p,), cmp=Cmp.GE, dtype=DType.U32)
    else:
        ctx.emit(Op.ISETP, None, high, Imm(_WINDOWS[space] >> 32), pdst=(p,), cmp=Cmp.EQ, dtype=DType.U32)
