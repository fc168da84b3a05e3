"""Floating point: every modifier on edge-case operands, against exact rational arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from tests.program.emulator import exact
from tests.program.emulator.exact import BF16, F16, F32, F64, Format, decode, encode
from tests.program.semantics.bench import M16, Case, edges, failures

#: (registers d a b c) of a type.
NAMES = {
    "f16": ("%h", "%ha", "%hb", "%hc"),
    "bf16": ("%h", "%ha", "%hb", "%hc"),
    "f32": ("%r", "%ra", "%rb", "%rc"),
    "f64": ("%d", "%a", "%b", "%c"),
}
MODES = ("rn", "rz", "rm", "rp")
#: Factors whose products are just below the smallest normal number of f32.
BARELY = (0x3F7FFFFF, 0xBF7FFFFF, 0x00800000, 0x80800000, 0x20000001, 0xA0000001, 0x1FFFFFFE)


def field(bits: int, f: Format) -> int:
    return bits & (1 << f.bits) - 1


def sign_bit(f: Format) -> int:
    return 1 << (f.bits - 1)


def is_nan(bits: int, f: Format) -> bool:
    return bits & (sign_bit(f) - 1) > f.infinity


def flush(bits: int, f: Format) -> int:
    return bits & sign_bit(f) if bits & f.infinity == 0 else bits


def tiny(g: Callable[..., int], x: int, y: int, z: int, mode: str, f: Format) -> int:
    """A product with .ftz: zero where it is below the smallest normal number after it has been rounded to the
    format's places, however small its exponent. So an H100 decides; IEEE 754 leaves it open."""
    x, y, z = (flush(v, f) for v in (x, y, z))
    result = g(x, y, z, mode)
    if result & sign_bit(f) - 1 != 1 << f.fraction:
        return flush(result, f)
    up = 2 << f.fraction  # four times as large: places of the smallest normal number reach below it
    if x & f.infinity and y & f.infinity:
        x, y = (x, y + up) if y & f.infinity < x & f.infinity else (x + up, y)
    larger = g(x, y, z + up if z & f.infinity else z, mode)
    return result if larger & f.infinity >= up + (1 << f.fraction) else result & sign_bit(f)


def saturate(bits: int, f: Format) -> int:
    """Clamped to [+0, 1]; NaN gives +0."""
    if is_nan(bits, f) or bits & sign_bit(f):
        return 0
    return min(bits, f.bias << f.fraction)


def lesser(x: int, y: int, f: Format) -> bool:
    def order(bits: int) -> int:
        return -(bits - sign_bit(f)) - 1 if bits & sign_bit(f) else bits

    return order(x) < order(y)


def extremum(x: int, y: int, f: Format, minimum: bool, nan: bool = False, xorsign: bool = False) -> int:
    """min and max: -0 below +0; a NaN loses unless .NaN."""
    sign = (x ^ y) & sign_bit(f)
    if xorsign:
        x, y = x & sign_bit(f) - 1, y & sign_bit(f) - 1
    if (is_nan(x, f) and is_nan(y, f)) or (nan and (is_nan(x, f) or is_nan(y, f))):
        return f.nan
    found = y if is_nan(x, f) else x if is_nan(y, f) else x if lesser(x, y, f) == minimum else y
    return found | sign if xorsign else found


def arithmetic() -> list[Case]:
    """add, sub, mul, fma, div, rcp, sqrt in every rounding; .ftz, .sat, .relu."""
    cases: list[Case] = []
    for name, f in (("f32", F32), ("f64", F64)):
        d, a, b, c = NAMES[name]
        table = (edges(f),)

        def case(
            code: str,
            g: Callable[..., int],
            f: Format = f,
            table: Sequence[Sequence[int]] = table,
            name: str = name,
        ) -> Case:
            return Case(code, lambda x, y, z: g(field(x, f), field(y, f), field(z, f)), table, name)

        for m in MODES:
            cases += [
                case(f"add.{m}.{name} {d}, {a}, {b};", lambda x, y, z, f=f, m=m: exact.add(x, y, f, m)),
                case(
                    f"mov.b{f.bits} {d}, {a}; sub.{m}.{name} {d}, {b}, {d};",
                    lambda x, y, z, f=f, m=m: exact.add(y, x ^ sign_bit(f), f, m),
                ),
                case(f"mul.{m}.{name} {d}, {a}, {b};", lambda x, y, z, f=f, m=m: exact.mul(x, y, f, m)),
                case(
                    f"fma.{m}.{name} {d}, {a}, {b}, {c};", lambda x, y, z, f=f, m=m: exact.fma(x, y, z, f, m)
                ),
                case(f"div.{m}.{name} {d}, {a}, {b};", lambda x, y, z, f=f, m=m: exact.div(x, y, f, m)),
                case(
                    f"rcp.{m}.{name} {d}, {a};",
                    lambda x, y, z, f=f, m=m: exact.div(f.bias << f.fraction, x, f, m),
                ),
                case(f"sqrt.{m}.{name} {d}, {a};", lambda x, y, z, f=f, m=m: exact.sqrt(x, f, m)),
            ]
        cases.append(
            case(
                f"neg.{name} {d}, {a}; fma.rn.{name} {d}, {d}, {b}, {c};",
                lambda x, y, z, f=f: exact.fma(x ^ sign_bit(f), y, z, f, "rn"),
            )
        )
        cases.append(
            case(
                f"abs.{name} {d}, {b}; mul.rn.{name} {d}, {a}, {d};",
                lambda x, y, z, f=f: exact.mul(x, y & sign_bit(f) - 1, f, "rn"),
            )
        )
    f = F32

    def ftz(g: Callable[..., int]) -> Callable[..., int]:
        return lambda x, y, z: flush(g(*(flush(field(v, F32), F32) for v in (x, y, z))), F32)

    table = (edges(F32),)
    cases += [
        Case(
            f"{line} %r, %ra, %rb{tail};",
            lambda x, y, z, g=g, m=m: tiny(g, field(x, f), field(y, f), 0, m, F32),
            (BARELY, (0x00800000, 0x80800000, 0x1FFFFFFE, 0x3F7FFFFF)),
            "f32",
        )
        for m in MODES
        for line, tail, g in (
            (f"mul.{m}.ftz.f32", "", lambda x, y, z, m: exact.mul(x, y, F32, m)),
            (f"fma.{m}.ftz.f32", ", 0f00000000", lambda x, y, z, m: exact.fma(x, y, z, F32, m)),
        )
    ]
    for m in ("rn", "rz"):
        cases += [
            Case(
                f"add.{m}.ftz.f32 %r, %ra, %rb;",
                ftz(lambda x, y, z, m=m: exact.add(x, y, F32, m)),
                table,
                "f32",
            ),
            Case(
                f"mul.{m}.ftz.f32 %r, %ra, %rb;",
                lambda x, y, z, m=m: tiny(
                    lambda p, q, r, mode: exact.mul(p, q, F32, mode),
                    *(field(v, f) for v in (x, y, z)),
                    m,
                    F32,
                ),
                table,
                "f32",
            ),
            Case(
                f"fma.{m}.ftz.f32 %r, %ra, %rb, %rc;",
                lambda x, y, z, m=m: tiny(
                    lambda p, q, r, mode: exact.fma(p, q, r, F32, mode),
                    *(field(v, f) for v in (x, y, z)),
                    m,
                    F32,
                ),
                table,
                "f32",
            ),
            Case(
                f"fma.{m}.ftz.sat.f32 %r, %ra, %rb, %rc;",
                lambda x, y, z, m=m: saturate(
                    tiny(
                        lambda p, q, r, mode: exact.fma(p, q, r, F32, mode),
                        *(field(v, f) for v in (x, y, z)),
                        m,
                        F32,
                    ),
                    F32,
                ),
                table,
                "f32",
            ),
            Case(
                f"div.{m}.ftz.f32 %r, %ra, %rb;",
                ftz(lambda x, y, z, m=m: exact.div(x, y, F32, m)),
                table,
                "f32",
            ),
            Case(f"sqrt.{m}.ftz.f32 %r, %ra;", ftz(lambda x, y, z, m=m: exact.sqrt(x, F32, m)), table, "f32"),
            Case(
                f"add.{m}.sat.f32 %r, %ra, %rb;",
                lambda x, y, z, m=m: saturate(exact.add(field(x, F32), field(y, F32), F32, m), F32),
                table,
            ),
        ]
    cases += [
        Case("neg.ftz.f32 %r, %ra;", lambda x, y, z: flush(field(x, f), f) ^ sign_bit(f), table, "f32"),
        Case("abs.ftz.f32 %r, %ra;", lambda x, y, z: flush(field(x, f), f) & sign_bit(f) - 1, table, "f32"),
        Case(
            "add.f32 %r, %ra, 0f40490FDB;",
            lambda x, y, z: exact.add(field(x, f), 0x40490FDB, f, "rn"),
            table,
            "f32",
        ),
        Case(
            "add.f32 %r, %ra, 1.5;", lambda x, y, z: exact.add(field(x, f), 0x3FC00000, f, "rn"), table, "f32"
        ),
        Case(
            "mul.f64 %d, %a, 0d4008000000000000;",
            lambda x, y, z: exact.mul(x, 0x4008000000000000, F64, "rn"),
            (edges(F64),),
            "f64",
        ),
    ]
    return cases


def halves() -> list[Case]:
    """f16, bf16 and pairs of them."""
    cases: list[Case] = []
    for name, f in (("f16", F16), ("bf16", BF16)):
        table = (edges(f),)

        def low(g: Callable[..., int], f: Format = f) -> Callable[..., int]:
            return lambda x, y, z: g(x & M16, y & M16, z & M16)

        def relu(bits: int, f: Format = f) -> int:
            return bits if is_nan(bits, f) else extremum(bits, 0, f, False)

        cases += [
            Case(
                f"add.rn.{name} %h, %ha, %hb;",
                low(lambda x, y, z, f=f: exact.add(x, y, f, "rn")),
                table,
                name,
            ),
            Case(
                f"sub.{name} %h, %ha, %hb;",
                low(lambda x, y, z, f=f: exact.add(x, y ^ 0x8000, f, "rn")),
                table,
                name,
            ),
            Case(
                f"mul.rn.{name} %h, %ha, %hb;",
                low(lambda x, y, z, f=f: exact.mul(x, y, f, "rn")),
                table,
                name,
            ),
            Case(
                f"fma.rn.{name} %h, %ha, %hb, %hc;",
                low(lambda x, y, z, f=f: exact.fma(x, y, z, f, "rn")),
                table,
                name,
            ),
            Case(
                f"fma.rn.relu.{name} %h, %ha, %hb, %hc;",
                low(lambda x, y, z, f=f, g=relu: g(exact.fma(x, y, z, f, "rn"))),
                table,
                name,
            ),
            Case(f"neg.{name} %h, %ha;", low(lambda x, y, z: x ^ 0x8000), table, name),
            Case(f"abs.{name} %h, %ha;", low(lambda x, y, z: x & 0x7FFF), table, name),
        ]
        for half in (0, 1):  # of a pair: a in the low half with b in the high half, and so on
            pick = "mov.b32 {%h, _}, %s;" if not half else "mov.b32 {_, %h}, %s;"
            pack = "mov.b32 %s, {%ha, %hb}; mov.b32 %ra, {%hb, %hc};"
            order = (lambda x, y, z: (x, y)) if not half else (lambda x, y, z: (y, z))
            cases += [
                Case(f"{pack} {line} {pick}", low(lambda x, y, z, g=g, o=order: g(*o(x, y, z))), table, name)
                for line, g in (
                    (f"add.rn.{name}x2 %s, %s, %ra;", lambda x, y, f=f: exact.add(x, y, f, "rn")),
                    (f"mul.rn.{name}x2 %s, %s, %ra;", lambda x, y, f=f: exact.mul(x, y, f, "rn")),
                    (f"fma.rn.{name}x2 %s, %s, %ra, %s;", lambda x, y, f=f: exact.fma(x, y, x, f, "rn")),
                    (f"max.NaN.{name}x2 %s, %ra, %s;", lambda x, y, f=f: extremum(x, y, f, False, True)),
                    (f"neg.{name}x2 %s, %s;", lambda x, y: x ^ 0x8000),
                )
            ]
    table = (edges(F16),)
    cases += [
        Case(
            "mul.rn.ftz.f16 %h, %ha, %hb;",
            lambda x, y, z: tiny(
                lambda p, q, r, mode: exact.mul(p, q, F16, mode), x & M16, y & M16, 0, "rn", F16
            ),
            table,
            "f16",
        ),
        Case(
            "add.rn.sat.f16 %h, %ha, %hb;",
            lambda x, y, z: saturate(exact.add(x & M16, y & M16, F16, "rn"), F16),
            table,
        ),
    ]
    return cases


def approximate() -> list[Case]:
    """Approximate functions: special values exactly, others to the manual's error."""

    def through(g: Callable[[float], float], f: Format = F32, flushing: bool = False) -> Callable[..., int]:
        def bits(x: int, y: int, z: int) -> int:
            x = flush(field(x, f), f) if flushing else field(x, f)
            n = decode(x, f)
            if n.kind == "nan":
                return f.nan
            value = (-0.0 if n.negative else 0.0) if not n.value and n.kind == "finite" else float(n.value)
            if n.kind == "inf":
                value = -math.inf if n.negative else math.inf
            found = g(value)
            if found != found:
                return f.nan
            negative = math.copysign(1.0, found) < 0
            if math.isinf(found):
                return f.infinity | sign_bit(f) * negative
            made = encode(Fraction(found), f, "rn", negative)
            return flush(made, f) if flushing else made

        return bits

    def reciprocal(x: float) -> float:
        return math.copysign(math.inf, x) if x == 0 else 1 / x

    def root(x: float) -> float:
        return x if x == 0 else math.nan if x < 0 else math.sqrt(x)

    def logarithm(x: float) -> float:
        return -math.inf if x == 0 else math.nan if x < 0 else math.log2(x)

    def power(x: float) -> float:
        return math.inf if x > 2000 else 0.0 if x < -2000 else 2.0**x

    functions: dict[str, Callable[[float], float]] = {
        "rcp": reciprocal,
        "sqrt": root,
        "rsqrt": lambda x: reciprocal(root(x)),
        "lg2": logarithm,
        "ex2": power,
        "sin": lambda x: math.nan if math.isinf(x) else math.sin(x),
        "cos": lambda x: math.nan if math.isinf(x) else math.cos(x),
    }
    table = (edges(F32),)
    cases = []
    # The manual bounds the error of sine and cosine up to 100 pi.
    allowed = {"lg2": (4, 2**-22), "ex2": (4, 0.0), "sin": (0, 2**-14.7), "cos": (0, 2**-14.7)}
    near = tuple(b for b in edges(F32) if b & 0x7FFFFFFF <= 0x43000000 or b & 0x7F800000 == 0x7F800000)
    for name, g in functions.items():
        error = allowed.get(name, (2, 0.0))
        operands = near if name in ("sin", "cos") else edges(F32)
        cases += [
            Case(f"{name}.approx.f32 %r, %ra;", through(g), (operands,), "f32", 1, hardware=error),
            Case(
                f"{name}.approx.ftz.f32 %r, %ra;",
                through(g, flushing=True),
                (operands,),
                "f32",
                1,
                hardware=error,
            ),
        ]
    cases += [
        *(
            Case(f"{name}.approx.f32 %r, %ra;", through(functions[name]), table, "f32", 1, lenient=True)
            for name in ("sin", "cos")
        ),
        Case("tanh.approx.f32 %r, %ra;", through(math.tanh), table, "f32", 1, hardware=(1 << 13, 0.0)),
        Case("tanh.approx.f16 %h, %ha;", through(math.tanh, F16), (edges(F16),), "f16", 1),
        Case("ex2.approx.f16 %h, %ha;", through(power, F16), (edges(F16),), "f16", 1, hardware=(2, 0.0)),
        Case("ex2.approx.ftz.bf16 %h, %ha;", through(power, BF16, True), (edges(BF16),), "bf16", 1),
        *(
            Case(
                f"mov.b32 %s, {{%ha, %hb}}; {name}x2 %s, %s; mov.b32 {{{'%h, _' if low else '_, %h'}}}, %s;",
                (lambda x, y, z, g=g: g(x, y, z)) if low else (lambda x, y, z, g=g: g(y, z, x)),
                (edges(f),),
                name.rpartition(".")[2],
                1,
                hardware=(2, 0.0),
            )
            for name, f, g in (
                ("tanh.approx.f16", F16, through(math.tanh, F16)),
                ("tanh.approx.bf16", BF16, through(math.tanh, BF16)),
                ("ex2.approx.f16", F16, through(power, F16)),
                ("ex2.approx.ftz.bf16", BF16, through(power, BF16, True)),
            )
            for low in (True, False)
        ),
        Case("rsqrt.approx.f64 %d, %a;", through(functions["rsqrt"], F64), (edges(F64),), "f64", 2),
        Case(
            "rcp.approx.ftz.f64 %d, %a; and.b64 %d, %d, 0xFFFFFFFF00000000;",
            lambda x, y, z: through(reciprocal, F64, True)(x & ~0xFFFFFFFF, y, z) & ~0xFFFFFFFF,
            (edges(F64),),
            "f64",
            1 << 32,
        ),
        Case(
            "div.full.f32 %r, %ra, %rb;",
            lambda x, y, z: exact.div(field(x, F32), field(y, F32), F32, "rn"),
            table,
            "f32",
            2,
        ),
        Case(
            "div.approx.f32 %r, %ra, %rb;",
            lambda x, y, z: exact.div(field(x, F32), field(y, F32), F32, "rn"),
            (
                edges(F32),
                tuple(
                    b for b in edges(F32) if 1 <= b >> 23 & 255 <= 252 or b & 0x7FFFFFFF in (0, 0x7F800000)
                ),
            ),
            "f32",
            2,
        ),
        *(
            # |b| between 2^126 and 2^128, where the manual has 0 and NaN: docs/emulator.md says what is here.
            Case(
                f"div.approx{ftz}.f32 %r, %ra, %rb;",
                lambda x, y, z, found=found: found[field(x, F32)],
                ((0x7F000000, 0x7F800000), (0x7F000000,)),
                "f32",
                lenient=True,
            )
            for ftz, found in (
                ("", {0x7F000000: 0x3F800000, 0x7F800000: 0x7F800000}),
                (".ftz", {0x7F000000: 0, 0x7F800000: F32.nan}),
            )
        ),
    ]
    return cases


@pytest.mark.parametrize("family", [arithmetic, halves, approximate])
def test_floats(family: Callable[[], list[Case]]) -> None:
    assert failures(family()) == []
