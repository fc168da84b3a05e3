"""Move coalescing keeps what guarded definitions leave."""

from __future__ import annotations

import numpy as np
import pytest

from warpbank.program.emulator import run_job
from warpbank.program.launch import Job, Launch
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

#: `%t` keeps its value of an earlier iteration where `%p` is false, and `%d` is changed elsewhere.
PTX = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
    .reg .b64 %o;
    .reg .b32 %t, %d, %i, %acc, %m;
    .reg .pred %p, %q, %s;
    ld.param.u64 %o, [p];
    mov.u32 %i, 0;
    mov.u32 %acc, 0;
    mov.u32 %d, 0;
LOOP:
    and.b32 %m, %i, 3;
    setp.eq.u32 %p, %m, 0;
    @%p mad.lo.u32 %t, %i, 7, 100;
    mov.u32 %d, %t;
    setp.eq.u32 %s, %m, 2;
    @%s bra SKIP;
    add.u32 %acc, %acc, %d;
    add.u32 %d, %d, 1000;
SKIP:
    xor.b32 %acc, %acc, %d;
    add.u32 %i, %i, 1;
    setp.lt.u32 %q, %i, 10;
    @%q bra LOOP;
    st.global.u32 [%o], %acc;
    ret;
}
"""


def expected() -> int:
    total = kept = 0
    for each in range(10):
        if each & 3 == 0:
            kept = 7 * each + 100
        value = kept
        if each & 3 != 2:
            total, value = total + value, value + 1000
        total ^= value
    return total


@pytest.mark.parametrize("optimize", [False, True])
def test_a_move_behind_a_guarded_definition_stays(optimize: bool) -> None:
    buffers = {"out": np.zeros(1, np.uint32)}
    job = Job("k", "tiny", PTX, "k.ptx", buffers, [Launch("k", (1, 1, 1), (1, 1, 1), ("out",))])
    code = {"k": lower(parse(PTX, "k.ptx"), "k", optimize=optimize)}
    assert run_job(job, code).buffers["out"].tolist() == [expected()]
