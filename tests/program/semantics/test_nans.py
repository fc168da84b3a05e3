"""Numbers that are none, bit for bit: which NaN an operation gives. The PTX manual leaves it open for
doubles; the rules here were read off an H100 (`pytest --gpu`), and `test_floating` takes one NaN for
another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.program.emulator.exact import BF16, F16, F32, F64, Format
from tests.program.semantics.bench import Case, failures

#: Quiet and signalling NaNs of both signs with different payloads, and operands that make new ones.
DOUBLES = (
    0x7FF8000000000001,
    0xFFF8000000000002,
    0x7FF0000000000003,
    0xFFF0000000000004,
    0xFFFABCDEF0123456,
    0x7FF0000000000000,
    0xFFF0000000000000,
    0,
)
SINGLES = (0x7F800001, 0xFFC12345, 0x7FFFFFFF, 0xFF812345)
QUIET, CANONICAL = 1 << 51, 0xFFF8000000000000


def is_nan(bits: int, f: Format) -> bool:
    return bits & (1 << f.bits - 1) - 1 > f.infinity


def first(*operands: int) -> int:
    """The first operand that is none, made quiet; the canonical NaN if all are numbers."""
    return next((bits | QUIET for bits in operands if is_nan(bits, F64)), CANONICAL)


def doubles() -> list[Case]:
    """The second operand comes before the first, the third of a fused one between them; a quotient looks at
    its dividend first."""
    infinities = (0x7FF0000000000000, 0xFFF0000000000000)
    nans = DOUBLES[:5]
    anything = tuple(bits for bits in DOUBLES if bits not in infinities)
    return [
        *(
            Case(f"{op}.f64 %d, %a, %b;", lambda a, b, c: first(b, a), (nans, anything))
            for op in ("add.rn", "add.rz", "mul.rn", "mul.rp")
        ),
        *(
            Case(f"{op}.f64 %d, %a, %b;", lambda a, b, c: first(b, a), (anything, nans))
            for op in ("add.rm", "mul.rn")
        ),
        Case("min.f64 %d, %a, %b;", lambda a, b, c: first(b, a), (nans, nans)),
        Case("max.f64 %d, %a, %b;", lambda a, b, c: first(b, a), (nans, nans)),
        Case("fma.rn.f64 %d, %a, %b, %c;", lambda a, b, c: first(b, c, a), (nans, anything, DOUBLES)),
        Case("fma.rz.f64 %d, %a, %b, %c;", lambda a, b, c: first(b, c, a), (DOUBLES, nans, DOUBLES)),
        Case("div.rn.f64 %d, %a, %b;", lambda a, b, c: first(a, b), (nans, DOUBLES)),
        Case("div.rn.f64 %d, %a, %b;", lambda a, b, c: first(a, b), (DOUBLES, nans)),
        Case("rcp.rn.f64 %d, %a;", lambda a, b, c: first(a), (nans,)),
        Case(
            "sqrt.rn.f64 %d, %a;",
            lambda a, b, c: first(a),
            ((*nans, 0xFFF0000000000000, 0xBFF0000000000000),),
        ),
        Case("cvt.rni.f64.f64 %d, %a;", lambda a, b, c: first(a), (nans,)),
        Case("add.rn.f64 %d, %a, %b;", lambda a, b, c: CANONICAL, (infinities[:1], infinities[1:])),
        Case("mul.rn.f64 %d, %a, %b;", lambda a, b, c: CANONICAL, (infinities, (0, 1 << 63))),
        Case("fma.rn.f64 %d, %a, %b, %c;", lambda a, b, c: CANONICAL, (infinities, (0,), DOUBLES[5:])),
        Case("div.rn.f64 %d, %a, %b;", lambda a, b, c: CANONICAL, (infinities, infinities)),
    ]


def conversions() -> list[Case]:
    """Between doubles and the others sign and highest bits stay; .ftz and conversions without a double give
    the canonical NaN."""
    registers = {16: ("%h", "%ha"), 32: ("%r", "%ra"), 64: ("%d", "%a")}
    small = {
        "f32": (F32, SINGLES),
        "f16": (F16, (0x7E00, 0xFE01, 0x7C01, 0x7FFF, 0xFD23)),
        "bf16": (BF16, (0x7FC0, 0xFF81, 0x7FFF)),
    }
    cases = []
    for name, (f, table) in small.items():
        target, source = registers[f.bits]

        def widened(a: int, b: int, c: int, f: Format = f) -> int:
            a &= (1 << f.bits) - 1
            payload = (a & (1 << f.fraction) - 1) << 52 - f.fraction
            return a >> f.bits - 1 << 63 | F64.infinity | payload | QUIET

        def narrowed(a: int, b: int, c: int, f: Format = f) -> int:
            payload = (a | QUIET) >> 52 - f.fraction & (1 << f.fraction) - 1
            return a >> 63 << f.bits - 1 | f.infinity | payload

        cases += [
            Case(f"cvt.f64.{name} %d, {source};", widened, (table,)),
            Case(f"cvt.rn.{name}.f64 {target}, %a;", narrowed, (DOUBLES[:5],)),
            Case(f"cvt.rz.{name}.f64 {target}, %a;", narrowed, (DOUBLES[:5],)),
        ]
    return [
        *cases,
        Case("cvt.ftz.f64.f32 %d, %ra;", lambda a, b, c: 0x7FFFFFFFE0000000, (SINGLES,)),
        Case("cvt.f32.f16 %r, %ha;", lambda a, b, c: 0x7FFFFFFF, (small["f16"][1],)),
        Case("cvt.rn.f16.f32 %h, %ra;", lambda a, b, c: 0x7FFF, (SINGLES,)),
    ]


def singles() -> list[Case]:
    """Single and half precision know one NaN."""
    table = (SINGLES,)
    return [
        *(
            Case(f"{op}.f32 %r, %ra, %rb;", lambda a, b, c: 0x7FFFFFFF, table)
            for op in ("add.rn", "mul.rz", "div.rn", "min", "max")
        ),
        Case("fma.rn.f32 %r, %ra, %rb, %rc;", lambda a, b, c: 0x7FFFFFFF, table),
        *(Case(f"{op}.f32 %r, %ra;", lambda a, b, c: 0x7FFFFFFF, table) for op in ("sqrt.rn", "rcp.approx")),
        Case("fma.rn.f16 %h, %ha, %hb, %hc;", lambda a, b, c: 0x7FFF, ((0x7E00, 0xFE01, 0x7C01),)),
        Case("mul.rn.bf16 %h, %ha, %hb;", lambda a, b, c: 0x7FFF, ((0x7FC0, 0xFF81),)),
    ]


@pytest.mark.parametrize("family", [doubles, conversions, singles])
def test_nans(family: Callable[[], list[Case]]) -> None:
    assert failures(family()) == []
