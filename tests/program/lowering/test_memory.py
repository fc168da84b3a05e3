"""Loads, stores, address spaces, parameters, atomics, control flow and calls: small kernels with known
results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.program.lowering.bench import M8, M16, M32, Case, check_legal, failures, s
from warpbank.program.emulator import run_job
from warpbank.program.isa import Op, Reg
from warpbank.program.launch import Job, Launch
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"


def memory() -> list[Case]:
    """%in points to the thread's three operands."""
    return [
        Case("ld.global.u8 %rout, [%in+1];", lambda x, y, z: x >> 8 & M8),
        Case("ld.global.s8 %rout, [%in+1];", lambda x, y, z: s(x >> 8, 8) & M32),
        Case("ld.global.s16 %d, [%in+2];", lambda x, y, z: s(x >> 16, 16)),
        Case("ld.s32 %d, [%in+4];", lambda x, y, z: s(x >> 32, 32)),
        Case("ld.global.nc.L1::no_allocate.b8 %hd, [%in+7];", lambda x, y, z: x >> 56),
        Case("ld.global.s8 %hd, [%in+7];", lambda x, y, z: s(x >> 56, 8) & M16),
        Case("ld.global.v2.b32 {%r1, %rout}, [%in];", lambda x, y, z: x >> 32),
        Case(
            "ld.global.u64 %rd1, [%in+8]; ld.global.b64 %rd2, [%in+16]; xor.b64 %d, %rd1, %rd2;",
            lambda x, y, z: y ^ z,
        ),
        Case("ld.global.v4.b16 {%h1, %h2, %h3, %hd}, [%in];", lambda x, y, z: x >> 48),
        Case("ld.global.v4.u8 {%r1, %r2, %r3, %rout}, [%in];", lambda x, y, z: x >> 24 & M8),
        Case("ld.global.v2.b8 {%h1, %hd}, [%in+2];", lambda x, y, z: x >> 24 & M8),
        Case("ld.global.v2.b16 {_, %hd}, [%in+4];", lambda x, y, z: x >> 48),
        Case("ld.volatile.global.u32 %rout, [%in+8];", lambda x, y, z: y & M32),
        Case("ld.acquire.gpu.global.b32 %rout, [%in+8];", lambda x, y, z: y & M32),
        Case(
            ".local .align 8 .b8 frame[16]; st.local.u8 [frame+3], %ra; st.local.v2.b32 [frame+8], {%rb, "
            "%rc};"
            " ld.local.b64 %rd1, [frame+8]; ld.local.u8 %r1, [frame+3]; cvt.u64.u32 %rd2, %r1; add.s64 %d, "
            "%rd1, %rd2;",
            lambda x, y, z: (y & M32 | (z & M32) << 32) + (x & M8),
        ),
        Case(
            ".local .align 4 .b8 box[64]; mov.u64 %rd1, box; cvta.local.u64 %rd2, %rd1; and.b32 %r1, %ra, 7;"
            " mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3; st.u32 [%rd4+4], %rb; cvta.to.local.u64 "
            "%rd5, %rd4;"
            " ld.local.u32 %rout, [%rd5+4];",
            lambda x, y, z: y & M32,
        ),
        Case(
            ".shared .align 4 .b8 tile[512]; mul.wide.u32 %rd1, %rt, 4; mov.u64 %rd2, tile; add.s64 %rd3, "
            "%rd2, %rd1;"
            " st.shared.b32 [%rd3], %ra; bar.sync 0; cvta.shared.u64 %rd4, %rd3; ld.u32 %rout, [%rd4];",
            lambda x, y, z: x & M32,
        ),
        Case(
            ".shared .align 4 .b8 area[512]; shl.b32 %r1, %rt, 2; mov.u32 %r2, area; add.u32 %r3, %r1, %r2;"
            " st.shared.b16 [%r3+2], %ha; st.shared.b16 [%r3], %hb; ld.shared.b32 %rout, [%r3];",
            lambda x, y, z: y & M16 | (x & M16) << 16,
        ),
        Case(
            ".local .align 4 .b8 four[4]; st.local.v4.b8 [four], {%ha, %hb, %hc, 9}; ld.local.b32 %rout, "
            "[four];",
            lambda x, y, z: x & M8 | (y & M8) << 8 | (z & M8) << 16 | 9 << 24,
        ),
        Case(
            ".local .align 16 .b8 big[16]; st.local.v4.b32 [big], {%ra, %rb, %rc, 7}; ld.local.v2.b64 {%rd1, "
            "%rd2}, [big];"
            " sub.s64 %d, %rd1, %rd2;",
            lambda x, y, z: (x & M32 | (y & M32) << 32) - (z & M32 | 7 << 32),
        ),
        Case(
            ".local .align 4 .b8 w[8]; mov.u64 %rd1, w; cvta.local.u64 %rd2, %rd1; isspacep.local %pd, %rd2;"
            " isspacep.global %pe, %in;",
            lambda x, y, z: 3,
        ),
        Case("isspacep.shared %pd, %in; isspacep.const %pe, %in;", lambda x, y, z: 0),
        Case(
            "prefetch.global.L2 [%in]; membar.gl; fence.acq_rel.sys; nanosleep.u32 20; mov.b32 %rout, %ra;",
            lambda x, y, z: x & M32,
        ),
        Case("{ .reg .b32 %t; mov.b64 {%t, %rout}, %a; }", lambda x, y, z: x >> 32),
    ]


def lanes() -> list[Case]:
    return [
        Case(
            "shfl.sync.idx.b32 %rout|%p1, %rt, 5, 31, -1; and.b32 %r1, %rt, 96; sub.s32 %rout, %rout, %r1;",
            lambda x, y, z: 5,
        ),
        Case("setp.eq.u32 %p1, 1, 1; vote.sync.ballot.b32 %rout, %p1, 0xffffffff;", lambda x, y, z: M32),
        Case(
            "setp.eq.u32 %p1, 1, 1; vote.sync.all.pred %pd, !%p1, -1; vote.sync.any.pred %pe, %p1, -1;",
            lambda x, y, z: 2,
        ),
        Case("activemask.b32 %rout;", lambda x, y, z: M32),
        Case("mov.u32 %r1, 3; redux.sync.add.s32 %rout, %r1, -1;", lambda x, y, z: 96),
        Case("mov.u32 %r1, 3; match.any.sync.b32 %rout, %r1, -1;", lambda x, y, z: M32),
        Case(
            "mov.u32 %r1, 3; match.all.sync.b32 %rout|%p1, %r1, -1; @!%p1 mov.u32 %rout, 0;",
            lambda x, y, z: M32,
        ),
        Case("setp.lt.u32 %p1, %rt, 10; bar.red.popc.u32 %rout, 0, %p1;", lambda x, y, z: 10),
        Case(
            "setp.lt.u32 %p1, %rt, 10; bar.red.or.pred %pd, 0, %p1; bar.red.and.pred %pe, 0, 128, !%p1;",
            lambda x, y, z: 1,
        ),
        Case(
            "bar.warp.sync -1; barrier.sync.aligned 1; barrier.cta.sync 2, 128; mov.u32 %rout, 4;",
            lambda x, y, z: 4,
        ),
    ]


def control() -> list[Case]:
    return [
        Case(
            "and.b32 %r1, %ra, 3; ts: .branchtargets L0, L1, L2, L3; brx.idx %r1, ts;"
            " L0: mov.u32 %rout, 10; bra.uni END; L1: mov.u32 %rout, 11; bra END; L2: mov.u32 %rout, 12; bra "
            "END;"
            " L3: mov.u32 %rout, 13; END:",
            lambda x, y, z: 10 + (x & 3),
        ),
        Case(
            "and.b32 %r1, %ra, 15; mov.u32 %rout, 0; LOOP: setp.eq.u32 %p1, %r1, 0; @%p1 bra OUT; add.u32 "
            "%rout, %rout, %r1;"
            " sub.u32 %r1, %r1, 1; bra LOOP; OUT:",
            lambda x, y, z: (x & 15) * ((x & 15) + 1) // 2,
        ),
        # The value of the last round but one: a copy that its source outruns.
        Case(
            "mov.u32 %r1, 0; mov.u32 %r3, 0; AGAIN: mov.u32 %rout, %r3; add.u32 %r3, %r1, 7; add.u32 %r1, "
            "%r1, 1;"
            " setp.lt.u32 %p1, %r1, 5; @%p1 bra AGAIN;",
            lambda x, y, z: 10,
        ),
        Case(
            "mov.u32 %r1, 0; ROUND: setp.eq.u32 %p1, %r1, 0; @%p1 bra SKIP; mov.u32 %rout, %r2; SKIP: "
            "add.u32 %r2, %r1, 100;"
            " add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 4; @%p2 bra ROUND;",
            lambda x, y, z: 102,
        ),
        Case(
            "setp.lt.u32 %p1, %ra, %rb; @%p1 bra LESS; mov.u32 %rout, 1; bra DONE; LESS: mov.u32 %rout, 2; "
            "DONE:",
            lambda x, y, z: 2 if (x & M32) < (y & M32) else 1,
        ),
    ]


@pytest.mark.parametrize("optimize", [True, False], ids=["clean", "raw"])
@pytest.mark.parametrize("family", [memory, lanes, control], ids=lambda f: f.__name__)
def test_semantics(family: Callable[[], list[Case]], optimize: bool) -> None:
    assert failures(family(), optimize=optimize) == []


def launch(
    text: str, entry: str, buffers: dict[str, np.ndarray], args: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Runs one CTA, cleaned up and raw, which must agree; returns the buffers."""
    module = parse(HEADER + text, "k.ptx")
    results = []
    for optimize in (True, False):
        job = Job("k", "tiny", text, "k.ptx", buffers, [Launch(entry, (1, 1, 1), (32, 1, 1), args)])
        results.append(run_job(job, {entry: lower(module, entry, optimize=optimize)}).buffers)
    for name in buffers:
        np.testing.assert_array_equal(results[0][name], results[1][name])
    return results[0]


CALLS = """
.global .align 4 .u32 counter = 100;
.const .align 4 .b32 table[4] = {7, 8, 9, 10};
.func (.param .align 8 .b8 r[16]) make(.param .b32 a, .param .align 4 .b8 q[8])
{
    .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<2>;
    ld.param.b32 %r1, [a];
    mov.b64 %rd1, q;
    cvta.local.u64 %rd2, %rd1;
    and.b32 %r2, %r1, 1;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd2, %rd2, %rd3;
    ld.b32 %r3, [%rd2];
    st.param.b32 [r], %r3;
    st.param.b8 [r+4], %r1;
    st.param.b8 [r+5], 17;
    st.param.b16 [r+6], 513;
    setp.gt.u32 %p1, %r1, 20;
    @%p1 ret;
    mov.b32 %r4, 55;
    st.param.b32 [r+8], %r4;
    ret;
}
.func (.reg .u32 out) twice(.reg .u32 x)
{
    add.u32 out, x, x;
    ret;
}
.visible .entry main(.param .u64 p)
{
    .reg .b32 %r<12>; .reg .b64 %rd<6>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    { .param .b32 a0; .param .align 4 .b8 a1[8]; .param .align 8 .b8 r0[16];
      st.param.b32 [a0], %r1;
      st.param.b32 [a1], 1000;
      st.param.b32 [a1+4], 2000;
      st.param.b32 [r0+8], 0;
      call.uni (r0), make, (a0, a1);
      ld.param.b32 %r2, [r0];
      ld.param.b32 %r3, [r0+4];
      ld.param.b32 %r4, [r0+8];
    }
    setp.eq.u32 %p1, %r1, 3;
    @!%p1 call (%r2), twice, (%r2);
    mul.wide.u32 %rd2, %r1, 16;
    add.u64 %rd3, %rd1, %rd2;
    and.b32 %r5, %r1, 3;
    mul.wide.u32 %rd4, %r5, 4;
    mov.u64 %rd5, table;
    add.u64 %rd5, %rd5, %rd4;
    ld.const.b32 %r6, [%rd5];
    ld.const.b32 %r7, [table+4];
    add.u32 %r6, %r6, %r7;
    atom.global.add.u32 %r8, [counter], 1;
    red.global.max.u32 [counter], 5;
    st.global.v4.b32 [%rd3], {%r2, %r3, %r4, %r6};
    ret;
}
"""


def test_calls_are_inlined() -> None:
    found = launch(CALLS, "main", {"p": np.zeros((32, 4), np.uint32)}, ("p",))["p"]
    tid = np.arange(32)
    first = np.where(tid % 2, 2000, 1000)
    np.testing.assert_array_equal(found[:, 0], np.where(tid == 3, first, 2 * first))
    np.testing.assert_array_equal(found[:, 1], tid | 17 << 8 | 513 << 16)
    np.testing.assert_array_equal(found[tid <= 20, 2], 55)
    np.testing.assert_array_equal(found[:, 3], tid % 4 + 7 + 8)


def test_parameters_become_constant_operands() -> None:
    kernel = lower(parse(HEADER + CALLS, "k.ptx"), "main")
    assert not [
        i
        for i in kernel.instructions()
        if i.op == Op.MOV and not isinstance(i.srcs[0], Reg) and i.dst is None
    ]
    assert kernel.parameters[0].offset == 0x160
    assert kernel.symbols == {"table": (0x168, 16)}
    assert kernel.constants[0x168:0x178] == np.array([7, 8, 9, 10], np.uint32).tobytes()
    assert kernel.global_slots == {"counter": 0x178}
    assert kernel.globals["counter"].init == (100).to_bytes(4, "little")


def test_code_is_legal() -> None:
    check_legal(lower(parse(HEADER + CALLS, "k.ptx"), "main"))
    check_legal(lower(parse(HEADER + CALLS, "k.ptx"), "main", optimize=False))
