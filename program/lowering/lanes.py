"""Lowering of exchange between lanes: shuffles, votes, matches, reductions."""

from __future__ import annotations

from warpbank.program.isa import Atomic, Op, Shuffle, Vote
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import B32
from warpbank.program.ptx.ast import PredicatePair

_SHUFFLES = {"up": Shuffle.UP, "down": Shuffle.DOWN, "bfly": Shuffle.BFLY, "idx": Shuffle.IDX}
_VOTES = {"all": Vote.ALL, "any": Vote.ANY, "uni": Vote.UNI, "ballot": Vote.BALLOT}
_REDUCTIONS = {
    "add": Atomic.ADD,
    "min": Atomic.MIN,
    "max": Atomic.MAX,
    "and": Atomic.AND,
    "or": Atomic.OR,
    "xor": Atomic.XOR,
}


@lowers("shfl", in_place=True)
def shuffle(ctx: Context, form: Form) -> None:
    """shfl, shfl.sync. The member mask names the executing lanes, which the machine knows."""
    synced = form.flag("sync")
    mode = form.choice(_SHUFFLES)
    form.type(32)
    form.arity(5 if synced else 4)
    form.done()
    target = form.operands[0]
    pdst: tuple[int, ...] = ()
    if isinstance(target, PredicatePair):
        if target.second is not None:
            pdst = (ctx.pdst(target.second),)
        target = target.first
    sources = [ctx.value(o, B32) for o in form.operands[1:4]]
    ctx.emit(Op.SHFL, ctx.dst(target, 1), *sources, aux=int(mode), pdst=pdst)


@lowers("vote")
def vote(ctx: Context, form: Form) -> None:
    """vote, vote.sync over the executing lanes."""
    synced = form.flag("sync")
    mode = form.choice(_VOTES)
    form.type(1, 32)
    form.arity(3 if synced else 2)
    form.done()
    q = ctx.pred(form.operands[1])
    if mode == Vote.BALLOT:
        ctx.emit(Op.VOTE, ctx.dst(form.operands[0], 1), psrc=(q,), aux=int(mode))
    else:
        ctx.emit(Op.VOTE, pdst=(ctx.pdst(form.operands[0]),), psrc=(q,), aux=int(mode))


@lowers("match")
def match(ctx: Context, form: Form) -> None:
    """match.any, match.all."""
    every = form.choice({"any": 0, "all": 1})
    form.flag("sync")
    ptx = form.type(32, 64)
    form.arity(3)
    form.done()
    target = form.operands[0]
    pdst: tuple[int, ...] = ()
    if isinstance(target, PredicatePair):
        if target.second is not None:
            pdst = (ctx.pdst(target.second),)
        target = target.first
    ctx.emit(
        Op.MATCH,
        ctx.dst(target, 1),
        ctx.value(form.operands[1], ptx),
        dtype=ptx.compute,
        aux=every,
        pdst=pdst,
    )


@lowers("activemask")
def active_mask(ctx: Context, form: Form) -> None:
    """activemask."""
    form.type(32)
    form.arity(1)
    form.done()
    ctx.emit(Op.ACTIVEMASK, ctx.dst(form.operands[0], 1))


@lowers("redux")
def reduce(ctx: Context, form: Form) -> None:
    """redux.sync of 32-bit integers."""
    form.flag("sync")
    operation = form.choice(_REDUCTIONS)
    ptx = form.type(32)
    form.arity(3)
    form.done()
    if ptx.is_float:
        form.refuse("redux.sync of floats is not supported: reduce with shfl.sync")
    ctx.emit(
        Op.REDUX,
        ctx.dst(form.operands[0], 1),
        ctx.value(form.operands[1], ptx),
        dtype=ptx.compute,
        aux=int(operation),
    )
