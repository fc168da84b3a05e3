"""Lowering of branches, exits, traps, barriers."""

from __future__ import annotations

from warpbank.program.isa import Cmp, DType, Imm, Op, Pred
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import B32
from warpbank.program.ptx.ast import BranchTargets, Symbol


@lowers("bra")
def branch(ctx: Context, form: Form) -> None:
    """bra: a branch; .uni promises what the machine finds out by itself."""
    form.flag("uni")
    form.arity(1)
    form.done()
    ctx.branch(_target(ctx, form, form.operands[0]), ctx.guard)


def _target(ctx: Context, form: Form, operand: object) -> str:
    if not isinstance(operand, Symbol):
        form.refuse("branches to an address in a register are not supported: branch to a label")
    return ctx.frame.label(operand.name)


@lowers("brx")
def indexed_branch(ctx: Context, form: Form) -> None:
    """brx.idx: a chain of comparisons; the last target takes what is left."""
    form.flag("idx", "uni")
    form.arity(2)
    form.done()
    table = form.operands[1]
    labels: tuple[str, ...] = ()
    for statement in ctx.frame.function.body or ():
        if (
            isinstance(statement, BranchTargets)
            and isinstance(table, Symbol)
            and statement.name == table.name
        ):
            labels = statement.labels
    if not labels:
        form.refuse("its list of targets is not declared in the function")
    index = ctx.value(form.operands[0], B32)
    guard = ctx.guard
    after = ctx.fresh_label("brx")
    if guard is not None:
        ctx.branch(after, Pred(guard.index, not guard.negated))
        ctx.guard = None
    for i, label in enumerate(labels[:-1]):
        hit = ctx.temp_predicate()
        ctx.emit(Op.ISETP, None, index, Imm(i), pdst=(hit,), cmp=Cmp.EQ, dtype=DType.U32)
        ctx.branch(ctx.frame.label(label), Pred(hit))
    ctx.branch(ctx.frame.label(labels[-1]))
    if guard is not None:
        ctx.start_block(after)


@lowers("ret")
def leave(ctx: Context, form: Form) -> None:
    """ret: the end of the kernel, or a branch to the end of the inlined function."""
    form.flag("uni")
    form.arity(0)
    form.done()
    if ctx.frame.caller is None:
        end(ctx)
    else:
        ctx.branch(ctx.frame.exit_label, ctx.guard)


@lowers("exit")
def end_thread(ctx: Context, form: Form) -> None:
    """exit: the end of the thread."""
    form.arity(0)
    form.done()
    end(ctx)


def end(ctx: Context) -> None:
    """EXIT under the guard, and a new block."""
    ctx.emit(Op.EXIT)
    ctx.start_block(ctx.fresh_label())


@lowers("trap")
def trap(ctx: Context, form: Form) -> None:
    """trap stops the kernel with an error."""
    form.arity(0)
    form.done()
    ctx.emit(Op.TRAP, volatile=True)


@lowers("bar", "barrier")
def barrier(ctx: Context, form: Form) -> None:
    """bar.sync, bar.arrive, bar.red, barrier.cta and bar.warp.sync, which only orders memory."""
    if form.flag("warp"):
        form.flag("sync")
        form.arity(1)
        form.done()
        ctx.emit(Op.MEMBAR, volatile=True)
        return
    if "cluster" in form.left:
        form.refuse("thread-block clusters are not supported: synchronise the CTA with bar.sync")
    form.flag("cta", "aligned")
    mode = form.choice({"sync": 0, "arrive": 1, "red": 2}, 0)
    if mode == 2:
        _reduction(ctx, form)
        return
    form.done()
    form.arity(1, 2)
    ctx.emit(Op.BAR, None, *(ctx.value(o, B32) for o in form.operands), aux=mode, volatile=True)


def _reduction(ctx: Context, form: Form) -> None:
    """bar.red.popc, .and, .or: the last operand is the predicate, the thread count before it is optional."""
    operation = form.choice({"popc": 2, "and": 3, "or": 4})
    form.type()
    form.arity(3, 4)
    form.done()
    sources = [ctx.value(o, B32) for o in form.operands[1:-1]]
    q = ctx.pred(form.operands[-1])
    if operation == 2:
        ctx.emit(Op.BAR, ctx.dst(form.operands[0], 1), *sources, psrc=(q,), aux=operation, volatile=True)
    else:
        ctx.emit(
            Op.BAR,
            None,
            *sources,
            pdst=(ctx.pdst(form.operands[0]),),
            psrc=(q,),
            aux=operation,
            volatile=True,
        )
