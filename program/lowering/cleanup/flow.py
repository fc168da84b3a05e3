"""Block clean-up: unreachable blocks go, trivial ones are jumped over, chains become one."""

from __future__ import annotations

from warpbank.program.cfg import always
from warpbank.program.isa import PT, Block, Instr, Kernel, Op, Pred


def successors(kernel: Kernel) -> list[list[int]]:
    """Block indices each block may be followed by: the branch target first, then the fall-through."""
    index = {b.label: i for i, b in enumerate(kernel.blocks)}
    found = []
    for i, block in enumerate(kernel.blocks):
        last = block.instrs[-1] if block.instrs else None
        after: list[int] = []
        falls = True
        if last is not None and last.op == Op.BRA:
            assert last.target is not None
            after.append(index[last.target])
            falls = not always(last)
        elif last is not None and last.op == Op.EXIT:
            falls = not always(last)
        if falls and i + 1 < len(kernel.blocks) and i + 1 not in after:
            after.append(i + 1)
        found.append(after)
    return found


def _sources(kernel: Kernel) -> list[int]:
    """Number of blocks that each block may follow."""
    sources = [0] * len(kernel.blocks)
    for after in successors(kernel):
        for following in after:
            sources[following] += 1
    return sources


def tidy(kernel: Kernel) -> bool:
    """Leaves only blocks that are reachable, not empty and not trivially joined; True if anything changed."""
    changed = False
    while sum(step(kernel) for step in _STEPS):  # not any(): every step gets its turn
        changed = True
    return changed


def _drop_impossible(kernel: Kernel) -> bool:
    """Drops instructions that no lane executes and guards that are always true."""
    changed = False
    for block in kernel.blocks:
        kept = []
        for instr in block.instrs:
            guard = instr.guard
            if guard is not None and guard.index == PT:
                changed = True
                if guard.negated:
                    continue
                instr.guard = None
            kept.append(instr)
        block.instrs = kept
    return changed


def _onward(block: Block) -> str | None:
    """Target of a block that only branches on; None: it does more."""
    first = block.instrs[0] if block.instrs else None
    return first.target if first is not None and always(first) else None


def _thread(kernel: Kernel) -> bool:
    """Branches to a block that only branches on go to its target; branches to the next block go."""
    index = {b.label: i for i, b in enumerate(kernel.blocks)}
    changed = False

    def final(label: str) -> str:
        seen = set()
        while label not in seen:
            seen.add(label)
            label = _onward(kernel.blocks[index[label]]) or label
        return label

    for i, block in enumerate(kernel.blocks):
        last = block.instrs[-1] if block.instrs else None
        if last is None or last.op != Op.BRA:
            continue
        assert last.target is not None
        target = final(last.target)
        if target != last.target:
            last.target = target
            changed = True
        if index[target] == i + 1:
            block.instrs.pop()
            changed = True
    return changed


def _drop_unreachable(kernel: Kernel) -> bool:
    """Keeps what the entry reaches."""
    after = successors(kernel)
    seen = {0}
    stack = [0]
    while stack:
        for following in after[stack.pop()]:
            if following not in seen:
                seen.add(following)
                stack.append(following)
    if len(seen) == len(kernel.blocks):
        return False
    kernel.blocks = [b for i, b in enumerate(kernel.blocks) if i in seen]
    return True


def _drop_empty(kernel: Kernel) -> bool:
    """Empty blocks hand their label's branches to the block behind them."""
    renamed: dict[str, str] = {}
    kept: list[Block] = []
    for i in range(len(kernel.blocks) - 1, -1, -1):
        block = kernel.blocks[i]
        if block.instrs or not kept:
            kept.append(block)
        else:
            renamed[block.label] = kept[-1].label
    if not kept[0].instrs:
        # Only a kernel that ends in nothing has an empty last block: what reaches it ends.
        kept[0].instrs.append(Instr(Op.EXIT))
        return True
    if not renamed:
        return False
    kernel.blocks = kept[::-1]
    for block in kernel.blocks:
        for instr in block.instrs:
            if instr.target in renamed:
                instr.target = renamed[instr.target]
    return True


def _join(kernel: Kernel) -> bool:
    """A block that only its predecessor in the layout reaches, by falling through, becomes part of it."""
    sources = _sources(kernel)
    kept: list[Block] = []
    changed = False
    for i, block in enumerate(kernel.blocks):
        if i and sources[i] == 1:
            last = kept[-1].instrs[-1] if kept[-1].instrs else None
            if last is None or last.op not in (Op.BRA, Op.EXIT):
                kept[-1].instrs.extend(block.instrs)
                changed = True
                continue
        kept.append(block)
    kernel.blocks = kept
    return changed


def _invert(kernel: Kernel) -> bool:
    """`@p BRA out; BRA loop; out:` becomes `@!p BRA loop; out:`: LLVM writes its loops the long way, a trip
    would issue two."""
    sources = _sources(kernel)
    changed = False
    for i in range(len(kernel.blocks) - 2):
        block, jump, out = kernel.blocks[i : i + 3]
        last = block.instrs[-1] if block.instrs else None
        if last is None or last.guard is None or last.target != out.label or sources[i + 1] != 1:
            continue
        onward = _onward(jump)
        if onward is not None:
            last.guard = Pred(last.guard.index, not last.guard.negated)
            last.target = onward
            jump.instrs.clear()
            changed = True
    return changed


_STEPS = (_drop_impossible, _thread, _drop_unreachable, _drop_empty, _join, _invert)
