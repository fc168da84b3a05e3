"""Conversions between all types and directions against rational numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.emulator import exact
from tests.program.emulator.exact import BF16, F16, F32, F64
from tests.program.emulator.harness import one
from tests.program.emulator.test_floating import edges, numbers
from warpbank.program.isa import DType, Op, Rnd

FORMATS = {DType.F16: F16, DType.BF16: BF16, DType.F32: F32, DType.F64: F64}
MODES = {"rn": Rnd.RN, "rz": Rnd.RZ, "rm": Rnd.RM, "rp": Rnd.RP, "rna": Rnd.RNA}
INTEGERS = {
    DType.U8: (8, False),
    DType.S8: (8, True),
    DType.U16: (16, False),
    DType.S16: (16, True),
    DType.U32: (32, False),
    DType.S32: (32, True),
    DType.U64: (64, False),
    DType.S64: (64, True),
}


def convert(values: list[int], dtype: DType, stype: DType, mode: str = "rn", **fields: object) -> list[int]:
    column = np.array(values, np.uint64 if stype.bits == 64 else np.uint32)
    found = one(
        Op.CVT, column, dtype=dtype, stype=stype, rnd=MODES[mode], width=dtype.bits // 32 or 1, **fields
    )
    return [int(x) for x in found]


def integer_values(dtype: DType) -> st.SearchStrategy[int]:
    bits, signed = INTEGERS[dtype]
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    near = st.builds(lambda e, d: min(max(2**e + d, low), high), st.integers(0, bits), st.integers(-3, 3))
    return st.integers(low, high) | near | st.builds(lambda x: max(-x, low), near)


@pytest.mark.parametrize(("dtype", "stype"), list(product(FORMATS, INTEGERS)))
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_integer_to_float(dtype: DType, stype: DType, data: st.DataObject) -> None:
    values = data.draw(st.lists(integer_values(stype), min_size=20, max_size=60))
    mode = data.draw(st.sampled_from(["rn", "rz", "rm", "rp"]))
    # What lies above a narrow integer in its register is unspecified: put something there.
    bits = INTEGERS[stype][0]
    raw = [v & (2**bits - 1) | (0x5A5A5A5A << bits & 0xFFFFFFFF if bits < 32 else 0) for v in values]
    for value, found in zip(values, convert(raw, dtype, stype, mode), strict=True):
        assert found == exact.encode(Fraction(value), FORMATS[dtype], mode), (value, mode)


def reference_integer(x: exact.Number, dtype: DType, stype: DType, mode: str) -> int:
    bits, signed = INTEGERS[dtype]
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    if x.kind == "nan":
        value = 0 if stype is not DType.F64 and bits < 64 else low if signed else 2 ** (bits - 1)
    elif x.kind == "inf":
        value = low if x.negative else high
    else:
        value = min(max(exact.rounded_integer(x.value, mode), low), high)
    return value & (2 ** max(bits, 32) - 1)


@pytest.mark.parametrize(("dtype", "stype"), list(product(INTEGERS, FORMATS)))
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_float_to_integer(dtype: DType, stype: DType, data: st.DataObject) -> None:
    f = FORMATS[stype]
    near = st.builds(
        lambda v, q: exact.encode(v + Fraction(q, 4), f, "rz"), integer_values(dtype), st.integers(-6, 6)
    )
    values = data.draw(st.lists(near | numbers(f), min_size=20, max_size=60)) + edges(f)
    mode = data.draw(st.sampled_from(["rn", "rz", "rm", "rp"]))
    for value, found in zip(values, convert(values, dtype, stype, mode), strict=True):
        assert found == reference_integer(exact.decode(value, f), dtype, stype, mode), (hex(value), mode)


@pytest.mark.parametrize(("dtype", "stype"), list(product(FORMATS, FORMATS)))
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_float_to_float(dtype: DType, stype: DType, data: st.DataObject) -> None:
    f, g = FORMATS[stype], FORMATS[dtype]

    def between(a: int, b: int, quarter: int) -> int:
        """A number at or near the middle of two neighbours of the result's format."""
        x = exact.decode(a, g)
        step = exact.decode(a + 1, g)
        if x.kind != "finite" or step.kind != "finite":
            return b
        return exact.encode(x.value + (step.value - x.value) * quarter / 4, f, "rz")

    middle = st.builds(
        between, numbers(g).filter(lambda b: b + 1 < 1 << g.bits), numbers(f), st.integers(0, 4)
    )
    values = data.draw(st.lists(middle | numbers(f), min_size=20, max_size=60)) + edges(f)
    mode = data.draw(st.sampled_from(list(MODES)))
    integral = data.draw(st.booleans())
    for value, found in zip(values, convert(values, dtype, stype, mode, aux=int(integral)), strict=True):
        x = exact.decode(value, f)
        if x.kind == "nan":
            expected = g.nan
        elif x.kind == "inf":
            expected = int(x.negative) << (g.bits - 1) | g.infinity
        else:
            number = Fraction(exact.rounded_integer(x.value, mode)) if integral else x.value
            expected = exact.encode(number, g, mode, x.negative)
        kept = exact.plain(int(found), g) if DType.F64 in (dtype, stype) else found
        assert kept == expected, (hex(value), mode, integral)


def test_saturation_and_flushing() -> None:
    values = [
        0xBF800000,
        0x80000000,
        0,
        1,
        0x3F000000,
        0x3F800000,
        0x40000000,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
    ]
    assert convert(values, DType.F32, DType.F32, sat=True) == [0, 0, 0, 1, 0x3F000000] + [0x3F800000] * 3 + [
        0,
        0,
    ]
    assert convert([1, 0x80000001, 0x00800000], DType.F64, DType.F32, ftz=True) == [
        0,
        1 << 63,
        0x3810000000000000,
    ]
    assert convert([0x3800000000000000], DType.F32, DType.F64, ftz=True) == [0]
    assert convert([0x3F800000, 0x40400000], DType.F16, DType.F32, sat=True) == [0x3C00, 0x3C00]
