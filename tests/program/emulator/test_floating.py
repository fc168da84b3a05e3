"""Arithmetic in every format and direction against rational numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.emulator import exact
from tests.program.emulator.exact import BF16, F16, F32, F64, Format
from tests.program.emulator.harness import lanes, one
from warpbank.program.isa import DType, Instr, Kernel, Op, Pred, Reg, Rnd

MODES = {"rn": Rnd.RN, "rz": Rnd.RZ, "rm": Rnd.RM, "rp": Rnd.RP}
FORMATS = {DType.F32: F32, DType.F64: F64, DType.F16: F16, DType.BF16: BF16}
OPERATIONS = {
    Op.FADD: (2, exact.add),
    Op.FMUL: (2, exact.mul),
    Op.FFMA: (3, exact.fma),
    Op.FDIV: (2, exact.div),
    Op.FRCP: (1, lambda x, f, mode: exact.div(exact.encode(exact.Fraction(1), f, "rn"), x, f, mode)),
    Op.FSQRT: (1, exact.sqrt),
}


def edges(f: Format) -> list[int]:
    """Zeros, subnormals, borders, ones with neighbours, infinities, NaN; both signs."""
    one_ = f.bias << f.fraction
    positive = [
        0,
        1,
        2,
        (1 << f.fraction) - 1,
        1 << f.fraction,
        (1 << f.fraction) + 1,
        one_ - 1,
        one_,
        one_ + 1,
    ]
    positive += [
        one_ + (1 << f.fraction),
        f.infinity - 1,
        f.infinity,
        f.infinity + 1,
        one_ | (1 << (f.fraction - 1)) | 1,
    ]
    return [sign << (f.bits - 1) | p for p in positive for sign in (0, 1)]


def numbers(f: Format) -> st.SearchStrategy[int]:
    """Bit patterns: edges, anything, and numbers near one, where sums cancel."""
    near = st.builds(
        lambda sign, exponent, fraction: sign << (f.bits - 1) | (f.bias + exponent) << f.fraction | fraction,
        st.integers(0, 1),
        st.integers(-3, 3),
        st.integers(0, (1 << f.fraction) - 1),
    )
    return st.sampled_from(edges(f)) | st.integers(0, (1 << f.bits) - 1) | near


def array(values: list[int], f: Format) -> np.ndarray:
    return np.array(values, np.uint64 if f.bits == 64 else np.uint32)


def check(op: Op, dtype: DType, mode: str, operands: list[tuple[int, ...]]) -> None:
    f = FORMATS[dtype]
    arity, reference = OPERATIONS[op]
    columns = [array([case[i] for case in operands], f) for i in range(arity)]
    found = one(op, *columns, dtype=dtype, rnd=MODES[mode], width=f.bits // 32 or 1)
    for case, bits in zip(operands, found, strict=True):
        expected = reference(*case[:arity], f, mode)
        # Which NaN a double is, semantics/test_nans.py says.
        assert (exact.plain(int(bits), f) if f is exact.F64 else int(bits)) == expected, (
            f"{op.name}.{mode}.{dtype.name} {[hex(x) for x in case[:arity]]}: {hex(bits)}, not "
            f"{hex(expected)}"
        )


CASES = [
    (op, dtype, mode)
    for op, dtype, mode in product(OPERATIONS, FORMATS, MODES)
    if dtype in (DType.F32, DType.F64) or (op in (Op.FADD, Op.FMUL, Op.FFMA) and mode == "rn")
]


@pytest.mark.parametrize(("op", "dtype", "mode"), CASES, ids=[f"{o.name}-{d.name}-{m}" for o, d, m in CASES])
def test_edges_and_random_operands(op: Op, dtype: DType, mode: str) -> None:
    f = FORMATS[dtype]
    rng = np.random.default_rng(7)
    special = edges(f)
    operands = list(
        product(special, special, (0, special[14], special[15]) if OPERATIONS[op][0] == 3 else (0,))
    )
    for _ in range(300):
        close = int(rng.integers(-60, 60))
        exponent = int(rng.integers(1, 2 * f.bias))
        case = []
        for offset in (0, close, close + int(rng.integers(-3, 4))):
            e = min(max(exponent + offset, 0), 2 * f.bias)
            case.append(
                int(rng.integers(0, 2)) << (f.bits - 1)
                | e << f.fraction
                | int(rng.integers(0, 1 << f.fraction))
            )
        operands.append((case[0], case[1], case[2]))
    check(op, dtype, mode, operands)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_arithmetic(data: st.DataObject) -> None:
    op, dtype, mode = data.draw(st.sampled_from(CASES))
    number = numbers(FORMATS[dtype])
    check(op, dtype, mode, data.draw(st.lists(st.tuples(number, number, number), min_size=1, max_size=24)))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_fused_cancellation(data: st.DataObject) -> None:
    """x * y + z with z near -x * y, where a product rounded before the sum shows most."""
    dtype, mode = data.draw(st.sampled_from([c[1:] for c in CASES if c[0] is Op.FFMA]))
    f = FORMATS[dtype]
    cases = []
    for x, y, step in data.draw(
        st.lists(st.tuples(numbers(f), numbers(f), st.integers(-2, 2)), min_size=1, max_size=24)
    ):
        z = exact.mul(x, y, f, "rn") ^ 1 << (f.bits - 1)
        cases.append((x, y, (z + step) & ((1 << f.bits) - 1)))
    check(Op.FFMA, dtype, mode, cases)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("dtype", "u"), [(DType.F64, 2.0**-26), (DType.F32, 2.0**-11)])
def test_a_bit_far_below_decides(dtype: DType, u: float, mode: str) -> None:
    """(1 + u)(1 - u + u * u) = 1 + u**3: one bit under many zeros, which only directed rounding sees, beside
    any addend."""
    f = FORMATS[dtype]
    x, y = (exact.encode(exact.Fraction(v), f, "rn") for v in (1 + u, 1 - u + u * u))
    addends = [exact.encode(s * exact.Fraction(2) ** k, f, "rn") for k in range(-120, 121) for s in (1, -1)]
    check(Op.FFMA, dtype, mode, [(x, y, z) for z in addends])


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([DType.F16X2, DType.BF16X2]), st.sampled_from([Op.FADD, Op.FMUL, Op.FFMA]), st.data())
def test_pairs(dtype: DType, op: Op, data: st.DataObject) -> None:
    f = F16 if dtype is DType.F16X2 else BF16
    arity, reference = OPERATIONS[op]
    halves = st.lists(numbers(f), min_size=6, max_size=6)
    cases = data.draw(st.lists(halves, min_size=1, max_size=16))
    columns = [array([c[2 * i] | c[2 * i + 1] << 16 for c in cases], F32) for i in range(arity)]
    found = one(op, *columns, dtype=dtype)
    for c, bits in zip(cases, found, strict=True):
        low, high = (reference(*(c[2 * i + k] for i in range(arity)), f, "rn") for k in (0, 1))
        assert int(bits) == low | high << 16


def _extremum(x: int, y: int, f: Format, is_min: bool, nan_wins: bool) -> int:
    a, b = exact.decode(x, f), exact.decode(y, f)
    if a.kind == "nan" or b.kind == "nan":
        if nan_wins or a.kind == b.kind:
            return f.nan
        return y if a.kind == "nan" else x

    def key(n: exact.Number) -> tuple[float, exact.Fraction, int]:
        infinite = 0 if n.kind == "finite" else -1 if n.negative else 1
        return infinite, n.value, -int(n.negative)

    return (x if key(a) <= key(b) else y) if is_min else (x if key(a) >= key(b) else y)


@pytest.mark.parametrize("dtype", list(FORMATS))
@pytest.mark.parametrize("op", [Op.FMIN, Op.FMAX])
@pytest.mark.parametrize("aux", [0, 1])
def test_minimum_and_maximum(dtype: DType, op: Op, aux: int) -> None:
    f = FORMATS[dtype]
    cases = list(product(edges(f), edges(f)))
    found = one(
        op, *(array([c[i] for c in cases], f) for i in (0, 1)), dtype=dtype, aux=aux, width=f.bits // 32 or 1
    )
    for (x, y), bits in zip(cases, found, strict=True):
        kept = exact.plain(int(bits), f) if f is exact.F64 else int(bits)
        expected = _extremum(x, y, f, op is Op.FMIN, aux == 1)
        assert kept == expected, (hex(x), hex(y), hex(bits))


def test_xorsign() -> None:
    x = np.array([1.5, -1.5, -2.0, 2.0], np.float32)
    y = np.array([-2.5, -1.0, 3.0, 1.0], np.float32)
    found = one(Op.FMIN, x.view(np.uint32), y.view(np.uint32), dtype=DType.F32, aux=2).view(np.float32)
    assert found.tolist() == [-1.5, 1.0, -2.0, 1.0]


def test_flushing_and_saturation() -> None:
    tiny = np.array(
        [1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x7FC00000, 0x40000000], np.uint32
    )
    zero = np.zeros(len(tiny), np.uint32)
    flushed = one(Op.FADD, tiny, zero, dtype=DType.F32, ftz=True)
    assert flushed.tolist() == [0, 0, 0, 0x00800000, 0x3F800000, 0xBF800000, 0x7FFFFFFF, 0x40000000]
    saturated = one(Op.FADD, tiny, zero, dtype=DType.F32, sat=True)
    assert saturated.tolist() == [1, 0, 0x007FFFFF, 0x00800000, 0x3F800000, 0, 0, 0x3F800000]
    half = np.full(len(tiny), 0x3F000000, np.uint32)
    product_ = one(Op.FMUL, np.full(len(tiny), 0x80800000, np.uint32), half, dtype=DType.F32, ftz=True)
    assert set(product_.tolist()) == {0x80000000}, "a subnormal result keeps its sign"


def test_source_modifiers() -> None:
    x = np.array([1.5, -2.5, 0.0, np.nan], np.float32).view(np.uint32)
    y = np.array([4.0, -8.0, -0.0, 1.0], np.float32).view(np.uint32)
    found = one(Op.FADD, x, y, dtype=DType.F32, neg=0b10, abs=0b01).view(np.float32)
    assert found[:3].tolist() == [-2.5, 10.5, 0.0]
    wide = np.array([1.5, -2.5], np.float64).view(np.uint64)
    assert one(Op.FMUL, wide, wide, dtype=DType.F64, neg=0b01, width=2).view(np.float64).tolist() == [
        -2.25,
        -6.25,
    ]
    pair = np.array([0xBC003C00], np.uint32)  # (1, -1) in f16
    assert one(Op.FADD, pair, np.zeros(1, np.uint32), dtype=DType.F16X2, neg=1).tolist() == [0x3C00BC00]


COMPARISONS = {
    0: lambda x, y: x == y,
    1: lambda x, y: x != y,
    2: lambda x, y: x < y,
    3: lambda x, y: x <= y,
    4: lambda x, y: x > y,
    5: lambda x, y: x >= y,
}


@pytest.mark.parametrize("dtype", list(FORMATS))
@pytest.mark.parametrize("cmp", range(14))
def test_comparisons(dtype: DType, cmp: int) -> None:
    f = FORMATS[dtype]
    cases = list(product(edges(f), edges(f)))

    def body(code: Kernel, registers: list[Reg]) -> tuple[list[Instr], list[Reg | Pred]]:
        p, q = code.new_predicate(), code.new_predicate()
        return [Instr(Op.FSETP, dtype, srcs=tuple(registers), pdst=(p, q), cmp=cmp)], [Pred(p), Pred(q)]  # type: ignore[arg-type]

    found, negated = lanes(body, *(array([c[i] for c in cases], f) for i in (0, 1)))
    for (x, y), bit, other in zip(cases, found, negated, strict=True):
        a, b = exact.decode(x, f), exact.decode(y, f)
        unordered = "nan" in (a.kind, b.kind)
        if cmp >= 12:
            expected = unordered == (cmp == 13)
        elif unordered:
            expected = cmp >= 6
        else:
            keys = [(0 if n.kind == "finite" else -1 if n.negative else 1, n.value) for n in (a, b)]
            expected = COMPARISONS[cmp % 6](*keys)
        assert bool(bit) == expected, (hex(x), hex(y), cmp)
        assert bool(other) != expected
