"""BOW, Fig. 6: the BTREE snippet in machine code, with its registers, order and constants.

Its global loads become shared ones, whose addresses are single registers as in the figure. The half-word products become whole
ones. All registers start as zero, so every address is in range.
"""

from __future__ import annotations

import numpy as np

from program import emulator
from program.isa import CONST_DYNAMIC_SHARED, Block, Cmp, Const, DType, Imm, Instr, Kernel, Op, Reg, Space
from program.launch import Job, Launch
from program.trace.schema import Trace

#: Lines of the figure, 2 to 14.
SNIPPET = [
    Instr(Op.LD, dst=Reg(3), srcs=(Reg(8),), space=Space.SHARED),
    Instr(Op.MOV, dst=Reg(2), srcs=(Imm(0xFF4),)),
    Instr(Op.IMUL, dst=Reg(1), srcs=(Reg(0), Reg(2))),
    Instr(Op.IMAD, dst=Reg(1), srcs=(Reg(0), Reg(2), Reg(1))),
    Instr(Op.SHL, dst=Reg(1), srcs=(Reg(1), Imm(0x10))),
    Instr(Op.IMAD, dst=Reg(0), srcs=(Reg(0), Reg(2), Reg(1))),
    Instr(Op.IADD, dst=Reg(0), srcs=(Const(CONST_DYNAMIC_SHARED), Reg(0))),
    Instr(Op.IADD, dst=Reg(0), srcs=(Reg(9), Reg(0))),
    Instr(Op.IADD, dst=Reg(1), srcs=(Reg(0), Imm(0x7F8))),
    Instr(Op.LD, dst=Reg(2), srcs=(Reg(1),), space=Space.SHARED),
    Instr(Op.SHL, dst=Reg(2), srcs=(Reg(2), Imm(0x100))),
    Instr(Op.IADD, dst=Reg(4), srcs=(Reg(2), Imm(0x8F))),
    Instr(Op.ISETP, DType.S32, srcs=(Reg(3), Reg(1)), cmp=Cmp.NE, pdst=(0,)),
]

#: Bank writes of r0..r4 that the printed code needs at a window of 3: write-through, write-back, with hints.
WRITE_THROUGH, WRITE_BACK, WITH_HINTS = [3, 4, 3, 1, 1], [1, 2, 2, 1, 1], [0, 1, 0, 1, 0]


def snippet_kernel() -> Kernel:
    """The snippet and an EXIT."""
    return Kernel("btree_snippet", [Block("entry", [*SNIPPET, Instr(Op.EXIT)])], {}, 1, registers=10, shared_bytes=4096)


def snippet_trace() -> Trace:
    """One full warp through `snippet_kernel`."""
    job = Job("btree_snippet", "tiny", "", "btree_snippet.ptx", {"out": np.zeros(1, np.uint32)},
              [Launch("btree_snippet", (1, 1, 1), (32, 1, 1), ())])  # fmt: skip
    trace = emulator.run_job(job, {"btree_snippet": snippet_kernel()}, trace=True).trace
    assert trace is not None
    return trace
