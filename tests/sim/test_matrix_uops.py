"""Golden runs of kernels with matrix products of every type: each operand is checked at dispatch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import warpbank

PTX = """.version 8.4
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<40>; .reg .b64 %rd<9>; .reg .f64 %f<9>; .reg .b16 %h<3>; .reg .b32 %n;
    ld.param.u64 %rd1, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 16; add.s64 %rd1, %rd1, %rd2;
    mul.lo.u32 %r1, %r0, 0x01020304; xor.b32 %r2, %r1, 0x11223344; mov.b32 %r3, 5; mov.b32 %r4, 6;
    mov.b32 %r5, 7; mov.b32 %r6, 8; cvt.rn.f64.u32 %f0, %r0; mov.f64 %f1, %f0; mov.f64 %f2, %f0;
    mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;
    mov.b32 %r14, 0; mov.b32 %r15, 0; mov.b32 %r16, 0; mov.b32 %r17, 0; mov.b32 %n, 0;
again:
    mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r3, %r4, %r5, %r6}, {%r1, %r2, %r2, %r1},
        {%r2, %r1}, {%r3, %r4, %r5, %r6};
    mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r3, %r4, %r5, %r6}, {%r1, %r2, %r2, %r1},
        {%r2, %r1}, {%r3, %r4, %r5, %r6};
    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%f1, %f2}, {%f0}, {%f0}, {%f1, %f2};
    mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17},
        {%r1, %r2}, {%r2, %r1}, {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17};
    cvt.rn.satfinite.e4m3x2.f32 %h0, %r3, %r10; cvt.rn.f16x2.e4m3x2 %r7, %h0;
    mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%r3, %r4, %r5, %r6}, {%r1, %r2, %r7, %r1},
        {%r2, %r1}, {%r3, %r4, %r5, %r6};
    add.u32 %n, %n, 1;
    .reg .pred %p; setp.lt.u32 %p, %n, 3; @%p bra again;
    cvt.rzi.s32.f64 %r8, %f1; xor.b32 %r8, %r8, %r7; xor.b32 %r8, %r8, %r11; xor.b32 %r3, %r3, %r5;
    st.global.v4.b32 [%rd1], {%r3, %r4, %r6, %r8};
    ret;
}
"""
TOML = """[buffers.out]
type = "u32"
shape = [64, 4]
fill = 0
[[launch]]
entry = "k"
grid = 1
block = 64
args = ["out"]
"""


@pytest.mark.parametrize("scheme", ["baseline", "bow-wb", "malekeh"])
def test_operands(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(PTX)
    (tmp_path / "k.toml").write_text(TOML)
    done = warpbank("run", str(tmp_path / "k.ptx"), "--preset", "tiny", "--scheme", scheme, "--json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert data["operands_checked"] > 300
