"""Bit fields, counts, permutations, comparisons, selections and moves against Python integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.program.lowering.bench import M8, M16, M32, M64, Case, failures, s
from tests.program.semantics.bench import RELATIONS

SMALL = (
    0,
    1,
    4,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    48,
    63,
    64,
    65,
    200,
    255,
    256,
    0x1_00000008,
    0xFFFFFFFF,
    0xDEADBEEF_80000010,
    M64,
    0x8000 << 48,
)


def field(x: int, position: int, length: int, bits: int, signed: bool) -> int:
    """PTX bfe, bit by bit as the manual writes it."""
    position, length, top = position & M8, length & M8, bits - 1
    sign = 0 if not signed or length == 0 else x >> min(position + length - 1, top) & 1
    return sum(
        (x >> position + i & 1 if i < length and position + i <= top else sign) << i for i in range(bits)
    )


def insert(x: int, y: int, position: int, length: int, bits: int) -> int:
    """PTX bfi, likewise."""
    position, length = position & M8, length & M8
    result = y & (1 << bits) - 1
    for i in range(length):
        if position + i < bits:
            result = result & ~(1 << position + i) | (x >> i & 1) << position + i
    return result


def find(x: int, bits: int, signed: bool, amount: bool) -> int:
    """PTX bfind."""
    x &= (1 << bits) - 1
    if signed and x >> bits - 1:
        x ^= (1 << bits) - 1
    if x == 0:
        return M32
    return bits - x.bit_length() if amount else x.bit_length() - 1


def prmt(x: int, y: int, selector: int) -> int:
    result = 0
    for i in range(4):
        n = selector >> 4 * i
        byte = ((y & M32) << 32 | x & M32) >> 8 * (n & 7) & M8
        if n & 8:
            byte = M8 if byte >> 7 else 0
        result |= byte << 8 * i
    return result


def bits() -> list[Case]:
    cases = [
        Case("bfe.u32 %rout, %ra, %rb, %rc;", lambda x, y, z: field(x & M32, y, z, 32, False), SMALL),
        Case("bfe.s32 %rout, %ra, %rb, %rc;", lambda x, y, z: field(x & M32, y, z, 32, True), SMALL),
        Case("bfe.u64 %d, %a, %rb, %rc;", lambda x, y, z: field(x, y, z, 64, False), SMALL),
        Case("bfe.s64 %d, %a, %rb, %rc;", lambda x, y, z: field(x, y, z, 64, True), SMALL),
        Case("bfi.b32 %rout, %ra, %rb, %rc, 7;", lambda x, y, z: insert(x, y, z, 7, 32), SMALL),
        Case("bfi.b32 %rout, %ra, %rb, 5, %rc;", lambda x, y, z: insert(x, y, 5, z, 32), SMALL),
        Case("bfi.b64 %d, %a, %b, %rc, 40;", lambda x, y, z: insert(x, y, z, 40, 64), SMALL),
        Case("bfi.b64 %d, %a, %b, 20, %rc;", lambda x, y, z: insert(x, y, 20, z, 64), SMALL),
        Case(
            "bmsk.clamp.b32 %rout, %ra, %rb;",
            lambda x, y, z: ((1 << min(y & M32, 32)) - 1 << min(x & M32, 32)) & M32,
            SMALL,
        ),
        Case(
            "bmsk.wrap.b32 %rout, %ra, %rb;", lambda x, y, z: ((1 << (y & 31)) - 1 << (x & 31)) & M32, SMALL
        ),
        Case(
            "shf.l.wrap.b32 %rout, %ra, %rb, %rc;",
            lambda x, y, z: ((y << 32 | x & M32) << (z & 31)) >> 32 & M32,
        ),
        Case(
            "shf.l.clamp.b32 %rout, %ra, %rb, %rc;",
            lambda x, y, z: ((y << 32 | x & M32) << min(z & M32, 32)) >> 32 & M32,
        ),
        Case("shf.r.wrap.b32 %rout, %ra, %rb, %rc;", lambda x, y, z: (y << 32 | x & M32) >> (z & 31) & M32),
        Case(
            "shf.r.clamp.b32 %rout, %ra, %rb, %rc;",
            lambda x, y, z: (y << 32 | x & M32) >> min(z & M32, 32) & M32,
        ),
        Case("lop3.b32 %rout, %ra, %rb, %rc, 0xe8;", lambda x, y, z: (x & y | x & z | y & z) & M32),
        Case(
            "lop3.b32 %rout, %ra, %rb, %rc, 0x1c;",
            lambda x, y, z: sum(
                1 << i for i in range(32) if 0x1C >> (x >> i & 1) * 4 + (y >> i & 1) * 2 + (z >> i & 1) & 1
            ),
        ),
        Case("prmt.b32 %rout, %ra, %rb, %rc;", prmt),
        Case("prmt.b32 %rout, %ra, %rb, 0x9F31;", lambda x, y, z: prmt(x, y, 0x9F31)),
        Case("prmt.b32.rc16 %rout, %ra, %rb, %rc;", lambda x, y, z: prmt(x, y, 0x3232 if z & 1 else 0x1010)),
        Case(
            "prmt.b32.b4e %rout, %ra, %rb, %rc;",
            lambda x, y, z: prmt(x, y, (0x5670, 0x6701, 0x7012, 0x0123)[z & 3]),
        ),
        Case("clz.b32 %rout, %ra;", lambda x, y, z: 32 - (x & M32).bit_length()),
        Case("clz.b64 %rout, %a;", lambda x, y, z: 64 - x.bit_length()),
        Case("popc.b32 %rout, %ra;", lambda x, y, z: (x & M32).bit_count()),
        Case("popc.b64 %rout, %a;", lambda x, y, z: x.bit_count()),
        Case("brev.b32 %rout, %ra;", lambda x, y, z: int(f"{x & M32:032b}"[::-1], 2)),
        Case("brev.b64 %d, %a;", lambda x, y, z: int(f"{x:064b}"[::-1], 2)),
        Case("not.b64 %rd1, %a; and.b64 %d, %rd1, %b;", lambda x, y, z: ~x & y),
    ]
    for width in (32, 64):
        source = "%ra" if width == 32 else "%a"
        for kind in "us":
            for amount in (False, True):
                name = f"bfind{'.shiftamt' if amount else ''}.{kind}{width}"
                cases.append(
                    Case(
                        f"{name} %rout, {source};",
                        lambda x, y, z, w=width, k=kind, m=amount: find(x, w, k == "s", m),
                    )
                )
    return cases


UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
NEAR = (
    0,
    1,
    2,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    1 << 32,
    (1 << 32) + 1,
    1 << 63,
    (1 << 63) + 1,
    M64,
    M64 - 1,
    M64 - M32,
)


def comparisons() -> list[Case]:
    cases = []
    for width, sources in ((16, ("%ha", "%hb")), (32, ("%ra", "%rb")), (64, ("%a", "%b"))):
        for kind in "su":
            names = [*RELATIONS, *(UNSIGNED if kind == "u" else ())]
            for name in names:
                relation = RELATIONS[UNSIGNED.get(name, name)]
                convert = (
                    (lambda v, w=width: s(v, w)) if kind == "s" else (lambda v, w=width: v & (1 << w) - 1)
                )
                cases.append(
                    Case(
                        f"setp.{name}.{kind}{width} %pd, {sources[0]}, {sources[1]};",
                        lambda x, y, z, r=relation, f=convert: int(r(f(x), f(y))),
                        NEAR,
                    )
                )
        for op, combine in (
            ("and", lambda p, q: p and q),
            ("or", lambda p, q: p or q),
            ("xor", lambda p, q: p != q),
        ):
            cases.append(
                Case(
                    f"setp.eq.u32 %p1, %rc, 1; setp.le.{op}.s{width} %pd|%pe, {sources[0]}, {sources[1]}, "
                    "!%p1;",
                    lambda x, y, z, w=width, f=combine: (
                        int(f(s(x, w) <= s(y, w), z & M32 != 1)) | 2 * int(f(s(x, w) > s(y, w), z & M32 != 1))
                    ),
                    NEAR,
                )
            )
    return cases


def selections() -> list[Case]:
    lt = lambda x, y: (x & M32) < (y & M32)  # noqa: E731
    setp = "setp.lt.u32 %p1, %ra, %rb; "
    return [
        Case(setp + "selp.b64 %d, %a, %c, %p1;", lambda x, y, z: x if lt(x, y) else z),
        Case(setp + "selp.b32 %rout, %ra, 7, %p1;", lambda x, y, z: x & M32 if lt(x, y) else 7),
        Case(setp + "selp.b16 %hd, %ha, %hc, %p1;", lambda x, y, z: (x if lt(x, y) else z) & M16),
        Case(
            setp
            + "not.pred %p2, %p1; setp.ne.u32 %p3, %rc, 1; and.pred %p4, %p2, %p3; xor.pred %pd, %p4, %p1;",
            lambda x, y, z: int((not lt(x, y) and z & M32 != 1) != lt(x, y)),
        ),
        Case(setp + "mov.pred %p2, %p1; or.pred %pd, %p2, %p2;", lambda x, y, z: int(lt(x, y))),
        Case(setp + "mov.pred %p2, 1; and.pred %pd, %p2, %p1;", lambda x, y, z: int(lt(x, y))),
        Case("set.gt.s32.s32 %rout, %ra, %rb;", lambda x, y, z: M32 if s(x, 32) > s(y, 32) else 0),
        Case("set.le.f32.u32 %rout, %ra, %rb;", lambda x, y, z: 0x3F800000 if (x & M32) <= (y & M32) else 0),
        Case(
            setp + "set.eq.or.u32.s64 %rout, %a, %b, %p1;", lambda x, y, z: M32 if x == y or lt(x, y) else 0
        ),
        Case("slct.b64.s32 %d, %a, %b, %rc;", lambda x, y, z: x if s(z, 32) >= 0 else y),
    ]


def moves() -> list[Case]:
    return [
        Case(
            "mov.b32 {%h1, %h2}, %ra; mov.b32 %rout, {%h2, %h1};",
            lambda x, y, z: (x >> 16 & M16) | (x & M16) << 16,
        ),
        Case("mov.b64 {%r1, %r2}, %a; mov.b64 %d, {%r2, %rb};", lambda x, y, z: x >> 32 | (y & M32) << 32),
        Case(
            "mov.b64 {%h1, %h2, %h3, %h4}, %a; mov.b64 %d, {%h4, %h3, %h2, %h1};",
            lambda x, y, z: sum((x >> 16 * i & M16) << 48 - 16 * i for i in range(4)),
        ),
        Case("mov.b64 {_, %rout}, %a;", lambda x, y, z: x >> 32),
        Case("mov.b32 %rout, {%ha, 5};", lambda x, y, z: x & M16 | 5 << 16),
        Case("mov.u32 %rout, %tid.y;", lambda x, y, z: 0),
        Case("mov.u32 %rout, %ntid.x;", lambda x, y, z: 128),
        Case("mov.u64 %d, -3;", lambda x, y, z: -3),
        Case("mov.b64 %rd1, 0x100000005; add.s64 %d, %rd1, %a;", lambda x, y, z: x + 0x100000005),
        Case(
            "sub.s64 %rd1, %a, %a; add.s64 %rd2, %rd1, 4294967295; add.s64 %d, %rd2, 1;",
            lambda x, y, z: 1 << 32,
        ),
        Case("mov.u64 %rd1, 4294967295; add.s64 %d, %rd1, 1;", lambda x, y, z: 1 << 32),
        Case("mov.u64 %rd1, 0; sub.s64 %d, %rd1, 1;", lambda x, y, z: -1),
    ]


@pytest.mark.parametrize("optimize", [True, False], ids=["clean", "raw"])
@pytest.mark.parametrize("family", [bits, comparisons, selections, moves], ids=lambda f: f.__name__)
def test_bit_semantics(family: Callable[[], list[Case]], optimize: bool) -> None:
    assert failures(family(), optimize=optimize) == []
