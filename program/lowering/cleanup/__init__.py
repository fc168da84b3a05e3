"""Clean-up passes behind the word-by-word lowering."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    _settle(kernel, (propagate, remove_dead, tidy))
    fuse(kernel)
    _settle(kernel, (remove_dead, coalesce, propagate, tidy))
    _drop_unused_groups(kernel)


def _settle(kernel: Kernel, passes: Sequence[Callable[[Kernel], bool]]) -> None:
    """Runs passes in turn until none of them changes anything, at most `_ROUNDS` times."""
    for _ in range(_ROUNDS):
        if not sum(each(kernel) for each in passes):  # not any(): every pass gets its turn
            break


def _drop_unused_groups(kernel: Kernel) -> None:
    """Forgets groups that the code does not name any more, so that only real ones are allocated."""
    used = {w for i in kernel.instructions() for w in (*i.registers_read(), *i.registers_written())}
    kernel.groups = {
        base: width for base, width in kernel.groups.items() if any(base + i in used for i in range(width))
    }
