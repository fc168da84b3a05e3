"""Bench of the clean-up passes: it compares what a pass makes of a kernel, and what the kernel does then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

from tests.program.lowering.cleanup.lane import Lane
from tests.program.lowering.cleanup.notation import kernel, text
from warpbank.program.isa import Kernel


def becomes(
    change: Callable[[Kernel], bool], before: str, after: str | None = None, quads: Sequence[int] = ()
) -> None:
    """Assert that a pass makes one text of another, or leaves it, and says which."""
    code, wanted = kernel(before, quads), kernel(before if after is None else after, quads)
    found = deepcopy(code)
    changed = change(found)
    assert found.blocks == wanted.blocks, f"{text(code)}\nbecame\n{text(found)}\nnot\n{text(wanted)}"
    assert changed == (code.blocks != wanted.blocks)


def check(kernel: Kernel, change: Callable[[Kernel], object], seeds: Sequence[int] = range(3)) -> Kernel:
    """The kernel after a change, which leaves every trace as it was."""
    after = deepcopy(kernel)
    changed = change(after)
    if changed is False:
        assert after.blocks == kernel.blocks
    for seed in seeds:
        old, new = Lane(kernel, seed).trace, Lane(after, seed).trace
        if old[-1:] != ["end"]:  # cut off after so many steps, which may have been fewer
            old, new = old[: len(new)], new[: len(old)]
        assert new == old, f"seed {seed}\n{text(kernel)}\nbecame\n{text(after)}"
    return after
