"""Copy propagation: copies and constants go where they are used; sign changes become source modifiers;
addresses fold into their instructions."""

from __future__ import annotations

from warpbank.program.cfg import Cfg
from warpbank.program.isa import Const, DType, Imm, Instr, Kernel, Op, Reg, Source, Space
from warpbank.program.lowering.cleanup.facts import Facts
from warpbank.program.lowering.cleanup.fold import fold
from warpbank.program.lowering.groups import in_one_group

_MASK = 0xFFFFFFFF
_MODIFIABLE = (Op.FADD, Op.FMUL, Op.FFMA, Op.FSETP)
#: Sign bits of a register word, by type.
_SIGN = {DType.F32: 0x80000000, DType.F64: 0x80000000, DType.F16X2: 0x80008000, DType.BF16X2: 0x80008000}
_WINDOW_SPACES = {1: Space.SHARED, 2: Space.LOCAL, 3: Space.CONST}


def propagate(kernel: Kernel) -> bool:
    """Propagate copies in one walk over the kernel; True if anything changed."""
    cfg = Cfg(kernel)
    facts = Facts(kernel, cfg)
    changed = False
    for number in cfg.order:
        facts.enter(number)
        block = kernel.blocks[number]
        made: list[Instr] = []
        for instr in block.instrs:
            changed |= _rewrite(instr, facts, kernel)
            replacement = fold(instr, facts) or _constant_load(instr)
            changed |= replacement is not None
            for each in replacement or (instr,):
                made.append(each)
                facts.after(each)
        block.instrs = made
    return changed


def _rewrite(instr: Instr, facts: Facts, kernel: Kernel) -> bool:
    """Replaces sources, predicates and addresses by what they are copies of."""
    changed = False
    srcs = tuple(_source(s, facts, kernel, instr.op != Op.MMA) for s in instr.srcs)
    if srcs != instr.srcs:
        instr.srcs = srcs
        changed = True
    psrc = tuple(facts.predicate(p) for p in instr.psrc)
    if psrc != instr.psrc:
        instr.psrc = psrc
        changed = True
    if instr.guard is not None:
        guard = facts.predicate(instr.guard)
        if guard != instr.guard:
            instr.guard = guard
            changed = True
    if instr.op in _MODIFIABLE and instr.dtype in _SIGN:
        changed |= _absorb_signs(instr, facts)
    if instr.op in (Op.LD, Op.ST, Op.ATOM):
        changed |= _fold_address(instr, facts)
    return changed


def _source(source: Source, facts: Facts, kernel: Kernel, constants: bool) -> Source:
    """A source by its origin; groups only if all their words come from one aligned group or constant."""
    if not isinstance(source, Reg):
        return source
    words = [facts.value(source.word(i)) for i in range(source.width)]
    if source.width == 1:
        found = words[0]
    else:
        found = join(words, kernel) or source
    if not constants and not isinstance(found, Reg):
        return source
    return found


def join(words: list[Source], kernel: Kernel) -> Source | None:
    """One source that consists of these words; None if there is none."""
    width = len(words)
    first = words[0]
    if isinstance(first, Reg):
        base = first.index
        if base % width or any(w != Reg(base + i) for i, w in enumerate(words)):
            return None
        return Reg(base, width) if in_one_group(kernel, base, width) else None
    if width != 2:
        return None
    second = words[1]
    if isinstance(first, Imm) and isinstance(second, Imm):
        return Imm(first.value & _MASK | (second.value & _MASK) << 32, 2)
    if (
        isinstance(first, Const)
        and isinstance(second, Const)
        and second.offset == first.offset + 4
        and first.offset % 8 == 0
    ):
        return Const(first.offset, 2)
    return None


def _absorb_signs(instr: Instr, facts: Facts) -> bool:
    """A source that is another with its sign flipped or cleared becomes that one with a modifier."""
    changed = False
    for i, source in enumerate(instr.srcs):
        if not isinstance(source, Reg):
            continue
        found = _sign_change(source, instr.dtype, facts)
        if found is None:
            continue
        origin, negates = found
        bit = 1 << i
        if not negates:
            instr.abs |= bit
        elif not instr.abs & bit:
            instr.neg ^= bit
        srcs = list(instr.srcs)
        srcs[i] = origin
        instr.srcs = tuple(srcs)
        changed = True
    return changed


def _sign_change(source: Reg, dtype: DType, facts: Facts) -> tuple[Reg, bool] | None:
    """(the register, negated rather than absolute) that a float source is made of by an XOR or AND of its
    sign."""
    last = source.width - 1
    definition = facts.definition(source.index + last)
    if definition is None or definition.op not in (Op.XOR, Op.AND):
        return None
    origin, mask = definition.srcs
    sign = _SIGN[dtype]
    wanted = sign if definition.op == Op.XOR else sign ^ _MASK
    if not isinstance(origin, Reg) or mask != Imm(wanted):
        return None
    if source.width == 1:
        return origin, definition.op == Op.XOR
    low = facts.value(source.word(0))
    if low != Reg(origin.index - 1) or origin.index % 2 == 0:
        return None
    return Reg(origin.index - 1, 2), definition.op == Op.XOR


def _fold_address(instr: Instr, facts: Facts) -> bool:
    """Constant addresses become offsets; a generic address whose window is known becomes one of that
    space."""
    base = instr.srcs[0]
    changed = False
    if instr.space == Space.GENERIC:
        high: Source | None = None
        if isinstance(base, Imm):
            high = Imm(base.value >> 32)
        elif isinstance(base, Reg):
            high = facts.value(base.word(1))
        if isinstance(high, Imm) and high.value in _WINDOW_SPACES:
            space = _WINDOW_SPACES[high.value]
            if space != Space.CONST or instr.op == Op.LD:
                low = facts.value(base.word(0)) if isinstance(base, Reg) else base
                instr.space = space
                instr.srcs = (low, *instr.srcs[1:])
                base = low
                changed = True
    if instr.space in (Space.SHARED, Space.LOCAL, Space.CONST) and isinstance(base, Imm) and base.value:
        instr.offset = instr.offset + base.value & _MASK
        instr.srcs = (Imm(0), *instr.srcs[1:])
        changed = True
    return changed


def _constant_load(instr: Instr) -> list[Instr] | None:
    """A load of whole constant-bank words at a known place is moves; a misaligned one stays, and fails where
    it runs."""
    if instr.space != Space.CONST or instr.srcs[0] != Imm(0) or instr.size < 4 or instr.offset % instr.size:
        return None
    assert instr.dst is not None
    return [
        Instr(
            Op.MOV,
            dst=instr.dst.word(i),
            srcs=(Const(instr.offset + 4 * i),),
            guard=instr.guard,
            line=instr.line,
        )
        for i in range(instr.dst.width)
    ]
