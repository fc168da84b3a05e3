"""Lowering of hints: to the caches, a profiler, a debugger or the scheduler. They make no code."""

from __future__ import annotations

from warpbank.program.isa import Imm
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.memory import place, take_space
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import B32, B64, F32

#: Levels and priorities that hints about an address name.
_LEVELS = {
    "prefetch": ("L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap"),
    "prefetchu": ("L1",),
    "discard": ("L2",),
    "applypriority": ("L2::evict_normal",),
}


@lowers(*_LEVELS)
def hint(ctx: Context, form: Form) -> None:
    """Hints about an address: no code is made."""
    space = take_space(form)
    if space == "shared":
        form.refuse(f"no cache holds .shared memory: {form.opcode} takes .global or generic addresses")
    form.choice({name: name for name in _LEVELS[form.opcode]})
    form.done()
    form.arity(2 if form.opcode in ("discard", "applypriority") else 1)
    place(ctx, form.operands[0], space)


@lowers("pmevent", "nanosleep", "brkpt")
def nothing(ctx: Context, form: Form) -> None:
    """Events for a profiler or debugger, and waits that a deterministic machine does not need: no code is
    made."""
    form.arity(0 if form.opcode == "brkpt" else 1)
    if form.opcode == "nanosleep" and form.type().name != "u32":
        form.refuse("it takes a .u32")
    if form.opcode == "pmevent":
        form.flag("mask")
    form.done()


#: Operands of createpolicy, by the kind of policy.
_POLICIES = {"fractional": (1, 2), "range": (4,), "cvt": (2,)}
_PRIORITIES = ("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged")
#: Those of the rest of a range, or of the accesses.
_OTHERS = ("L2::evict_first", "L2::evict_unchanged")


@lowers("createpolicy")
def cache_policy(ctx: Context, form: Form) -> None:
    """createpolicy: a cache policy is a number that nothing looks at."""
    kind = form.choice({name: name for name in _POLICIES})
    space = take_space(form) if kind == "range" else ""
    if space not in ("", "global"):
        form.refuse(f"a range lies in .global or at generic addresses, not in .{space}")
    if kind == "cvt":
        form.demand("L2")
    else:
        form.choice({name: name for name in _PRIORITIES})
        form.maybe({name: name for name in _OTHERS})
    form.type(64)
    form.done()
    form.arity(*_POLICIES[kind])
    if kind == "range":
        place(ctx, form.operands[1], space)
    for operand in form.operands[2 if kind == "range" else 1 :]:
        ctx.value(operand, {"fractional": F32, "range": B32, "cvt": B64}[kind])
    ctx.move(ctx.dst(form.operands[0], 2), Imm(0, 2))
