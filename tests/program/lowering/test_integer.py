"""Integer instructions of every width against Python integers."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest

from tests.program.lowering.bench import M8, M16, M32, Case, failures, s

#: Register names of an operand width: sources a, b, c, then the result.
REGISTERS = {
    16: ("%ha", "%hb", "%hc", "%hd"),
    32: ("%ra", "%rb", "%rc", "%rout"),
    64: ("%a", "%b", "%c", "%d"),
}


def value(x: int, kind: str, bits: int) -> int:
    """A raw operand as a number of the type."""
    return s(x, bits) if kind == "s" else x & (1 << bits) - 1


def arithmetic() -> list[Case]:
    """Everything that exists in 16, 32 and 64 bits alike."""
    cases = []
    for bits in (16, 32, 64):
        a, b, c, d = REGISTERS[bits]
        mask = (1 << bits) - 1
        for kind in "su":
            t = f"{kind}{bits}"

            def binary(
                name: str, f: Callable[[int, int], int], kind: str = kind, bits: int = bits, mask: int = mask
            ) -> Case:
                a, b, _, d = REGISTERS[bits]
                return Case(
                    f"{name}.{kind}{bits} {d}, {a}, {b};",
                    lambda x, y, z: f(value(x, kind, bits), value(y, kind, bits)) & mask,
                )

            cases += [
                binary("add", operator.add),
                binary("sub", operator.sub),
                binary("mul.lo", operator.mul),
                binary("mul.hi", lambda x, y, bits=bits: x * y >> bits),
                binary("min", min),
                binary("max", max),
                Case(f"mad.lo.{t} {d}, {a}, {b}, {c};", lambda x, y, z, m=mask: x * y + z & m),
                Case(
                    f"mad.hi.{t} {d}, {a}, {b}, {c};",
                    lambda x, y, z, k=kind, n=bits, m=mask: (value(x, k, n) * value(y, k, n) >> n) + z & m,
                ),
                Case(
                    f"shr.{t} {d}, {a}, %rb;",
                    lambda x, y, z, k=kind, n=bits, m=mask: value(x, k, n) >> min(y & M32, 80) & m,
                ),
                Case(
                    f"div.{t} {d}, {a}, {b};"
                    if bits != 16
                    else f"or.b16 {b}, {b}, 1; div.{t} {d}, {a}, {b};",
                    lambda x, y, z, k=kind, n=bits: divide(x, y | 1 if n == 16 else y, k, n),
                ),
                Case(
                    f"rem.{t} {d}, {a}, {b};"
                    if bits != 16
                    else f"or.b16 {b}, {b}, 1; rem.{t} {d}, {a}, {b};",
                    lambda x, y, z, k=kind, n=bits: remainder(x, y | 1 if n == 16 else y, k, n),
                ),
                Case(
                    f"sad.{t} {d}, {a}, {b}, {c};",
                    lambda x, y, z, k=kind, n=bits, m=mask: abs(value(x, k, n) - value(y, k, n)) + z & m,
                ),
            ]
        cases += [
            Case(f"shl.b{bits} {d}, {a}, %rb;", lambda x, y, z, m=mask: (x << min(y & M32, 80)) & m),
            Case(f"neg.s{bits} {d}, {a};", lambda x, y, z, m=mask: -x & m),
            Case(f"abs.s{bits} {d}, {a};", lambda x, y, z, n=bits, m=mask: abs(s(x, n)) & m),
            Case(f"and.b{bits} {d}, {a}, {b};", lambda x, y, z, m=mask: x & y & m),
            Case(f"or.b{bits} {d}, {a}, {b};", lambda x, y, z, m=mask: (x | y) & m),
            Case(f"xor.b{bits} {d}, {a}, {b};", lambda x, y, z, m=mask: (x ^ y) & m),
            Case(f"not.b{bits} {d}, {a};", lambda x, y, z, m=mask: ~x & m),
            Case(f"cnot.b{bits} {d}, {a};", lambda x, y, z, m=mask: int(x & m == 0)),
        ]
        for n in (1, 8, 16, 31, 32, 33, 63, 64, 65):
            cases.append(Case(f"shl.b{bits} {d}, {a}, {n};", lambda x, y, z, n=n, m=mask: x << n & m))
            cases.append(Case(f"shr.u{bits} {d}, {a}, {n};", lambda x, y, z, n=n, m=mask: (x & m) >> n))
            cases.append(
                Case(f"shr.s{bits} {d}, {a}, {n};", lambda x, y, z, n=n, k=bits, m=mask: s(x, k) >> n & m)
            )
    return cases


def divide(x: int, y: int, kind: str, bits: int) -> int:
    """As the machine defines it: by zero all ones, truncating else."""
    x, y = value(x, kind, bits), value(y, kind, bits)
    if y == 0:
        return (1 << bits) - 1
    quotient = abs(x) // abs(y)
    return (-quotient if (x < 0) != (y < 0) else quotient) & (1 << bits) - 1


def remainder(x: int, y: int, kind: str, bits: int) -> int:
    """The sign of the dividend; by zero the dividend."""
    x, y = value(x, kind, bits), value(y, kind, bits)
    if y == 0:
        return x & (1 << bits) - 1
    rest = abs(x) % abs(y)
    return (-rest if x < 0 else rest) & (1 << bits) - 1


def wide() -> list[Case]:
    """Products of twice the width, carries, saturation, 24-bit products, dot products."""

    def clamp(v: int) -> int:
        return max(-(2**31), min(2**31 - 1, v)) & M32

    def dot(x: int, y: int, z: int, sa: bool, sb: bool) -> int:
        for i in range(4):
            p, q = x >> 8 * i & M8, y >> 8 * i & M8
            z += (s(p, 8) if sa else p) * (s(q, 8) if sb else q)
        return z & M32

    return [
        Case("mul.wide.s16 %rout, %ha, %hb;", lambda x, y, z: s(x, 16) * s(y, 16) & M32),
        Case("mul.wide.u16 %rout, %ha, %hb;", lambda x, y, z: (x & M16) * (y & M16)),
        Case("mul.wide.s32 %d, %ra, %rb;", lambda x, y, z: s(x, 32) * s(y, 32)),
        Case("mul.wide.u32 %d, %ra, %rb;", lambda x, y, z: (x & M32) * (y & M32)),
        Case("mad.wide.s32 %d, %ra, %rb, %c;", lambda x, y, z: s(x, 32) * s(y, 32) + z),
        Case("mad.wide.u32 %d, %ra, %rb, %c;", lambda x, y, z: (x & M32) * (y & M32) + z),
        Case("mad.wide.s16 %rout, %ha, %hb, %rc;", lambda x, y, z: s(x, 16) * s(y, 16) + z & M32),
        Case("mad.wide.u16 %rout, %ha, %hb, %rc;", lambda x, y, z: (x & M16) * (y & M16) + z & M32),
        Case("mul.wide.s32 %rd1, %ra, 12; add.s64 %d, %b, %rd1;", lambda x, y, z: s(x, 32) * 12 + y),
        Case("mul.wide.u32 %rd1, %ra, %rc; add.s64 %d, %rd1, %b;", lambda x, y, z: (x & M32) * (z & M32) + y),
        Case("mul.lo.s32 %r1, %ra, %rb; add.s32 %rout, %r1, %rc;", lambda x, y, z: x * y + z & M32),
        Case("add.sat.s32 %rout, %ra, %rb;", lambda x, y, z: clamp(s(x, 32) + s(y, 32))),
        Case("sub.sat.s32 %rout, %ra, %rb;", lambda x, y, z: clamp(s(x, 32) - s(y, 32))),
        Case(
            "mad.hi.sat.s32 %rout, %ra, %rb, %rc;",
            lambda x, y, z: clamp((s(x, 32) * s(y, 32) >> 32) + s(z, 32)),
        ),
        Case("mul24.lo.u32 %rout, %ra, %rb;", lambda x, y, z: (x & 0xFFFFFF) * (y & 0xFFFFFF) & M32),
        Case("mul24.lo.s32 %rout, %ra, %rb;", lambda x, y, z: s(x, 24) * s(y, 24) & M32),
        Case("mul24.hi.s32 %rout, %ra, %rb;", lambda x, y, z: s(x, 24) * s(y, 24) >> 16 & M32),
        Case("mad24.lo.s32 %rout, %ra, %rb, %rc;", lambda x, y, z: s(x, 24) * s(y, 24) + z & M32),
        Case(
            "mad24.hi.u32 %rout, %ra, %rb, %rc;",
            lambda x, y, z: ((x & 0xFFFFFF) * (y & 0xFFFFFF) >> 16) + z & M32,
        ),
        Case("dp4a.u32.u32 %rout, %ra, %rb, %rc;", lambda x, y, z: dot(x, y, z, False, False)),
        Case("dp4a.s32.u32 %rout, %ra, %rb, %rc;", lambda x, y, z: dot(x, y, z, True, False)),
        Case("dp4a.s32.s32 %rout, %ra, %rb, %rc;", lambda x, y, z: dot(x, y, z, True, True)),
        Case(
            "dp2a.lo.s32.u32 %rout, %ra, %rb, %rc;",
            lambda x, y, z: s(x, 16) * (y & M8) + s(x >> 16, 16) * (y >> 8 & M8) + z & M32,
        ),
        Case(
            "dp2a.hi.u32.s32 %rout, %ra, %rb, %rc;",
            lambda x, y, z: (x & M16) * s(y >> 16, 8) + (x >> 16 & M16) * s(y >> 24, 8) + z & M32,
        ),
        # 64 bits by carries
        Case(
            "mov.b64 {%r1,%r2}, %a; mov.b64 {%r3,%r4}, %b; add.cc.u32 %r5, %r1, %r3; addc.u32 %r6, %r2, %r4;"
            " mov.b64 %d, {%r5,%r6};",
            lambda x, y, z: x + y,
        ),
        Case(
            "mov.b64 {%r1,%r2}, %a; mov.b64 {%r3,%r4}, %b; sub.cc.u32 %r5, %r1, %r3; subc.u32 %r6, %r2, %r4;"
            " mov.b64 %d, {%r5,%r6};",
            lambda x, y, z: x - y,
        ),
        Case(
            "mov.b64 {%r1,%r2}, %a; mad.lo.cc.u32 %r5, %r1, %rb, %rc; madc.hi.u32 %r6, %r1, %rb, 5; mov.b64 "
            "%d, {%r5,%r6};",
            lambda x, y, z: (x & M32) * (y & M32) + (z & M32) + (5 << 32),
        ),
        Case("add.cc.u64 %rd1, %a, %b; addc.u64 %d, 0, 0;", lambda x, y, z: x + y >> 64),
        Case("sub.cc.u64 %rd1, %a, %b; subc.u64 %d, 0, 0;", lambda x, y, z: -int(x < y)),
        Case(
            "sub.cc.u32 %r1, %ra, %rb; subc.cc.u32 %r2, %rb, %ra; subc.u32 %rout, 0, 0;",
            lambda x, y, z: -int((y & M32) - (x & M32) - int((x & M32) < (y & M32)) < 0) & M32,
        ),
        Case(
            "max.s16x2 %rout, %ra, %rb;",
            lambda x, y, z: max(s(x, 16), s(y, 16)) & M16 | (max(s(x >> 16, 16), s(y >> 16, 16)) & M16) << 16,
        ),
        Case("min.relu.s32 %rout, %ra, %rb;", lambda x, y, z: max(0, min(s(x, 32), s(y, 32)))),
    ]


def in_place() -> list[Case]:
    """A destination that is also a source."""
    return [
        Case("mul.lo.s64 %a, %a, %a; mov.b64 %d, %a;", lambda x, y, z: x * x),
        Case("mad.lo.s64 %a, %b, %a, %a; mov.b64 %d, %a;", lambda x, y, z: x * y + x),
        Case("mul.hi.s64 %b, %a, %b; mov.b64 %d, %b;", lambda x, y, z: s(x, 64) * s(y, 64) >> 64),
        Case("shl.b64 %a, %a, %ra; mov.b64 %d, %a;", lambda x, y, z: x << min(x & M32, 64)),
        Case("shr.s64 %a, %a, 40; mov.b64 %d, %a;", lambda x, y, z: s(x, 64) >> 40),
        Case("min.s64 %a, %b, %a; mov.b64 %d, %a;", lambda x, y, z: min(s(x, 64), s(y, 64))),
        Case("abs.s64 %a, %a; mov.b64 %d, %a;", lambda x, y, z: abs(s(x, 64))),
        Case("add.s64 %a, %a, %a; sub.s64 %a, %b, %a; mov.b64 %d, %a;", lambda x, y, z: y - 2 * x),
        Case("brev.b64 %a, %a; mov.b64 %d, %a;", lambda x, y, z: int(f"{x:064b}"[::-1], 2)),
        Case(
            "mov.b64 {%r1, %r2}, %a; mov.b64 %a, {%r2, %r1}; mov.b64 %d, %a;",
            lambda x, y, z: x >> 32 | x << 32,
        ),
        Case(
            "setp.lt.u32 %p1, %ra, %rb; @%p1 setp.gt.u32 %p1, %ra, %rc; selp.b64 %d, 1, 0, %p1;",
            lambda x, y, z: int((x & M32) < (y & M32) and (x & M32) > (z & M32)),
        ),
    ]


def guarded() -> list[Case]:
    """Predicated instructions of several machine ops."""
    cases = []
    for line, f in (
        ("mul.lo.s64 %d, %a, %b;", lambda x, y: x * y),
        ("min.s64 %d, %a, %b;", lambda x, y: min(s(x, 64), s(y, 64))),
        ("mul.hi.u64 %d, %a, %b;", lambda x, y: x * y >> 64),
        ("shl.b64 %d, %a, 7;", lambda x, y: x << 7),
        ("add.s64 %d, %d, %b;", lambda x, y: y),
        ("cvt.s64.s32 %d, %rb;", lambda x, y: s(y, 32)),
    ):
        setp = "setp.lt.u32 %p1, %ra, %rb;"
        cases.append(
            Case(f"{setp} @%p1 {line}", lambda x, y, z, f=f: f(x, y) if (x & M32) < (y & M32) else 0)
        )
        cases.append(
            Case(f"{setp} @!%p1 {line}", lambda x, y, z, f=f: 0 if (x & M32) < (y & M32) else f(x, y))
        )
    return cases


@pytest.mark.parametrize("optimize", [True, False], ids=["clean", "raw"])
@pytest.mark.parametrize("family", [arithmetic, wide, in_place, guarded], ids=lambda f: f.__name__)
def test_integer_semantics(family: Callable[[], list[Case]], optimize: bool) -> None:
    assert failures(family(), optimize=optimize) == []


def test_the_bench_notices_a_wrong_result() -> None:
    assert failures([Case("add.s32 %rout, %ra, %rb;", lambda x, y, z: x - y & M32)])
