"""Lowering of atom and red."""

from __future__ import annotations

from warpbank.program.isa import Atomic, DType, Op, Source, Space
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.memory import place, take_space
from warpbank.program.lowering.ordering import take_order, take_policy
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import PtxType
from warpbank.program.ptx.ast import Vector

_OPERATIONS = {
    "add": Atomic.ADD,
    "min": Atomic.MIN,
    "max": Atomic.MAX,
    "and": Atomic.AND,
    "or": Atomic.OR,
    "xor": Atomic.XOR,
    "exch": Atomic.EXCH,
    "cas": Atomic.CAS,
    "inc": Atomic.INC,
    "dec": Atomic.DEC,
}
_SMALL_FLOATS = ("f16", "f16x2", "bf16", "bf16x2")
_NUMBERS = ("u32", "s32", "u64")
_BITS = ("b32", "b64", "b128")
#: Types of each operation.
_TYPES = {
    **dict.fromkeys((Atomic.AND, Atomic.OR, Atomic.XOR, Atomic.EXCH), _BITS),
    Atomic.CAS: ("b16", *_BITS),
    Atomic.ADD: (*_NUMBERS, "f32", "f64", *_SMALL_FLOATS),
    **dict.fromkeys((Atomic.MIN, Atomic.MAX), (*_NUMBERS, "s64", *_SMALL_FLOATS)),
    **dict.fromkeys((Atomic.INC, Atomic.DEC), ("u32",)),
}


@lowers("atom", "red")
def atomic(ctx: Context, form: Form) -> None:
    """atom and red: atom gives the old value, red does not. Orders stronger than relaxed become fences around
    it."""
    if form.flag("async"):
        form.refuse("asynchronous reductions are not supported: use red without .async")
    space = take_space(form)
    returns, compares = form.opcode == "atom", "cas" in form.left
    needed = 3 if compares else 2
    if compares:
        form.arity(needed + returns)
    else:
        take_policy(ctx, form, space, needed + returns)
    order = take_order(form, space)
    operation = form.choice(_OPERATIONS)
    denormals = form.flag("noftz")
    ptx = form.type()
    form.done()
    operands = form.operands[1:] if returns else form.operands
    if any(isinstance(o, Vector) for o in operands):
        form.refuse("vector atomics are not supported: one atomic per element is")
    dtype = _dtype(form, ptx, operation)
    if ptx.name in _SMALL_FLOATS and not denormals:
        form.refuse(f"an atomic of .{ptx.name} needs .noftz")
    where = place(ctx, operands[0], space)
    if where.buffer is not None or where.space == Space.CONST:
        form.refuse("atomics work on global, shared and local memory")
    values: list[Source] = [ctx.value(o, ptx) for o in operands[1:needed]]
    if order.release:
        ctx.emit(Op.MEMBAR, volatile=True)
    dst = ctx.dst(form.operands[0], ptx.words) if returns else None
    ctx.emit(
        Op.ATOM,
        dst,
        where.base,
        *values,
        dtype=dtype,
        aux=int(operation),
        space=where.space,
        offset=where.offset,
        size=ptx.bits // 8,
        volatile=True,
    )
    if order.acquire:
        ctx.emit(Op.MEMBAR, volatile=True)


def _dtype(form: Form, ptx: PtxType, operation: Atomic) -> DType:
    """The type the memory does the operation in."""
    if ptx.name == "b16" and operation == Atomic.CAS:
        return DType.U16
    if ptx.bits < 32 and not ptx.is_float:
        form.refuse(
            "of the atomics of less than 32 bits only cas.b16 is supported: use .b32 on the aligned word"
        )
    if ptx.name not in _TYPES[operation]:
        names = " ".join(f".{name}" for name in _TYPES[operation])
        form.refuse(f".{ptx.name} is no type of .{operation.name.lower()}: take one of {names}")
    if ptx.bits > 64:
        form.refuse("128-bit atomics are not supported: .b32 and .b64 are")
    return ptx.dtype if ptx.is_float else ptx.compute
