"""A program in which half the lanes of a warp arrive at a CTA barrier while the others go on."""

from __future__ import annotations

import numpy as np

from warpbank.program.isa import Kernel
from warpbank.program.launch import Job, Launch
from warpbank.program.runner import Options, compile_job, execute
from warpbank.program.trace.schema import Trace

PTX = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
    .reg .b64 %o, %a;
    .reg .b32 %t, %v, %w;
    .reg .pred %p;
    ld.param.u64 %o, [p];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %a, %t, 4;
    add.s64 %a, %a, %o;
    ld.global.u32 %v, [%a];
    setp.lt.u32 %p, %t, 16;
    @%p barrier.sync 0;
    add.u32 %w, %v, 1;
    mul.lo.u32 %w, %w, %t;
    xor.b32 %w, %w, %t;
    add.u32 %w, %w, 3;
    mul.lo.u32 %w, %w, %t;
    xor.b32 %w, %w, 85;
    add.u32 %w, %w, %t;
    st.global.u32 [%a], %w;
    ret;
}
"""


def drawn() -> tuple[dict[str, Kernel], Trace]:
    """Machine code and trace."""
    buffers = {"out": np.arange(100, 132, dtype=np.uint32)}
    job = Job("k", "tiny", PTX, "k.ptx", buffers, [Launch("k", (1, 1, 1), (32, 1, 1), ("out",))])
    trace = execute(job, Options(), trace=True).trace
    assert trace is not None
    return compile_job(job, Options()), trace
