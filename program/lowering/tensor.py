"""Lowering of mma.sync, cracked into two halves of eight rows."""

from __future__ import annotations

from warpbank.program.isa import DType, Op, Reg, Source
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.groups import whole
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import TYPES
from warpbank.program.ptx.ast import Operand, Register, Vector

_SHAPES = {"m16n8k8": 8, "m16n8k16": 16}
_CLAUSE = (
    "of mma.sync only m16n8k8 and m16n8k16 .row.col with f16 or bf16 factors and f32 (for f16 also f16) "
    "accumulators work"
)


@lowers("mma", in_place=True)
def multiply_accumulate(ctx: Context, form: Form) -> None:
    """mma.sync.aligned.m16n8kK.row.col.dtype.atype.btype.ctype d, a, b, c.

    Rows 0 to 7 take a0 (and a2) and accumulate in c0, c1; rows 8 to 15 take a1 (and a3) and c2, c3. Both take
    all of b. Accumulating in place is the rule; the first half only has to spare what the second one still
    reads.
    """
    form.flag("sync", "aligned")
    k = form.maybe(_SHAPES)
    ordered = form.left[:2] == ["row", "col"]
    types = [m for m in form.left[2:] if m in TYPES]
    if k is None or not ordered or len(form.left) != 6 or len(types) != 4:
        form.refuse(_CLAUSE)
    d_type, a_type, b_type, c_type = types
    half = d_type == c_type == "f16"
    if (
        a_type != b_type
        or a_type not in ("f16", "bf16")
        or not ((half and a_type == "f16") or d_type == c_type == "f32")
    ):
        form.refuse(_CLAUSE)
    form.arity(4)
    count = 2 if half else 4
    targets = _elements(form, 0, count)
    later = [
        *_elements(form, 1, k // 4)[1::2],
        *_elements(form, 2, k // 8),
        *_elements(form, 3, count)[count // 2 :],
    ]
    ctx.delay(e.name for e in later if isinstance(e, Register))
    a, b, c = (_sources(ctx, form, i, n) for i, n in ((1, k // 4), (2, k // 8), (3, count)))
    dtype = DType.F16 if a_type == "f16" else DType.BF16
    for rows in (0, 1):
        if rows:
            ctx.delay(())
        factors = [a[rows], *b] if k == 8 else [a[rows], a[rows + 2], *b]
        if half:
            dst = ctx.dst(targets[rows], 1)
            ctx.emit(Op.MMA, dst, *factors, c[rows], dtype=dtype, stype=DType.F16, aux=k)
            continue
        pair = _pair(ctx, c[2 * rows], c[2 * rows + 1])
        wanted = [ctx.dst(t, 1) for t in targets[2 * rows : 2 * rows + 2]]
        group = whole(ctx.kernel, wanted)
        dst = group or ctx.temp(2)
        ctx.emit(Op.MMA, dst, *factors, pair, dtype=dtype, stype=DType.F32, aux=k)
        if group is None:
            for i in (0, 1):
                ctx.emit(Op.MOV, wanted[i], dst.word(i))


def _elements(form: Form, index: int, count: int) -> tuple[Operand | None, ...]:
    """The elements of a fragment."""
    operand = form.operands[index]
    elements = operand.elements if isinstance(operand, Vector) else (operand,)
    if len(elements) != count:
        form.refuse(f"fragment {index} has {len(elements)} registers, not {count}")
    return elements


def _sources(ctx: Context, form: Form, index: int, count: int) -> list[Source]:
    """The registers of a fragment, constants moved into some."""
    made: list[Source] = []
    for element in _elements(form, index, count):
        value = ctx.value(element, TYPES["b32"])
        if not isinstance(value, Reg):
            held = ctx.temp()
            ctx.emit(Op.MOV, held, value)
            value = held
        made.append(value)
    return made


def _pair(ctx: Context, low: Source, high: Source) -> Reg:
    """Two accumulators as a register pair."""
    group = whole(ctx.kernel, [r for r in (low, high) if isinstance(r, Reg)])
    if group is not None:
        return group
    made = ctx.temp(2)
    ctx.emit(Op.MOV, made.word(0), low)
    ctx.emit(Op.MOV, made.word(1), high)
    return made
