"""Loads, stores and atomics as PTX words them: widths, vectors, spaces, parameters, initial values."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from tests.program.emulator import exact
from tests.program.emulator.exact import F16, F32, F64
from tests.program.semantics.bench import INTEGERS, M16, M32, Case, edges, failures, run, s
from warpbank.program.launch import Pointer


def extended(x: int, name: str) -> int:
    bits = int(name[1:])
    return s(x, bits) if name[0] == "s" else x & (1 << bits) - 1


def widths() -> list[Case]:
    """Every type into every register that may hold it, through global, shared, local and generic memory."""
    cases = []
    frame = ".local .align 16 .b8 buf[32];"
    shared = ".shared .align 16 .b8 buf[4096]; shl.b32 %s, %t, 5;"
    for name in [f"{k}{n}" for n in (8, 16, 32, 64) for k in "usb"]:
        bits = int(name[1:])
        offset = min(bits // 8, 4)
        for target in [r for r, n in (("%h", 16), ("%r", 32), ("%d", 64)) if n >= bits]:
            cases += [
                Case(
                    f"{frame} st.local.b64 [buf+8], %a; ld.local.{name} {target}, [buf+8];",
                    lambda x, y, z, n=name: extended(x, n),
                ),
                Case(
                    f"{shared} mov.u32 %ra, buf; add.u32 %ra, %ra, %s; st.shared.b64 [%ra+16], %a; "
                    f"ld.volatile.shared.{name} {target}, [%ra+{16 + offset}];",
                    lambda x, y, z, n=name, at=offset: extended(x >> 8 * at, n),
                )
                if bits < 64
                else Case("mov.b64 %d, %a;", lambda x, y, z: x),
                Case(
                    f"{frame} mov.b64 %l, buf; cvta.local.u64 %l, %l; st.b64 [%l], %a; st.{name} [%l+8], %b; "
                    f"ld.{name} {target}, [%l+8];",
                    lambda x, y, z, n=name: extended(y, n),
                ),
            ]
    cases += [
        Case(
            f"{frame} st.local.b64 [buf], %c; st.local.b8 [buf+3], %ra; st.local.u16 [buf+6], %b; "
            "ld.local.b64 %d, [buf];",
            lambda x, y, z: z & ~(0xFF << 24) & ~(M16 << 48) | (x & 0xFF) << 24 | (y & M16) << 48,
        ),
        Case(
            f"{frame} st.local.v4.b8 [buf], {{%ra, %rb, %rc, %ra}}; ld.local.b32 %r, [buf];",
            lambda x, y, z: x & 255 | (y & 255) << 8 | (z & 255) << 16 | (x & 255) << 24,
            lenient=True,
        ),
        Case(
            f"{frame} st.local.b32 [buf], %ra; ld.local.v4.s8 {{%ra, %rb, _, %rc}}, [buf];"
            " add.s32 %r, %ra, %rb; sub.s32 %r, %r, %rc;",
            lambda x, y, z: s(x, 8) + s(x >> 8, 8) - s(x >> 24, 8),
        ),
        Case(
            f"{frame} st.local.b16 [buf], %ha; ld.local.v2.u8 {{%ha, %hb}}, [buf]; mad.lo.u16 %h, %ha, 3, "
            "%hb;",
            lambda x, y, z: (x & 255) * 3 + (x >> 8 & 255),
        ),
        Case(
            f"{frame} st.local.v2.u16 [buf], {{%ha, %hb}}; ld.local.v2.s16 {{%ra, %rb}}, [buf]; sub.s32 %r, "
            "%ra, %rb;",
            lambda x, y, z: s(x, 16) - s(y, 16),
        ),
        Case(
            f"{frame} st.local.v4.u16 [buf], {{%ha, %hb, %hc, -2}}; ld.local.v4.u16 {{_, %hb, %hc, %ha}}, "
            "[buf];"
            " mov.b64 %d, {%ha, %ha, %hb, %hc};",
            lambda x, y, z: 0xFFFEFFFE | (y & M16) << 32 | (z & M16) << 48,
        ),
        Case(
            f"{frame} st.local.v2.b64 [buf], {{%a, 7}}; ld.local.v4.b32 {{%ra, %rb, %rc, %s}}, [buf]; "
            "sub.u32 %r, %rb, %rc;",
            lambda x, y, z: (x >> 32) - 7,
        ),
        Case(
            f"{frame} st.local.v4.f32 [buf+16], {{%ra, 0f3F800000, %rb, %rc}}; ld.local.v2.f64 {{%a, %b}}, "
            "[buf+16];"
            " xor.b64 %d, %a, %b;",
            lambda x, y, z: (x & M32 | 0x3F800000 << 32) ^ (y & M32 | (z & M32) << 32),
        ),
        Case(
            f"{frame} st.local.v2.b32 [buf], {{%ra, %rb}}; mov.u32 %ra, buf;"
            " ld.local.v2.b32 {%ra, %rb}, [%ra]; sub.u32 %r, %ra, %rb;",
            lambda x, y, z: x - y,
        ),
        Case("mov.b64 {%ra, %rb}, %a; mov.b64 %d, {%rb, %ra};", lambda x, y, z: x >> 32 | x << 32),
        Case(
            "mov.b64 {%ha, %hb, %hc, %h}, %a; mov.b64 %d, {%h, %hc, %hb, %ha};",
            lambda x, y, z: sum((x >> 16 * i & M16) << 16 * (3 - i) for i in range(4)),
        ),
        Case("mov.b32 {%hb, %hc}, %ra; mov.b32 %r, {%hc, %hb};", lambda x, y, z: x >> 16 & M16 | x << 16),
        Case("mov.b32 %r, {%ha, 0x1234};", lambda x, y, z: x & M16 | 0x1234 << 16),
        Case(
            "and.b64 %l, %b, 63; add.s64 %l, %l, -1; mov.b64 %d, 5; setp.ge.s64 %q, %l, 0;"
            " @%q shl.b64 %d, %d, 1; @!%q mov.b64 %d, -9;",
            lambda x, y, z: 10 if y & 63 else -9,
        ),
    ]
    return cases


def atomics() -> list[Case]:
    """Old value and memory afterwards, in shared memory, one word per thread."""
    setup = ".shared .align 8 .b8 buf[1024]; shl.b32 %s, %t, 3; mov.u32 %rc, buf; add.u32 %rc, %rc, %s; "
    after = " ld.shared.b64 %d, [%rc];"
    cases = []

    def case(
        name: str,
        f: Callable[[int, int], int],
        table: tuple[int, ...] = INTEGERS,
        number: str = "",
        lenient: bool = False,
    ) -> None:
        bits = 64 if name.endswith("64") else 32
        register, held = ("%l", "%b") if bits == 64 else ("%s", "%rb")
        mask = (1 << bits) - 1
        store = f"st.shared.b{bits} [%rc], %{'a' if bits == 64 else 'ra'};"
        store = ("mov.b64 %l, 0; st.shared.b64 [%rc], %l; " if bits == 32 else "") + store
        cases.append(
            Case(
                f"{setup}{store} atom.shared.{name} {register}, [%rc], {held};{after}",
                lambda x, y, z: f(x & mask, y & mask) & mask,
                (table,),
                number,
                lenient=lenient,
            )
        )
        widen = f"mov.b64 %d, {register};" if bits == 64 else f"cvt.u64.u32 %d, {register};"
        cases.append(
            Case(
                f"{setup}{store} mov.b{bits} {register}, {held}; atom.shared.{name} {register}, [%rc], "
                f"{register}; {widen}",
                lambda x, y, z: x & mask,
                (table,),
            )
        )
        if not name.startswith("exch"):
            cases.append(
                Case(
                    f"{setup}{store} red.shared.{name} [%rc], {held};{after}",
                    lambda x, y, z: f(x & mask, y & mask) & mask,
                    (table,),
                    number,
                    lenient=lenient,
                )
            )

    for bits in (32, 64):
        for kind in "us":
            case(
                f"min.{kind}{bits}",
                lambda x, y, k=kind, n=bits: min(extended(x, f"{k}{n}"), extended(y, f"{k}{n}")),
            )
            case(
                f"max.{kind}{bits}",
                lambda x, y, k=kind, n=bits: max(extended(x, f"{k}{n}"), extended(y, f"{k}{n}")),
            )
        case(f"add.u{bits}", lambda x, y: x + y)
        case(f"and.b{bits}", lambda x, y: x & y)
        case(f"or.b{bits}", lambda x, y: x | y)
        case(f"xor.b{bits}", lambda x, y: x ^ y)
        case(f"exch.b{bits}", lambda x, y: y)
    case("inc.u32", lambda x, y: 0 if x >= y else x + 1)
    case("dec.u32", lambda x, y: y if x == 0 or x > y else x - 1)
    case("add.f32", lambda x, y: exact.add(x, y, F32, "rn"), tuple(edges(F32)), "f64")
    case("add.f64", lambda x, y: exact.add(x, y, F64, "rn"), tuple(edges(F64)), "f64")
    few = tuple(b | 0x3C00 << 16 for b in edges(F16) if b & 0x7FFF <= 0x7C00)
    # The driver that was at hand (580.159) adds the low halves alone in shared memory.
    case(
        "add.noftz.f16x2",
        lambda x, y: exact.add(x & M16, y & M16, F16, "rn") | 0x4000 << 16,
        few,
        lenient=True,
    )
    for bits, (a, b, old) in (
        (32, ("%ra", "%rb", "%s")),
        (64, ("%a", "%b", "%l")),
        (16, ("%ha", "%hb", "%h")),
    ):
        mask = (1 << bits) - 1
        clear = "mov.b64 %l, 0; st.shared.b64 [%rc], %l;"
        cases.append(
            Case(
                f"{setup}{clear} st.shared.b{bits} [%rc], {a}; atom.shared.cas.b{bits} {old}, [%rc], {b}, "
                f"{a}; "
                f"atom.shared.cas.b{bits} {old}, [%rc], {old}, {b};" + after,
                lambda x, y, z, m=mask: y & m,
                (INTEGERS[:20],),
            )
        )
    return cases


@pytest.mark.parametrize("family", [widths, atomics])
def test_memory(family: Callable[[], list[Case]]) -> None:
    assert failures(family()) == []


def test_parameters_of_every_size_and_alignment() -> None:
    text = """
.visible .entry k(.param .u8 b, .param .u16 h, .param .align 8 .b8 t[24], .param .f64 f,
.param .align 2 .b8 u[6],
    .param .u64 out) {
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b16 %h<5>;
ld.param.u64 %d1, [out]; ld.param.s8 %r1, [b]; ld.param.u16 %h1, [h]; ld.param.s8 %d2, [t+5];
ld.param.v2.u32 {%r3, %r4}, [t+16];
ld.param.f64 %d3, [f]; ld.param.u16 %h2, [u+4]; mov.b64 %d4, t; cvta.param.u64 %d4, %d4;
mov.u32 %r5, %tid.x; and.b32 %r5, %r5, 7;
cvt.u64.u32 %d5, %r5; add.u64 %d4, %d4, %d5; ld.param.s8 %d6, [t]; ld.s8 %d7, [%d4+8];
cvt.s64.s32 %d5, %r1; mov.u32 %r6, %tid.x; mul.wide.u32 %d8, %r6, 64; add.s64 %d1, %d1, %d8;
st.global.b64 [%d1], %d5; cvt.u64.u16 %d5, %h1; st.global.b64 [%d1+8], %d5; st.global.b64 [%d1+16], %d2;
st.global.v2.b32 [%d1+24], {%r3, %r4}; st.global.b64 [%d1+32], %d3; cvt.u64.u16 %d5, %h2;
st.global.b64 [%d1+40], %d5;
st.global.b64 [%d1+48], %d6; st.global.b64 [%d1+56], %d7; ret; }"""
    block = bytes(range(0x80, 0x80 + 24))
    args = (
        np.uint8(0x91),
        np.uint16(0xFEDC),
        block,
        np.float64(-2.5),
        struct.pack("<3H", 1, 2, 0xABCD),
        "out",
    )
    for buffers in run(text, {"out": np.zeros((32, 8), np.int64)}, args=args):
        for thread, row in enumerate(buffers["out"].tolist()):
            wanted = [
                s(0x91, 8),
                0xFEDC,
                s(0x85, 8),
                s(int.from_bytes(block[16:24], "little"), 64),
                s(0xC004 << 48, 64),
                0xABCD,
                s(0x80, 8),
                s(0x88 + thread % 8, 8),
            ]
            assert row == wanted


def test_initial_values_hold_addresses() -> None:
    text = """
.global .align 4 .u32 numbers[4] = {10, 20, 30, 40};
.global .align 8 .u64 chain[2] = {generic(numbers)+8, numbers+4};
.const .align 8 .u64 table[3] = {numbers+12, generic(chain), generic(numbers)};
.const .align 2 .u16 odd[3] = {1, 65535, 7};
.global .align 8 .u64 toconst = generic(odd)+2;
.visible .entry k(.param .u64 out) {
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p;
ld.param.u64 %d1, [out]; mov.u32 %r7, %tid.x; and.b32 %r7, %r7, 1;
ld.const.u64 %d2, [table]; ld.global.u32 %r1, [%d2];
ld.const.u64 %d2, [table+8]; ld.u64 %d3, [%d2]; ld.u32 %r2, [%d3]; ld.u64 %d3, [%d2+8];
ld.global.u32 %r3, [%d3];
mul.wide.u32 %d4, %r7, 8; mov.u64 %d5, table; add.s64 %d5, %d5, %d4; ld.const.u64 %d5, [%d5+8];
ld.u32 %r4, [%d5];
ld.global.u64 %d6, [toconst]; ld.u16 %r5, [%d6];
mov.u32 %r6, %tid.x; mul.wide.u32 %d8, %r6, 20; add.s64 %d1, %d1, %d8;
st.global.b32 [%d1], %r1; st.global.b32 [%d1+4], %r2; st.global.b32 [%d1+8], %r3; st.global.b32 [%d1+12], %r4;
st.global.b32 [%d1+16], %r5;
ret; }"""
    for buffers in run(text, {"out": np.zeros((32, 5), np.uint32)}):
        rows = buffers["out"]
        assert rows[:, [0, 1, 2, 4]].tolist() == [[40, 30, 20, 65535]] * 32
        assert rows[1::2, 3].tolist() == [10] * 16  # the even threads read the low word of an address


def test_spaces_by_generic_address() -> None:
    text = """
.global .align 8 .b8 g[64]; .const .align 4 .b32 c[2] = {5, 6};
.extern .shared .align 128 .b8 dynamic[];
.visible .entry k(.param .u64 out) {
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>; .shared .align 4 .b8 small[20];
.local .align 4 .b8 frame[16];
ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x;
mov.u64 %d2, g; mov.u64 %d3, small; cvta.shared.u64 %d3, %d3; mov.u64 %d4, frame; cvta.local.u64 %d4, %d4;
mov.u64 %d5, c; cvta.const.u64 %d5, %d5;
and.b32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 1; selp.b64 %d6, %d3, %d2, %p1; setp.eq.u32 %p1, %r2, 2;
selp.b64 %d6, %d4, %d6, %p1;
setp.eq.u32 %p1, %r2, 3; selp.b64 %d6, %d5, %d6, %p1; setp.ne.u32 %p1, %r2, 3;
isspacep.global %p2, %d6; isspacep.shared %p3, %d6; isspacep.local %p4, %d6; isspacep.const %p5, %d6;
mov.b32 %r3, 0; @%p2 or.b32 %r3, %r3, 1; @%p3 or.b32 %r3, %r3, 2; @%p4 or.b32 %r3, %r3, 4;
@%p5 or.b32 %r3, %r3, 8;
@%p1 st.u32 [%d6+4], %r2; bar.sync 0; ld.u32 %r4, [%d6+4]; mad.lo.u32 %r3, %r4, 256, %r3;
cvta.to.shared.u64 %d7, %d3; cvt.u32.u64 %r5, %d7; mov.u32 %r6, small; sub.u32 %r5, %r5, %r6;
mad.lo.u32 %r3, %r5, 65536, %r3;
mov.u32 %r6, dynamic; and.b32 %r6, %r6, 127; mad.lo.u32 %r3, %r6, 65536, %r3;
prefetch.global.L2 [%d2]; prefetchu.L1 [%d2]; membar.gl; fence.acq_rel.cta; fence.sc.sys; membar.cta;
mul.wide.u32 %d8, %r1, 4; add.s64 %d1, %d1, %d8; st.global.b32 [%d1], %r3; ret; }"""
    for buffers in run(text, {"out": np.zeros(64, np.uint32)}, block=(64, 1, 1), dynamic=256):
        expected = {0: 1, 1: 2 | 256, 2: 4 | 512, 3: 8 | 6 * 256}
        assert buffers["out"].tolist() == [expected[t & 3] for t in range(64)]


def test_a_kernel_without_parameters() -> None:
    text = """
.global .align 4 .u32 count;
.visible .entry k() { .reg .b32 %r<3>; .reg .pred %p; atom.global.add.u32 %r1, [count], 1;
setp.gt.u32 %p, %r1, 99; @%p trap; ret; }"""
    assert run(text, {"unused": np.zeros(1, np.uint32)}, args=())[0]["unused"].tolist() == [0]


def test_generic_atomics_and_pointers_inside_buffers() -> None:
    text = """
.visible .entry k(.param .u64 out, .param .u64 inner) {
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b16 %h<4>;
ld.param.u64 %d1, [out]; ld.param.u64 %d2, [inner]; mov.u32 %r1, %laneid;
atom.add.u32 %r2, [%d1], %r1; atom.global.relaxed.gpu.max.s32 %r3, [%d1+4], -5;
red.release.gpu.global.add.u64 [%d1+8], 3;
atom.acq_rel.gpu.global.cas.b32 %r4, [%d2+-8], 0, %r1; cvt.u16.u32 %h1, %r1;
atom.global.cas.b16 %h2, [%d1+30], 0, %h1;
add.s64 %d2, %d2, -4; atom.global.inc.u32 _, [%d2], 4; ret; }"""
    start = np.array([0, M32 - 6, 0, 0, 0, 0, 0, 0], np.uint32)
    for buffers in run(text, {"out": start}, args=("out", Pointer("out", 28))):
        assert buffers["out"].tolist() == [496, M32 - 4, 96, 0, 0, 1, 2, 1 << 16]


def test_addresses_of_elements_of_variables() -> None:
    text = """
.global .align 8 .b32 table[6] = {10, 20, 30, 40, 50, 60}; .global .align 8 .u64 way = table+12;
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<5>; .reg .b64 %d<6>; .shared .align 4 .b32 tile[4];
    ld.param.u64 %d1, [out]; mov.u64 %d2, table+8; ld.global.u32 %r1, [%d2]; ld.global.u32 %r2, [table+16];
    ld.global.u64 %d3, [way]; ld.global.u32 %r3, [%d3]; mov.u32 %r4, tile+8; st.shared.u32 [tile+8], 7;
    ld.shared.u32 %r4, [%r4]; st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4}; ret; }
"""
    for buffers in run(text, {"out": np.zeros(4, np.uint32)}, block=(1, 1, 1)):
        assert buffers["out"].tolist() == [30, 50, 40, 7]
