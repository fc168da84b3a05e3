"""Floating-point instructions against numpy, bit for bit; approximate ones within a few units of the last
place."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np
import pytest

from tests.program.lowering.bench import M16, M32, SINGLES, Case, failures, operand_rows, run

FINITE = tuple(v for v in SINGLES if v & 0x7F800000 != 0x7F800000)
NUMBERS = tuple(v for v in SINGLES if v & 0x7FFFFFFF <= 0x7F800000)
SIGNED = tuple(v for v in NUMBERS if v not in (0, 1 << 31))
DOUBLES = tuple(
    struct.unpack("<Q", struct.pack("<d", v))[0]
    for v in (
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        3.5,
        -2.25,
        1e10,
        -1e-10,
        7.25e18,
        1e200,
        123456.789,
        2.0**-1000,
        65504.0,
    )
)
HALVES = (
    0,
    0x8000,
    0x3C00,
    0xBC00,
    0x3800,
    0x4248,
    0x7BFF,
    0x0001,
    0x03FF,
    0x2E66,
    0x1_3C00,
    0x4500_4200,
    0xC500_3555,
)


def f32(x: int) -> np.float32:
    return np.uint32(x & M32).view(np.float32)


def f64(x: int) -> np.float64:
    return np.uint64(x).view(np.float64)


def f16(x: int) -> np.float16:
    return np.uint16(x & M16).view(np.float16)


def b32(x: object) -> int:
    return int(np.float32(x).view(np.uint32))  # type: ignore[arg-type]


def b64(x: object) -> int:
    return int(np.float64(x).view(np.uint64))  # type: ignore[arg-type]


def b16(x: object) -> int:
    return int(np.float16(x).view(np.uint16))  # type: ignore[arg-type]


def flush(x: int) -> int:
    return x & 0x80000000 if x & 0x7F800000 == 0 else x & M32


def singles() -> list[Case]:
    return [
        Case("mul.f32 %rout, %ra, %rb;", lambda x, y, z: b32(f32(x) * f32(y)), FINITE),
        Case("add.rn.f32 %rout, %ra, %rb;", lambda x, y, z: b32(f32(x) + f32(y)), FINITE),
        Case("sub.f32 %rout, %ra, %rb;", lambda x, y, z: b32(f32(x) - f32(y)), FINITE),
        Case("neg.f32 %r1, %rb; add.f32 %rout, %ra, %r1;", lambda x, y, z: b32(f32(x) - f32(y)), FINITE),
        Case(
            "abs.f32 %r1, %rb; neg.f32 %r2, %r1; mul.f32 %rout, %ra, %r2;",
            lambda x, y, z: b32(f32(x) * -abs(f32(y))),
            FINITE,
        ),
        Case(
            "neg.f32 %r1, %rb; abs.f32 %r2, %r1; mul.f32 %rout, %ra, %r2;",
            lambda x, y, z: b32(f32(x) * abs(f32(y))),
            FINITE,
        ),
        *(
            Case(
                f"{name}.rn.f32 %rout, %ra, 0f3F000000, %rb;",
                lambda x, y, z: b32(f64(b64(f32(x))) * 0.5 + f64(b64(f32(y)))),
                (0x3F800000, 0x40490FDB, 0xC2F6E979, 0x3DCCCCCD, 0),
            )
            for name in ("fma", "mad")
        ),
        Case(
            "mul.ftz.f32 %rout, %ra, %rb;", lambda x, y, z: flush(b32(f32(flush(x)) * f32(flush(y)))), FINITE
        ),
        Case("neg.ftz.f32 %rout, %ra;", lambda x, y, z: flush(x) ^ 0x80000000, FINITE),
        Case("abs.ftz.f32 %rout, %ra;", lambda x, y, z: flush(x) & 0x7FFFFFFF, FINITE),
        Case("neg.f32 %rout, %ra;", lambda x, y, z: (x ^ 0x80000000) & M32, SINGLES),
        Case(
            "add.sat.f32 %rout, %ra, %rb;",
            lambda x, y, z: b32(min(max(f32(x) + f32(y), np.float32(0)), np.float32(1))),
            (0x3F000000, 0x3F800000, 0xBF800000, 0x3DCCCCCD),
        ),
        Case("min.f32 %rout, %ra, %rb;", lambda x, y, z: b32(f32(x) if f32(x) < f32(y) else f32(y)), SIGNED),
        Case("max.f32 %rout, %ra, %rb;", lambda x, y, z: b32(f32(x) if f32(x) > f32(y) else f32(y)), SIGNED),
        Case(
            "div.rn.f32 %rout, %ra, %rb;",
            lambda x, y, z: b32(f32(x) / f32(y)),
            [v for v in FINITE if v << 1 & M32],
        ),
        Case(
            "rcp.rn.f32 %rout, %ra;",
            lambda x, y, z: b32(np.float32(1) / f32(x)),
            [v for v in FINITE if v << 1 & M32],
        ),
        Case(
            "sqrt.rn.f32 %rout, %ra;",
            lambda x, y, z: b32(np.sqrt(f32(x))),
            [v for v in FINITE if not v >> 31],
        ),
        Case("copysign.f32 %rout, %ra, %rb;", lambda x, y, z: x & 1 << 31 | y & 0x7FFFFFFF, SINGLES),
        Case(
            "mov.f32 %r1, 1.5; add.f32 %rout, %ra, %r1;",
            lambda x, y, z: b32(f32(x) + np.float32(1.5)),
            FINITE,
        ),
        Case("slct.f32.f32 %rout, %ra, %rb, %rc;", lambda x, y, z: (x if f32(z) >= 0 else y) & M32, NUMBERS),
    ]


def pairs() -> list[Case]:
    def both(f: Callable[[np.float32, np.float32], np.float32]) -> Callable[[int, int, int], int]:
        return lambda x, y, z: b32(f(f32(x), f32(y))) | b32(f(f32(x >> 32), f32(y >> 32))) << 32

    table = tuple(a | b << 32 for a, b in zip(FINITE, FINITE[3:] + FINITE[:3], strict=True))
    exact = (0x40400000_3F800000, 0xC0000000_3F000000, 0x40A00000_C1200000)
    return [
        Case("add.rn.f32x2 %d, %a, %b;", both(lambda p, q: p + q), table),
        Case("sub.f32x2 %d, %a, %b;", both(lambda p, q: p - q), table),
        Case("mul.rn.f32x2 %a, %a, %b; mov.b64 %d, %a;", both(lambda p, q: p * q), table),
        Case("fma.rn.f32x2 %a, %b, %a, %a; mov.b64 %d, %a;", both(lambda p, q: p * q + p), exact),
        Case("add.rn.f32.f16 %rout, %ha, %rb;", lambda x, y, z: b32(np.float32(f16(x)) + f32(y)), HALVES),
        Case("sub.f32.f16 %rout, %ha, %rb;", lambda x, y, z: b32(np.float32(f16(x)) - f32(y)), HALVES),
        Case(
            "fma.rn.f32.f16 %rout, %ha, %hb, %rc;",
            lambda x, y, z: b32(np.float32(f16(x)) * np.float32(f16(y)) + f32(z)),
            (0x3C00, 0xBC00, 0x3800, 0x4248),
        ),
        Case(
            "add.f32.bf16 %rout, %ha, %rb;",
            lambda x, y, z: b32(f32((x & M16) << 16) + f32(y)),
            (0x3F80, 0xC2F6, 0x4049),
        ),
    ]


def relations() -> list[Case]:
    cases = []
    table: dict[str, Callable[[float, float], bool]] = {
        "eq": lambda x, y: x == y,
        "ne": lambda x, y: x < y or x > y,
        "lt": lambda x, y: x < y,
        "ge": lambda x, y: x >= y,
        "equ": lambda x, y: not (x < y or x > y),
        "neu": lambda x, y: x != y,
        "ltu": lambda x, y: not x >= y,
        "gtu": lambda x, y: not x <= y,
        "num": lambda x, y: x == x and y == y,
        "nan": lambda x, y: x != x or y != y,
    }
    for name, relation in table.items():
        cases.append(
            Case(
                f"setp.{name}.f32 %pd, %ra, %rb;", lambda x, y, z, r=relation: int(r(f32(x), f32(y))), SINGLES
            )
        )
        cases.append(
            Case(f"setp.{name}.f64 %pd, %a, %b;", lambda x, y, z, r=relation: int(r(f64(x), f64(y))), DOUBLES)
        )
    cases.append(
        Case(
            "abs.f32 %r1, %ra; neg.f32 %r2, %rb; setp.lt.f32 %pd, %r1, %r2;",
            lambda x, y, z: int(abs(f32(x)) < -f32(y)),
            NUMBERS,
        )
    )
    for name, holds in (
        ("finite", math.isfinite),
        ("infinite", math.isinf),
        ("number", lambda v: v == v),
        ("notanumber", math.isnan),
        ("normal", lambda v: not v or (math.isfinite(v) and abs(v) >= 2.0**-126)),
        ("subnormal", lambda v: 0 < abs(v) < 2.0**-126),
    ):
        cases.append(
            Case(f"testp.{name}.f32 %pd, %ra;", lambda x, y, z, h=holds: int(h(float(f32(x)))), SINGLES)
        )
    cases.append(
        Case(
            "testp.subnormal.f64 %pd, %a;",
            lambda x, y, z: int(0 < abs(f64(x)) < 2.0**-1022),
            (*DOUBLES, 1, 1 << 33),
        )
    )
    infinities = (*DOUBLES, 0x7FF << 52, 0xFFF << 52)
    cases.append(Case("testp.infinite.f64 %pd, %a;", lambda x, y, z: int(math.isinf(f64(x))), infinities))
    return cases


def doubles() -> list[Case]:
    return [
        Case("add.f64 %d, %a, %b;", lambda x, y, z: b64(f64(x) + f64(y)), DOUBLES),
        Case("sub.f64 %d, %a, %b;", lambda x, y, z: b64(f64(x) - f64(y)), DOUBLES),
        Case("neg.f64 %rd1, %b; mul.f64 %d, %a, %rd1;", lambda x, y, z: b64(f64(x) * -f64(y)), DOUBLES),
        Case("abs.f64 %rd1, %b; add.f64 %d, %a, %rd1;", lambda x, y, z: b64(f64(x) + abs(f64(y))), DOUBLES),
        Case("neg.f64 %d, %a;", lambda x, y, z: x ^ 1 << 63, DOUBLES),
        Case("abs.f64 %d, %a;", lambda x, y, z: x & (1 << 63) - 1, DOUBLES),
        Case(
            "max.f64 %d, %a, %b;",
            lambda x, y, z: b64(max(f64(x), f64(y))),
            [v for v in DOUBLES if v << 1 & (1 << 64) - 1],
        ),
        Case(
            "div.rn.f64 %d, %a, %b;",
            lambda x, y, z: b64(f64(x) / f64(y)),
            [v for v in DOUBLES if v << 1 & (1 << 64) - 1],
        ),
        Case(
            "sqrt.rn.f64 %d, %a;", lambda x, y, z: b64(np.sqrt(f64(x))), [v for v in DOUBLES if not v >> 63]
        ),
        Case(
            "mov.f64 %rd1, 0d3FF8000000000000; fma.rn.f64 %d, %a, %rd1, 0d0000000000000000;",
            lambda x, y, z: b64(f64(x) * 1.5),
            [v for v in DOUBLES if v << 1 & (1 << 64) - 1],
        ),
        Case("copysign.f64 %d, %a, %b;", lambda x, y, z: x & 1 << 63 | y & (1 << 63) - 1, DOUBLES),
        Case(
            "setp.lt.f64 %p1, %a, %b; selp.f64 %d, %a, %b, %p1;",
            lambda x, y, z: x if f64(x) < f64(y) else y,
            DOUBLES,
        ),
    ]


def halves() -> list[Case]:
    def both(f: Callable[[np.float16, np.float16], np.float16]) -> Callable[[int, int, int], int]:
        return lambda x, y, z: b16(f(f16(x), f16(y))) | b16(f(f16(x >> 16), f16(y >> 16))) << 16

    return [
        Case("add.f16 %hd, %ha, %hb;", lambda x, y, z: b16(f16(x) + f16(y)), HALVES),
        Case("mul.rn.f16 %hd, %ha, %hb;", lambda x, y, z: b16(f16(x) * f16(y)), HALVES),
        Case("neg.f16 %h1, %hb; add.f16 %hd, %ha, %h1;", lambda x, y, z: b16(f16(x) - f16(y)), HALVES),
        Case("sub.f16 %hd, %ha, %hb;", lambda x, y, z: b16(f16(x) - f16(y)), HALVES),
        Case("add.rn.f16x2 %rout, %ra, %rb;", both(lambda p, q: p + q), HALVES),
        Case("sub.f16x2 %rout, %ra, %rb;", both(lambda p, q: p - q), HALVES),
        Case("neg.f16x2 %r1, %rb; mul.f16x2 %rout, %ra, %r1;", both(lambda p, q: p * -q), HALVES),
        Case("abs.f16x2 %rout, %ra;", lambda x, y, z: x & 0x7FFF7FFF, HALVES),
        Case("setp.lt.f16 %pd, %ha, %hb;", lambda x, y, z: int(f16(x) < f16(y)), HALVES),
        Case(
            "setp.gt.f16x2 %pd|%pe, %ra, %rb;",
            lambda x, y, z: int(f16(x) > f16(y)) | 2 * int(f16(x >> 16) > f16(y >> 16)),
            HALVES,
        ),
        Case("neg.bf16 %hd, %ha;", lambda x, y, z: (x ^ 0x8000) & M16, HALVES),
    ]


@pytest.mark.parametrize("optimize", [True, False], ids=["clean", "raw"])
@pytest.mark.parametrize("family", [singles, pairs, relations, doubles, halves], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_exact(family: Callable[[], list[Case]], optimize: bool) -> None:
    assert failures(family(), optimize=optimize) == []


POSITIVE = tuple(b32(v) for v in (1e-3, 0.1, 0.5, 0.9, 1.0, 1.7, 2.0, 3.3, 10.0, 47.0))
WIDE = (*POSITIVE, *(b32(-f32(v)) for v in POSITIVE), 0x00000100, 0x7F000000, 0xFF7FFFFF, 0x00800000)


@pytest.mark.parametrize(
    ("line", "expect", "operands"),
    [
        ("rcp.approx.f32 %rout, %ra;", lambda x, y: 1 / x, POSITIVE),
        ("rsqrt.approx.f32 %rout, %ra;", lambda x, y: 1 / math.sqrt(x), POSITIVE),
        ("sqrt.approx.f32 %rout, %ra;", lambda x, y: math.sqrt(x), POSITIVE),
        ("sin.approx.f32 %rout, %ra;", lambda x, y: math.sin(x), POSITIVE[:8]),
        ("cos.approx.f32 %rout, %ra;", lambda x, y: math.cos(x), POSITIVE[:6]),
        (
            "lg2.approx.f32 %rout, %ra;",
            lambda x, y: math.log2(x),
            tuple(v for v in POSITIVE if v != 0x3F800000),
        ),
        ("ex2.approx.f32 %rout, %ra;", lambda x, y: 2.0**x, POSITIVE),
        ("tanh.approx.f32 %rout, %ra;", lambda x, y: math.tanh(x), POSITIVE),
        ("div.approx.f32 %rout, %ra, %rb;", lambda x, y: x / y, POSITIVE),
        ("div.full.f32 %rout, %ra, %rb;", lambda x, y: x / y, WIDE),
    ],
)
def test_approximate(line: str, expect: Callable[[float, float], float], operands: tuple[int, ...]) -> None:
    """Within 2**-19 relative, which every approximation of the manual keeps on these operands."""
    case = Case(line, lambda x, y, z: 0, operands)
    for (a, b, _), found in zip(operand_rows(case, 0).tolist(), run([case])[0].tolist(), strict=True):
        x, y = float(f32(a)), float(f32(b))
        wanted = expect(x, y)
        if 2.0**-126 <= abs(wanted) < 2.0**127:
            assert float(f32(found)) == pytest.approx(wanted, rel=2.0**-19), (line, x, y)
