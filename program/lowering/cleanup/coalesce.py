"""Move coalescing: results that only travel into another register are computed there at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from warpbank.program.isa import Block, Instr, Kernel, Op, Pred, Reg
from warpbank.program.lowering.cleanup.dead import EFFECTS
from warpbank.program.lowering.groups import in_one_group


@dataclass(slots=True)
class _Group:
    """Where a register group is touched.

    Parameters
    ----------
    block : the one block it is used in, or None: several.
    places : indices of the instructions that name it, in order.
    """

    block: int | None
    places: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Span:
    """Life of a word: its definition, its move, its last use, as indices of instructions."""

    first: int
    move: int
    last: int


def coalesce(kernel: Kernel) -> bool:
    """`t = op; ...; d = MOV t` becomes `d = op` where t lives in one block and d is untouched meanwhile.

    True if anything changed.
    """
    base_of = {base + i: base for base, width in kernel.groups.items() for i in range(width)}
    groups: dict[int, _Group] = {}
    for b, block in enumerate(kernel.blocks):
        for at, instr in enumerate(block.instrs):
            touched = dict.fromkeys(base_of[w] for w in (*instr.registers_read(), *instr.registers_written()))
            for base in touched:
                group = groups.setdefault(base, _Group(b))
                if group.block != b:
                    group.block = None
                group.places.append(at)
    changed = False
    for b, block in enumerate(kernel.blocks):
        for instr in block.instrs:
            source = instr.srcs[0] if instr.op == Op.MOV else None
            if isinstance(source, Reg) and source.index in base_of:
                base = base_of[source.index]
                # A group that another became part of in this walk has more places by now. It has a move onto
                # itself among those that are known, and so waits for the next walk.
                if groups[base].block == b:
                    _merge(kernel, block, base, groups[base].places, instr)
        kept = [i for i in block.instrs if not _idle(i)]
        changed |= len(kept) < len(block.instrs)
        block.instrs = kept
    return changed


def _idle(instr: Instr) -> bool:
    """A move onto itself."""
    return instr.op == Op.MOV and instr.srcs == (instr.dst,)


def _merge(kernel: Kernel, block: Block, base: int, places: list[int], move: Instr) -> None:
    """Renames a group to the destination of its moves, if nothing forbids."""
    width = kernel.groups[base]
    assert isinstance(move.srcs[0], Reg)
    assert move.dst is not None
    shift = move.dst.index - move.srcs[0].index
    if shift % width or not in_one_group(kernel, base + shift, width):
        return
    instrs = block.instrs
    guard = move.guard
    for word in range(base, base + width):
        if any(word in (*instrs[at].registers_read(), *instrs[at].registers_written()) for at in places):
            span = _span(instrs, word, word + shift, places, guard)
            if span is None or not _free(instrs, word + shift, span, guard):
                return
    if guard is not None and not _guardable(instrs, base, width, places, guard):
        return
    for at in places:
        _rename(instrs[at], base, width, shift)
        instrs[at].guard = instrs[at].guard or guard


def _span(instrs: list[Instr], word: int, target: int, places: list[int], guard: Pred | None) -> _Span | None:
    """Life of a word that has one definition, uses behind it, and one move among them."""
    defined = [at for at in places if word in instrs[at].registers_written()]
    used = [at for at in places if word in instrs[at].registers_read()]
    moves = [at for at in used if instrs[at].op == Op.MOV and instrs[at].dst == Reg(target)]
    if len(defined) != 1 or len(moves) != 1 or instrs[moves[0]].guard != guard or used[0] <= defined[0]:
        return None
    return _Span(defined[0], moves[0], used[-1])


def _free(instrs: list[Instr], target: int, span: _Span, guard: Pred | None) -> bool:
    """Whether a target is free to hold a word from its definition to its last use."""
    definition = instrs[span.first]
    assert definition.dst is not None
    if definition.guard not in (None, guard):
        return False  # where it does not run the move brings what was there before
    if definition.dst.width > 1 and target in definition.registers_read():
        return False
    between = (instrs[at] for at in range(span.first + 1, span.last + 1) if at != span.move)
    return not any(target in (*each.registers_read(), *each.registers_written()) for each in between)


def _guardable(instrs: list[Instr], base: int, width: int, places: list[int], guard: Pred) -> bool:
    """Whether all of a group's instructions may run under its moves' guard.

    They may if they are pure and only feed the moves, and if the guard keeps its value from the first to the
    last.
    """
    words = range(base, base + width)
    if any(guard.index in instrs[at].predicates_written() for at in range(places[0], places[-1])):
        return False
    for instr in (instrs[at] for at in places):
        if instr.guard is not None:
            if instr.guard != guard:
                return False
        elif instr.op in EFFECTS or instr.pdst or any(w in words for w in instr.registers_read()):
            return False
    return True


def _rename(instr: Instr, base: int, width: int, shift: int) -> None:
    """Renames a group's words in one instruction."""
    words = range(base, base + width)
    if instr.dst is not None and instr.dst.index in words:
        instr.dst = Reg(instr.dst.index + shift, instr.dst.width)
    instr.srcs = tuple(
        Reg(s.index + shift, s.width) if isinstance(s, Reg) and s.index in words else s for s in instr.srcs
    )
