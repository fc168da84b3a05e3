"""Comparisons of floats: min, max, setp, set, slct, testp and copysign on edge-case operands."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tests.program.emulator.exact import F16, F32, F64, Format, decode
from tests.program.semantics.bench import FORMATS, INTEGERS, RELATIONS, Case, edges, failures, s
from tests.program.semantics.test_floating import NAMES, extremum, field, flush, is_nan, sign_bit

#: Pairs of halves.
PAIRS = tuple(
    low | high << 16 for low, high in zip(edges(F16), (*edges(F16)[7:], *edges(F16)[:7]), strict=True)
)


def comparison(name: str, x: int, y: int, f: Format) -> bool:
    unordered = is_nan(x, f) or is_nan(y, f)
    if name in ("num", "nan"):
        return unordered == (name == "nan")
    if unordered:
        return name.endswith("u")

    def number(bits: int) -> Fraction | float:
        n = decode(bits, f)
        return n.value if n.kind == "finite" else -math.inf if n.negative else math.inf

    return RELATIONS[name[:2]](number(x), number(y))


def lower(x: int, y: int) -> int:
    """Bit n: half n of x is below that of y."""
    return sum(
        comparison("lt", field(x >> at, F16), field(y >> at, F16), F16) << bit
        for bit, at in enumerate((0, 16))
    )


def comparisons() -> list[Case]:
    """min, max, setp, set, slct, testp, copysign."""
    cases: list[Case] = []
    for name, f in FORMATS.items():
        d, a, b, c = NAMES[name]
        table = (edges(f),)

        def of(g: Callable[..., int | bool], f: Format = f) -> Callable[..., int]:
            return lambda x, y, z: int(g(field(x, f), field(y, f), field(z, f)))

        for op in ("min", "max"):
            for modifier in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs") if name != "f64" else ("",):
                cases.append(
                    Case(
                        f"{op}{modifier}.{name} {d}, {a}, {b};",
                        of(
                            lambda x, y, z, f=f, o=op, m=modifier: extremum(
                                x, y, f, o == "min", "NaN" in m, "xorsign" in m
                            )
                        ),
                        table,
                        name,
                    )
                )
        for relation in (
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "equ",
            "neu",
            "ltu",
            "leu",
            "gtu",
            "geu",
            "num",
            "nan",
        ):
            cases.append(
                Case(
                    f"setp.{relation}.{name} %p, {a}, {b};",
                    of(lambda x, y, z, f=f, n=relation: comparison(n, x, y, f)),
                    table,
                )
            )
        cases += [
            Case(
                f"setp.gt.{name} %q, {b}, {c}; setp.ltu.xor.{name} %p|%q, {a}, {b}, !%q; selp.u32 %s, 2, 0, "
                "%q;"
                " selp.u32 %r, 1, 0, %p; or.b32 %r, %r, %s;",
                of(
                    lambda x, y, z, f=f: (
                        (comparison("ltu", x, y, f) ^ (not comparison("gt", y, z, f)))
                        | ((not comparison("ltu", x, y, f)) ^ (not comparison("gt", y, z, f))) << 1
                    )
                ),
                table,
                lenient=f.bits == 16,
            ),
            Case(
                f"set.leu.u32.{name} %r, {a}, {b};",
                of(lambda x, y, z, f=f: -comparison("leu", x, y, f)),
                table,
            ),
            Case(
                f"setp.eq.{name} %q, {b}, {c}; set.gt.or.u32.{name} %r, {a}, {b}, %q;",
                of(lambda x, y, z, f=f: -(comparison("gt", x, y, f) or comparison("eq", y, z, f))),
                table,
            ),
        ]
    one = 0x3F800000
    cases += [
        Case(
            "set.nan.f32.f32 %r, %ra, %rb;",
            lambda x, y, z: one * comparison("nan", field(x, F32), field(y, F32), F32),
            (edges(F32),),
        ),
        Case("set.lt.f32.s32 %r, %ra, %rb;", lambda x, y, z: one * (s(x, 32) < s(y, 32))),
        Case("set.hs.u32.u64 %r, %a, %b;", lambda x, y, z: -(x >= y)),
        Case("set.lt.s32.f64 %r, %a, %b;", lambda x, y, z: -comparison("lt", x, y, F64), (edges(F64),)),
        Case(
            "setp.lt.ftz.f32 %p, %ra, %rb;",
            lambda x, y, z: comparison("lt", flush(field(x, F32), F32), flush(field(y, F32), F32), F32),
            (edges(F32),),
        ),
        Case(
            "slct.b32.f32 %r, %ra, %rb, %rc;",
            lambda x, y, z: x if comparison("ge", field(z, F32), 0, F32) else y,
            (edges(F32),),
        ),
        Case(
            "slct.ftz.b64.f32 %d, %a, %b, %rc;",
            lambda x, y, z: x if comparison("ge", flush(field(z, F32), F32), 0, F32) else y,
            (INTEGERS, INTEGERS, edges(F32)),
        ),
    ]
    cases += [
        Case("mov.f64 %d, 0f3FC00000;", lambda x, y, z: 0x3FF8000000000000),
        Case("mov.f64 %d, 0fFF800000;", lambda x, y, z: 0xFFF0000000000000),
        Case("mov.f32 %r, 0d3FF8000000000000;", lambda x, y, z: 0x3FC00000),
    ]
    cases += [
        Case(
            f"set.gt.{name}.{name} %h, %ha, %hb;",
            lambda x, y, z, f=FORMATS[name], t=true: (
                t if comparison("gt", field(x, f), field(y, f), f) else 0
            ),
            (edges(FORMATS[name]),),
        )
        for name, true in (("f16", 0x3C00), ("bf16", 0x3F80))
    ]
    cases.append(
        Case(
            "setp.ge.u32 %q, %ra, %rc; setp.lt.and.f16x2 %p|%q, %ra, %rb, %q;"
            " selp.u32 %r, 1, 0, %p; selp.u32 %s, 2, 0, %q; or.b32 %r, %r, %s;",
            lambda x, y, z: lower(x, y) if x >= z else 0,
            (PAIRS,),
        )
    )
    for result, true in (("f16x2", 0x3C00), ("u32", 0xFFFF)):
        for relation in ("gt", "neu"):
            cases.append(
                Case(
                    f"set.{relation}.{result}.f16x2 %r, %ra, %rb;",
                    lambda x, y, z, n=relation, t=true: sum(
                        (t if comparison(n, field(x >> at, F16), field(y >> at, F16), F16) else 0) << at
                        for at in (0, 16)
                    ),
                    (PAIRS,),
                )
            )
    cases.append(
        Case(
            "setp.lt.f16x2 %p|%q, %ra, %rb; selp.u32 %r, 1, 0, %p; selp.u32 %s, 2, 0, %q; or.b32 %r, %r, %s;",
            lambda x, y, z: lower(x, y),
            (PAIRS,),
        )
    )
    cases.append(  # the first result is the guard of the second one, too
        Case(
            "setp.ge.u32 %p, %ra, %rc; setp.ne.u32 %q, %ra, %ra; @%p setp.lt.f16x2 %p|%q, %ra, %rb;"
            " selp.u32 %r, 1, 0, %p; selp.u32 %s, 2, 0, %q; or.b32 %r, %r, %s;",
            lambda x, y, z: lower(x, y) if x >= z else 0,
            (PAIRS,),
        )
    )
    for name, f in (("f32", F32), ("f64", F64)):
        d, a, b, _ = NAMES[name]
        table = (edges(f),)
        cases.append(
            Case(
                f"copysign.{name} {d}, {a}, {b};",
                lambda x, y, z, f=f: x & sign_bit(f) | y & sign_bit(f) - 1,
                table,
            )
        )
        for kind, g in (
            ("finite", lambda x, f: x & f.infinity != f.infinity),
            ("infinite", lambda x, f: x & sign_bit(f) - 1 == f.infinity),
            ("number", lambda x, f: not is_nan(x, f)),
            ("notanumber", is_nan),
            ("normal", lambda x, f: 0 < x & f.infinity < f.infinity or not x & sign_bit(f) - 1),
            ("subnormal", lambda x, f: x & f.infinity == 0 and x & sign_bit(f) - 1 != 0),
        ):
            cases.append(
                Case(f"testp.{kind}.{name} %p, {a};", lambda x, y, z, f=f, g=g: int(g(field(x, f), f)), table)
            )
    return cases


def test_comparisons() -> None:
    assert failures(comparisons()) == []
