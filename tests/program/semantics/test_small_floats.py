"""cvt to and from 8-bit floats, to tf32, and cvt.pack, against a search through all numbers of a format."""

from __future__ import annotations

from fractions import Fraction
from struct import pack, unpack

import numpy as np

from tests.program.emulator.exact import F16, F32, decode
from tests.program.semantics.bench import INTEGERS, M16, M32, Case, edges, failures, s

#: Exponent bits, fraction bits, bias, code of the largest finite number.
FORMATS = {"e4m3": (4, 3, 7, 0x7E), "e5m2": (5, 2, 15, 0x7B)}


def value(code: int, kind: str) -> Fraction:
    """The finite number that an 8-bit float stands for."""
    _, fraction, bias, _ = FORMATS[kind]
    exponent, mantissa = code >> fraction & 0x7F >> fraction, code & (1 << fraction) - 1
    if exponent:
        mantissa += 1 << fraction
    return (
        Fraction(mantissa) * Fraction(2) ** (max(exponent, 1) - bias - fraction) * (-1 if code & 0x80 else 1)
    )


def nearest(bits: int, source: str, kind: str, relu: bool) -> int:
    """The 8-bit float for a single or half: the nearest finite one, of two the one with an even code."""
    f = F32 if source == "f32" else F16
    bits &= (1 << f.bits) - 1
    magnitude = bits & ~(1 << f.bits - 1)
    negative = bits >> f.bits - 1
    if magnitude > f.infinity:
        return 0x7F
    if negative and relu:
        return 0
    largest = FORMATS[kind][3]
    if magnitude == f.infinity:
        code = largest
    else:
        exact = decode(magnitude, f).value
        code = min(range(largest + 1), key=lambda c: (abs(value(c, kind) - exact), c & 1))
    return code | negative << 7


def half(code: int, kind: str, relu: bool) -> int:
    """The half that an 8-bit float becomes."""
    magnitude = code & 0x7F
    if kind == "e5m2":
        bits = code << 8
        if magnitude > 0x7C:
            return 0x7FFF
        return 0 if relu and code & 0x80 else bits
    if magnitude == 0x7F:
        return 0x7FFF
    if relu and code & 0x80:
        return 0
    wanted = abs(value(code, kind))
    found = int(np.array(float(wanted), np.float16).view(np.uint16))
    return found | (code & 0x80) << 8


def singles() -> tuple[int, ...]:
    """Singles around every boundary of both formats."""
    found = list(edges(F32))
    for kind in FORMATS:
        for code in (0, 1, 2, 3, 7, 8, 9, 0x37, 0x38, 0x7A, 0x7B, 0x7D):
            if code < FORMATS[kind][3]:
                middle = (value(code, kind) + value(code + 1, kind)) / 2
                (bits,) = unpack("<I", pack("<f", float(middle)))
                found += [bits - 1, bits, bits + 1, bits | 1 << 31]
    return tuple(found)


HALVES = tuple(low | high << 16 for low, high in zip(edges(F16), reversed(edges(F16)), strict=True))
BYTES = tuple(low | (255 - low) << 8 for low in range(256))


def test_to_pairs() -> None:
    cases = []
    for kind in FORMATS:
        for relu in (False, True):
            name = f"cvt.rn.satfinite{'.relu' if relu else ''}.{kind}x2"
            cases.append(
                Case(
                    f"{name}.f32 %h, %ra, %rb;",
                    lambda a, b, c, k=kind, r=relu: nearest(a, "f32", k, r) << 8 | nearest(b, "f32", k, r),
                    (singles(),),
                )
            )
            cases.append(
                Case(
                    f"{name}.f16x2 %h, %ra;",
                    lambda a, b, c, k=kind, r=relu: (
                        nearest(a >> 16 & M16, "f16", k, r) << 8 | nearest(a & M16, "f16", k, r)
                    ),
                    (HALVES,),
                )
            )
    assert not failures(cases)


def test_from_pairs() -> None:
    cases = [
        Case(
            f"cvt.rn{'.relu' if relu else ''}.f16x2.{kind}x2 %r, %ha;",
            lambda a, b, c, k=kind, r=relu: half(a >> 8 & 255, k, r) << 16 | half(a & 255, k, r),
            (part,),
        )
        for kind in FORMATS
        for relu in (False, True)
        for part in (BYTES[:128], BYTES[128:])
    ]
    assert not failures(cases)


def tf32(bits: int, mode: str) -> int:
    """A single with its low 13 bits rounded away."""
    bits &= M32
    if bits & 0x7FFFFFFF > F32.infinity:
        return 0x7FFFFFFF
    low, kept = bits & 0x1FFF, bits & ~0x1FFF
    up = low >= 0x1000 if mode == "rna" else low > 0x1000 or (low == 0x1000 and kept >> 13 & 1)
    return kept + (0x2000 if mode != "rz" and up else 0)


def test_to_tf32() -> None:
    operands = (*edges(F32), 0x3F801000, 0x3F803000, 0x3F800FFF, 0x3F801001, 0x7F7FF000, 0xBF803000)
    cases = [
        Case(f"cvt.{mode}.tf32.f32 %r, %ra;", lambda a, b, c, m=mode: tf32(a, m), (operands,), "f32")
        for mode in ("rna", "rn", "rz")
    ]
    cases.append(
        Case(
            "cvt.rna.satfinite.tf32.f32 %r, %ra;",
            lambda a, b, c: (
                (0x7F7FE000 | a & 1 << 31)
                if a & 0x7FFFFFFF <= F32.infinity and tf32(a, "rna") & 0x7FFFFFFF >= F32.infinity
                else tf32(a, "rna")
            ),
            (operands,),
            "f32",
        )
    )
    cases.append(
        Case(
            "cvt.rn.relu.tf32.f32 %r, %ra;",
            lambda a, b, c: 0 if a & 1 << 31 and a & 0x7FFFFFFF <= F32.infinity else tf32(a, "rn"),
            (operands,),
            "f32",
        )
    )
    assert not failures(cases)


def test_pack() -> None:
    def clamp(x: int, kind: str) -> int:
        bits, signed = int(kind[1:]), kind[0] == "s"
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return max(low, min(high, s(x, 32))) & (1 << bits) - 1

    cases = []
    for kind in ("u16", "s16"):
        cases.append(
            Case(
                f"cvt.pack.sat.{kind}.s32 %r, %ra, %rb;",
                lambda a, b, c, k=kind: clamp(a, k) << 16 | clamp(b, k),
            )
        )
    for kind in ("u8", "s8", "u4", "s4", "u2", "s2"):
        bits = int(kind[1:])
        small = (*INTEGERS, *(n & M32 for n in range(-9, 9)))
        cases.append(
            Case(
                f"cvt.pack.sat.{kind}.s32.b32 %r, %ra, %rb, %rc;",
                lambda a, b, c, k=kind, n=bits: (c << 2 * n | clamp(a, k) << n | clamp(b, k)) & M32,
                (small,),
            )
        )
    cases.append(
        Case(
            "cvt.pack.sat.u8.s32.b32 %r, %ra, %rb, 0; cvt.pack.sat.u8.s32.b32 %r, %rb, %ra, %r;",
            lambda a, b, c: (
                clamp(a, "u8") << 24 | clamp(b, "u8") << 16 | clamp(b, "u8") << 8 | clamp(a, "u8")
            ),
        )
    )
    assert not failures(cases)
