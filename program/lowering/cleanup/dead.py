"""Dead-code removal: results that no one reads go, high words above all."""

from __future__ import annotations

from warpbank.program.cfg import Cfg
from warpbank.program.isa import PT, Instr, Kernel, Op, Reg
from warpbank.program.liveness import NOTHING, Backward, Live
from warpbank.program.lowering.context import word

#: Ops that do something besides writing their destinations.
EFFECTS = frozenset(
    {
        Op.ST,
        Op.ATOM,
        Op.BAR,
        Op.MEMBAR,
        Op.TRAP,
        Op.BRA,
        Op.EXIT,
        Op.SHFL,
        Op.VOTE,
        Op.MATCH,
        Op.REDUX,
        Op.ACTIVEMASK,
    }
)
_HALVES = {Op.IMULW: Op.IMUL, Op.IMADW: Op.IMAD}


def remove_dead(kernel: Kernel) -> bool:
    """Removes instructions without use and results without readers; True if anything changed.

    Liveness is the least fixed point over useful instructions only: a counter that nothing but its own
    increment reads goes too.
    """
    cfg = Cfg(kernel)
    live_in: list[Live] = [NOTHING] * (len(kernel.blocks) + 1)
    pending = True
    while pending:
        pending = False
        for number in reversed(cfg.order):
            walk = _walk(cfg, live_in, number)
            for instr in reversed(kernel.blocks[number].instrs):
                if _useful(instr, walk):
                    walk.step(instr)
            if walk.live != live_in[number]:
                live_in[number] = walk.live
                pending = True
    changed = False
    for number in cfg.order:
        walk = _walk(cfg, live_in, number)
        kept: list[Instr] = []
        for instr in reversed(kernel.blocks[number].instrs):
            if not _useful(instr, walk):
                changed = True
                continue
            changed |= _narrow(instr, walk)
            walk.step(instr)
            kept.append(instr)
        kernel.blocks[number].instrs = kept[::-1]
    return changed


def _walk(cfg: Cfg, live_in: list[Live], number: int) -> Backward:
    live = NOTHING
    for following in cfg.successors[number]:
        live = live | live_in[following]
    return Backward(live)


def _useful(instr: Instr, walk: Backward) -> bool:
    """Whether an instruction has an effect or a result that is read."""
    if instr.op in EFFECTS or instr.volatile:
        return True
    if any(walk.registers >> w & 1 for w in instr.registers_written()):
        return True
    return any(walk.predicates >> p & 1 for p in instr.predicates_written())


def _narrow(instr: Instr, walk: Backward) -> bool:
    """Drops results that are not read: predicates, the high word of a product, the old value of an atomic."""
    changed = False
    if instr.pdst and not any(walk.predicates >> p & 1 for p in instr.pdst):
        if instr.registers_written() and instr.op != Op.BAR:
            instr.pdst = ()
            changed = True
    elif any(p != PT and not walk.predicates >> p & 1 for p in instr.pdst):
        instr.pdst = tuple(p if walk.predicates >> p & 1 else PT for p in instr.pdst)
        while instr.pdst[-1] == PT:
            instr.pdst = instr.pdst[:-1]
        changed = True
    dst = instr.dst
    if dst is None:
        return changed
    if instr.op in _HALVES and not walk.registers >> dst.index + 1 & 1:
        last = instr.srcs[2:]
        if last:
            last = (word(last[0], 0),)
        instr.op = _HALVES[instr.op]
        instr.srcs = (*instr.srcs[:2], *last)
        instr.dst = Reg(dst.index)
        changed = True
    elif instr.op == Op.ATOM and not any(walk.registers >> w & 1 for w in instr.registers_written()):
        instr.dst = None
        changed = True
    return changed
