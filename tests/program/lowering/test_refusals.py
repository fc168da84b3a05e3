"""What is not supported says so, with file, line, the instruction and what there is instead."""

from __future__ import annotations

import pytest

from warpbank.program.errors import PtxError
from warpbank.program.lowering import lower
from warpbank.program.lowering.table import REFUSED, RULES
from warpbank.program.ptx.parser import parse

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
#: Base opcodes that the program side has to know.
NEEDED = """
    add sub mul mad mul24 mad24 fma div rem abs neg min max and or xor not cnot lop3 shl shr shf bfe bfi prmt
    clz popc brev bfind fns sad dp4a setp set selp slct mov cvt cvta isspacep ld st ldu prefetch atom red bar
    barrier membar fence bra brx call ret exit trap brkpt vote match activemask redux shfl rcp rsqrt sqrt sin
    cos lg2 ex2 tanh copysign testp addc subc madc nanosleep mma"""


def body(line: str) -> str:
    return HEAD + (
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        ".func again(.param .b32 n) { .param .b32 t; call.uni again, (t); ret; }\n"
        ".global .texref tex0; .global .surfref surf0; .shared .b32 tile;\n"
        ".visible .entry k(.param .u64 p) {\n"
        ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<5>; .reg .f32 %f<9>; .reg .pred %p<3>;"
        " .param .b32 n; .param .b64 a; .param .b64 b;\n"
        f"{line}\nret; }}\n"
    )


def test_every_needed_opcode_has_a_rule() -> None:
    assert [opcode for opcode in NEEDED.split() if opcode not in RULES] == []
    assert not set(RULES) & set(REFUSED)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex0, {%r1, %r2}];",
            "write [textures.tex0] in the launch",
        ),
        ("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}];", "no launch passes a texture here"),
        ("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex0, {%r1}];", "takes 2 coordinates, not 1"),
        ("tex.2d.v2.f16x2.s32 {%r1, %r2}, [tex0, {%r1, %r2}];", "take .v4.f32, .v4.s32 or .v4.u32"),
        ("tex.2d.v4.f32.s32 {%f1, %f2}, [tex0, {%r1, %r2}];", "four registers in braces"),
        ("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [p, {%r1, %r2}];", "no launch passes a texture here"),
        ("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tile, {%r1, %r2}];", "'tile' is no texture"),
        ("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex0, {%r1}], %r2;", "add an offset to the coordinates"),
        ("tex.3d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex0, {%r1, %r2, %r3}];", "rows of a 2D texture"),
        ("txq.depth.b32 %r1, [tex0];", "only .width and .height"),
        ("ld.global.u32 %r1, [tex0];", "read it with tex"),
        ("mov.u64 %rd1, tex0;", "write [textures.tex0]"),
        ("suld.b.1d.b32.trap {%r1}, [surf0, {%r2}];", "surfaces are not supported: use global memory"),
        ("cp.async.bulk.wait_group 0;", "bulk copies and mbarrier objects are not supported"),
        ("wmma.load.a.sync.aligned.m16n16k16.row.f16 {%r1}, [%rd1];", "has 1 registers, not 8"),
        ("wgmma.fence.sync.aligned;", "use mma.sync or wmma"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%rd1], {%r1};", "st.shared"),
        ("mbarrier.init.shared.b64 [%rd1], %r1;", "bar.sync"),
        ("frobnicate.b32 %r1, %r2;", "'frobnicate' is not supported"),
        ("add.s32.frob %r1, %r2, %r3;", "modifier .frob is not supported"),
        ("call (n), vprintf, (a, b);", "printf is not supported"),
        ("call again, (n);", "recursion is not supported: k -> again -> again"),
        ("atom.global.exch.b16 %h1, [%rd1], %h2;", "less than 32 bits"),
        (
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1,%f2}, {%r1}, {%r2}, {%f3,%f4};",
            "2 registers, not 8",
        ),
        ("cvt.rn.satfinite.e2m1x2.f32 %h1, %f1, %f2;", ".e4m3x2 or .e5m2x2"),
        ("cvt.rn.e4m3x2.f32 %h1, %f1, %f2;", "needs .rn.satfinite"),
        ("cvt.rn.f32.e4m3x2 %f1, %h1;", "become .f16x2"),
        ("cvt.pack.sat.u8.s32 %r1, %r2, %r3;", "with a .b32 operand c"),
        ("st.param.b32 [p], %r1;", "cannot be written"),
        ("mov.u32 %r1, %pm0;", "%pm0 is not supported"),
        ("setp.lt.f32 %r1, %f1, %f2;", "not a predicate"),
        ("add.s64 %r1, %rd1, %rd2;", "narrower"),
        ("add.s32 %r1, %r2;", "3 operands"),
        ("griddepcontrol.wait;", "runs alone"),
        ("cvt.s32.f32 %r1, %f1;", ".rni"),
    ],
)
def test_refusals(line: str, message: str) -> None:
    with pytest.raises(PtxError) as caught:
        lower(parse(body(line), "some.ptx"), "k")
    text = str(caught.value)
    assert text.startswith(f"some.ptx:{5 if 'recursion' in message else 9}:")
    assert message in text
    assert line.split()[0].split(".")[0] in text


def test_no_such_kernel() -> None:
    with pytest.raises(PtxError, match="no kernel 'other'; the file has k"):
        lower(parse(body(""), "some.ptx"), "other")
