"""Calls: structures, several results, local frames, function pointers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.semantics.bench import run
from warpbank.program.errors import ExecutionError, PtxError

#: Functions of one signature, and the two tables that hold their addresses.
FUNCTIONS = """
.func (.param .b32 r) twice(.param .b32 a);
.func (.param .b32 r) shifted(.param .b32 a);
.func (.param .b32 r) nested(.param .b32 a);
.global .align 8 .u64 table[3] = {twice, shifted, nested};
.const .align 8 .u64 reversed[2] = {shifted, twice};
.func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r1; ld.param.b32 %r1, [a]; shl.b32 %r1, %r1, 1;
st.param.b32 [r], %r1;
ret; }
.func (.param .b32 r) shifted(.param .b32 a) {
    .reg .b32 %r<4>; .shared .align 4 .b32 own[64]; .local .align 4 .b32 frame[4];
    ld.param.b32 %r1, [a]; add.u32 %r1, %r1, 1000; mov.u32 %r2, %tid.x; shl.b32 %r2, %r2, 2; mov.u32 %r3, own;
add.u32 %r3, %r3, %r2;
    st.shared.b32 [%r3], %r1; st.local.b32 [frame+8], %r1; ld.shared.b32 %r1, [%r3];
    ld.local.b32 %r2, [frame+8];
    add.u32 %r1, %r1, %r2; st.param.b32 [r], %r1; ret; }
.func (.param .b64 r) misfit(.param .b32 a) { .reg .b64 %d1; mov.b64 %d1, 0; st.param.b64 [r], %d1; ret; }
.func (.param .b32 r) nested(.param .b32 a) {
    .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p;
    ld.param.b32 %r1, [a]; and.b32 %r2, %r1, 4; setp.ne.u32 %p, %r2, 0; mov.b64 %d1, twice;
    mov.b64 %d2, shifted;
    selp.b64 %d1, %d1, %d2, %p;
    { .param .b32 param0; .param .b32 retval0; st.param.b32 [param0], %r1;
      proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (retval0), %d1, (param0), proto;
ld.param.b32 %r3, [retval0]; }
    add.u32 %r3, %r3, 5; st.param.b32 [r], %r3; ret; }
"""
TABLES = (
    FUNCTIONS
    + """
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<4>;
    ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 3; mul.wide.u32 %d2, %r2, 8;
    mov.u64 %d3, table;
    add.s64 %d3, %d3, %d2; ld.global.u64 %d4, [%d3]; mov.u64 %d5, misfit; setp.ne.s64 %p1, %d4, %d5;
    { .param .b32 param0; st.param.b32 [param0], %r1; .param .b32 retval0;
      first: .callprototype (.param .b32 _) _ (.param .b32 _); @%p1 call (retval0), %d4, (param0), first;
      ld.param.b32 %r3, [retval0]; }
    and.b32 %r4, %r1, 1; mul.wide.u32 %d2, %r4, 8; mov.u64 %d3, reversed; add.s64 %d3, %d3, %d2;
    ld.const.u64 %d6, [%d3];
    setp.lt.u32 %p2, %r1, 20;
    { .param .b32 param0; st.param.b32 [param0], %r3; .param .b32 retval0;
      second: .calltargets twice, shifted; @%p2 call (retval0), %d6, (param0), second;
      ld.param.b32 %r6, [retval0]; @!%p2 mov.b32 %r6, 7; }
    mul.wide.u32 %d2, %r1, 8; add.s64 %d1, %d1, %d2; st.global.v2.b32 [%d1], {%r3, %r6}; ret; }
"""
)


def twice(x: int) -> int:
    return 2 * x


def shifted(x: int) -> int:
    return 2 * (x + 1000)


def nested(x: int) -> int:
    return (twice if x & 4 else shifted)(x) + 5


def test_function_pointers() -> None:
    for buffers in run(TABLES, {"out": np.zeros((64, 2), np.uint32)}, block=(64, 1, 1)):
        for t, row in enumerate(buffers["out"].tolist()):
            first = (twice, shifted, nested)[t % 3](t)
            assert row == [first, (shifted, twice)[t & 1](first) if t < 20 else 7]


def test_a_wild_function_pointer_is_a_trap() -> None:
    text = (
        FUNCTIONS
        + """
.visible .entry k(.param .u64 out) { .reg .b64 %d<3>; .param .b32 a; .param .b32 r; mov.b64 %d1, misfit;
proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (r), %d1, (a), proto; ret; }"""
    )
    with pytest.raises(ExecutionError, match="trap"):
        run(text, {"out": np.zeros(1, np.uint32)})


def test_a_pointer_that_no_function_fits_is_refused() -> None:
    text = """
.visible .entry k(.param .u64 out) { .reg .b64 %d<3>; .param .b32 a; ld.param.u64 %d1, [out];
proto: .callprototype _ (.param .b32 _); call %d1, (a), proto; ret; }"""
    with pytest.raises(PtxError, match=r"one\.ptx:6: .*no function of this file that fits"):
        run(text, {"out": np.zeros(1, np.uint32)})


def test_structures_and_early_returns() -> None:
    text = """
.func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 a[16], .param .b8 flag) {
    .reg .b32 %r<5>; .reg .b64 %d<5>; .reg .b16 %h<3>; .reg .pred %p<3>;
    ld.param.v2.u32 {%r1, %r2}, [a]; ld.param.b64 %d1, [a+8]; ld.param.s8 %h1, [flag];
    setp.ge.s16 %p1, %h1, 0;
    st.param.b64 [r], %d1; st.param.b32 [r+8], %r2; st.param.b32 [r+12], %r1; @%p1 ret;
    st.param.b8 [r+3], 0x5A; st.param.b16 [r+10], %h1; ret; }
.func (.param .b32 r) gather(.param .align 4 .b8 a[12]) {
    .reg .b32 %r<5>; .reg .b64 %d<5>;
    mov.b64 %d1, a; cvta.local.u64 %d2, %d1; mov.u32 %r1, %tid.x; rem.u32 %r1, %r1, 3;
    mul.wide.u32 %d3, %r1, 4;
add.s64 %d2, %d2, %d3;
    ld.u32 %r2, [%d2]; st.param.b32 [r], %r2; ret; }
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;
    ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 10; selp.u32 %r2, 0xFE, 1, %p1;
mov.b64 %d2, 0x1122334455667788;
    mov.b32 %r8, 0;
    again: { .param .align 8 .b8 param0[16]; .param .b8 param1; .param .align 8 .b8 retval0[16];
      st.param.v2.b32 [param0], {%r1, %r2}; st.param.b64 [param0+8], %d2; st.param.b8 [param1], %r2;
      call.uni (retval0), swap, (param0, param1); ld.param.b64 %d3, [retval0];
      ld.param.v2.b32 {%r3, %r4}, [retval0+8]; }
    { .param .align 4 .b8 param0[12]; .param .b32 retval0; st.param.b32 [param0], %r3;
    st.param.b32 [param0+4], %r4;
      st.param.b8 [param0+8], 1; st.param.b8 [param0+9], 2; st.param.b8 [param0+10], 3;
      st.param.b8 [param0+11], 4;
      call (retval0), gather, (param0); ld.param.b32 %r5, [retval0]; }
    add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 3; @%p2 bra again;
    mul.wide.u32 %d4, %r1, 24; add.s64 %d1, %d1, %d4; st.global.b64 [%d1], %d3;
    st.global.v2.b32 [%d1+8], {%r3, %r4};
    st.global.b32 [%d1+16], %r5; ret; }"""
    # A GPU holds results in registers: of a word that stores of two widths make it keeps the last alone.
    for buffers in run(text, {"out": np.zeros((32, 6), np.uint32)}, lenient=True):
        for t, row in enumerate(buffers["out"].tolist()):
            flag = 0xFE if t < 10 else 1
            low, third = 0x55667788, flag
            if t < 10:
                low, third = 0x5A667788, flag | 0xFFFE << 16
            assert row == [low, 0x11223344, third, t, (third, t, 0x04030201)[t % 3], 0]


def test_predicates_and_vectors_as_parameters() -> None:
    """A function that takes and returns predicates in registers; .v2 and .v4 parameters of a function and of
    the kernel."""
    text = """
.func (.reg .pred q, .reg .b32 r) both(.reg .pred a, .reg .b32 n, .reg .pred b) {
    .reg .pred %p; setp.gt.u32 %p, n, 5; and.pred q, a, b; and.pred q, q, %p; selp.u32 r, 10, 20, a; ret; }
.func (.param .v4 .b32 r) reversed(.param .v4 .b32 a) {
    .reg .b32 %r<5>; ld.param.v4.b32 {%r1, %r2, %r3, %r4}, [a];
    st.param.v4.b32 [r], {%r4, %r3, %r2, %r1}; ret; }
.visible .entry k(.param .u64 out, .param .v2 .u32 two) {
    .reg .b32 %r<12>; .reg .b64 %d<5>; .reg .pred %p<6>;
    ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; ld.param.v2.u32 {%r10, %r11}, [two];
    setp.lt.u32 %p1, %r1, 16; and.b32 %r2, %r1, 1; setp.eq.u32 %p2, %r2, 1;
    call (%p3, %r3), both, (%p1, %r1, %p2);
    selp.u32 %r4, 1, 0, %p3;
    { .param .v4 .b32 param0; .param .v4 .b32 retval0;
      st.param.v4.b32 [param0], {%r4, %r3, %r10, %r11}; call (retval0), reversed, (param0);
      ld.param.v4.b32 {%r6, %r7, %r8, %r9}, [retval0]; }
    mul.wide.u32 %d2, %r1, 16; add.s64 %d1, %d1, %d2;
    st.global.v4.b32 [%d1], {%r6, %r7, %r8, %r9}; ret; }"""
    two = np.array([77, 88], np.uint32).tobytes()
    for buffers in run(text, {"out": np.zeros((32, 4), np.uint32)}, args=("out", two), lenient=True):
        for t, row in enumerate(buffers["out"].tolist()):
            assert row == [88, 77, 10 if t < 16 else 20, int(5 < t < 16 and t % 2 == 1)]


def test_a_predicate_is_no_number() -> None:
    text = """
.func (.reg .pred q) yes(.reg .b32 n) { setp.gt.u32 q, n, 5; ret; }
.visible .entry k(.param .u64 out) { .reg .b32 %r<3>; call (%r1), yes, (3); ret; }"""
    with pytest.raises(PtxError, match=r"one\.ptx:6: .*'%r1' does not fit result '\.pred q' of 'yes'"):
        run(text, {"out": np.zeros(1, np.uint32)})


def test_generic_addresses_in_a_function() -> None:
    """A function's parameter lives in local memory; global and shared addresses are what they were."""
    text = """
.func fill(.param .b64 to, .param .b64 near, .param .b32 x) {
    .reg .b32 %r<4>; .reg .b64 %d<6>;
    ld.param.b64 %d1, [to]; cvta.to.global.u64 %d2, %d1;
    ld.param.b64 %d3, [near]; cvta.to.shared.u64 %d4, %d3;
    mov.b64 %d5, x; ld.param.b32 %r1, [%d5]; st.shared.b32 [%d4], %r1; ld.shared.b32 %r2, [%d4];
    add.u32 %r2, %r2, 7; st.global.b32 [%d2], %r2; ret; }
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<5>; .reg .b64 %d<5>; .shared .align 4 .b32 tile[32];
    ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2;
    mov.u64 %d3, tile; add.s64 %d3, %d3, %d2; cvta.shared.u64 %d4, %d3; mul.lo.u32 %r2, %r1, 3;
    { .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %d1; st.param.b64 [b], %d4;
      st.param.b32 [c], %r2; call fill, (a, b, c); }
    ret; }
"""
    for buffers in run(text, {"out": np.zeros(32, np.uint32)}):
        assert buffers["out"].tolist() == [3 * t + 7 for t in range(32)]
