"""Barriers that warps reach in ways that compiled code seldom has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warpbank.program.errors import ExecutionError
from warpbank.program.launch import Job, Launch
from warpbank.program.runner import Options, execute

#: Lanes 0 to 15 of warp 0 have arrived at barriers 1 and 2 when its other lanes exit.
TWO_AT_ONCE = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
    .reg .b64 %o;
    .reg .b32 %t;
    .reg .pred %low, %second;
    ld.param.u64 %o, [p];
    mov.u32 %t, %tid.x;
    setp.ge.u32 %second, %t, 32;
    @%second bra SECOND;
    setp.lt.u32 %low, %t, 16;
    @%low bra LOW;
    st.global.u32 [%o+8], %t;
    bra.uni HIGH;
LOW:
    bar.arrive 1, 64;
    bar.sync 2, 64;
    st.global.u32 [%o], 77;
    bra.uni MEET;
HIGH:
    st.global.u32 [%o+12], %t;
    @!%low exit;
    bra.uni MEET;
SECOND:
    bar.sync 1, 64;
    bar.sync 2, 64;
    st.global.u32 [%o+4], 88;
MEET:
    st.global.u32 [%o+16], %t;
    ret;
}
"""


def job() -> Job:
    launch = Launch("k", (1, 1, 1), (64, 1, 1), ("out",))
    return Job("k", "tiny", TWO_AT_ONCE, "k.ptx", {"out": np.zeros(5, np.uint32)}, [launch])


def test_an_exit_completes_the_arrivals_at_two_barriers() -> None:
    assert execute(job(), Options()).buffers["out"][:2].tolist() == [77, 88]


def test_a_trace_of_two_arrivals_at_once_is_refused() -> None:
    with pytest.raises(ExecutionError, match="two barriers at once"):
        execute(job(), Options(), trace=True)


#: Each thread arrives at a barrier whose number, or thread count, it has in a register.
IN_REGISTERS = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {{
    .reg .b64 %o;
    .reg .b32 %t, %half, %count;
    ld.param.u64 %o, [p];
    mov.u32 %t, %tid.x;
    shr.u32 %half, %t, {shift};
    mad.lo.u32 %count, %half, 32, 32;
    barrier.sync {operands};
    st.global.u32 [%o], %t;
    ret;
}}
"""


@pytest.mark.parametrize(
    ("operands", "shift", "lane"), [("%half", 4, 16), ("1, %count", 3, 8), ("%half", 5, None), ("%t", 0, 1)]
)
def test_the_lanes_of_a_warp_arrive_at_one_barrier(operands: str, shift: int, lane: int | None) -> None:
    source = IN_REGISTERS.format(operands=operands, shift=shift)
    uneven = replace(job(), ptx=source, launches=[Launch("k", (1, 1, 1), (32, 1, 1), ("out",))])
    if lane is None:
        execute(uneven, Options())
        return
    with pytest.raises(ExecutionError, match=rf"thread \({lane}, 0, 0\): .* is not that of"):
        execute(uneven, Options())
