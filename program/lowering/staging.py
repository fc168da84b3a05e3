"""Lowering of cp.async and ldmatrix: from global to shared memory and from there into matrix fragments."""

from __future__ import annotations

from warpbank.program.isa import BoolOp, Cmp, DType, Imm, Op, Pred, Reg, Shuffle, Source, Space
from warpbank.program.lowering.context import MASK32, Context, word
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.memory import Place, place, take_space
from warpbank.program.lowering.ordering import take_policy
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import B32
from warpbank.program.ptx.ast import Immediate, Negated, Operand, Register, Vector


@lowers("cp")
def copy(ctx: Context, form: Form) -> None:
    """cp.async: the copy is made on the spot, which is one of the times it may happen at; groups need no
    waiting for."""
    if not form.flag("async") or any(m in ("bulk", "mbarrier", "reduce") for m in form.left):
        form.refuse(
            "bulk copies and mbarrier objects are not supported: copy with cp.async, ld.global and st.shared"
        )
    groups = form.maybe({"commit_group": 0, "wait_all": 0, "wait_group": 1})
    if groups is not None:
        form.done()
        form.arity(groups)
        if groups and not isinstance(form.operands[0], Immediate):
            form.refuse("it waits until a constant number of groups is left")
        return
    sizes = form.choice({"ca": (4, 8, 16), "cg": (16,)})
    spaces = take_space(form), take_space(form)
    if spaces != ("shared", "global"):
        form.refuse("it copies from .global to .shared")
    hinted = take_policy(ctx, form, "global", 3, 4)
    form.flag("L2::64B", "L2::128B", "L2::256B")
    form.done()
    to, source, size, *more = form.operands[: len(form.operands) - hinted]
    if not isinstance(size, Immediate) or size.value not in sizes:
        form.refuse(f"it copies {' or '.join(map(str, sizes))} bytes")
    target, origin = place(ctx, to, "shared"), place(ctx, source, "global")
    data = ctx.temp(size.value // 4)
    if more:
        _copy_part(ctx, data, origin, more[0])
    else:
        ctx.emit(Op.LD, data, origin.base, space=origin.space, offset=origin.offset, size=size.value)
    ctx.emit(
        Op.ST,
        None,
        target.base,
        data,
        space=target.space,
        offset=target.offset,
        size=size.value,
        dtype=DType.U32,
    )


def _copy_part(ctx: Context, data: Reg, source: Place, given: Operand | None) -> None:
    """Loads the bytes that the source size covers, or none if the ignoring predicate holds; the others are
    zero."""
    ignore = isinstance(given, Negated)
    if isinstance(given, Register):
        ignore = ctx.register_type(given).kind == "pred"
    limit: Source = Imm(0) if ignore else ctx.value(given, B32)
    if isinstance(limit, Imm) and limit.value > 4 * data.width:
        ctx.form.refuse(f"its source has 0 to {4 * data.width} bytes")
    bits: Reg | None = None  # to keep, where the source may end within a word
    if not (isinstance(limit, Imm) and limit.value % 4 == 0):
        bits = ctx.temp()
        ctx.emit(Op.SHL, bits, limit, Imm(3))
    guard = ctx.guard
    also = (guard,) if guard else ()
    for i in range(data.width):
        ctx.emit(Op.MOV, data.word(i), Imm(0))
        wanted = ctx.temp_predicate()
        if ignore:
            inverse = ctx.pred(given)
            ctx.emit(
                Op.PLOP,
                pdst=(wanted,),
                psrc=(Pred(inverse.index, not inverse.negated), *also),
                aux=0b11000000,
            )
        else:
            ctx.emit(
                Op.ISETP,
                None,
                limit,
                Imm(4 * i),
                pdst=(wanted,),
                psrc=also,
                cmp=Cmp.GT,
                boolop=BoolOp.AND,
                dtype=DType.U32,
            )
        ctx.guard = Pred(wanted)
        ctx.emit(Op.LD, data.word(i), source.base, space=source.space, offset=source.offset + 4 * i, size=4)
        ctx.guard = guard
        if bits is not None:
            left = ctx.temp()
            ctx.emit(Op.IADD, left, bits, Imm(-32 * i & MASK32))
            ctx.emit(Op.BFE, data.word(i), data.word(i), Imm(0), left, dtype=DType.U32)


@lowers("ldmatrix")
def load_matrices(ctx: Context, form: Form) -> None:
    """ldmatrix: lanes 8i to 8i+7 hold the addresses of the rows of matrix i. A lane gets elements 2t and 2t+1
    of row g, for g = lane / 4 and t = lane % 4; with .trans elements g of rows 2t and 2t+1. So it asks the
    lanes for their addresses and loads."""
    form.demand("sync", "aligned", "m8n8", "b16")
    count = form.choice({"x1": 1, "x2": 2, "x4": 4})
    transposed = form.flag("trans")
    space = take_space(form)
    form.arity(2)
    form.done()
    target = form.operands[0]
    if not isinstance(target, Vector):
        form.refuse("its destination is a vector of registers in braces")
    elements = target.elements
    if len(elements) != count:
        form.refuse(f"it loads {count} matrices into {len(elements)} registers")
    where = place(ctx, form.operands[1], space)
    if where.space not in (Space.SHARED, Space.GENERIC):
        form.refuse("it loads from .shared, or from a generic address of shared memory")
    lane = ctx.special("%laneid", 1)
    group, member = ctx.temp(), ctx.temp()
    ctx.emit(Op.SHR, group, lane, Imm(2))
    ctx.emit(Op.AND, member, lane, Imm(3))
    for i, element in enumerate(elements):
        dst = ctx.dst(element, 1, bits=32)
        if not transposed:
            address = _address(ctx, where, group, 1, 8 * i, member, 4)
            ctx.emit(Op.LD, dst, address, space=where.space, offset=where.offset, size=4)
            continue
        halves = []
        for row in range(2):
            half = ctx.temp()
            address = _address(ctx, where, member, 2, 8 * i + row, group, 2)
            ctx.emit(Op.LD, half, address, space=where.space, offset=where.offset, size=2, dtype=DType.U16)
            halves.append(half)
        ctx.emit(Op.PRMT, dst, *halves, Imm(0x5410))


def _address(ctx: Context, where: Place, row: Reg, rows: int, first: int, column: Reg, size: int) -> Reg:
    """The address that lane first + rows * row holds, plus size * column. A row is aligned to its 16 bytes,
    so nothing carries into the high word of a generic address."""
    holder, address = ctx.temp(), ctx.temp()
    result = ctx.temp(2 if where.space == Space.GENERIC else 1)
    ctx.emit(Op.IMAD, holder, row, Imm(rows), Imm(first))
    ctx.emit(Op.SHFL, address, word(where.base, 0), holder, Imm(31), aux=int(Shuffle.IDX))
    ctx.emit(Op.IMAD, result.word(0), column, Imm(size), address)
    if result.width == 2:
        ctx.emit(Op.SHFL, result.word(1), word(where.base, 1), holder, Imm(31), aux=int(Shuffle.IDX))
    return result
