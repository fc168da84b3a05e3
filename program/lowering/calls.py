"""Lowering of calls: every call of a function with a body is inlined; one through a register is a choice
among functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from warpbank.program.isa import Cmp, DType, Imm, Op, Pred, Reg, Source, Space
from warpbank.program.lowering.context import MASK32, Context, word
from warpbank.program.lowering.driver import lower_body
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.frame import Buffer, Frame
from warpbank.program.lowering.memory import store_buffer
from warpbank.program.lowering.pointers import candidates, function_address
from warpbank.program.lowering.signatures import misfit
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import TYPES, PtxType
from warpbank.program.ptx.ast import Call, Function, Immediate, Register, Symbol, Variable

#: What may be done instead of calling a function that only a runtime library defines.
_RUNTIME = {
    "vprintf": "printf is not supported: write to a buffer",
    "malloc": "allocation in a kernel is not supported: pass a buffer",
    "free": "allocation in a kernel is not supported: pass a buffer",
}
#: Functions that report a failed assertion: the kernel stops with an error.
_ASSERTIONS = ("__assertfail", "__assert_fail")


@lowers("call")
def call(ctx: Context, form: Form) -> None:
    """call: the callee's body in place, with its parameters bound to the caller's buffers."""
    form.flag("uni")
    form.done()
    operand = form.operands[0]
    assert isinstance(operand, Call)  # the parser sees to that
    if isinstance(operand.function, Register):
        _call_pointer(ctx, form, operand, operand.function)
        return
    name = operand.function.name
    callee = ctx.layout.module.functions.get(name)
    if callee is None or callee.body is None:
        if name in _ASSERTIONS:
            ctx.emit(Op.TRAP, volatile=True)
            return
        form.refuse(
            _RUNTIME.get(name, f"function {name!r} has no body in this file: link it in or inline it before")
        )
    _check(ctx, form, operand, callee)
    if name in ctx.frame.called():
        form.refuse(
            f"recursion is not supported: {' -> '.join(reversed(ctx.frame.called()))} -> {name}; rewrite it "
            "as a loop"
        )
    behind = branch_around(ctx)
    _inline(ctx, form, operand, callee)
    if behind is not None:
        ctx.start_block(behind)


def _check(ctx: Context, form: Form, operand: Call, callee: Function) -> None:
    """Refuses a call that does not pass what a function takes and gives."""
    why = misfit(ctx.frame.function, operand, callee)
    if why:
        form.refuse(why)


def branch_around(ctx: Context) -> str | None:
    """Branches around a guarded call; the label behind it, or None if there is no guard."""
    guard = ctx.guard
    if guard is None:
        return None
    behind = ctx.fresh_label("call")
    ctx.branch(behind, Pred(guard.index, not guard.negated))
    ctx.guard = None
    return behind


def _call_pointer(ctx: Context, form: Form, operand: Call, pointer: Register) -> None:
    """A call through a register: the address is compared with that of every function it may be; none of them
    is a trap.

    Functions that are being inlined already are left out: reaching one would be recursion, which the trap
    reports.
    """
    module = ctx.layout.module
    for name in operand.targets:
        _check(ctx, form, operand, module.functions[name])
    callees = candidates(module, ctx.frame.function, operand)
    active = ctx.frame.called()
    inlined = [c for c in callees if c.name not in active]
    if not inlined:
        form.refuse(
            "it can reach no function of this file that fits it: call a function by its name, or take one's "
            "address"
        )
    address = word(ctx.value(pointer, TYPES["b64"]), 0)
    guarded = branch_around(ctx)
    behind = ctx.fresh_label("called")
    for callee in inlined:
        other = ctx.temp_predicate()
        following = ctx.fresh_label("other")
        known = function_address(module, callee.name) & MASK32
        ctx.emit(Op.ISETP, None, address, Imm(known), pdst=(other,), cmp=Cmp.NE, dtype=DType.U32)
        ctx.branch(following, Pred(other))
        _inline(ctx, form, operand, callee)
        ctx.branch(behind)
        ctx.start_block(following)
    ctx.emit(Op.TRAP, volatile=True)
    ctx.start_block(behind)
    if guarded is not None:
        ctx.start_block(guarded)


def _inline(ctx: Context, form: Form, operand: Call, callee: Function) -> None:
    """The body of one function in place of an unguarded call."""
    caller, line = ctx.frame, ctx.line
    name = callee.name
    callee_frame = Frame(ctx.kernel, callee, ctx.path, f"{ctx.fresh_label(name)}:", caller.end, caller)
    for argument, parameter in zip(operand.arguments, callee.parameters, strict=True):
        _bind_argument(ctx, caller, callee_frame, argument, parameter)
    returned = [
        _bind_return(ctx, caller, callee_frame, given, formal)
        for given, formal in zip(operand.returns, callee.returns, strict=True)
    ]
    ctx.frame = callee_frame
    _initialise(ctx, callee_frame, callee)
    lower_body(ctx, callee)
    ctx.start_block(callee_frame.exit_label)
    ctx.frame, ctx.form, ctx.line = caller, form, line
    for copy in filter(None, returned):
        copy()


def _initialise(ctx: Context, frame: Frame, callee: Function) -> None:
    """Return buffers that are written piecewise start as zeros, so that a first partial write reads something
    defined."""
    for formal in callee.returns:
        buffer = frame.buffer(formal.name) if formal.space == "param" else None
        if buffer is not None and TYPES[formal.type].bits < 32 and formal.size > TYPES[formal.type].bits // 8:
            for held in buffer.words:
                ctx.emit(Op.MOV, held, Imm(0))


def _bind_argument(
    ctx: Context, caller: Frame, callee: Frame, argument: Register | Immediate | Symbol, formal: Variable
) -> None:
    """A formal parameter becomes the caller's buffer itself, as it is never written, or a copy in local
    memory."""
    if formal.type == "pred":
        ctx.emit(Op.PLOP, pdst=(callee.predicate(formal.name),), psrc=(ctx.pred(argument),), aux=0xF0)
        return
    if formal.space == "reg":
        ctx.move(callee.register(formal.name), _passed(ctx, caller, argument, TYPES[formal.type]))
        return
    if not isinstance(argument, Symbol):
        ptx = TYPES[formal.type]
        value = ctx.value(argument, ptx)
        made = callee.make_buffer(formal)
        callee.buffers[formal.name] = made
        if made.local is None:
            store_buffer(ctx, made, 0, [value], ptx)
        else:
            ctx.emit(Op.ST, None, Imm(0), value, space=Space.LOCAL, offset=made.local, size=formal.size)
        return
    given = caller.buffer(argument.name)
    assert given is not None  # `misfit` has looked
    if formal.name not in callee.addressed or given.local is not None:
        callee.buffers[formal.name] = given
        return
    made = callee.make_buffer(formal)
    callee.buffers[formal.name] = made
    _spill(ctx, given, made)


def _passed(ctx: Context, caller: Frame, argument: Register | Immediate | Symbol, ptx: PtxType) -> Source:
    """The value of an argument that becomes a register."""
    if not isinstance(argument, Symbol):
        return ctx.value(argument, ptx)
    given = caller.buffer(argument.name)
    assert given is not None  # `misfit` has looked
    made = ctx.temp(ptx.words)
    if given.local is not None:
        fields = {"space": Space.LOCAL, "offset": given.local, "size": given.size}
        ctx.emit(Op.LD, made, Imm(0), dtype=DType.U16 if given.size == 2 else DType.U32, **fields)
        return made
    for i, held in enumerate(given.words):
        ctx.emit(Op.MOV, made.word(i), held)
    return made


def _spill(ctx: Context, given: Buffer, made: Buffer) -> None:
    """Copies a buffer from registers to local memory."""
    assert made.local is not None
    for i, held in enumerate(given.words):
        size = min(4, made.size - 4 * i)
        if size == 3:  # a tail of three bytes in two stores
            shifted = ctx.temp()
            ctx.emit(Op.SHR, shifted, held, Imm(16))
            ctx.emit(Op.ST, None, Imm(0), held, space=Space.LOCAL, offset=made.local + 4 * i, size=2)
            ctx.emit(Op.ST, None, Imm(0), shifted, space=Space.LOCAL, offset=made.local + 4 * i + 2, size=1)
        else:
            aligned = made.align >= size
            for part in range(1 if aligned else size):
                piece: Source = held
                if part:
                    piece = ctx.temp()
                    ctx.emit(Op.SHR, piece, held, Imm(8 * part))
                at = made.local + 4 * i + part
                ctx.emit(
                    Op.ST, None, Imm(0), piece, space=Space.LOCAL, offset=at, size=size if aligned else 1
                )


def _bind_return(
    ctx: Context, caller: Frame, callee: Frame, given: str, formal: Variable
) -> Callable[[], None] | None:
    """A return value goes into the caller's buffer directly; one that was or becomes a register is copied
    behind the call, by the function that is returned."""
    if given == "_":
        return None
    if formal.type == "pred":
        held = Pred(callee.predicate(formal.name))
        return partial(ctx.emit, Op.PLOP, pdst=(caller.predicate(given),), psrc=(held,), aux=0xF0)
    room = caller.buffer(given)
    if room is not None and formal.space == "reg":
        return partial(_fill, ctx, room, callee.register(formal.name))
    if room is not None:
        callee.buffers[formal.name] = room
        return None
    target = caller.register(given)
    if formal.space == "reg":
        return partial(ctx.move, target, callee.register(formal.name))
    if formal.name in callee.addressed:
        ctx.form.refuse(
            f"{callee.function.name!r} takes the address of its result {formal.name!r}, which has none: "
            "write it with st.param"
        )
    buffer = callee.make_buffer(formal)
    callee.buffers[formal.name] = buffer
    return partial(ctx.move, target, Reg(buffer.words[0].index, target.width))


def _fill(ctx: Context, room: Buffer, source: Reg) -> None:
    """A register as the content of a buffer."""
    if room.local is not None:
        ctx.emit(Op.ST, None, Imm(0), source, space=Space.LOCAL, offset=room.local, size=room.size)
        return
    for i, held in enumerate(room.words):
        ctx.emit(Op.MOV, held, source.word(i))
