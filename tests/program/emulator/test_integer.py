"""Integer, bit, predicate and selection operations against Python integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.emulator.harness import lanes, one, u32, u64
from warpbank.program.isa import BoolOp, Cmp, DType, Imm, Instr, Kernel, Op, Pred, Reg

M = 0xFFFFFFFF
WORD = st.sampled_from(
    [0, 1, 2, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFFFFFF, 0x80000000, 0x80000001, M - 1, M]
) | st.integers(0, M)
LONG = st.sampled_from(
    [0, 1, 2, 3, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
) | st.integers(0, 2**64 - 1)
U, S = DType.U32, DType.S32


def s32(x: int) -> int:
    return x - 2**32 if x >> 31 else x


def s64(x: int) -> int:
    return x - 2**64 if x >> 63 else x


def quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def bfe(a: int, b: int, c: int, signed: bool) -> int:
    position, length = b & 255, c & 255
    sign = 0 if not signed or length == 0 else a >> min(position + length - 1, 31) & 1
    return sum(
        (a >> (position + i) & 1 if i < length and position + i <= 31 else sign) << i for i in range(32)
    )


def bfi(a: int, b: int, c: int, d: int) -> int:
    position, length = c & 255, d & 255
    bits = [b >> i & 1 for i in range(32)]
    for i in range(length):
        if position + i <= 31:
            bits[position + i] = a >> i & 1
    return sum(bit << i for i, bit in enumerate(bits))


def prmt(a: int, b: int, c: int, mode: int) -> int:
    source = [(b << 32 | a) >> 8 * i & 255 for i in range(8)]
    if mode == 0:
        picks = [c >> 4 * i & 15 for i in range(4)]
        out = [source[p & 7] if not p & 8 else (255 if source[p & 7] & 128 else 0) for p in picks]
    else:
        n = c & 3
        table = {
            1: [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]],
            2: [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]],
            3: [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]],
            4: [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]],
            5: [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]],
            6: [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
        }[mode]
        out = [source[p] for p in table[n]]
    return sum(byte << 8 * i for i, byte in enumerate(out))


def fns(mask: int, base: int, offset: int) -> int:
    offset = s32(offset)
    if base > 31:
        return M
    if offset == 0:
        return base if mask >> base & 1 else M
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [p for p in places if mask >> p & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else M


def bfind(x: int, signed: bool, shift: bool) -> int:
    if signed and x >> 31:
        x ^= M
    place = x.bit_length() - 1
    return M if place < 0 else 31 - place if shift else place


def dp4a(a: int, b: int, c: int, aux: int) -> int:
    def byte(x: int, i: int, signed: int) -> int:
        v = x >> 8 * i & 255
        return v - 256 if signed and v > 127 else v

    return c + sum(byte(a, i, aux & 1) * byte(b, i, aux & 2) for i in range(4))


def lop3(a: int, b: int, c: int, table: int) -> int:
    return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))


def funnel(low: int, high: int, n: int, aux: int, signed: bool) -> int:
    both = high << 32 | low
    if aux in (0, 1):
        return (both << (n & 31 if aux == 0 else min(n, 32))) >> 32
    if aux in (2, 3):
        return both >> (n & 31 if aux == 2 else min(n, 32))
    if aux == 4:
        return (both << min(n, 64)) >> 32
    return (s64(both) if signed else both) >> min(n, 64)


# name: (op, sources, fields, reference)
OPERATIONS: dict[str, tuple[Op, int, dict[str, object], Callable[..., int]]] = {
    "iadd": (Op.IADD, 2, {}, lambda a, b: a + b),
    "isub": (Op.ISUB, 2, {}, lambda a, b: a - b),
    "imul": (Op.IMUL, 2, {}, lambda a, b: a * b),
    "imad": (Op.IMAD, 3, {}, lambda a, b, c: a * b + c),
    "imulhi.u": (Op.IMULHI, 2, {}, lambda a, b: a * b >> 32),
    "imulhi.s": (Op.IMULHI, 2, {"dtype": S}, lambda a, b: s32(a) * s32(b) >> 32),
    "imadhi.u": (Op.IMADHI, 3, {}, lambda a, b, c: (a * b >> 32) + c),
    "imadhi.s": (Op.IMADHI, 3, {"dtype": S}, lambda a, b, c: (s32(a) * s32(b) >> 32) + c),
    "idiv.u": (Op.IDIV, 2, {}, lambda a, b: a // b if b else M),
    "idiv.s": (Op.IDIV, 2, {"dtype": S}, lambda a, b: quotient(s32(a), s32(b)) if b else M),
    "irem.u": (Op.IREM, 2, {}, lambda a, b: a % b if b else a),
    "irem.s": (Op.IREM, 2, {"dtype": S}, lambda a, b: s32(a) - s32(b) * quotient(s32(a), s32(b)) if b else a),
    "imin.u": (Op.IMIN, 2, {}, min),
    "imin.s": (Op.IMIN, 2, {"dtype": S}, lambda a, b: min(s32(a), s32(b))),
    "imax.u": (Op.IMAX, 2, {}, max),
    "imax.s": (Op.IMAX, 2, {"dtype": S}, lambda a, b: max(s32(a), s32(b))),
    "iabs": (Op.IABS, 1, {"dtype": S}, lambda a: abs(s32(a))),
    "sad.u": (Op.SAD, 3, {}, lambda a, b, c: abs(a - b) + c),
    "sad.s": (Op.SAD, 3, {"dtype": S}, lambda a, b, c: abs(s32(a) - s32(b)) + c),
    "and": (Op.AND, 2, {}, lambda a, b: a & b),
    "or": (Op.OR, 2, {}, lambda a, b: a | b),
    "xor": (Op.XOR, 2, {}, lambda a, b: a ^ b),
    "not": (Op.NOT, 1, {}, lambda a: ~a),
    "shl": (Op.SHL, 2, {}, lambda a, b: a << min(b, 32)),
    "shr.u": (Op.SHR, 2, {}, lambda a, b: a >> min(b, 32)),
    "shr.s": (Op.SHR, 2, {"dtype": S}, lambda a, b: s32(a) >> min(b, 32)),
    "bfe.u": (Op.BFE, 3, {}, lambda a, b, c: bfe(a, b, c, False)),
    "bfe.s": (Op.BFE, 3, {"dtype": S}, lambda a, b, c: bfe(a, b, c, True)),
    "bfi": (Op.BFI, 4, {}, bfi),
    "clz": (Op.CLZ, 1, {}, lambda a: 32 - a.bit_length()),
    "popc": (Op.POPC, 1, {}, lambda a: a.bit_count()),
    "brev": (Op.BREV, 1, {}, lambda a: int(f"{a:032b}"[::-1], 2)),
    "fns": (Op.FNS, 3, {}, fns),
    "mov": (Op.MOV, 1, {}, lambda a: a),
}
for _aux in range(4):
    OPERATIONS[f"dp4a.{_aux}"] = (Op.DP4A, 3, {"aux": _aux}, lambda a, b, c, aux=_aux: dp4a(a, b, c, aux))
    _bfind = {"dtype": S if _aux & 1 else U, "aux": _aux >> 1}
    OPERATIONS[f"bfind.{_aux}"] = (
        Op.BFIND,
        1,
        _bfind,
        lambda a, aux=_aux: bfind(a, bool(aux & 1), bool(aux & 2)),
    )
for _aux in range(7):
    OPERATIONS[f"prmt.{_aux}"] = (Op.PRMT, 3, {"aux": _aux}, lambda a, b, c, aux=_aux: prmt(a, b, c, aux))
for _aux in range(6):
    OPERATIONS[f"shf.{_aux}.u"] = (
        Op.SHF,
        3,
        {"aux": _aux},
        lambda a, b, c, aux=_aux: funnel(a, b, c, aux, False),
    )
OPERATIONS["shf.5.s"] = (Op.SHF, 3, {"aux": 5, "dtype": S}, lambda a, b, c: funnel(a, b, c, 5, True))
for _table in (0x00, 0x96, 0xE8, 0xCA, 0x80, 0xFF):
    OPERATIONS[f"lop3.{_table:02x}"] = (
        Op.LOP3,
        3,
        {"aux": _table},
        lambda a, b, c, table=_table: lop3(a, b, c, table),
    )


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_words(name: str, data: st.DataObject) -> None:
    op, arity, fields, reference = OPERATIONS[name]
    small = st.integers(0, 40) | WORD
    cases = data.draw(st.lists(st.tuples(WORD, small, small, small), min_size=40, max_size=64))
    found = one(op, *(u32([c[i] for c in cases]) for i in range(arity)), **fields)
    for case, result in zip(cases, found, strict=True):
        assert int(result) == reference(*case[:arity]) & M, f"{name}{[hex(x) for x in case[:arity]]}"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(LONG, LONG | st.integers(0, 9)), min_size=1, max_size=64))
def test_long_division(cases: list[tuple[int, int]]) -> None:
    x, y = (u64([c[i] for c in cases]) for i in (0, 1))
    for op, dtype in ((Op.IDIV, DType.U64), (Op.IDIV, DType.S64), (Op.IREM, DType.U64), (Op.IREM, DType.S64)):
        found = one(op, x, y, dtype=dtype, width=2)
        for (a, b), result in zip(cases, found, strict=True):
            if dtype is DType.S64:
                a, b = s64(a), s64(b)
            q = quotient(a, b) if b else -1
            expected = q if op is Op.IDIV else a - b * q if b else a
            assert int(result) == expected & (2**64 - 1), (op, dtype, a, b)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(WORD, WORD, LONG), min_size=1, max_size=64))
def test_wide_products(cases: list[tuple[int, int, int]]) -> None:
    a, b, c = u32([x[0] for x in cases]), u32([x[1] for x in cases]), u64([x[2] for x in cases])
    for dtype, signed in ((U, False), (S, True)):
        plain, added = one(Op.IMULW, a, b, dtype=dtype, width=2), one(Op.IMADW, a, b, c, dtype=dtype, width=2)
        for (x, y, z), p, q in zip(cases, plain, added, strict=True):
            exact = s32(x) * s32(y) if signed else x * y
            assert int(p) == exact & (2**64 - 1)
            assert int(q) == (exact + z) & (2**64 - 1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(LONG, LONG), min_size=1, max_size=64), st.booleans())
def test_64_bit_sums_by_carries(cases: list[tuple[int, int]], subtract: bool) -> None:
    """IADD with carry out, then IADDC: the 64-bit sum; likewise the difference."""

    def body(code: Kernel, registers: list[Reg]) -> tuple[list[Instr], list[Reg | Pred]]:
        x, y = registers
        d, carry, carry_out = code.new_register(2), code.new_predicate(), code.new_predicate()
        low, high = (Op.ISUB, Op.ISUBC) if subtract else (Op.IADD, Op.IADDC)
        return [
            Instr(low, dst=d.word(0), srcs=(x.word(0), y.word(0)), pdst=(carry,)),
            Instr(high, dst=d.word(1), srcs=(x.word(1), y.word(1)), psrc=(Pred(carry),), pdst=(carry_out,)),
        ], [d, Pred(carry_out)]

    sums, carries = lanes(body, u64([c[0] for c in cases]), u64([c[1] for c in cases]))
    for (x, y), total, carry in zip(cases, sums, carries, strict=True):
        assert int(total) == (x - y if subtract else x + y) & (2**64 - 1)
        assert bool(carry) == (x >= y if subtract else x + y >= 2**64)


RELATIONS = {
    Cmp.EQ: lambda x, y: x == y,
    Cmp.NE: lambda x, y: x != y,
    Cmp.LT: lambda x, y: x < y,
    Cmp.LE: lambda x, y: x <= y,
    Cmp.GT: lambda x, y: x > y,
    Cmp.GE: lambda x, y: x >= y,
}
COMBINATIONS = {
    BoolOp.AND: lambda x, y: x and y,
    BoolOp.OR: lambda x, y: x or y,
    BoolOp.XOR: lambda x, y: x != y,
}


@pytest.mark.parametrize("cmp", RELATIONS)
@settings(max_examples=12, deadline=None)
@given(
    cases=st.lists(st.tuples(LONG, st.integers(-1, 1) | LONG), min_size=8, max_size=64),
    dtype=st.sampled_from([U, S]),
    boolop=st.sampled_from(list(BoolOp)),
)
def test_comparisons(cmp: Cmp, cases: list[tuple[int, int]], dtype: DType, boolop: BoolOp) -> None:
    """32-bit, then 64-bit by ISETP of the low words and ISETPX of the high ones, combined with a third
    predicate."""
    xs = [c[0] for c in cases]
    ys = [(c[0] + c[1]) % 2**64 for c in cases]

    def body(code: Kernel, registers: list[Reg]) -> tuple[list[Instr], list[Reg | Pred]]:
        x, y = registers
        odd, p, np_, low, wide, not_wide = (code.new_predicate() for _ in range(6))
        bit = code.new_register()
        return [
            Instr(Op.AND, dst=bit, srcs=(x.word(0), Imm(1))),
            Instr(Op.ISETP, srcs=(bit, Imm(1)), cmp=Cmp.EQ, pdst=(odd,)),
            Instr(
                Op.ISETP,
                dtype,
                srcs=(x.word(0), y.word(0)),
                cmp=cmp,
                boolop=boolop,
                psrc=(Pred(odd, True),),
                pdst=(p, np_),
            ),
            Instr(Op.ISETP, U, srcs=(x.word(0), y.word(0)), cmp=cmp, pdst=(low,)),
            Instr(
                Op.ISETPX,
                dtype,
                srcs=(x.word(1), y.word(1)),
                cmp=cmp,
                boolop=boolop,
                psrc=(Pred(low), Pred(odd)),
                pdst=(wide, not_wide),
            ),
        ], [Pred(p), Pred(np_), Pred(wide), Pred(not_wide)]

    found = lanes(body, u64(xs), u64(ys))
    combine = COMBINATIONS[boolop]
    for x, y, p, q, r, s in zip(xs, ys, *found, strict=True):
        signed32, signed64 = (s32, s64) if dtype is S else (int, int)
        narrow, wide = (
            RELATIONS[cmp](signed32(x & M), signed32(y & M)),
            RELATIONS[cmp](signed64(x), signed64(y)),
        )
        odd = bool(x & 1)
        assert (bool(p), bool(q)) == (combine(narrow, not odd), combine(not narrow, not odd))
        assert (bool(r), bool(s)) == (combine(wide, odd), combine(not wide, odd))


def test_predicate_logic_and_selection() -> None:
    values = u32(range(8))

    def body(code: Kernel, registers: list[Reg]) -> tuple[list[Instr], list[Reg | Pred]]:
        ps = [code.new_predicate() for _ in range(3)]
        bit, chosen = code.new_register(), code.new_register()
        instrs = []
        for i, p in enumerate(ps):
            instrs.append(Instr(Op.AND, dst=bit, srcs=(registers[0], Imm(4 >> i))))
            instrs.append(Instr(Op.ISETP, srcs=(bit, Imm(0)), cmp=Cmp.NE, pdst=(p,)))
        q = code.new_predicate()
        instrs.append(
            Instr(Op.PLOP, aux=0b10010110, psrc=(Pred(ps[0]), Pred(ps[1]), Pred(ps[2], True)), pdst=(q,))
        )
        instrs.append(Instr(Op.SEL, dst=chosen, srcs=(Imm(7), registers[0]), psrc=(Pred(q, True),)))
        return instrs, [Pred(q), chosen]

    parity, chosen = lanes(body, values)
    expected = [bool(0b10010110 >> (v ^ 1) & 1) for v in range(8)]
    assert parity.astype(bool).tolist() == expected
    assert chosen.tolist() == [v if p else 7 for v, p in enumerate(expected)]


def test_constants_and_zero() -> None:
    def body(code: Kernel, registers: list[Reg]) -> tuple[list[Instr], list[Reg | Pred]]:
        a, b, zero = code.new_register(2), code.new_register(), Reg(255)
        return [
            Instr(Op.MOV, dst=a.word(0), srcs=(Imm(0xDEADBEEF),)),
            Instr(Op.IADD, dst=a.word(1), srcs=(zero, Imm(5))),
            Instr(Op.IADD, dst=zero, srcs=(registers[0], Imm(5))),
            Instr(Op.IADD, dst=b, srcs=(zero, registers[0])),
        ], [a, b]

    wide, same = lanes(body, u32([1, 2, 3]))
    assert set(wide.tolist()) == {5 << 32 | 0xDEADBEEF}
    assert same.tolist() == [1, 2, 3]
    assert wide.dtype == np.uint64
