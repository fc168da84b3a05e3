"""Lowering of cvt to and from 8-bit floats, to tf32, and of cvt.pack."""

from __future__ import annotations

from warpbank.program.isa import DType, Imm, Op, Reg, Rnd, Source
from warpbank.program.lowering.context import MASK32, Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.types import B32, F32, S32, TYPES
from warpbank.program.ptx.ast import Operand

_PAIRS = {"e4m3x2": DType.E4M3, "e5m2x2": DType.E5M2}
SMALL = ("tf32", *_PAIRS)
#: The largest finite tf32.
_LARGEST_TF32 = 0x7F7FE000
#: Types that cvt.pack converts to: (bits, signed).
_PACKED = {f"{kind}{bits}": (bits, kind == "s") for kind in "us" for bits in (2, 4, 8, 16)}


def convert_small(ctx: Context, form: Form) -> None:
    """cvt with .e4m3x2, .e5m2x2 or .tf32 on one side."""
    rnd = form.maybe({"rn": Rnd.RN, "rz": Rnd.RZ, "rna": Rnd.RNA})
    relu, finite = form.flag("relu"), form.flag("satfinite")
    to, source, *rest = [*form.left, "", ""]
    if any(rest):
        form.refuse(f"modifier .{next(filter(None, rest))} is not supported on cvt.{to}.{source}")
    if to == "tf32" and source == "f32":
        _to_tf32(ctx, form, rnd, relu, finite)
    elif to in _PAIRS and source in ("f32", "f16x2"):
        _to_pair(ctx, form, _PAIRS[to], source, rnd, relu, finite)
    elif to == "f16x2" and source in _PAIRS:
        if finite:
            form.refuse(f".satfinite does not go with .{to}.{source}, which is exact")
        _from_pair(ctx, form, _PAIRS[source], rnd, relu)
    else:
        form.refuse(
            f"there is no conversion .{to}.{source}: 8-bit floats are made of .f32 and .f16x2 and become "
            ".f16x2; .tf32 is made of .f32"
        )


def _to_tf32(ctx: Context, form: Form, rnd: Rnd | None, relu: bool, finite: bool) -> None:
    """cvt.rna.tf32.f32: CVT, which clears the low 13 bits; limits as for f32."""
    form.arity(2)
    if rnd is None:
        form.refuse("a conversion to .tf32 needs one of .rna .rn .rz")
    if relu and rnd is Rnd.RNA:
        form.refuse(".relu goes with .rn or .rz, not with .rna")
    a = ctx.value(form.operands[1], F32)
    dst = ctx.dst(form.operands[0], 1)
    ctx.emit(Op.CVT, dst, a, dtype=DType.TF32, stype=DType.F32, rnd=rnd)
    if finite:
        ctx.emit(Op.FMIN, dst, dst, Imm(_LARGEST_TF32), dtype=DType.F32, aux=1)
        ctx.emit(Op.FMAX, dst, dst, Imm(_LARGEST_TF32 | 1 << 31), dtype=DType.F32, aux=1)
    if relu:
        ctx.emit(Op.FMAX, dst, dst, Imm(0), dtype=DType.F32, aux=1)


def _to_pair(
    ctx: Context, form: Form, dtype: DType, source: str, rnd: Rnd | None, relu: bool, finite: bool
) -> None:
    """cvt.rn.satfinite.e4m3x2.f32 d, a, b: a to the high byte, b to the low one; of .f16x2 its halves."""
    if rnd is not Rnd.RN or not finite:
        form.refuse("a conversion to 8-bit floats needs .rn.satfinite")
    parts: list[tuple[Source, DType]]
    if source == "f32":
        form.arity(3)
        parts = [(ctx.value(form.operands[i], F32), DType.F32) for i in (2, 1)]
    else:
        form.arity(2)
        low = ctx.value(form.operands[1], B32)
        high = ctx.temp()
        ctx.emit(Op.SHR, high, low, Imm(16))
        parts = [(low, DType.F16), (high, DType.F16)]
    made = []
    for value, stype in parts:
        if relu:  # of the operand: rounding keeps signs, and NaN stays NaN
            limited = ctx.temp()
            ctx.emit(Op.FMAX, limited, value, Imm(0), dtype=stype, aux=1)
            value = limited
        made.append(ctx.temp())
        ctx.emit(Op.CVT, made[-1], value, dtype=dtype, stype=stype)
    ctx.emit(Op.PRMT, ctx.converted(form.operands[0], TYPES["b16"]), *made, Imm(0x7740))


def _from_pair(ctx: Context, form: Form, dtype: DType, rnd: Rnd | None, relu: bool) -> None:
    """cvt.rn.f16x2.e4m3x2 d, a: exact; one CVT for each byte."""
    form.arity(2)
    if rnd is not Rnd.RN:
        form.refuse("a conversion from 8-bit floats needs .rn")
    low = ctx.value(form.operands[1], TYPES["b16"])
    high = ctx.temp()
    ctx.emit(Op.BFE, high, low, Imm(8), Imm(8))
    made = []
    for byte in (low, high):
        made.append(ctx.temp())
        ctx.emit(Op.CVT, made[-1], byte, dtype=DType.F16, stype=dtype)
    dst = ctx.converted(form.operands[0], TYPES["f16x2"])
    ctx.emit(Op.PRMT, dst, *made, Imm(0x5410))
    if relu:
        ctx.emit(Op.FMAX, dst, dst, Imm(0), dtype=DType.F16X2, aux=1)


def pack_integers(ctx: Context, form: Form) -> None:
    """cvt.pack.sat.u8.s32.b32 d, a, b, c: b clamped, a clamped above it, and c above both; 16 bits without
    c."""
    if not form.flag("sat"):
        form.refuse("cvt.pack needs .sat")
    to, source, *third = [*form.left, ""]
    bits, signed = _PACKED.get(to, (0, False))
    if not bits or source != "s32" or third not in (["b32", ""], [""]) or (bits == 16) != (third == [""]):
        form.refuse(
            "cvt.pack converts .s32 to .u16 or .s16, or with a .b32 operand c to .u8 .s8 .u4 .s4 .u2 .s2"
        )
    form.arity(3 if bits == 16 else 4)
    high, low = (_clamped(ctx, form.operands[i], bits, signed) for i in (1, 2))
    above: Source = Imm(0) if bits == 16 else ctx.value(form.operands[3], B32)
    dst = ctx.converted(form.operands[0], B32)
    if bits == 16:
        ctx.emit(Op.PRMT, dst, low, high, Imm(0x5410))
        return
    shifted, joined = ctx.temp(), ctx.temp()
    ctx.emit(Op.SHL, shifted, above, Imm(2 * bits))
    ctx.emit(Op.BFI, joined, high, shifted, Imm(bits), Imm(bits))
    ctx.emit(Op.BFI, dst, low, joined, Imm(0), Imm(bits))


def _clamped(ctx: Context, operand: Operand | None, bits: int, signed: bool) -> Reg:
    """A signed word limited to the range of a narrower type."""
    largest = (1 << bits - signed) - 1
    smallest = -(1 << bits - 1) if signed else 0
    above, within = ctx.temp(), ctx.temp()
    ctx.emit(Op.IMIN, above, ctx.value(operand, S32), Imm(largest), dtype=DType.S32)
    ctx.emit(Op.IMAX, within, above, Imm(smallest & MASK32), dtype=DType.S32)
    return within
