"""Multiply-add fusion: products and the additions behind them become one IMADW or IMAD, as address arithmetic
in GPU code is."""

from __future__ import annotations

from warpbank.program.cfg import Cfg
from warpbank.program.isa import Instr, Kernel, Op, Pred, Reg, Source
from warpbank.program.lowering.cleanup.facts import Facts
from warpbank.program.lowering.cleanup.propagate import join


def fuse(kernel: Kernel) -> bool:
    """Fuse products in one walk; those that lose their last reader are left for dead-code removal. True if
    anything changed."""
    cfg = Cfg(kernel)
    facts = Facts(kernel, cfg)
    uses: dict[int, int] = {}
    predicate_uses: dict[int, int] = {}
    for instr in kernel.instructions():
        for w in instr.registers_read():
            uses[w] = uses.get(w, 0) + 1
        for p in instr.predicates_read():
            predicate_uses[p] = predicate_uses.get(p, 0) + 1
    changed = False
    for number in cfg.order:
        facts.enter(number)
        block = kernel.blocks[number]
        made: list[Instr] = []
        skip = False
        for i, instr in enumerate(block.instrs):
            if skip:
                skip = False
                continue
            following = block.instrs[i + 1] if i + 1 < len(block.instrs) else None
            fused = None
            if following is not None:
                fused = _wide(instr, following, facts, kernel, predicate_uses)
                skip = fused is not None
            fused = fused or _single(instr, facts, uses)
            changed |= fused is not None
            made.append(fused or instr)
            facts.after(made[-1])
        block.instrs = made
    return changed


def _wide(
    low: Instr, high: Instr, facts: Facts, kernel: Kernel, predicate_uses: dict[int, int]
) -> Instr | None:
    """IADD, IADDC of a pair with an IMULW is IMADW."""
    if low.op != Op.IADD or high.op != Op.IADDC or len(low.pdst) != 1 or high.pdst or low.guard != high.guard:
        return None
    if high.psrc != (Pred(low.pdst[0]),) or predicate_uses.get(low.pdst[0]) != 1:
        return None
    assert low.dst is not None
    if low.dst.index % 2 or high.dst != Reg(low.dst.index + 1):
        return None
    for i in (1, 0):
        product = low.srcs[i]
        if not isinstance(product, Reg) or high.srcs[i] != Reg(product.index + 1):
            continue
        definition = facts.definition(product.index)
        if definition is None or definition.op != Op.IMULW or definition.dst != Reg(product.index, 2):
            continue
        addend = join([low.srcs[1 - i], high.srcs[1 - i]], kernel)
        if addend is not None:
            return Instr(
                Op.IMADW,
                dtype=definition.dtype,
                dst=Reg(low.dst.index, 2),
                srcs=(*definition.srcs, addend),
                guard=low.guard,
                line=low.line,
            )
    return None


def _single(instr: Instr, facts: Facts, uses: dict[int, int]) -> Instr | None:
    """IADD of an IMUL that nothing else reads is IMAD."""
    if instr.op != Op.IADD or instr.pdst:
        return None
    for i in (1, 0):
        product: Source = instr.srcs[i]
        if isinstance(product, Reg) and uses.get(product.index) == 1:
            definition = facts.definition(product.index)
            if definition is not None and definition.op == Op.IMUL:
                return Instr(
                    Op.IMAD,
                    dtype=definition.dtype,
                    dst=instr.dst,
                    srcs=(*definition.srcs, instr.srcs[1 - i]),
                    guard=instr.guard,
                    line=instr.line,
                )
    return None
