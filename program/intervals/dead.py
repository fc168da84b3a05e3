"""Dead-operand bits that are safe for a whole warp (LTRF+, renaming)."""

from __future__ import annotations

import numpy as np

from program.isa import Kernel, Op
from program.simt_liveness import SimtLiveness


def dead_operands(kernel: Kernel) -> np.ndarray:
    """Per pc (u1), bit k: no lane reads source k again on any path still to run before it writes it.

    Sources in the order of `Instr.registers_read`, which is that of `Trace.code["sources"]`. A source that the same instruction
    overwrites is not marked. Where lanes of a warp may be apart at a CTA barrier, the others may run on behind the place where
    they should have met; what is alive at any barrier of such a kernel is kept everywhere.
    """
    live = SimtLiveness(kernel)
    inside = set().union(*live.divergence.regions.values())
    kept = 0
    if any(i.op is Op.BAR for b in inside for i in kernel.blocks[b].instrs):
        for _, instr, after in live.thread:
            if instr.op is Op.BAR:
                kept |= after.registers
    bits = np.zeros(len(kernel.instructions()), np.uint8)
    for pc, instr, after in live:
        alive = after.registers | kept
        for k, r in enumerate(instr.registers_read()):
            if not alive >> r & 1 and r not in instr.registers_written():
                bits[pc] |= 1 << k
    return bits
