"""cvt between every pair of types, against numpy and Python."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from tests.program.lowering.bench import INTEGERS, M16, M32, SINGLES, Case, failures, s

INTEGER_TYPES = [f"{kind}{bits}" for bits in (8, 16, 32, 64) for kind in "su"]
SOURCES = {8: "%ha", 16: "%ha", 32: "%ra", 64: "%a"}
TARGETS = {8: "%hd", 16: "%hd", 32: "%rout", 64: "%d"}
DOUBLES = tuple(
    struct.unpack("<Q", struct.pack("<d", v))[0]
    for v in (
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        -2.5,
        2147483647.5,
        -2147483648.5,
        4294967295.5,
        1e10,
        -1e10,
        9.3e18,
        -9.3e18,
        1.9e19,
        1e300,
        5e-324,
        127.5,
        -128.5,
        255.5,
        65535.5,
        32767.5,
        3.0000001,
        65504.0,
        65520.0,
        1e-8,
        math.inf,
        -math.inf,
        math.nan,
    )
)


def number(x: int, name: str) -> int:
    bits = int(name[1:])
    return s(x, bits) if name[0] == "s" else x & (1 << bits) - 1


def limits(name: str) -> tuple[int, int]:
    bits = int(name[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "s" else (0, (1 << bits) - 1)


def stored(value: int, name: str) -> int:
    """What the destination register shows: extended to 16 bits by its type, 32 and 64 as they are."""
    bits = int(name[1:])
    value &= (1 << bits) - 1
    if bits == 8:
        return (s(value, 8) if name[0] == "s" else value) & M16
    return value


def integer_cases() -> list[Case]:
    cases = []
    for source in INTEGER_TYPES:
        for to in INTEGER_TYPES:
            operands = f"{TARGETS[int(to[1:])]}, {SOURCES[int(source[1:])]};"
            cases.append(
                Case(f"cvt.{to}.{source} {operands}", lambda x, y, z, t=to, f=source: stored(number(x, f), t))
            )
            low, high = limits(to)
            if limits(source)[0] < low or limits(source)[1] > high:
                cases.append(
                    Case(
                        f"cvt.sat.{to}.{source} {operands}",
                        lambda x, y, z, t=to, f=source, lo=low, hi=high: stored(
                            max(lo, min(hi, number(x, f))), t
                        ),
                    )
                )
    # Narrow types in wide registers, as the manual allows for cvt.
    cases += [
        Case("cvt.s8.s32 %rout, %ra;", lambda x, y, z: s(x, 8) & M32),
        Case("cvt.u8.u32 %rout, %ra;", lambda x, y, z: x & 255),
        Case("cvt.s16.s64 %rout, %a;", lambda x, y, z: s(x, 16) & M32),
        Case("cvt.u16.u32 %d, %ra;", lambda x, y, z: x & M16),
        Case("cvt.s32.s8 %rout, %ra;", lambda x, y, z: s(x, 8) & M32),
        Case("cvt.s32.s32 %d, %ra;", lambda x, y, z: s(x, 32)),
        Case("cvt.s64.s8 %d, %rb;", lambda x, y, z: s(y, 8)),
    ]
    return cases


def rounded(x: float, mode: str) -> int:
    return {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode](x)


def to_integer(bits: int, mode: str, name: str, width: int) -> int:
    x = (
        struct.unpack("<f", struct.pack("<I", bits & M32))[0]
        if width == 32
        else struct.unpack("<d", struct.pack("<Q", bits))[0]
    )
    low, high = limits(name)
    if math.isnan(x):
        # ptx: NaN gives 0 for results of at most 32 bits from f32; the machine's word for the others is the
        # same
        return 0
    value = (high if x > 0 else low) if math.isinf(x) else max(low, min(high, rounded(x, mode)))
    return stored(value, name)


def float_to_integer() -> list[Case]:
    cases = []
    for width, source, table in ((32, "%ra", SINGLES), (64, "%a", DOUBLES)):
        numbers = [v for v in table if not math.isnan(_number(v, width))]
        for to in INTEGER_TYPES:
            for mode in ("rni", "rzi", "rmi", "rpi"):
                cases.append(
                    Case(
                        f"cvt.{mode}.{to}.f{width} {TARGETS[int(to[1:])]}, {source};",
                        lambda x, y, z, m=mode, t=to, w=width: to_integer(x, m, t, w),
                        numbers,
                    )
                )
    return cases


def _number(bits: int, width: int) -> float:
    if width == 32:
        return float(struct.unpack("<f", struct.pack("<I", bits & M32))[0])
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def _single(value: float | int) -> int:
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


def from_integer() -> list[Case]:
    cases = []
    for source in INTEGER_TYPES:
        register = SOURCES[int(source[1:])]
        cases.append(
            Case(
                f"cvt.rn.f64.{source} %d, {register};",
                lambda x, y, z, f=source: struct.unpack("<Q", struct.pack("<d", float(number(x, f))))[0],
            )
        )
        cases.append(
            Case(
                f"cvt.rn.f32.{source} %rout, {register};",
                lambda x, y, z, f=source: _exact_single(number(x, f)),
            )
        )
    return cases


def _exact_single(value: int) -> int:
    """Nearest single of an integer, without the double rounding that goes through a double."""
    magnitude = abs(value)
    shift = max(0, magnitude.bit_length() - 24)
    kept, rest = magnitude >> shift, magnitude & (1 << shift) - 1
    half = 1 << shift - 1 if shift else 0
    if shift and (rest > half or (rest == half and kept & 1)):
        kept += 1
    return _single(math.copysign(kept * 2.0**shift, value))


def float_to_float() -> list[Case]:
    finite = [v for v in SINGLES if not math.isnan(_number(v, 32))]
    doubles = [v for v in DOUBLES if not math.isnan(_number(v, 64))]

    def half(x: int) -> int:
        with np.errstate(over="ignore"):
            return int(np.float16(np.uint32(x & M32).view(np.float32)).view(np.uint16))

    def bf16(x: int) -> int:
        x &= M32
        return x + 0x7FFF + (x >> 16 & 1) >> 16

    def integral(x: int, mode: str) -> int:
        v = _number(x, 32)
        return _single(v if math.isinf(v) else math.copysign(float(rounded(v, mode)), v))

    return [
        Case(
            "cvt.f64.f32 %d, %ra;",
            lambda x, y, z: struct.unpack("<Q", struct.pack("<d", _number(x, 32)))[0],
            finite,
        ),
        Case("cvt.rn.f32.f64 %rout, %a;", lambda x, y, z: _single(_number(x, 64)), doubles),
        Case("cvt.rn.f16.f32 %hd, %ra;", lambda x, y, z: half(x), finite),
        Case(
            "cvt.f32.f16 %rout, %ha;",
            lambda x, y, z: _single(np.uint16(x & M16).view(np.float16)),
            [v for v in INTEGERS if v & 0x7C00 != 0x7C00],
        ),
        Case("cvt.rn.f16x2.f32 %rout, %ra, %rb;", lambda x, y, z: half(x) << 16 | half(y), finite),
        Case("cvt.rn.bf16x2.f32 %rout, %ra, %rb;", lambda x, y, z: bf16(x) << 16 | bf16(y), finite),
        Case("cvt.rn.bf16.f32 %hd, %ra;", lambda x, y, z: bf16(x), finite),
        Case("cvt.f32.bf16 %rout, %ha;", lambda x, y, z: (x & M16) << 16, INTEGERS),
        Case(
            "cvt.sat.f32.f32 %rout, %ra;",
            lambda x, y, z: _single(max(0.0, min(1.0, _number(x, 32)))) & M32,
            [v for v in finite if v != 1 << 31],
        ),
        Case("cvt.rni.f32.f32 %rout, %ra;", lambda x, y, z: integral(x, "rni"), finite),
        Case("cvt.rzi.f32.f32 %rout, %ra;", lambda x, y, z: integral(x, "rzi"), finite),
        Case("cvt.rmi.f32.f32 %rout, %ra;", lambda x, y, z: integral(x, "rmi"), finite),
        Case("cvt.rpi.f32.f32 %rout, %ra;", lambda x, y, z: integral(x, "rpi"), finite),
    ]


@pytest.mark.parametrize("optimize", [True, False], ids=["clean", "raw"])
@pytest.mark.parametrize(
    "family", [integer_cases, float_to_integer, from_integer, float_to_float], ids=lambda f: f.__name__
)
def test_conversions(family, optimize: bool) -> None:  # type: ignore[no-untyped-def]
    assert failures(family(), optimize=optimize) == []
