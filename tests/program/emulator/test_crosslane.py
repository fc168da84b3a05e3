"""Shuffles, votes, matches, reductions, approximate functions, tensor operations and special registers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.emulator.harness import PARAMETERS, kernel, lanes, one, run, u32, u64
from warpbank.program.isa import (
    Atomic,
    Block,
    Cmp,
    Const,
    DType,
    Imm,
    Instr,
    Kernel,
    Mufu,
    Op,
    Pred,
    Reg,
    Shuffle,
    Sreg,
    Vote,
)

M = 0xFFFFFFFF


def shuffled(mode: Shuffle, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Source lane and predicate, by the pseudocode of the PTX manual."""
    bval, cval, mask = b & 31, c & 31, c >> 8 & 31
    top, bottom = (lane & mask) | (cval & ~mask), lane & mask
    if mode is Shuffle.UP:
        j = lane - bval
        valid = j >= top
    elif mode is Shuffle.DOWN:
        j = lane + bval
        valid = j <= top
    elif mode is Shuffle.BFLY:
        j = lane ^ bval
        valid = j <= top
    else:
        j = bottom | (bval & ~mask)
        valid = j <= top
    return (j if valid else lane), valid


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(list(Shuffle)),
    st.sampled_from([0, 1, 2, 4, 8, 16, 32]),
    st.integers(0, 31),
    st.integers(0, 0x1F1F),
    st.booleans(),
)
def test_shuffle(mode: Shuffle, width: int, b: int, c: int, usual: bool) -> None:
    if usual and width:  # what __shfl_sync makes of a width
        c = (32 - width) << 8 | (0 if mode is Shuffle.UP else 31)
    values = u32([1000 + i for i in range(32)])

    def body(code: Kernel, registers: list[Reg]) -> tuple[list[Instr], list[Reg | Pred]]:
        d, p = code.new_register(), code.new_predicate()
        return [Instr(Op.SHFL, dst=d, srcs=(registers[0], Imm(b), Imm(c)), aux=mode, pdst=(p,))], [d, Pred(p)]

    found, valid = lanes(body, values)
    for lane in range(32):
        source, in_range = shuffled(mode, lane, b, c)
        assert (int(found[lane]), bool(valid[lane])) == (1000 + source, in_range)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, M), st.integers(1, M))
def test_votes_over_the_executing_lanes(yes: int, executing: int) -> None:
    flags = u32([yes >> i & 1 for i in range(32)])
    runs = u32([executing >> i & 1 for i in range(32)])

    def body(code: Kernel, registers: list[Reg]) -> tuple[list[Instr], list[Reg | Pred]]:
        q, g, *ps = (code.new_predicate() for _ in range(5))
        d, e = code.new_register(), code.new_register()
        instrs = [
            Instr(Op.ISETP, srcs=(registers[0], Imm(0)), cmp=Cmp.NE, pdst=(q,)),
            Instr(Op.ISETP, srcs=(registers[1], Imm(0)), cmp=Cmp.NE, pdst=(g,)),
            Instr(Op.VOTE, dst=d, psrc=(Pred(q),), aux=Vote.BALLOT, guard=Pred(g)),
            Instr(Op.ACTIVEMASK, dst=e, guard=Pred(g)),
        ]
        for p, mode in zip(ps, (Vote.ALL, Vote.ANY, Vote.UNI), strict=True):
            instrs.append(Instr(Op.VOTE, psrc=(Pred(q),), pdst=(p,), aux=mode, guard=Pred(g)))
        return instrs, [d, e, *map(Pred, ps)]

    ballot, active, every, some, uniform = lanes(body, flags, runs)
    here = yes & executing
    for lane in range(32):
        on = executing >> lane & 1
        assert int(ballot[lane]) == (here if on else 0)
        assert int(active[lane]) == (executing if on else 0)
        assert bool(every[lane]) == (on and here == executing)
        assert bool(some[lane]) == (on and here != 0)
        assert bool(uniform[lane]) == (on and here in (0, executing))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=32, max_size=32), st.booleans())
def test_match(values: list[int], wide: bool) -> None:
    raw = u64([v << 40 for v in values]) if wide else u32(values)

    def body(code: Kernel, registers: list[Reg]) -> tuple[list[Instr], list[Reg | Pred]]:
        d, e, p = code.new_register(), code.new_register(), code.new_predicate()
        dtype = DType.U64 if wide else DType.U32
        return [
            Instr(Op.MATCH, dtype, dst=d, srcs=(registers[0],)),
            Instr(Op.MATCH, dtype, dst=e, srcs=(registers[0],), aux=1, pdst=(p,)),
        ], [d, e, Pred(p)]

    same, every, flag = lanes(body, raw)
    for lane in range(32):
        assert int(same[lane]) == sum((values[j] == values[lane]) << j for j in range(32))
        assert int(every[lane]) == (M if len(set(values)) == 1 else 0)
        assert bool(flag[lane]) == (len(set(values)) == 1)


@pytest.mark.parametrize("dtype", [DType.U32, DType.S32])
def test_reductions(dtype: DType) -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 2**32, 32, dtype=np.uint32)
    signed = [int(v) - 2**32 if dtype is DType.S32 and v >> 31 else int(v) for v in values]
    bits = [int(v) for v in values]
    references = {
        Atomic.ADD: sum(bits) & M,
        Atomic.MIN: min(signed) & M,
        Atomic.MAX: max(signed) & M,
        Atomic.AND: int(np.bitwise_and.reduce(values)),
        Atomic.OR: int(np.bitwise_or.reduce(values)),
        Atomic.XOR: int(np.bitwise_xor.reduce(values)),
    }
    for which, expected in references.items():
        assert set(one(Op.REDUX, values, dtype=dtype, aux=which).tolist()) == {expected}


FUNCTIONS = {
    Mufu.RCP: lambda x: 1 / x,
    Mufu.RSQRT: lambda x: 1 / math.sqrt(x),
    Mufu.SQRT: math.sqrt,
    Mufu.SIN: math.sin,
    Mufu.COS: math.cos,
    Mufu.LG2: math.log2,
    Mufu.EX2: lambda x: 2.0**x,
    Mufu.TANH: math.tanh,
}


@pytest.mark.parametrize("which", FUNCTIONS)
def test_approximate_functions(which: Mufu) -> None:
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(0.01, 10, 200), rng.uniform(1e3, 1e6, 20)]).astype(np.float32)
    if which is Mufu.EX2:
        x = rng.uniform(-120, 120, 200).astype(np.float32)
    expected = np.array([FUNCTIONS[which](float(v)) for v in x]).astype(np.float32)
    found = one(Op.MUFU, x.view(np.uint32), dtype=DType.F32, aux=which).view(np.float32)
    # The C library's last place may differ between systems, the rounded result then differs by one unit at
    # most.
    assert np.abs(found.view(np.int32) - expected.view(np.int32)).max() <= 1


def test_special_values_of_approximate_functions() -> None:
    inf, nan = math.inf, math.nan
    x = np.array([0.0, -0.0, inf, -inf, nan, -1.0], np.float32)
    table = {
        Mufu.RCP: [inf, -inf, 0.0, -0.0, nan, -1.0],
        Mufu.RSQRT: [inf, -inf, 0.0, nan, nan, nan],
        Mufu.SQRT: [0.0, -0.0, inf, nan, nan, nan],
        Mufu.SIN: [0.0, -0.0, nan, nan, nan, math.sin(-1.0)],
        Mufu.COS: [1.0, 1.0, nan, nan, nan, math.cos(-1.0)],
        Mufu.LG2: [-inf, -inf, inf, nan, nan, nan],
        Mufu.EX2: [1.0, 1.0, inf, 0.0, nan, 0.5],
        Mufu.TANH: [0.0, -0.0, 1.0, -1.0, nan, math.tanh(-1.0)],
    }
    for which, expected in table.items():
        found = one(Op.MUFU, x.view(np.uint32), dtype=DType.F32, aux=which)
        wanted = np.array(expected, np.float32).view(np.uint32)
        wanted[np.isnan(np.array(expected))] = 0x7FFFFFFF
        assert found.tolist() == wanted.tolist(), which
    subnormal = u32([1, 0x80000001])
    assert one(Op.MUFU, subnormal, dtype=DType.F32, aux=Mufu.RCP, ftz=True).tolist() == [
        0x7F800000,
        0xFF800000,
    ]
    assert one(Op.MUFU, subnormal, dtype=DType.F32, aux=Mufu.LG2).view(np.float32)[0] == -149.0


def test_double_reciprocal_is_its_upper_word() -> None:
    x = np.array([3.0, -0.7, 1e-310, 1e308, math.inf], np.float64)
    found = one(Op.MUFU, x.view(np.uint64), dtype=DType.F64, aux=Mufu.RCP, width=2)
    assert not (found & np.uint64(0xFFFFFFFF)).any()
    value = found.view(np.float64)
    assert abs(value[0] * 3 - 1) < 2**-19
    assert abs(value[1] * -0.7 - 1) < 2**-19
    assert value[2] == math.inf  # a subnormal is flushed
    assert value[3:].tolist() == [0.0, 0.0]  # a subnormal result too


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
@pytest.mark.parametrize("k", [8, 16])
@pytest.mark.parametrize("half", [False, True])
def test_mma(dtype: DType, k: int, half: bool) -> None:
    """Small integers: every sum is exact in every format, so the matrix product is the reference."""
    rng = np.random.default_rng(11)
    a, b = rng.integers(-3, 4, (8, k)), rng.integers(-3, 4, (k, 8))
    c = rng.integers(-5, 6, (8, 8))

    def bits(x: int) -> int:
        f = np.float32(x).view(np.uint32) >> 16 if dtype is DType.BF16 else np.float16(x).view(np.uint16)
        return int(f)

    lane = [(i // 4, i % 4) for i in range(32)]
    sources = [u32([bits(a[g, 2 * t]) | bits(a[g, 2 * t + 1]) << 16 for g, t in lane])]
    if k == 16:
        sources.append(u32([bits(a[g, 2 * t + 8]) | bits(a[g, 2 * t + 9]) << 16 for g, t in lane]))
    for base in range(0, k, 8):
        sources.append(u32([bits(b[base + 2 * t, g]) | bits(b[base + 2 * t + 1, g]) << 16 for g, t in lane]))
    expected = c + a @ b
    if half:
        pairs = np.array([[c[g, 2 * t], c[g, 2 * t + 1]] for g, t in lane], np.float16)
        found = one(Op.MMA, *sources, pairs.view(np.uint32)[:, 0].copy(), dtype=dtype, stype=DType.F16, aux=k)
        result = found.view(np.float16).reshape(32, 2)
    else:
        pairs32 = np.array([[c[g, 2 * t], c[g, 2 * t + 1]] for g, t in lane], np.float32)
        found = one(
            Op.MMA,
            *sources,
            pairs32.view(np.uint64)[:, 0].copy(),
            dtype=dtype,
            stype=DType.F32,
            aux=k,
            width=2,
        )
        result = found.view(np.float32).reshape(32, 2)
    for i, (g, t) in enumerate(lane):
        assert result[i].tolist() == expected[g, 2 * t : 2 * t + 2].tolist()


def test_special_registers() -> None:
    """Every register of every thread of a three-dimensional launch."""
    registers = list(Sreg)
    grid, block = (2, 3, 2), (5, 4, 2)
    threads = 12 * 40
    instrs = [
        Instr(Op.S2R, dst=Reg(0), aux=Sreg.TID_X),
        Instr(Op.S2R, dst=Reg(1), aux=Sreg.TID_Y),
        Instr(Op.IMAD, dst=Reg(0), srcs=(Reg(1), Const(0), Reg(0))),
        Instr(Op.S2R, dst=Reg(1), aux=Sreg.TID_Z),
        Instr(Op.IMUL, dst=Reg(1), srcs=(Reg(1), Const(0))),
        Instr(Op.IMAD, dst=Reg(0), srcs=(Reg(1), Const(4), Reg(0))),
        Instr(Op.S2R, dst=Reg(2), aux=Sreg.CTAID_X),
        Instr(Op.S2R, dst=Reg(1), aux=Sreg.CTAID_Y),
        Instr(Op.IMAD, dst=Reg(2), srcs=(Reg(1), Const(0xC), Reg(2))),
        Instr(Op.S2R, dst=Reg(1), aux=Sreg.CTAID_Z),
        Instr(Op.IMUL, dst=Reg(1), srcs=(Reg(1), Const(0xC))),
        Instr(Op.IMAD, dst=Reg(2), srcs=(Reg(1), Const(0x10), Reg(2))),
        Instr(Op.IMAD, dst=Reg(0), srcs=(Reg(2), Imm(40), Reg(0))),
        Instr(
            Op.IMADW, DType.U32, dst=Reg(4, 2), srcs=(Reg(0), Imm(4 * len(registers)), Const(PARAMETERS, 2))
        ),
    ]
    for i, which in enumerate(registers):
        instrs += [Instr(Op.S2R, dst=Reg(1), aux=which), Instr(Op.ST, srcs=(Reg(4, 2), Reg(1)), offset=4 * i)]
    out = np.zeros((threads, len(registers)), np.uint32)
    found = run(
        kernel([Block("entry", [*instrs, Instr(Op.EXIT)])]), {"out": out}, grid=grid, block=block
    ).buffers["out"]
    for thread in range(threads):
        cta, t = divmod(thread, 40)
        lane = t % 32
        row = dict(zip(registers, found[thread].tolist(), strict=True))
        assert (row[Sreg.TID_X], row[Sreg.TID_Y], row[Sreg.TID_Z]) == (t % 5, t // 5 % 4, t // 20)
        assert (row[Sreg.CTAID_X], row[Sreg.CTAID_Y], row[Sreg.CTAID_Z]) == (cta % 2, cta // 2 % 3, cta // 6)
        assert (row[Sreg.LANEID], row[Sreg.WARPID], row[Sreg.NWARPID]) == (lane, t // 32, 2)
        assert (row[Sreg.SMID], row[Sreg.NSMID], row[Sreg.GRIDID]) == (0, 1, 0)
        assert row[Sreg.CLOCK] == 14 + 2 * registers.index(Sreg.CLOCK)
        assert row[Sreg.LANEMASK_EQ] == 1 << lane
        assert row[Sreg.LANEMASK_LT] == (1 << lane) - 1
        assert row[Sreg.LANEMASK_LE] == (2 << lane) - 1
        assert row[Sreg.LANEMASK_GE] == M & ~((1 << lane) - 1)
        assert row[Sreg.LANEMASK_GT] == M & ~((2 << lane) - 1)
