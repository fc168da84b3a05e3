"""Register groups: which words of the virtual register file belong together."""

from __future__ import annotations

from warpbank.program.isa import Kernel, Reg


def in_one_group(kernel: Kernel, first: int, width: int) -> bool:
    """Whether `width` words from `first` on lie in one register group."""
    return any(kernel.groups.get(base, 0) >= first - base + width for base in (first, first & ~1, first & ~3))


def whole(kernel: Kernel, registers: list[Reg]) -> Reg | None:
    """The pair or quad that these registers make up in order; None unless they are aligned neighbours in one
    group."""
    words = [r.index + w for r in registers for w in range(r.width)]
    width = len(words)
    if width not in (2, 4) or words[0] % width or words != list(range(words[0], words[0] + width)):
        return None
    return Reg(words[0], width) if in_one_group(kernel, words[0], width) else None
