"""Floating point on rational numbers: the reference for every rounding in every format. Shares nothing with
the emulator."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import NamedTuple


@dataclass(frozen=True)
class Format:
    """An IEEE binary format: bits in all, and of the stored fraction; the canonical NaN."""

    bits: int
    fraction: int
    nan: int

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def infinity(self) -> int:
        return (2 * self.bias + 1) << self.fraction


F16 = Format(16, 10, 0x7FFF)
BF16 = Format(16, 7, 0x7FFF)
F32 = Format(32, 23, 0x7FFFFFFF)
F64 = Format(64, 52, 0xFFF8000000000000)


class Number(NamedTuple):
    """A decoded number: kind "nan", "inf" or "finite"; the sign matters for zeros and infinities."""

    kind: str
    negative: bool
    value: Fraction


def decode(bits: int, f: Format) -> Number:
    negative = bool(bits >> (f.bits - 1) & 1)
    exponent, fraction = bits >> f.fraction & (2 * f.bias + 1), bits & ((1 << f.fraction) - 1)
    if exponent == 2 * f.bias + 1:
        return Number("nan" if fraction else "inf", negative, Fraction(0))
    if exponent:
        fraction |= 1 << f.fraction
    value = fraction * Fraction(2) ** (max(exponent, 1) - f.bias - f.fraction)
    return Number("finite", negative, -value if negative else value)


def plain(bits: int, f: Format) -> int:
    """Bits of a number, every NaN as the format's canonical one."""
    return f.nan if bits & (1 << f.bits - 1) - 1 > f.infinity else bits


def rounded_integer(x: Fraction, mode: str) -> int:
    """A non-negative or negative rational as an integer: rn, rz, rm, rp, rna."""
    floor = x.numerator // x.denominator
    rest = x - floor
    if mode == "rn":
        return floor + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2))
    if mode == "rna":
        return floor + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and x > 0))
    if mode == "rz":
        return floor + (rest != 0 and x < 0)
    return floor + (mode == "rp" and rest != 0)


def encode(value: Fraction, f: Format, mode: str, negative_zero: bool = False) -> int:
    """Bits of a rational rounded once."""
    if value == 0:
        return int(negative_zero) << (f.bits - 1)
    sign = int(value < 0) << (f.bits - 1)
    magnitude = abs(value)
    if value < 0:
        mode = {"rm": "rp", "rp": "rm"}.get(mode, mode)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, 1 - f.bias)
    unit = Fraction(2) ** (exponent - f.fraction)
    mantissa = rounded_integer(magnitude / unit, mode)
    if mantissa >> (f.fraction + 1):
        mantissa >>= 1
        exponent += 1
    if exponent > f.bias:
        return sign | (f.infinity - (mode in ("rz", "rm")))
    return sign | (mantissa + ((exponent + f.bias - 1) << f.fraction))


def _infinite(negative: bool, f: Format) -> int:
    return int(negative) << (f.bits - 1) | f.infinity


def fma(x: int, y: int, z: int, f: Format, mode: str) -> int:
    a, b, c = decode(x, f), decode(y, f), decode(z, f)
    negative = a.negative != b.negative
    if "nan" in (a.kind, b.kind, c.kind):
        return f.nan
    if "inf" in (a.kind, b.kind):
        zero = a.kind == b.kind or (b.value if a.kind == "inf" else a.value)
        if not zero or (c.kind == "inf" and c.negative != negative):
            return f.nan
        return _infinite(negative, f)
    if c.kind == "inf":
        return _infinite(c.negative, f)
    product = a.value * b.value
    if product == 0 and c.value == 0:
        return encode(Fraction(0), f, mode, negative if negative == c.negative else mode == "rm")
    return encode(product + c.value, f, mode, mode == "rm")


def add(x: int, y: int, f: Format, mode: str) -> int:
    return fma(x, encode(Fraction(1), f, "rn"), y, f, mode)


def mul(x: int, y: int, f: Format, mode: str) -> int:
    a, b = decode(x, f), decode(y, f)
    return fma(x, y, int(a.negative != b.negative) << (f.bits - 1), f, mode)


def div(x: int, y: int, f: Format, mode: str) -> int:
    a, b = decode(x, f), decode(y, f)
    negative = a.negative != b.negative
    if "nan" in (a.kind, b.kind) or (a.kind == b.kind == "inf"):
        return f.nan
    if a.kind == "inf":
        return _infinite(negative, f)
    if b.kind == "inf":
        return encode(Fraction(0), f, mode, negative)
    if b.value == 0:
        return f.nan if a.value == 0 else _infinite(negative, f)
    return encode(a.value / b.value, f, mode, negative)


def sqrt(x: int, f: Format, mode: str) -> int:
    a = decode(x, f)
    if a.kind == "nan" or (a.negative and (a.kind == "inf" or a.value)):
        return f.nan
    if a.kind == "inf" or not a.value:
        return x
    scale = 2 * (f.bias + 3 * f.fraction)
    square = a.value * 4**scale
    root = isqrt(int(square))  # the scaled square is an integer
    exact = root * root == square
    # An inexact root lies strictly between two integers far below the last place: any value between them
    # rounds alike.
    return encode((Fraction(root) if exact else Fraction(2 * root + 1, 2)) / 2**scale, f, mode)
