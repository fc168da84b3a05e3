"""What is not supported says so, with file, line, the instruction and what there is instead."""

from __future__ import annotations

import pytest

from warpbank.program.errors import PtxError
from warpbank.program.isa import Op
from warpbank.program.lowering import lower
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.table import REFUSED, RULES, Rule
from warpbank.program.lowering.types import B32
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
        ".global .texref tex0; .global .surfref surf0; .shared .b32 tile;"
        " .const .align 16 .b8 bank[32];\n"
        ".visible .entry k(.param .u64 p) {\n"
        ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<5>; .reg .f32 %f<9>; .reg .f64 %fd<9>;"
        " .reg .pred %p<3>; .reg .s32 %r1i; .reg .f16 %x<3>; .param .b32 n; .param .b64 a; .param .b64 b;"
        " .param .align 16 .b8 room[16];\n"
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
        ("tex.1d.v4.f16.s32 {%x1, %x2, %x1, %x2}, [tex0, {%r1}];", ".f16.s32 is not supported"),
        ("tex.1d.v4.b32.s32 {%r1, %r2, %r3, %r4}, [tex0, {%r1}];", ".b32.s32 is not supported"),
        ("tex.1d.v4.f32.u32 {%f1, %f2, %f3, %f4}, [tex0, {%r1}];", ".f32.u32 is not supported"),
        ("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex0+4, {%r1}];", "a texture in brackets is expected"),
        ("txq.width.b32 %r1, [tex0+4];", "a texture in brackets is expected"),
        ("txq.width.b32 %r1, [%rd1+4];", "a texture in brackets is expected"),
        ("txq.width.b32 %r1, [16];", "a texture in brackets is expected"),
        ("txq.width.b32 %r1, %rd1;", "a texture in brackets is expected"),
        ("txq.depth.b32 %r1, [tex0];", "only .width and .height"),
        ("txq.width.height.b32 %r1, [tex0];", "modifier .height is not supported"),
        ("txq.width.u32 %r1, [tex0];", ".b32 is missing"),
        ("txq.width.b32 %r1, [tex0], %r2;", "it takes 2 operands, not 3"),
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
        ("add.u32 %r1, %h1, %r2;", "operand %h1 is narrower than .u32"),
        ("fma.rn.f32 %f1, %f2, %h1, %f3;", "operand %h1 is narrower than .f32"),
        ("setp.eq.u32 %p1, %h1, 0;", "operand %h1 is narrower than .u32"),
        ("shl.b16 %h1, %h2, %h1;", "operand %h1 is narrower than .u32"),
        ("st.global.u32 [%rd1], %h1;", "operand %h1 is narrower than .u32"),
        ("mov.b32 %r1, %h1;", "operand %h1 is narrower than .b32"),
        ("add.u32 %h1, %r1, %r2;", "its destination %h1 is narrower than the result"),
        ("cvt.u32.u16 %h1, %h2;", "its destination %h1 is narrower than the result"),
        ("cvt.u64.u32 %r1, %r2;", "its destination %r1 is narrower than the result"),
        ("ld.global.u32 %h1, [%rd1];", "its destination %h1 is narrower than the result"),
        (
            "ld.global.v2.u32 {%r1, %h1}, [%rd1];",
            "its vector has registers of different widths: take equal ones",
        ),
        ("st.global.v2.u16 [%rd1], {%h1, %r1};", "its vector has registers of different widths"),
        ("ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];", "it has 3 operands for 2 elements"),
        ("ld.global.v2.u32 %r1, [%rd1];", "it has 1 operands for 2 elements"),
        ("st.global.u32 [%rd1], {%r1, %r2};", "it has 2 operands for 1 elements"),
        (
            "st.global.v2.u32 [%rd1], {%r1, _};",
            "_ takes a result that nobody needs; it has no value to store",
        ),
        ("popc.b32 %h1, %r1;", "its destination %h1 is narrower than the result"),
        ("add.s32 %r1, %r2;", "3 operands"),
        ("griddepcontrol.wait;", "runs alone"),
        ("cvt.s32.f32 %r1, %f1;", ".rni"),
        ("cvt.f32.s32 %f1, %r1;", "needs one of .rn .rz .rm .rp"),
        ("fma.f32 %f1, %f2, %f3, %f4;", "one of .rn, .rz, .rm, .rp is needed"),
        ("mad.f64 %fd1, %fd2, %fd3, %fd4;", "one of .rn, .rz, .rm, .rp is needed"),
        ("div.f32 %f1, %f2, %f3;", "a rounding such as .rn is needed, or .approx of an .f32"),
        ("sqrt.f64 %fd1, %fd2;", "a rounding such as .rn is needed, or .approx of an .f32"),
        ("rcp.f32 %f1, %f2;", "a rounding such as .rn is needed, or .approx of an .f32"),
        ("div.approx.f64 %fd1, %fd2, %fd3;", "approximations divide .f32 alone"),
        ("div.full.f64 %fd1, %fd2, %fd3;", "approximations divide .f32 alone"),
        ("div.rn.f16 %h1, %h2, %h3;", "division of .f16 is not supported: divide in f32 and convert"),
        ("fma.rn.oob.f16 %h1, %h2, %h3, %h1;", "out-of-bounds fma is not supported"),
        ("sin.f32 %f1, %f2;", "only its .approx form exists"),
        ("sqrt.rn.f16 %h1, %h2;", ".f16 is not supported"),
        ("sin.approx.f64 %fd1, %fd2;", "of the f64 approximations only rcp and rsqrt exist"),
        ("copysign.u32 %r1, %r2, %r3;", "it does not work on .u32"),
        ("mov %r1, %r2;", "an operand type such as .b32 is needed"),
        ("mul.u32 %r1, %r2, %r3;", "one of .lo, .hi, .wide is needed"),
        ("cvt.rn.f16.f16 %h1, %h2;", "nothing is rounded"),
        ("cvt.rzi.u32.u16 %r1, %h1;", "between integers nothing is rounded"),
        ("or.u32 %r1, %r2, %r3;", ".u32 is no type of or: take one of .b16 .b32 .b64 .pred"),
        ("shl.s32 %r1, %r2, %r3;", ".s32 is no type of shl"),
        ("max.pred %p1, %p2, %p1;", ".pred is no type of max"),
        ("ld.param.pred %p1, [p];", ".pred is no type of ld"),
        ("mov.b16 %h1, 0f3F800000;", "a .b16 takes a constant without a point"),
        ("mov.b32 %r1, 1.0;", "a .b32 takes a constant without a point or 0f and its bits"),
        ("mov.b64 %rd1, 0f3F800000;", "a .b64 takes a constant without a point or of doubles"),
        ("ld.global.f16 %h1, [%rd1];", ".f16 is no type of ld"),
        ("cvt.rn.f32.b32 %f1, %r1;", ".b32 is no type of cvt"),
        ("add.f32 %f1, %f2, %r1i;", "operand %r1i is a .s32 where a .f32 is expected: take a .b32 register"),
        ("add.s32 %f1, %r1, %r2;", "its destination %f1 is a .f32 where a .s32 is expected"),
        ("st.global.u32 [%rd1], %f1;", "operand %f1 is a .f32 where a .u32 is expected"),
        ("add.bf16 %x1, %h1, %h2;", "its destination %x1 is a .f16 where a .bf16 is expected"),
        ("add.u16 %h1, %r1, %h2;", "operand %r1 has 32 bits where a .u16 is expected"),
        ("add.u16 %r1, %h1, %h2;", "its destination %r1 has 32 bits, its result at most 16"),
        ("shl.b32 %r1, %r2, %f1;", "operand %f1 is a .f32 where a .u32 is expected"),
        ("ld.global.u32 %r1, [%fd1];", "its address %fd1 is a .f64"),
        ("add.f32 %f1, %f2, 5;", "a .f32 takes a constant with a point, or 0f or 0d"),
        ("add.s32 %r1, %r2, 0f3F800000;", "a .s32 takes a constant without a point"),
        ("atom.global.or.u32 %r1, [%rd1], %r2;", ".u32 is no type of .or: take one of .b32 .b64"),
        ("atom.global.add.s64 %rd1, [%rd2], %rd3;", ".s64 is no type of .add: take one of .u32 .s32 .u64"),
        (
            "mov.v2.u32 {%r1, %r2}, {%r3, %r4, %r5};",
            "a vector of 2 elements: write 2 in braces on either side",
        ),
        ("cvt.sat.s32.s32 %r1, %r2;", ".sat does not go with .s32.s32"),
        ("cvt.sat.u32.u16 %r1, %h1;", ".sat does not go with .u32.u16"),
        ("cvt.sat.s32.u16 %r1, %h1;", ".sat does not go with .s32.u16"),
        ("cvt.sat.s32.s16 %r1, %h1;", ".sat does not go with .s32.s16"),
        ("cvt.sat.f32.bf16 %f1, %h1;", ".sat does not go with .f32.bf16"),
        ("cvt.rn.sat.bf16.f32 %h1, %f1;", ".sat does not go with .bf16.f32"),
        ("cvt.rn.sat.f16x2.f32 %r1, %f1, %f2;", ".sat does not go with .f16x2.f32"),
        ("cvt.rn.sat.relu.f16.f32 %h1, %f1;", ".sat does not go with .f16.f32 and .relu or .satfinite"),
        ("cvt.ftz.u16.u32 %h1, %r1;", ".ftz does not go with .u16.u32"),
        ("cvt.rn.ftz.f16.f64 %h1, %fd1;", ".ftz does not go with .f16.f64"),
        ("cvt.rn.ftz.f16x2.f32 %r1, %f1, %f2;", ".ftz does not go with .f16x2.f32"),
        ("cvt.rn.ftz.relu.f16.f32 %h1, %f1;", ".ftz does not go with .f16.f32 and .relu or .satfinite"),
        ("cvt.rna.f16.f32 %h1, %f1;", ".f16.f32 takes .rn .rz .rm or .rp alone"),
        ("cvt.rm.f16x2.f32 %r1, %f1, %f2;", ".f16x2.f32 takes .rn or .rz alone"),
        ("cvt.relu.f16.f16 %h1, %h2;", "from .f32 to 16-bit floats, not with .f16.f16"),
        ("cvt.rm.satfinite.f16.f32 %h1, %f1;", "go with .rn or .rz from .f32"),
        ("cvt.rn.bf16.u8 %h1, %r1;", "there is no conversion .bf16.u8: take .f32 between them"),
        ("cvt.rni.u8.bf16 %r1, %h1;", "there is no conversion .u8.bf16"),
        ("cvt.rni.f16.bf16 %h1, %h2;", "in its own type: cvt .bf16 to itself before"),
        ("cvt.rn.satfinite.f16x2.e4m3x2 %r1, %h1;", ".satfinite does not go with .f16x2.e4m3x2"),
        ("cvt.rna.relu.tf32.f32 %r1, %f1;", ".relu goes with .rn or .rz, not with .rna"),
        ("cvt.rn.tf32.f64 %r1, %fd1;", "there is no conversion .tf32.f64"),
        ("cvt.rn.f16x2.f32 %r1, %h1, %f2;", "operand %h1 is narrower than .f32"),
        ("cvt.rn.satfinite.f32.e4m3x2 %f1, %h1;", "there is no conversion .f32.e4m3x2"),
        ("cvt.rn.satfinite.f64.f16x2 %fd1, %r1;", "a pair of floats is no source"),
        ("cvt.rn.e4m3x2.u16 %h1, %h2;", "there is no conversion .e4m3x2.u16"),
        ("cvt.rn.satfinite.e4m3x2.f32.frob %h1, %f1, %f2;", "modifier .frob is not supported on cvt.e4m3x2"),
        ("add.f16.f16 %h1, %h2, %h3;", "modifier .f16 is not supported on add"),
        ("add.f32.f64 %f1, %fd1, %f2;", "modifier .f64 is not supported on add"),
        ("cvt.rna.tf32.f32 %r1, %f1, %f2;", "it takes 2 operands, not 3"),
        ("cvt.pack.u16.s32 %r1, %r2, %r3;", "cvt.pack needs .sat"),
        ("cvt.pack.sat.u16.s32.b32 %r1, %r2, %r3, %r1;", "with a .b32 operand c"),
        ("cvt.pack.sat.u8.s32.u32 %r1, %r2, %r3, %r1;", "with a .b32 operand c"),
        ("cvt.pack.sat.u8.u32.b32 %r1, %r2, %r3, %r1;", "cvt.pack converts .s32"),
        ("cvt.pack.sat.u32.s32.b32 %r1, %r2, %r3, %r1;", "cvt.pack converts .s32"),
        ("cvt.pack.sat.s16.s32 %r1, %r2, %r3, %r1;", "it takes 3 operands, not 4"),
        ("cvt.pack.sat.s8.s32.b32 %r1, %r2, %r3;", "it takes 4 operands, not 3"),
        ("cvt.rn.tf32.f16x2 %r1, %r2;", "there is no conversion .tf32.f16x2"),
        ("cvt.rz.satfinite.e4m3x2.f32 %h1, %f1, %f2;", "a conversion to 8-bit floats needs .rn.satfinite"),
        ("cvt.satfinite.e5m2x2.f32 %h1, %f1, %f2;", "a conversion to 8-bit floats needs .rn.satfinite"),
        ("cvt.rn.satfinite.e4m3x2.f16x2 %h1, %r1, %r2;", "it takes 2 operands, not 3"),
        ("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1;", "it takes 3 operands, not 2"),
        ("mov.v4.u32 {%r1, %r2}, {%r3, %r4};", "it copies a vector of 4 elements"),
        ("mov.v2.u32 %r1, %r2;", "it copies a vector of 2 elements"),
        ("mov.v2.b32 %r1, {%r1, %r2};", "it copies a vector of 2 elements"),
        ("mov.v2.b32 {%r1, %r2}, %r1;", "it copies a vector of 2 elements"),
        ("mov.v2.pred {%p1, %p2}, {%p1, %p2};", "2 elements of .pred make no vector: take a mov for each"),
        (
            "mov.v4.b64 {%rd1, %rd1, %rd1, %rd1}, {%rd1, %rd1, %rd1, %rd1};",
            "4 elements of .b64 make no vector",
        ),
        ("mov.b64 %rd1, {%r1, _};", "_ takes a result that nobody needs; it has no value to pack"),
        ("mov.b16 {%h1, %h2}, %h3;", "%h1 is a .b16: 2 elements that make a .b16 have 8 bits each"),
        ("mov.b32 {%r1, %h2}, %r1;", "%r1 is a .b32: 2 elements that make a .b32 have 16 bits each"),
        ("mov.b32 %r1, {%p1, %h1};", "%p1 is a .pred: 2 elements that make a .b32 have 16 bits each"),
        ("mov.b32 {%h1, %h2, %h3}, %r1;", "3 elements do not make a .b32"),
        ("mov.b32 {%r1, %r2}, {%r3, %r4};", "of a kind it does not take"),
        ("mov.f32 %f1, {%h1, %h2};", "what packs and unpacks has bits, not a .f32: take mov.b32"),
        ("mov.u32 {%h1, %h2}, %r1;", "what packs and unpacks has bits, not a .u32: take mov.b32"),
        ("cvt.rn.f64.f32 %fd1, %f1;", "a .f64 holds every .f32: leave the rounding out"),
        ("setp.lt.b32 %p1, %r1, %r2;", "bits are compared with .eq and .ne alone: take .u32 or .s32"),
        ("add.cc.f32 %f1, %f2, %f3;", "not of floats"),
        ("cvt.f32.f16x2 %f1, %r1;", "a pair of floats is no source"),
        ("atom.global.add.f16 %h1, [%rd1], %h2;", "an atomic of .f16 needs .noftz"),
        ("add.rz.f16 %h1, %h2, %h3;", "has no rounding other than .rn with .f16, with .f32 and .f64 and"),
        ("fma.rm.f16x2 %r1, %r2, %r3, %r1;", "fma has no rounding other than .rn with .f16x2"),
        ("add.ftz.f64 %fd1, %fd2, %fd3;", "add has no .ftz with .f64, with .f32 and .f32x2 and .f16"),
        ("sub.sat.f64 %fd1, %fd2, %fd3;", "sub has no .sat with .f64"),
        ("mul.ftz.bf16 %h1, %h2, %h3;", "mul has no .ftz with .bf16"),
        ("fma.rn.sat.bf16 %h1, %h2, %h3, %h1;", "fma has no .sat with .bf16"),
        ("add.sat.f32x2 %rd1, %rd2, %rd3;", "add has no .sat with .f32x2"),
        ("add.noftz.f32 %f1, %f2, %f3;", "modifier .noftz is not supported on add"),
        ("add.relu.f16 %h1, %h2, %h3;", "add has no .relu with .f16"),
        ("fma.rn.relu.f32 %f1, %f2, %f3, %f1;", "fma has no .relu with .f32, with .f16 and .f16x2"),
        ("fma.rn.sat.relu.f16 %h1, %h2, %h3, %h1;", ".sat and .relu exclude each other"),
        ("mad.rn.f16 %h1, %h2, %h3, %h1;", "mad works on .f32 and .f64, not on .f16"),
        ("mad.rn.f32x2 %rd1, %rd2, %rd3, %rd1;", "mad works on .f32 and .f64, not on .f32x2: take fma"),
        ("min.relu.f32 %f1, %f2, %f3;", "modifier .relu is not supported on min"),
        ("max.NaN.f64 %fd1, %fd2, %fd3;", "max has no .NaN with .f64"),
        ("min.xorsign.abs.f64 %fd1, %fd2, %fd3;", "min has no .xorsign.abs with .f64"),
        ("min.ftz.bf16 %h1, %h2, %h3;", "min has no .ftz with .bf16"),
        ("neg.ftz.f64 %fd1, %fd2;", "neg has no .ftz with .f64"),
        ("abs.ftz.bf16x2 %r1, %r2;", "abs has no .ftz with .bf16x2"),
        ("div.rn.ftz.f64 %fd1, %fd2, %fd3;", "div has no .ftz with .f64, with .f32 alone"),
        ("sqrt.rn.ftz.f64 %fd1, %fd2;", "sqrt has no .ftz with .f64"),
        ("rcp.approx.f64 %fd1, %fd2;", "rcp.approx of .f64 needs .ftz"),
        ("ex2.approx.ftz.f16 %h1, %h2;", "ex2 has no .ftz with .f16"),
        ("ex2.approx.bf16 %h1, %h2;", "ex2 of .bf16 needs .ftz"),
        ("tanh.approx.ftz.f32 %f1, %f2;", "tanh has no .ftz with .f32"),
        ("red.async.relaxed.cluster.global.add.u32 [%rd1], %r1;", "use red without .async"),
        ("atom.global.add.u32 %r1, [%rd1];", "it takes 3 operands, not 2"),
        ("atom.global.cas.b32 %r1, [%rd1], %r2;", "it takes 4 operands, not 3"),
        ("red.global.add.u32 [%rd1], %r1, %r2, %r3;", "it takes 2 operands, not 4"),
        ("atom.global.add.f32 {%f1, %f2}, [%rd1], {%f3, %f4};", "vector atomics are not supported"),
        ("atom.add.u32 %r1, [bank], %r2;", "atomics work on global, shared and local memory"),
        ("atom.add.u32 %r1, [p], %r2;", "atomics work on global, shared and local memory"),
        ("setp.lo.s32 %p1, %r1, %r2;", "compare unsigned numbers, not .s32: take .lt .le .gt .ge"),
        ("setp.hi.and.f32 %p1, %f1, %f2, %p2;", "compare unsigned numbers, not .f32"),
        ("setp.ls.s64 %p1, %rd1, %rd2;", "compare unsigned numbers, not .s64"),
        ("set.hs.u32.s32 %r1, %r2, %r3;", "compare unsigned numbers, not .s32"),
        ("setp.equ.u32 %p1, %r1, %r2;", "this comparison is one of floats, not of .u32"),
        ("setp.eq.frob.u32 %p1, %r1, %r2;", "modifier .frob is not supported"),
        ("setp.eq.u32 %p1, %r1, %r2, %p2;", "3 operands"),
        ("set.eq.frob.u32.u32 %r1, %r2, %r3;", "modifier .frob is not supported"),
        ("set.eq.u32.u32 %r1, %r2, %r3, %p1;", "3 operands"),
        ("set.eq.and.u32.u32 %r1, %r2, %r3;", "4 operands"),
        ("set.eq.u64.u32 %rd1, %r2, %r3;", "a 64-bit result is not supported: use setp and selp"),
        ("redux.sync.min.f32 %f1, %f2, -1;", "redux.sync of floats is not supported: reduce with shfl.sync"),
        ("bra;", "1 operand"),
        ("bra %r1;", "branch to a label"),
        ("bra.frob over; over:", "modifier .frob is not supported"),
        ("mov.u32 %r1, again;", "the address of function 'again' has 64 bits"),
        ("brx.idx %r1, 5; t: .branchtargets over; over:", "its list of targets is not declared"),
        ("brx.idx %r1, over; over:", "its list of targets is not declared"),
        ("brx.idx.frob %r1, over; over:", "modifier .frob is not supported"),
        ("barrier.cluster.arrive;", "synchronise the CTA with bar.sync"),
        ("bar.sync 0, 32, 1;", "1 or 2 operands"),
        ("bar.red.popc.frob.u32 %r1, 0, %p1;", "modifier .frob is not supported"),
        ("cvt.frob.u32.u16 %r1, %h1;", "modifier .frob is not supported"),
        ("call %r1;", "it can reach no function of this file that fits it"),
    ],
)
def test_refusals(line: str, message: str) -> None:
    with pytest.raises(PtxError) as caught:
        lower(parse(body(line), "some.ptx"), "k")
    text = str(caught.value)
    assert text.startswith(f"some.ptx:{5 if 'recursion' in message else 9}:")
    assert message in text
    assert line.split()[0].split(".")[0] in text


def lowered(line: str) -> None:
    lower(parse(body(line), "some.ptx"), "k")


@pytest.mark.parametrize("line", ["cvt.rn.f32.s32 _, %r1;", "cvt.u32.u16 _, %h1;", "mov.u32 _, %r1;"])
def test_a_result_that_nobody_wants(line: str) -> None:
    """It goes into a register of nobody's, whatever its type."""
    lowered(line)


@pytest.mark.parametrize(
    "line",
    [
        "add.u32 %rd1, %r1, %r2;",
        "sub.cc.u32 %rd1, %r1, %r2;",
        "mul.lo.u32 %rd1, %r1, %r2;",
        "mul.hi.u32 %rd1, %r1, %r2;",
        "mul.wide.u16 %rd1, %h1, %h2;",
        "mad.lo.s32 %rd1, %r1, %r2, %r3;",
        "div.u32 %rd1, %r1, %r2;",
        "min.s32 %rd1, %r1, %r2;",
        "abs.s32 %rd1, %r1;",
        "neg.s32 %rd1, %r1;",
        "sad.u32 %rd1, %r1, %r2, %r3;",
        "and.b32 %rd1, %r1, %r2;",
        "not.b32 %rd1, %r1;",
        "shl.b32 %rd1, %r1, 1;",
        "bfe.u32 %rd1, %r1, 1, 2;",
        "prmt.b32 %rd1, %r1, %r2, 3;",
        "popc.b64 %rd1, %rd2;",
        "clz.b64 %rd1, %rd2;",
        "bfind.u64 %rd1, %rd2;",
        "fns.b32 %rd1, %r1, %r2, 1;",
        "dp4a.u32.u32 %rd1, %r1, %r2, %r3;",
        "set.lt.u32.u32 %rd1, %r1, %r2;",
        "selp.b32 %rd1, %r1, %r2, %p1;",
        "slct.b32.s32 %rd1, %r1, %r2, %r3;",
        "mov.u32 %rd1, %r1;",
        "mov.b32 %rd1, {%h1, %h2};",
        "add.f32 %fd1, %f1, %f2;",
        "fma.rn.f32 %rd1, %f1, %f2, %f3;",
        "ex2.approx.f32 %fd1, %f1;",
        "activemask.b32 %rd1;",
        "vote.sync.ballot.b32 %rd1, %p1, -1;",
        "match.any.sync.b32 %rd1, %r1, -1;",
        "shfl.sync.idx.b32 %rd1, %r1, 1, 31, -1;",
        "redux.sync.add.u32 %rd1, %r1, -1;",
        "atom.global.add.u32 %rd1, [%rd2], 1;",
        "bar.red.popc.u32 %rd1, 0, %p1;",
    ],
)
def test_a_result_narrower_than_its_register(line: str) -> None:
    with pytest.raises(PtxError, match=r"some.ptx:9: .* has 64 bits, its result at most 32: .* cvt"):
        lowered(line)


@pytest.mark.parametrize(
    "line",
    [
        "add.u32 %r1, %rd1, %r2;",
        "mul.hi.u32 %r1, %r2, %rd1;",
        "fma.rn.f32 %f1, %f2, %rd1, %f3;",
        "shl.b32 %r1, %r2, %rd1;",
        "selp.b32 %r1, %rd1, %r2, %p1;",
        "setp.eq.u32 %p1, %rd1, 0;",
        "mov.u32 %r1, %rd1;",
        "shfl.sync.idx.b32 %r1, %rd1, 1, 31, -1;",
        "atom.global.add.u32 %r1, [%rd2], %rd1;",
    ],
)
def test_an_operand_wider_than_the_type(line: str) -> None:
    with pytest.raises(PtxError, match=r"some.ptx:9: .*%rd1 has 64 bits where a .\w+ is expected: .* cvt"):
        lowered(line)


@pytest.mark.parametrize(
    ("line", "widths"),
    [
        ("lop3.b64 %rd1, %rd2, %rd3, %rd4, 3;", "32"),
        ("prmt.b64 %rd1, %rd2, %rd3, 3;", "32"),
        ("shf.l.wrap.b64 %rd1, %rd2, %rd3, %r1;", "32"),
        ("mul24.lo.u64 %rd1, %rd2, %rd3;", "32"),
        ("mad24.lo.u64 %rd1, %rd2, %rd3, %rd4;", "32"),
        ("dp4a.u64.u32 %r1, %r2, %r3, %r4;", "32"),
        ("dp2a.lo.u32.s64 %r1, %r2, %r3, %r4;", "32"),
        ("fns.b64 %rd1, %r1, %r2, 1;", "32"),
        ("bmsk.clamp.b64 %rd1, %r1, %r2;", "32"),
        ("szext.clamp.u64 %rd1, %rd2, %r1;", "32"),
        ("shfl.sync.idx.b64 %rd1, %rd2, 1, 31, -1;", "32"),
        ("redux.sync.add.u64 %rd1, %rd2, -1;", "32"),
        ("redux.sync.add.s16 %r1, %h1, -1;", "32"),
        ("match.any.sync.b16 %r1, %h1, -1;", "32 or 64"),
        ("popc.b16 %r1, %h1;", "32 or 64"),
        ("bfi.b16 %h1, %h2, %h3, 1, 2;", "32 or 64"),
    ],
)
def test_types_of_another_width(line: str, widths: str) -> None:
    with pytest.raises(PtxError, match=f"some.ptx:9: .* works on {widths} bits, not on"):
        lowered(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("slct.b32.u64 %r1, %r2, %r3, %rd1;", "an .s32 or an .f32, not a .u64"),
        ("mul.wide.u16 %h1, %h2, %h1;", "its destination %h1 is narrower than the result"),
        ("mad.wide.s16 %h1, %h2, %h1, %r2;", "its destination %h1 is narrower than the result"),
        ("cvt.rn.f32.s32 %fd1, %r1;", "take a .b32 register, or a .b64"),
        ("mov.u32 %rd1, %tid.x;", "its destination %rd1 has 64 bits, its result at most 32"),
        ("mov.u64 %rd1, %tid.x;", "special register %tid.x has 32 bits"),
        ("mov.b64 %rd1, %laneid;", "special register %laneid has 32 bits"),
        ("mov.u32 %r1, %clock64;", "special register %clock64 has 64 bits: cvt truncates it"),
        ("add.u32 %r1, %r2, %tid.x;", "%tid.x is an operand of mov and cvt alone: mov it into a register"),
        ("st.global.u32 [%rd1], %tid.x;", "%tid.x is an operand of mov and cvt alone"),
        ("cvt.rn.bf16.f32 %rd1, %f1;", "take a .b16 register"),
        ("cvt.rn.bf16.f32 %r1, %f1;", "its destination %r1 is a .b32 where a .bf16 is expected"),
        ("cvt.f32.bf16 %f1, %r1;", "operand %r1 is a .b32 where a .bf16 is expected: take a .b16 register"),
        ("st.global.u16 [%rd1], %f1;", "is a .f32 where a .u16 is expected: take a .b32 register"),
        ("ld.global.v2.u32 {%f1, %f2}, [%rd1];", "its destination %f1 is a .f32 where a .u32 is expected"),
        ("st.global.f32 [%rd1], %fd1;", "take a .b32 register, or a .b64"),
    ],
)
def test_registers_that_cannot_hold_the_type(line: str, message: str) -> None:
    with pytest.raises(PtxError, match=message):
        lowered(line)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("add.sat.u32 %r1, %r2, %r3; sub.sat.u32 %r1, %r2, %r3;", "sat.s32 saturates"),
        ("add.sat.s64 %rd1, %rd2, %rd3; sub.sat.s16 %h1, %h2, %h3;", "sat.s32 saturates"),
        ("add.cc.sat.s32 %r1, %r2, %r3;", "sat.s32 saturates"),
        ("mad.hi.sat.u32 %r1, %r2, %r3, %r4; mad.lo.sat.s32 %r1, %r2, %r3, %r4;", "mad.hi.sat.s32 saturates"),
        ("mul.hi.sat.s32 %r1, %r2, %r3; mad.wide.sat.s32 %rd1, %r2, %r3, %rd2;", "mad.hi.sat.s32 saturates"),
        ("mad.hi.sat.s64 %rd1, %rd2, %rd3, %rd4;", "mad.hi.sat.s32 saturates"),
        ("mad24.lo.sat.s32 %r1, %r2, %r3, %r4; mul24.hi.sat.s32 %r1, %r2, %r3;", "mad24.hi.sat.s32"),
        ("add.cc.s16 %h1, %h2, %h3; addc.u16 %h1, %h2, %h3;", "not of ..16"),
        ("addc.f32 %f1, %f2, %f3; mad.lo.cc.u16 %h1, %h2, %h3, %h4;", "32- and 64-bit integers"),
        ("mad.wide.cc.u32 %rd1, %r1, %r2, %rd2; mul.lo.cc.u32 %r1, %r2, %r3;", "add.cc"),
        ("mul.hi.u8 %r1, %r2, %r3; mul.wide.u8 %r1, %r2, %r3;", "16, 32 and 64 bits"),
        ("min.relu.u32 %r1, %r2, %r3; max.relu.s64 %rd1, %rd2, %rd3;", ".s32 and .s16x2 take .relu"),
        ("max.relu.u16x2 %r1, %r2, %r3; min.relu.s16 %h1, %h2, %h3;", ".s32 and .s16x2 take .relu"),
        ("rem.f32 %f1, %f2, %f3; rem.f64 %fd1, %fd2, %fd3;", "rem is one of integers"),
        ("abs.u32 %r1, %r2; abs.b64 %rd1, %rd2;", "signed numbers"),
        ("copysign.f16 %h1, %h2, %h3; testp.finite.f16x2 %p1, %r1;", "works on .f32 and .f64"),
    ],
)
def test_modifiers_and_types_that_ptx_lacks(lines: str, message: str) -> None:
    for line in lines.split("; "):
        with pytest.raises(PtxError, match=message):
            lowered(line.rstrip(";") + ";")


@pytest.mark.parametrize(
    "line",
    [
        "ld.global.u8 %rd1, [%rd2];",
        "ld.global.v2.s32 {%rd1, %rd3}, [%rd2];",
        "ldu.global.u32 %rd1, [%rd2];",
        "st.global.b8 [%rd2], %rd1;",
        "st.global.u16 [%rd1], %r1i;",
        "ld.global.u32 %r1, [4096];",
        "st.global.b16 [%rd1], %f1;",
        "ld.global.v2.f32 {%r1i, %r2}, [%rd1];",
        "ld.global.v2.u32 {%f1, %r2}, [%rd1];",
        "cvt.u32.u16 %rd1, %rd2;",
        "cvt.rn.f32.s32 %rd1, %rd2;",
        "cvt.rn.f32.f64 %rd1, %fd2;",
        "cvt.rn.f16x2.f32 %rd1, %f1, %f2;",
        "mov.b64 {%r1, %r2}, %rd1;",
    ],
)
def test_loads_stores_and_conversions_take_wider_registers(line: str) -> None:
    lowered(line)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("ld.const.u16 %h1, [bank+3];", "loads 2 bytes"),
        ("ld.const.u32 %r1, [bank+2];", "loads 4 bytes"),
        ("ld.const.u64 %rd1, [bank+4];", "loads 8 bytes"),
        ("ld.const.v2.u32 {%r1, %r2}, [bank+4];", "loads 8 bytes"),
        ("ld.const.v4.u32 {%r1, %r2, %r3, %r4}, [bank+8];", "loads 16 bytes"),
        ("ld.const.v2.u8 {%r1, %r2}, [bank+1];", "loads 2 bytes"),
        ("ld.param.u64 %rd1, [p+4];", "loads 8 bytes"),
        ("ld.param.b64 %rd1, [room+4];", "loads 8 bytes"),
        ("ld.param.u16 %h1, [room+3];", "loads 2 bytes"),
        ("st.param.b64 [room+4], %rd1;", "stores 8 bytes"),
        ("st.param.u16 [room+1], %h1;", "stores 2 bytes"),
        ("st.param.v2.b32 [room+4], {%r1, %r2};", "stores 8 bytes"),
    ],
)
def test_misaligned_accesses_at_known_places(line: str, what: str) -> None:
    with pytest.raises(PtxError, match=f"some.ptx:9: .* it {what} at an address that is not a multiple of"):
        lowered(line)


@pytest.mark.parametrize(
    "line",
    [
        "ld.const.u16 %h1, [bank+2];",
        "ld.const.u8 %rd1, [bank+3];",
        "ld.const.v2.u32 {%r1, %r2}, [bank+8];",
        "ld.param.u32 %r1, [p+4];",
        "ld.param.v2.b16 {%h1, %h2}, [room+4];",
        "st.param.v2.b32 [room+8], {%r1, %r2};",
    ],
)
def test_aligned_accesses_at_known_places(line: str) -> None:
    lowered(line)


def test_what_no_rule_refuses_has_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(ctx: Context, form: Form) -> None:
        ctx.emit(Op.BREV, ctx.dst(form.operands[0], 2), ctx.value(form.operands[1], B32), volatile=True)

    monkeypatch.setitem(RULES, "brev", Rule(rule, False))
    with pytest.raises(PtxError, match=r"some.ptx:9: kernel k: no machine code .* not 32 bits wide; check"):
        lowered("brev.b64 %rd1, %r2;")


def test_no_such_kernel() -> None:
    with pytest.raises(PtxError, match="no kernel 'other'; the file has k"):
        lower(parse(body(""), "some.ptx"), "other")
