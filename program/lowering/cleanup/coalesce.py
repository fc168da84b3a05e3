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
    block : the one block it is used in, or -1: several.
    places : indices of the instructions that name it, in order.
    """

    block: int
    places: list[int] = field(default_factory=list)


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
                    group.block = -1
                group.places.append(at)
    changed = False
    for b, block in enumerate(kernel.blocks):
        renamed: dict[int, int] = {}
        for instr in block.instrs:
            if (
                instr.op == Op.MOV
                and isinstance(instr.srcs[0], Reg)
                and instr.dst is not None
                and instr.srcs[0].index in base_of
            ):
                base = base_of[instr.srcs[0].index]
                target = base_of[instr.dst.index]
                # A group whose places have been renamed in this walk is looked at again in the next one.
                if groups[base].block != b or base in renamed or target in renamed or base == target:
                    continue
                if _merge(kernel, block, base, groups[base].places, instr):
                    renamed[base] = renamed[target] = 1
                    groups[target].block = -1
                    changed = True
        kept = [i for i in block.instrs if not _idle(i)]
        changed |= len(kept) < len(block.instrs)
        block.instrs = kept
    return changed


def _idle(instr: Instr) -> bool:
    """A move onto itself."""
    return instr.op == Op.MOV and instr.srcs == (instr.dst,)


def _merge(kernel: Kernel, block: Block, base: int, places: list[int], move: Instr) -> bool:
    """Renames a group to the destination of its moves, if nothing forbids."""
    width = kernel.groups[base]
    assert isinstance(move.srcs[0], Reg)
    assert move.dst is not None
    shift = move.dst.index - move.srcs[0].index
    if (base + shift) % width or not in_one_group(kernel, base + shift, width):
        return False
    instrs = block.instrs
    guard: Pred | None = move.guard
    spans: dict[int, tuple[int, int]] = {}
    for word in range(base, base + width):
        span = _span(instrs, word, word + shift, places, guard)
        if span is None:
            return False
        if span[1] >= 0:
            if instrs[span[0]].guard not in (None, guard):
                return False  # where it does not run the move brings what was there before
            spans[word] = span
    if guard is not None and not _guardable(instrs, base, width, places, guard):
        return False
    for word, (first, last) in spans.items():
        target = word + shift
        for at in range(first, last + 1):
            instr = instrs[at]
            moves = instr.op == Op.MOV and instr.srcs == (Reg(word),) and instr.dst == Reg(target)
            if not moves and (
                target in instr.registers_written() or (at > first and target in instr.registers_read())
            ):
                return False
            if (
                at == first
                and instr.dst is not None
                and instr.dst.width > 1
                and target in instr.registers_read()
            ):
                return False
    for at in places:
        _rename(instrs[at], base, width, shift)
        if guard is not None and instrs[at].guard is None:
            instrs[at].guard = guard
    return True


def _span(
    instrs: list[Instr], word: int, target: int, places: list[int], guard: Pred | None
) -> tuple[int, int] | None:
    """(definition, last use) of a word with one definition and one move, in that order; (0, -1): the word is
    not used at all."""
    first = last = moved = -1
    for at in places:
        instr = instrs[at]
        if word in instr.registers_read():
            if first < 0:
                return None
            last = at
            if instr.op == Op.MOV and instr.dst == Reg(target):
                if moved >= 0 or instr.guard != guard:
                    return None
                moved = at
        if word in instr.registers_written():
            if first >= 0:
                return None
            first = at
    if last < 0:
        return (0, -1) if first < 0 else None
    if moved < 0:
        return None
    return first, last


def _guardable(instrs: list[Instr], base: int, width: int, places: list[int], guard: Pred) -> bool:
    """Whether all of a group's instructions may run under its moves' guard.

    They may if they are pure and only feed the moves, and if the guard keeps its value from the first to the
    last.
    """
    words = range(base, base + width)
    for at in range(places[0], places[-1] + 1):
        if guard.index in instrs[at].predicates_written():
            return False
    for at in places:
        instr = instrs[at]
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
    if any(isinstance(s, Reg) and s.index in words for s in instr.srcs):
        instr.srcs = tuple(
            Reg(s.index + shift, s.width) if isinstance(s, Reg) and s.index in words else s
            for s in instr.srcs
        )
