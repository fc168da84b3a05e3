"""Integers: carries, saturation, bit fields, shifts, permutations, by the pseudocode of the PTX manual."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne

import pytest

from tests.program.semantics.bench import INTEGERS, M16, M32, M64, RELATIONS, Case, failures, s

AMOUNTS = (0, 1, 5, 8, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 100, 255, 256, 257, 0x120, M32)
#: Those that 8 bits hold. Of 64-bit fields a GPU does not cut position and length down to them, as the manual
#: says.
BYTES = tuple(amount for amount in AMOUNTS if amount < 256)


def clamp(value: int) -> int:
    return max(-(1 << 31), min((1 << 31) - 1, value))


def bfe(a: int, b: int, c: int, bits: int, signed: bool) -> int:
    pos, length = b & 0xFF, c & 0xFF
    sign = a >> min(pos + length - 1, bits - 1) & 1 if signed and length else 0
    return sum((a >> pos + i & 1 if i < length and pos + i < bits else sign) << i for i in range(bits))


def bfi(a: int, b: int, c: int, d: int, bits: int) -> int:
    pos, length = c & 0xFF, d & 0xFF
    for i in range(length):
        if pos + i < bits:
            b = b & ~(1 << pos + i) | (a >> i & 1) << pos + i
    return b


def prmt(a: int, b: int, c: int, mode: str) -> int:
    pool = [(a & M32 | (b & M32) << 32) >> 8 * i & 0xFF for i in range(8)]
    n = c & 3
    picks = {
        "": [c >> 4 * i & 15 for i in range(4)],
        ".f4e": [n, n + 1, n + 2, n + 3],
        ".b4e": [n, n + 7 & 7, n + 6 & 7, n + 5 & 7],
        ".rc8": [n] * 4,
        ".ecl": [max(n, i) for i in range(4)],
        ".ecr": [min(n, i) for i in range(4)],
        ".rc16": [2, 3, 2, 3] if n & 1 else [0, 1, 0, 1],
    }[mode]
    made = [(0xFF if pool[p & 7] & 0x80 else 0) if p & 8 else pool[p & 7] for p in picks]
    return sum(v << 8 * i for i, v in enumerate(made))


def fns(mask: int, base: int, offset: int) -> int:
    if offset == 0:
        return base if base < 32 and mask >> base & 1 else M32
    position, count, step = base, abs(offset) - 1, 1 if offset > 0 else -1
    while 0 <= position < 32:
        if mask >> position & 1:
            if count == 0:
                return position
            count -= 1
        position += step
    return M32


def bfind(a: int, bits: int, signed: bool, shift: bool) -> int:
    if signed and a >> bits - 1:
        a ^= (1 << bits) - 1
    found = a.bit_length() - 1
    return M32 if found < 0 else bits - 1 - found if shift else found


def bmsk(a: int, b: int, wrap: bool) -> int:
    if not wrap and a & M32 >= 32:
        return 0
    position, length = a & 31, b & 31 if wrap else min(b & M32, 32)
    return (((1 << length) - 1) << position) & M32


def szext(a: int, b: int, wrap: bool, signed: bool) -> int:
    length = b & 31 if wrap else min(b & M32, 32)
    a &= (1 << length) - 1
    return s(a, length) if signed and length else a


def halves(a: int, b: int, f: Callable[[int, int], int], signed: bool = True) -> int:
    def half(x: int, i: int) -> int:
        return s(x >> 16 * i, 16) if signed else x >> 16 * i & M16

    return (f(half(a, 0), half(b, 0)) & M16) | (f(half(a, 1), half(b, 1)) & M16) << 16


def carries() -> list[Case]:
    """Chains of the carry flag; destinations that are sources as well."""

    def wide(a: int, b: int, c: int) -> int:
        return c << 64 | b << 32 & M64 | a & M32

    return [
        Case(
            "add.cc.u32 %r, %ra, %rb; addc.cc.u32 %r, %rb, %rc; addc.u32 %r, 0, 0;",
            lambda a, b, c: ((a & M32) + (b & M32) + (((b & M32) + (c & M32)) << 32)) >> 64,
        ),
        Case(
            "add.cc.u64 %d, %a, %b; addc.cc.u64 %d, %b, %c; addc.u64 %d, %c, %a;",
            lambda a, b, c: c + a + ((b + c + (a + b >> 64)) >> 64),
        ),
        Case(
            "sub.cc.u32 %r, %ra, %rb; subc.cc.u32 %r, %rb, %rc; subc.u32 %r, 0, 0;",
            lambda a, b, c: (((a & M32) - (b & M32)) + (((b & M32) - (c & M32)) << 32)) >> 64,
        ),
        Case("sub.cc.u64 %l, %a, %b; subc.u64 %d, %b, %c;", lambda a, b, c: (a - b + (b - c << 64)) >> 64),
        Case(
            "mov.b64 %d, %a; add.cc.u64 %d, %d, %d; addc.u64 %d, %d, %d;", lambda a, b, c: 4 * a + (a >> 63)
        ),
        Case(
            "mov.b32 %r, %ra; sub.cc.u32 %s, %rb, %r; subc.u32 %r, %r, %r;",
            lambda a, b, c: -int(b & M32 < a & M32),
        ),
        Case(
            "mad.lo.cc.u32 %s, %ra, %rb, %rc; madc.hi.u32 %r, %ra, %rb, %rc;",
            lambda a, b, c: ((a & M32) * (b & M32) + (c & M32) >> 32) + c,
        ),
        Case(
            "mad.hi.cc.u32 %s, %ra, %rb, %rc; addc.u32 %r, 0, 0;",
            lambda a, b, c: ((a & M32) * (b & M32) >> 32) + (c & M32) >> 32,
        ),
        Case(
            "mad.hi.cc.s32 %s, %ra, %rb, %rc; addc.u32 %r, 0, 0;",
            lambda a, b, c: ((s(a, 32) * s(b, 32) >> 32 & M32) + (c & M32)) >> 32,
        ),
        Case(
            "mad.lo.cc.u64 %l, %a, %b, %c; madc.hi.u64 %d, %a, %b, %c;", lambda a, b, c: (a * b + c >> 64) + c
        ),
        Case("add.cc.u64 %l, %a, %b; madc.lo.u64 %d, %a, %b, %c;", lambda a, b, c: a * b + c + (a + b >> 64)),
        Case("mad.hi.cc.u64 %l, %a, %b, %c; addc.u64 %d, 0, 0;", lambda a, b, c: ((a * b >> 64) + c) >> 64),
        Case(
            "setp.lt.s32 %q, %ra, 0; add.cc.u32 %s, %ra, %ra; @%q addc.cc.u32 %s, %rb, %rb; addc.u32 %r, 0, "
            "0;",
            lambda a, b, c: b >> 31 & 1 if a >> 31 & 1 else 0,
        ),
        Case("add.sat.s32 %r, %ra, %rb;", lambda a, b, c: clamp(s(a, 32) + s(b, 32))),
        Case("sub.sat.s32 %r, %ra, %rb;", lambda a, b, c: clamp(s(a, 32) - s(b, 32))),
        Case("mov.b32 %r, %ra; sub.sat.s32 %r, %rb, %r;", lambda a, b, c: clamp(s(b, 32) - s(a, 32))),
        Case(
            "mad.hi.sat.s32 %r, %ra, %rb, %rc;", lambda a, b, c: clamp((s(a, 32) * s(b, 32) >> 32) + s(c, 32))
        ),
        Case(
            "mad24.hi.sat.s32 %r, %ra, %rb, %rc;",
            lambda a, b, c: clamp(s(s(a, 24) * s(b, 24) >> 16, 32) + s(c, 32)),
        ),
    ]


def products() -> list[Case]:
    """Products, sums of differences, dot products, pairs of halves."""

    def dot(a: int, b: int, c: int, at: int, bt: int) -> int:
        def byte(x: int, i: int, signed: int) -> int:
            return s(x >> 8 * i, 8) if signed else x >> 8 * i & 255

        return c + sum(byte(a, i, at) * byte(b, i, bt) for i in range(4))

    def dot2(a: int, b: int, c: int, at: int, bt: int, high: int) -> int:
        total = c
        for i in (0, 1):
            left = s(a >> 16 * i, 16) if at else a >> 16 * i & M16
            byte = b >> 8 * (i + 2 * high)
            total += left * (s(byte, 8) if bt else byte & 255)
        return total

    cases = [
        Case("mul24.lo.s32 %r, %ra, %rb;", lambda a, b, c: s(a, 24) * s(b, 24)),
        Case("mul24.hi.u32 %r, %ra, %rb;", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 16),
        Case("mad24.hi.s32 %r, %ra, %rb, %rc;", lambda a, b, c: (s(a, 24) * s(b, 24) >> 16) + c),
        Case("mul.wide.s16 %r, %ha, -3;", lambda a, b, c: s(a, 16) * -3),
        Case("mul.wide.u16 %r, %ha, 65533;", lambda a, b, c: (a & M16) * 65533),
        Case("mad.wide.s16 %r, %ha, %hb, %rc;", lambda a, b, c: s(a, 16) * s(b, 16) + c),
        Case("mul.wide.s32 %d, %ra, -5;", lambda a, b, c: s(a, 32) * -5),
        Case("mad.wide.s32 %d, %ra, %rb, %c;", lambda a, b, c: s(a, 32) * s(b, 32) + c),
        Case("mov.b64 %d, %c; mad.lo.s64 %d, %d, %d, %d;", lambda a, b, c: c * c + c),
        Case("mul.hi.s64 %d, %a, %b;", lambda a, b, c: s(a, 64) * s(b, 64) >> 64),
        Case("mul.hi.s64 %d, %a, -7;", lambda a, b, c: s(a, 64) * -7 >> 64),
        Case("sad.s32 %r, %ra, %rb, %rc;", lambda a, b, c: abs(s(a, 32) - s(b, 32)) + c),
        Case("sad.u16 %h, %ha, %hb, %hc;", lambda a, b, c: abs((a & M16) - (b & M16)) + c),
        Case("sad.s64 %d, %a, %b, %c;", lambda a, b, c: abs(s(a, 64) - s(b, 64)) + c),
        Case("add.s16x2 %r, %ra, %rb;", lambda a, b, c: halves(a, b, lambda x, y: x + y)),
        Case(
            "mov.b32 %r, %ra; sub.u16x2 %r, %rb, %r;",
            lambda a, b, c: halves(b, a, lambda x, y: x - y),
            lenient=True,
        ),
        Case("min.s16x2 %r, %ra, %rb;", lambda a, b, c: halves(a, b, min)),
        Case("max.u16x2 %r, %ra, %rb;", lambda a, b, c: halves(a, b, max, False)),
        Case("max.relu.s16x2 %r, %ra, %rb;", lambda a, b, c: halves(a, b, lambda x, y: max(x, y, 0))),
        Case("min.relu.s32 %r, %ra, %rb;", lambda a, b, c: max(0, min(s(a, 32), s(b, 32)))),
        Case("abs.s64 %d, %a;", lambda a, b, c: abs(s(a, 64))),
        Case("slct.u64.s32 %d, %a, %b, %rc;", lambda a, b, c: a if s(c, 32) >= 0 else b),
        Case("cnot.b64 %d, %a;", lambda a, b, c: int(a == 0)),
    ]
    cases += [
        Case(
            f"dp4a.{x}32.{y}32 %r, %ra, %rb, %rc;", lambda a, b, c, x=x, y=y: dot(a, b, c, x == "s", y == "s")
        )
        for x in "us"
        for y in "us"
    ]
    cases += [
        Case(
            f"dp2a.{part}.{x}32.{y}32 %r, %ra, %rb, %rc;",
            lambda a, b, c, x=x, y=y, part=part: dot2(a, b, c, x == "s", y == "s", part == "hi"),
        )
        for part in ("lo", "hi")
        for x in "us"
        for y in "us"
    ]
    for kind, bits, (d, a, b) in [
        (k, n, r)
        for k in "su"
        for n, r in ((16, ("%h", "%ha", "%hb")), (32, ("%r", "%ra", "%rb")), (64, ("%d", "%a", "%b")))
    ]:

        def read(x: int, kind: str = kind, bits: int = bits) -> int:
            return s(x, bits) if kind == "s" else x & (1 << bits) - 1

        def quotient(x: int, y: int) -> int:
            return abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)

        cases += [
            Case(
                f"or.b{bits} {b}, {b}, 1; div.{kind}{bits} {d}, {a}, {b};",
                lambda a, b, c, f=read, q=quotient: q(f(a), f(b | 1)),
            ),
            Case(
                f"or.b{bits} {b}, {b}, 1; mov.b{bits} {d}, {a}; rem.{kind}{bits} {d}, {d}, {b};",
                lambda a, b, c, f=read, q=quotient: f(a) - q(f(a), f(b | 1)) * f(b | 1),
            ),
            Case(f"div.{kind}{bits} {d}, {a}, 7;", lambda a, b, c, f=read, q=quotient: q(f(a), 7)),
        ]
    return cases


def fields() -> list[Case]:
    """Bit fields, counts and permutations, with positions and lengths far out of range."""
    table = (INTEGERS, AMOUNTS)
    cases = [
        Case(
            "mov.b32 %r, %rc; bfi.b32 %r, %ra, %r, %rb, %rc;",
            lambda a, b, c: bfi(a & M32, c & M32, b, c, 32),
            (*table, AMOUNTS),
        ),
        Case("bfi.b32 %r, %ra, -1, 28, 9;", lambda a, b, c: bfi(a & M32, M32, 28, 9, 32)),
        *(
            Case(
                "bfi.b64 %d, %a, %b, %rb, %rc;",
                lambda a, b, c: bfi(a, b, b, c, 64),
                (INTEGERS, amounts, amounts),
                lenient=amounts is AMOUNTS,
            )
            for amounts in (AMOUNTS, BYTES)
        ),
        Case("bfi.b64 %d, %a, %b, 60, 10;", lambda a, b, c: bfi(a, b, 60, 10, 64)),
        Case("bfi.b64 %d, %a, %b, 0, 64;", lambda a, b, c: a),
        Case(
            "fns.b32 %r, %ra, %rb, %rc;",
            lambda a, b, c: fns(a & M32, b & 31, s(c, 32)),
            (INTEGERS, range(32), (0, 1, 2, 3, 9, 31, 32, 33, -1, -2, -5, -32)),
        ),
        Case("brev.b64 %d, %a;", lambda a, b, c: int(f"{a:064b}"[::-1], 2)),
        Case("mov.b64 %d, %a; brev.b64 %d, %d;", lambda a, b, c: int(f"{a:064b}"[::-1], 2)),
        Case("popc.b64 %r, %a;", lambda a, b, c: a.bit_count()),
        Case("clz.b64 %r, %a;", lambda a, b, c: 64 - a.bit_length()),
        Case("clz.b32 %r, %ra;", lambda a, b, c: 32 - (a & M32).bit_length()),
        Case(
            "lop3.b32 %r, %ra, %rb, %rc, 0x1b;",
            lambda a, b, c: sum(
                (0x1B >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32)
            ),
        ),
    ]
    for kind in "us":
        signed = kind == "s"
        cases += [
            Case(
                f"bfe.{kind}32 %r, %ra, %rb, %rc;",
                lambda a, b, c, g=signed: bfe(a & M32, b, c, 32, g),
                (*table, AMOUNTS),
            ),
            *(
                Case(
                    f"bfe.{kind}64 %d, %a, %rb, %rc;",
                    lambda a, b, c, g=signed: bfe(a, b, c, 64, g),
                    (table[0], amounts, amounts),
                    lenient=amounts is AMOUNTS,
                )
                for amounts in (AMOUNTS, BYTES)
            ),
            Case(
                f"szext.clamp.{kind}32 %r, %ra, %rb;", lambda a, b, c, g=signed: szext(a, b, False, g), table
            ),
            Case(f"szext.wrap.{kind}32 %r, %ra, %rb;", lambda a, b, c, g=signed: szext(a, b, True, g), table),
        ]
        for pos, length in (
            (0, 0),
            (0, 8),
            (31, 1),
            (31, 9),
            (40, 3),
            (63, 2),
            (255, 255),
            (0, 255),
            (256, 260),
        ):
            cases += [
                Case(
                    f"bfe.{kind}32 %r, %ra, {pos}, {length};",
                    lambda a, b, c, g=signed, p=pos, n=length: bfe(a & M32, p, n, 32, g),
                    lenient=pos > (31 if signed else 255),  # the driver's compiler folds these to -1
                ),
                Case(
                    f"bfe.{kind}64 %d, %a, {pos}, {length};",
                    lambda a, b, c, g=signed, p=pos, n=length: bfe(a, p, n, 64, g),
                    lenient=pos > 255,
                ),
            ]
        for bits, source in ((32, "%ra"), (64, "%a")):
            for shift in ("", ".shiftamt"):
                cases.append(
                    Case(
                        f"bfind{shift}.{kind}{bits} %r, {source};",
                        lambda a, b, c, n=bits, g=signed, t=bool(shift): bfind(a & (1 << n) - 1, n, g, t),
                    )
                )
    cases += [
        Case(
            f"prmt.b32{mode} %r, %ra, %rb, %rc;",
            lambda a, b, c, m=mode: prmt(a, b, c, m),
            (
                INTEGERS,
                INTEGERS,
                (0, 1, 2, 3, 0x3210, 0x7654, 0xFEDC, 0xBA98, 0x5410, 0x0123, 0x8F7A, 0x12348888),
            ),
        )
        for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16")
    ]
    cases += [
        Case(f"bmsk.{m}.b32 %r, %ra, %rb;", lambda a, b, c, w=m == "wrap": bmsk(a, b, w), (AMOUNTS,))
        for m in ("clamp", "wrap")
    ]
    return cases


def shifts() -> list[Case]:
    """Shifts and funnel shifts by register and by constant."""
    table = (INTEGERS, INTEGERS, AMOUNTS)

    def funnel(a: int, b: int, n: int, left: bool, wrap: bool) -> int:
        n = n & 31 if wrap else min(n & M32, 32)
        both = (b & M32) << 32 | a & M32
        return (both << n) >> 32 if left else both >> n

    cases = []
    for left in (True, False):
        for wrap in (True, False):
            name = f"shf.{'l' if left else 'r'}.{'wrap' if wrap else 'clamp'}.b32"
            cases.append(
                Case(
                    f"{name} %r, %ra, %rb, %rc;", lambda a, b, c, x=left, w=wrap: funnel(a, b, c, x, w), table
                )
            )
            cases += [
                Case(
                    f"{name} %r, %ra, %rb, {n};",
                    lambda a, b, c, x=left, w=wrap, n=n: funnel(a, b, n, x, w),
                    table,
                )
                for n in (0, 1, 31, 32, 33, 63)
            ]
    for bits, d, a in ((16, "%h", "%ha"), (32, "%r", "%ra"), (64, "%d", "%a")):
        for amount in ("%rc", "0", "1", "15", "16", "31", "32", "33", "63", "64", "0xffffffff"):

            def count(c: int, amount: str = amount) -> int:
                return min(c & M32 if amount == "%rc" else int(amount, 0), 64)

            cases += [
                Case(f"shl.b{bits} {d}, {a}, {amount};", lambda a, b, c, f=count: a << f(c), table),
                Case(
                    f"shr.u{bits} {d}, {a}, {amount};",
                    lambda a, b, c, f=count, n=bits: (a & (1 << n) - 1) >> f(c),
                    table,
                ),
                Case(
                    f"mov.b{bits} {d}, {a}; shr.s{bits} {d}, {d}, {amount};",
                    lambda a, b, c, f=count, n=bits: s(a, n) >> f(c),
                    table,
                ),
            ]
    return cases


def comparisons() -> list[Case]:
    """setp, set, selp and slct; predicates that are compared under themselves."""
    cases: list[Case] = []
    for bits, a, b in ((16, "%ha", "%hb"), (32, "%ra", "%rb"), (64, "%a", "%b")):

        def of(
            relation: Callable[[int, int], bool], kind: str, bits: int = bits
        ) -> Callable[[int, int, int], int]:
            def number(x: int) -> int:
                return s(x, bits) if kind == "s" else x & (1 << bits) - 1

            return lambda x, y, z: int(relation(number(x), number(y)))

        relations = {
            "us": RELATIONS,
            "u": {"lo": lt, "ls": le, "hi": gt, "hs": ge},
            "b": {"eq": eq, "ne": ne},
        }
        cases += [
            Case(f"setp.{name}.{kind}{bits} %p, {a}, {b};", of(relation, kind))
            for kinds, those in relations.items()
            for kind in kinds
            for name, relation in those.items()
        ]
        less = of(lt, "s")
        cases += [
            Case(f"setp.lt.s{bits} %p, {a}, -7;", lambda x, y, z, f=less: f(x, -7, z)),
            Case(f"set.lt.u32.s{bits} %r, {a}, {b};", lambda x, y, z, f=less: -f(x, y, z)),
            Case(
                f"setp.ge.u32 %q, %ra, %rc; set.lt.xor.f32.s{bits} %r, {a}, {b}, !%q;",
                lambda x, y, z, f=less: 0x3F800000 * (f(x, y, z) ^ (x & M32 < z & M32)),
            ),
            Case(
                f"setp.ge.u32 %q, %ra, %rc; setp.lt.or.s{bits} %p|%q, {a}, {b}, %q; "
                "selp.u32 %r, 1, 0, %p; selp.u32 %s, 2, 0, %q; or.b32 %r, %r, %s;",
                lambda x, y, z, f=less: (
                    (f(x, y, z) | (x & M32 >= z & M32)) | (1 - f(x, y, z) | (x & M32 >= z & M32)) << 1
                ),
            ),
            # A predicate that is written under itself keeps its value where it forbids the comparison.
            Case(
                f"setp.ge.u32 %p, %ra, %rc; @%p setp.lt.s{bits} %p, {a}, {b};",
                lambda x, y, z, f=less: (x & M32 >= z & M32) and f(x, y, z),
            ),
            Case(
                f"setp.ge.u32 %p, %ra, %rc; @!%p setp.lt.and.s{bits} %p, {a}, {b}, !%p;",
                lambda x, y, z, f=less: (x & M32 >= z & M32) or f(x, y, z),
            ),
        ]
    cases += [
        Case("setp.eq.u16 %p, %ha, -1;", lambda x, y, z: x & M16 == M16),
        Case("setp.eq.s16 %p, %ha, 0xFFFF;", lambda x, y, z: x & M16 == M16),
        Case("mov.b64 %d, {5, 7};", lambda x, y, z: 5 | 7 << 32),
        Case(
            "setp.ge.u32 %p, %ra, %rb; selp.b64 %d, %a, %c, %p;",
            lambda x, y, z: x if x & M32 >= y & M32 else z,
        ),
        Case(
            "setp.ge.u32 %p, %ra, %rb; selp.b16 %h, %ha, 5, !%p;",
            lambda x, y, z: 5 if x & M32 >= y & M32 else x,
        ),
        Case("slct.b32.s32 %r, %ra, %rb, %rc;", lambda x, y, z: x if s(z, 32) >= 0 else y),
        Case("slct.u64.s32 %d, %a, %b, %rc;", lambda x, y, z: x if s(z, 32) >= 0 else y),
    ]
    return cases


@pytest.mark.parametrize("family", [carries, products, fields, shifts, comparisons])
def test_integers(family: Callable[[], list[Case]]) -> None:
    assert failures(family()) == []


def test_one_carry_flag_holds_carries_and_borrows() -> None:
    """An H100's flag is the carry of a + b and of a + ~b + 1: addc after sub.cc adds 1 where nothing was
    borrowed, subc after add.cc subtracts 1 where nothing was carried."""
    cases = [
        Case("sub.cc.u32 %s, %ra, %rb; addc.u32 %r, 0, 0;", lambda a, b, c: int(a & M32 >= b & M32)),
        Case(
            "add.cc.u32 %s, %ra, %rb; subc.u32 %r, 0, 0;",
            lambda a, b, c: -int((a & M32) + (b & M32) <= M32) & M32,
        ),
    ]
    assert not failures(cases)
