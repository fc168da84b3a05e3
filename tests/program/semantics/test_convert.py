"""cvt between every pair of types: roundings, saturation, NaN, and destinations wider than the type."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from tests.program.emulator.exact import F32, Format, decode, encode, rounded_integer
from tests.program.semantics.bench import FORMATS, INTEGERS, M16, M32, M64, Case, edges, failures, s
from tests.program.semantics.test_floating import extremum, flush, is_nan, saturate, sign_bit

#: Registers that a source or destination of so many bits may stand in.
SOURCES = {8: ("%ha", "%ra"), 16: ("%ha", "%ra"), 32: ("%ra", "%a"), 64: ("%a",)}
TARGETS = {8: ("%h", "%r", "%d"), 16: ("%h", "%r", "%d"), 32: ("%r", "%d"), 64: ("%d",)}
#: What a register reads as in 64 bits: the bench stores 16- and 32-bit registers zero-extended.
WIDTH = {"%h": 16, "%r": 32, "%d": 64}
#: Numbers around the limits of every integer type, halves and odd halves among them.
LIMITS = tuple(
    sign * (Fraction(2) ** e + d)
    for e in (0, 3, 7, 8, 15, 16, 31, 32, 63, 64)
    for sign in (1, -1)
    for d in (Fraction(0), Fraction(1, 2), Fraction(-1, 2), Fraction(1), Fraction(-1), Fraction(3, 4))
)


def read(x: int, name: str) -> int:
    bits = int(name[1:])
    return s(x, bits) if name[0] == "s" else x & (1 << bits) - 1


def ends(name: str) -> tuple[int, int]:
    """Least and largest value of an integer type."""
    bits = int(name[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "s" else (0, (1 << bits) - 1)


def integers() -> list[Case]:
    """Integer to integer, .sat too; the result extended to the register as its own type says."""
    names = [f"{k}{n}" for n in (8, 16, 32, 64) for k in "us"]
    cases = []
    for to in names:
        bits = int(to[1:])
        low, high = ends(to)
        for source in names:
            for i, target in enumerate(TARGETS[bits]):
                register = SOURCES[int(source[1:])][i % len(SOURCES[int(source[1:])])]
                cases.append(
                    Case(
                        f"cvt.{to}.{source} {target}, {register};",
                        lambda x, y, z, t=to, f=source: read(read(x, f), t),
                    )
                )
            register = SOURCES[int(source[1:])][0]
            if all(low <= end <= high for end in ends(source)):
                continue
            cases.append(
                Case(
                    f"cvt.sat.{to}.{source} {TARGETS[bits][0]}, {register};",
                    lambda x, y, z, f=source, lo=low, hi=high: max(lo, min(hi, read(x, f))),
                )
            )
    return cases


def numbers(f: Format) -> tuple[int, ...]:
    limits = [encode(v, f, "rn") for v in LIMITS]
    return (*edges(f), *limits, *(b - 1 for b in limits if b))


def to_integers() -> list[Case]:
    """Float to integer: clamped; NaN is 0, or the highest bit alone if a side has 64 bits."""
    cases = []
    for source, f in FORMATS.items():
        register = {16: "%ha", 32: "%ra", 64: "%a"}[f.bits]
        table = (numbers(f),)
        for to in [f"{k}{n}" for n in (8, 16, 32, 64) for k in "us"]:
            bits = int(to[1:])
            low, high = ends(to)
            if (source, bits) == ("bf16", 8):
                continue

            def expect(
                x: int,
                y: int,
                z: int,
                mode: str,
                flushing: bool,
                f: Format = f,
                bits: int = bits,
                to: str = to,
                low: int = low,
                high: int = high,
            ) -> int:
                x &= (1 << f.bits) - 1
                n = decode(flush(x, f) if flushing else x, f)
                if n.kind == "nan":
                    found = 0 if f.bits < 64 and bits < 64 else 1 << bits - 1
                elif n.kind == "inf":
                    found = low if n.negative else high
                else:
                    found = max(low, min(high, rounded_integer(n.value, mode)))
                return read(found, to)

            for i, mode in enumerate(("rni", "rzi", "rmi", "rpi")):
                target = TARGETS[bits][i % len(TARGETS[bits])]
                cases.append(
                    Case(
                        f"cvt.{mode}.{to}.{source} {target}, {register};",
                        lambda x, y, z, m=mode[:2], e=expect: e(x, y, z, m, False),
                        table,
                        lenient=source == "bf16" and target != TARGETS[bits][0],
                    )
                )
            if source == "f32":
                cases.append(
                    Case(
                        f"cvt.rpi.ftz.sat.{to}.f32 {TARGETS[bits][0]}, %ra;",
                        lambda x, y, z, e=expect: e(x, y, z, "rp", True),
                        table,
                    )
                )
    return cases


def from_integers() -> list[Case]:
    """Integer to float, every rounding."""
    table = (
        (
            *INTEGERS,
            0x1000001,
            0x1000003,
            (1 << 53) + 1,
            (1 << 53) + 3,
            (1 << 63) + 1025,
            (1 << 63) - 1,
            (1 << 24) - 1,
            2049,
            65520,
            65519,
            0xFFFFFF7F,
            0xFFFFFF80,
            0xFFFFFFFFFFFFFBFF,
        ),
    )
    cases = []
    for to, f in FORMATS.items():
        target = {16: "%h", 32: "%r", 64: "%d"}[f.bits]
        for source in [f"{k}{n}" for n in (8, 16, 32, 64) for k in "us"]:
            if (to, source[1:]) == ("bf16", "8"):
                continue
            register = SOURCES[int(source[1:])][0]
            cases += [
                Case(
                    f"cvt.{m}.{to}.{source} {target}, {register};",
                    lambda x, y, z, f=f, n=source, m=m: encode(Fraction(read(x, n)), f, m),
                    table,
                    to,
                )
                for m in ("rn", "rz", "rm", "rp")
            ]
    cases.append(
        Case(
            "cvt.rn.sat.f32.s32 %r, %ra;",
            lambda x, y, z: saturate(encode(Fraction(s(x, 32)), F32, "rn"), F32),
            table,
        )
    )
    cases.append(
        Case(
            "mov.b64 %d, -1; cvt.rn.f32.s32 %d, %ra;",
            lambda x, y, z: encode(Fraction(s(x, 32)), F32, "rn"),
            table,
            lenient=True,
        )
    )
    return cases


def convert(x: int, f: Format, to: Format, mode: str, integral: bool = False) -> int:
    n = decode(x & (1 << f.bits) - 1, f)
    if n.kind == "nan":
        return to.nan
    if n.kind == "inf":
        return to.infinity | sign_bit(to) * n.negative
    value = Fraction(rounded_integer(n.value, mode)) if integral else n.value
    return encode(value, to, "rn" if integral else mode, n.negative)


def floats() -> list[Case]:
    """Float to float: narrowing in every rounding, widening, integral values, .sat, .ftz, .relu, .satfinite,
    pairs."""
    cases = []
    registers = {16: ("%h", "%ha"), 32: ("%r", "%ra"), 64: ("%d", "%a")}
    narrow = tuple(
        b & M64
        for b in (
            *edges(FORMATS["f64"]),
            *(encode(v, FORMATS["f64"], "rn") for v in LIMITS),
            0x380FFFFFF0000000,
            0x36A0000000000000,
            0x3690000000000001,
            0x3E70000000000000,
            0x40EFFDFFFFFFFFFF,
            0x40EFFE0000000000,
            0x47EFFFFFF0000000,
            0x3F10000000000001,
        )
    )
    wide = tuple(
        b & M32
        for b in (
            *edges(F32),
            *(encode(v, F32, "rn") for v in LIMITS),
            0x477FEFFF,
            0x477FF000,
            0x7F7F8000,
            0x7F7F7FFF,
            0x33000000,
            0x33000001,
            0x387FC000,
            0x3F808000,
            0x3F818000,
        )
    )
    tables = {"f64": narrow, "f32": wide, "f16": edges(FORMATS["f16"]), "bf16": edges(FORMATS["bf16"])}
    for source, f in FORMATS.items():
        for to, g in FORMATS.items():
            if to == source:
                continue
            exact = (
                (source == "f16" and to != "bf16")
                or (source == "bf16" and to in ("f32", "f64"))
                or (source == "f32" and to == "f64")
            )
            cases += [
                Case(
                    f"cvt{'' if exact else '.' + m}.{to}.{source} {registers[g.bits][0]}, "
                    f"{registers[f.bits][1]};",
                    lambda x, y, z, f=f, g=g, m=m: convert(x, f, g, m),
                    (tables[source],),
                    to,
                )
                for m in (
                    ("rn",) if exact else ("rn", "rz") if "bf16" in (to, source) else ("rn", "rz", "rm", "rp")
                )
            ]
        cases += [
            Case(
                f"cvt.{m}i.{source}.{source} {registers[f.bits][0]}, {registers[f.bits][1]};",
                lambda x, y, z, f=f, m=m: convert(x, f, f, m, True),
                (tables[source],),
                source,
            )
            for m in ("rn", "rz", "rm", "rp")
        ]
    finite = {"f16": 0x7BFF, "bf16": 0x7F7F}
    for to in ("f16", "bf16"):
        g = FORMATS[to]

        def limited(x: int, g: Format = g, largest: int = finite[to], relu: bool = False) -> int:
            made = convert(x, F32, g, "rn")
            if not is_nan(made, g) and made & 0x7FFF > largest:
                made = made & 0x8000 | largest
            return made if not relu or is_nan(made, g) else extremum(made, 0, g, False)

        cases += [
            Case(
                f"cvt.rn.relu.{to}.f32 %h, %ra;",
                lambda x, y, z, g=g: (
                    convert(x, F32, g, "rn")
                    if is_nan(convert(x, F32, g, "rn"), g)
                    else extremum(convert(x, F32, g, "rn"), 0, g, False)
                ),
                (wide,),
                to,
            ),
            Case(f"cvt.rn.satfinite.{to}.f32 %h, %ra;", lambda x, y, z, e=limited: e(x), (wide,), to),
            Case(
                f"cvt.rn.relu.satfinite.{to}x2.f32 %s, %ra, %rb; mov.b32 {{_, %h}}, %s;",
                lambda x, y, z, e=limited: e(x, relu=True),
                (wide,),
                to,
            ),
            Case(
                f"cvt.rn.satfinite.{to}x2.f32 %s, %ra, %rb; mov.b32 {{%h, _}}, %s;",
                lambda x, y, z, e=limited: e(y),
                (wide,),
                to,
            ),
            Case(
                f"cvt.rz.{to}x2.f32 %s, %ra, %rb; mov.b32 {{%h, _}}, %s;",
                lambda x, y, z, g=g: convert(y, F32, g, "rz"),
                (wide,),
                to,
            ),
        ]
    cases += [
        Case("cvt.sat.f32.f32 %r, %ra;", lambda x, y, z: saturate(x & M32, F32), (wide,)),
        Case(
            "cvt.rz.f32.bf16 %r, %ha;",
            lambda x, y, z: convert(x & M16, FORMATS["bf16"], F32, "rn"),
            (edges(FORMATS["bf16"]),),
            "f32",
        ),
        Case(
            "cvt.rn.sat.f32.f64 %r, %a;",
            lambda x, y, z: saturate(convert(x, FORMATS["f64"], F32, "rn"), F32),
            (narrow,),
        ),
        Case(
            "cvt.rn.ftz.f32.f64 %r, %a;",
            lambda x, y, z: flush(convert(x, FORMATS["f64"], F32, "rn"), F32),
            (narrow,),
            "f32",
        ),
        Case(
            "cvt.ftz.f64.f32 %d, %ra;",
            lambda x, y, z: convert(flush(x & M32, F32), F32, FORMATS["f64"], "rn"),
            (wide,),
            "f64",
        ),
        Case(
            "cvt.rn.ftz.f16.f32 %h, %ra;",
            lambda x, y, z: convert(flush(x & M32, F32), F32, FORMATS["f16"], "rn"),
            (wide,),
            "f16",
        ),
        Case(
            "cvt.rzi.ftz.f32.f32 %r, %ra;",
            lambda x, y, z: convert(flush(x & M32, F32), F32, F32, "rz", True),
            (wide,),
            "f32",
        ),
        Case(
            "mov.b32 %s, {%ha, %hb}; mov.b32 {_, %h}, %s; cvt.f32.f16 %r, %h;",
            lambda x, y, z: convert(y & M16, FORMATS["f16"], F32, "rn"),
            (edges(FORMATS["f16"]),),
            "f32",
        ),
    ]
    return cases


@pytest.mark.parametrize("family", [integers, to_integers, from_integers, floats])
def test_conversions(family: Callable[[], list[Case]]) -> None:
    assert failures(family()) == []
