"""Scalar hints for G-Scalar's hardware: whether one lane may execute an instruction for all, and whether its
destinations are fresh, so that no lane needs their old values."""

from __future__ import annotations

import numpy as np

from warpbank.program.cfg import always
from warpbank.program.isa import PT, Kernel
from warpbank.program.liveness import mask_of
from warpbank.program.similarity.instructions import NONE, kind_of
from warpbank.program.simt_liveness import SimtLiveness


def scalar_hints(kernel: Kernel) -> np.ndarray:
    """Scalar bits per pc (u1): 1 where the result depends on the register operands alone.

    An instruction with a predicate operand is left out, since the hardware does not know whether a predicate
    is the same in all lanes; a guard is in the mask.
    """
    return np.array(
        [kind_of(i) != NONE and all(p.index == PT for p in i.psrc) for i in kernel.instructions()], np.uint8
    )


def fresh_hints(kernel: Kernel) -> np.ndarray:
    """Fresh bits per pc (u1): 1 where the instruction writes registers whose old values no lane needs.

    Lanes that execute it overwrite them; so what is left are lanes that wait elsewhere
    (`SimtLiveness.waiting`, `.parked`), and, under a guard, lanes for which it is false.
    """
    live = SimtLiveness(kernel)
    bits = []
    for block, waiting in zip(kernel.blocks, live.waiting, strict=True):
        needed = (waiting | live.parked).registers
        for instr in block.instrs:
            written = mask_of(instr.registers_written())
            bits.append(bool(written) and always(instr) and not written & needed)
    return np.array(bits, np.uint8)
