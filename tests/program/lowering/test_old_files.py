"""PTX of old compilers: no .address_size, prototypes without a semicolon, variables inside functions."""

from __future__ import annotations

import numpy as np
import pytest

from warpbank.program.emulator import run_job
from warpbank.program.errors import PtxError
from warpbank.program.launch import Job, Launch
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

OLD = """.version 1.4
.target sm_10, map_f64_to_f32
.func (.reg .u32 r) twice (.reg .u32 a)
.extern .func nowhere
.entry k (.param .u64 p_out)
{{
    .global .align 4 .u32 table[4] = {{10, 20, 30, 40}};
    .global .u64 way = table;
    .const .u32 offset = 5;
    .reg .u32 %r<9>;  .reg .u64 %rd<9>;
    ld.param.u64 %rd1, [p_out];
    cvt.u32.u16 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.u64 %rd3, [way];
    add.u64 %rd3, %rd3, %rd2;
    ld.global.u32 %r2, [%rd3];
    ld.const.u32 %r3, [offset];
    {{
        .global .u32 table = 100;
        ld.global.u32 %r4, [table];
    }}
    add.u32 %r2, %r2, %r3;
    add.u32 %r2, %r2, %r4;
    .shared .u32 room[4];
    mov.u32 %r5, room;
    mul.lo.u32 %r6, %r1, 4;
    add.u32 %r5, %r5, %r6;
    st.shared.u32 [%r5], %r2;
near:
    ld.shared.u32 %r2, [%r5];
    call (%r2), twice, (%r2);
    st.global.u32 [{base}], %r2;
    exit;
}}
.func (.reg .u32 r) twice (.reg .u32 a)
{{
    add.u32 r, a, a;
    ret;
}}
"""


def test_runs() -> None:
    text = OLD.format(base="%rd1")
    module = parse(text, "old.ptx")
    assert module.address_size == 0
    assert module.functions["nowhere"].body is None
    launch = Launch("k", (1, 1, 1), (4, 1, 1), ("out",))
    job = Job("k", "tiny", text, "old.ptx", {"out": np.zeros(4, np.uint32)}, [launch])
    found = run_job(job, {"k": lower(module, "k")}).buffers["out"]
    assert found.tolist() == [2 * (105 + 10 * i) for i in (1, 2, 3, 4)]


def test_addresses_of_32_bits_are_refused_where_they_stand() -> None:
    with pytest.raises(PtxError, match=r"old.ptx:33: .*32-bit address.*-m64"):
        lower(parse(OLD.format(base="%r1"), "old.ptx"), "k")


def test_a_prototype_at_the_end_of_a_file_looks_cut_off() -> None:
    with pytest.raises(PtxError, match="truncated"):
        parse(".version 1.4\n.target sm_10\n.func f", "old.ptx")
