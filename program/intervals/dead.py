"""Dead-operand bits that are safe for a whole warp (LTRF+, renaming)."""

from __future__ import annotations

import numpy as np

from warpbank.program.isa import Kernel
from warpbank.program.simt_liveness import SimtLiveness


def dead_operands(kernel: Kernel) -> np.ndarray:
    """Dead-operand bits per pc (u1): at bit k no lane reads source k again on any path still to run before it
    writes it.

    Sources in the order of `Instr.registers_read`, which is that of `Trace.code["sources"]`. A source that
    the same instruction overwrites is not marked. What lanes may read that are parked out of turn
    (`SimtLiveness.parked`) is kept everywhere.
    """
    live = SimtLiveness(kernel)
    bits = np.zeros(len(kernel.instructions()), np.uint8)
    for pc, instr, after in live:
        alive = after.registers | live.parked.registers
        for k, r in enumerate(instr.registers_read()):
            if not alive >> r & 1 and r not in instr.registers_written():
                bits[pc] |= 1 << k
    return bits
