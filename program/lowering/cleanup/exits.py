"""Exit placement: lanes that return leave at once.

Compilers merge all returns of a kernel into one block, and a branch to it looks like any other: its lanes
would wait there for the rest of their warp, and a barrier that the rest waits at would never open. So a
branch to a block that only exits becomes an exit under the branch's guard, which is also what GPU machine
code looks like.
"""

from __future__ import annotations

from warpbank.program.cfg import always
from warpbank.program.isa import Instr, Kernel, Op


def exit_at_branches(kernel: Kernel) -> bool:
    """Turns branches to a lone EXIT into EXITs; True if there were any. Blocks may be left that nothing
    reaches."""
    exits = {b.label for b in kernel.blocks if b.instrs and b.instrs[0].op == Op.EXIT and always(b.instrs[0])}
    changed = False
    for block in kernel.blocks:
        last = block.instrs[-1] if block.instrs else None
        if last is not None and last.target in exits:
            block.instrs[-1] = Instr(Op.EXIT, guard=last.guard, line=last.line)
            changed = True
    return changed
