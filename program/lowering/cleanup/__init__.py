"""Clean-up passes behind the word-by-word lowering."""

from __future__ import annotations

from warpbank.program.isa import Kernel
from warpbank.program.lowering.cleanup.coalesce import coalesce
from warpbank.program.lowering.cleanup.dead import remove_dead
from warpbank.program.lowering.cleanup.exits import exit_at_branches
from warpbank.program.lowering.cleanup.flow import tidy
from warpbank.program.lowering.cleanup.fuse import fuse
from warpbank.program.lowering.cleanup.propagate import propagate

__all__ = ["clean"]

#: Every pass only ever shrinks the code or brings operands nearer to their origin; a few rounds reach the end
#: on real kernels.
_ROUNDS = 6


def clean(kernel: Kernel, *, optimize: bool = True) -> None:
    """Makes the blocks legal and, if `optimize`, the code small."""
    tidy(kernel)
    if exit_at_branches(kernel):
        tidy(kernel)
    if not optimize:
        _drop_unused_groups(kernel)
        return
    for _ in range(_ROUNDS):
        changed = propagate(kernel)
        changed |= remove_dead(kernel)
        changed |= tidy(kernel)
        if not changed:
            break
    if fuse(kernel):
        remove_dead(kernel)
        if fuse(kernel):
            remove_dead(kernel)
    for _ in range(_ROUNDS):
        if not _coalesce_all(kernel):
            break
        propagate(kernel)
        remove_dead(kernel)
    tidy(kernel)
    _drop_unused_groups(kernel)


def _coalesce_all(kernel: Kernel) -> bool:
    """Coalesces until nothing moves any more."""
    changed = False
    while coalesce(kernel):
        changed = True
    return changed


def _drop_unused_groups(kernel: Kernel) -> None:
    """Forgets groups that the code does not name any more, so that only real ones are allocated."""
    used = {w for i in kernel.instructions() for w in (*i.registers_read(), *i.registers_written())}
    kernel.groups = {
        base: width for base, width in kernel.groups.items() if any(base + i in used for i in range(width))
    }
