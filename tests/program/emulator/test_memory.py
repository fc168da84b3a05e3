"""Loads, stores, atomics in every space; what the trace says of them; and addresses that are wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.emulator.harness import PARAMETERS, kernel, run
from warpbank.arch.uop import LINE_WIDTH, WHOLE_LINE, Memory
from warpbank.program.errors import ExecutionError
from warpbank.program.isa import (
    CONST_WINDOW,
    GLOBAL_BASE,
    LOCAL_WINDOW,
    SHARED_WINDOW,
    Atomic,
    Block,
    Const,
    DType,
    Imm,
    Instr,
    Kernel,
    Op,
    Reg,
    Space,
    Sreg,
)
from warpbank.program.trace.builder import of_line

POINTER = Const(PARAMETERS, 2)
LANE = Instr(Op.S2R, dst=Reg(0), aux=Sreg.LANEID)


def at(stride: int, register: int = 4, parameter: int = 0) -> Instr:
    """register pair = parameter + lane * stride."""
    return Instr(
        Op.IMADW,
        DType.U32,
        dst=Reg(register, 2),
        srcs=(Reg(0), Imm(stride), Const(PARAMETERS + 8 * parameter, 2)),
    )


def code(*instrs: Instr, parameters: int = 1, **fields: object) -> Kernel:
    return kernel([Block("entry", [LANE, *instrs, Instr(Op.EXIT)])], parameters, **fields)


def test_sub_words_extend_as_their_type_says() -> None:
    raw = np.array([0x7F, 0x80, 0xFF, 0x01] * 32, np.uint8)
    kinds = [(DType.U8, 1), (DType.S8, 1), (DType.U16, 2), (DType.S16, 2)]
    body = [at(4), at(16, 6, 1)]
    for i, (dtype, size) in enumerate(kinds):
        body += [
            Instr(Op.LD, dtype, dst=Reg(8), srcs=(Reg(4, 2),), size=size, offset=2 - size),
            Instr(Op.ST, srcs=(Reg(6, 2), Reg(8)), offset=4 * i),
        ]
    out = run(code(*body, parameters=2), {"in": raw, "out": np.zeros((32, 4), np.uint32)}).buffers["out"]
    assert out[5].tolist() == [0x80, 0xFFFFFF80, 0x807F, 0xFFFF807F]


@pytest.mark.parametrize("space", [Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC])
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_every_size_in_every_space(space: Space, size: int) -> None:
    """Each lane stores to its own place, loads it back and copies it out; generic: through the shared
    window."""
    rng = np.random.default_rng(size)
    data = rng.integers(0, 256, (32, size), dtype=np.uint8)
    words = max(size // 4, 1)
    middle: list[Instr] = []
    address: Reg | Imm = Reg(6, 2)
    if space is Space.GLOBAL:
        middle = [at(size, 6, 2)]
    elif space is Space.SHARED:
        middle, address = [Instr(Op.IMUL, dst=Reg(6), srcs=(Reg(0), Imm(size)))], Reg(6)
    elif space is Space.LOCAL:
        middle, address = [Instr(Op.MOV, dst=Reg(6), srcs=(Imm(32),))], Reg(6)
    else:
        middle = [Instr(Op.IMADW, DType.U32, dst=Reg(6, 2), srcs=(Reg(0), Imm(size), Imm(SHARED_WINDOW, 2)))]
    d, e = Reg(8, words), Reg(12, words)
    program = code(
        at(size),
        Instr(
            Op.LD,
            DType.U8 if size == 1 else DType.U16 if size == 2 else DType.U32,
            dst=d,
            srcs=(Reg(4, 2),),
            size=size,
        ),
        *middle,
        Instr(Op.ST, srcs=(address, d), size=size, space=space),
        Instr(
            Op.LD,
            DType.U8 if size == 1 else DType.U16 if size == 2 else DType.U32,
            dst=e,
            srcs=(address,),
            size=size,
            space=space,
        ),
        at(size, 4, 1),
        Instr(Op.ST, srcs=(Reg(4, 2), e), size=size),
        parameters=3,
        shared_bytes=512,
        local_bytes=48,
    )
    empty = np.zeros_like(data)
    done = run(program, {"in": data, "out": empty, "scratch": empty}, trace=True)
    assert (done.buffers["out"] == data).all()
    assert done.trace is not None
    store = done.trace.dynamic[4]
    kind = {Space.GLOBAL: Memory.STORE_GLOBAL, Space.LOCAL: Memory.STORE_LOCAL}.get(
        space, Memory.STORE_SHARED
    )
    assert store["memory"] == kind
    if kind is Memory.STORE_GLOBAL:
        assert (store["line_count"], store["passes"]) == (-(-32 * size // 128), 0)
    elif kind is Memory.STORE_LOCAL:
        assert (store["line_count"], store["passes"]) == (words, 0)
    else:
        assert (store["line_count"], store["passes"]) == (0, words)


def test_generic_lanes_may_differ() -> None:
    """Lane 0 reads shared, lane 1 local, lane 2 constant, the rest global memory, in one instruction."""
    program = code(
        Instr(Op.MOV, dst=Reg(1), srcs=(Imm(77),)),
        Instr(Op.ST, srcs=(Imm(0), Reg(1)), space=Space.SHARED, offset=16),
        Instr(Op.MOV, dst=Reg(1), srcs=(Imm(88),)),
        Instr(Op.ST, srcs=(Imm(0), Reg(1)), space=Space.LOCAL, offset=4),
        at(8),
        Instr(Op.LD, dst=Reg(6, 2), srcs=(Reg(4, 2),), size=8),
        Instr(Op.LD, dst=Reg(8), srcs=(Reg(6, 2),), space=Space.GENERIC),
        at(4, 4, 1),
        Instr(Op.ST, srcs=(Reg(4, 2), Reg(8))),
        parameters=3,
        shared_bytes=32,
        local_bytes=8,
    )
    addresses = np.array(
        [SHARED_WINDOW + 16, LOCAL_WINDOW + 4, CONST_WINDOW, *[GLOBAL_BASE + 1024] * 29], np.uint64
    )
    buffers = {"in": addresses, "out": np.zeros(32, np.uint32), "data": np.array([99], np.uint32)}
    # 256 bytes of addresses and a gap; 128 bytes and a gap: the data starts 1024 bytes in.
    done = run(program, buffers, trace=True)
    assert done.buffers["out"].tolist() == [77, 88, 32, *[99] * 29]
    assert done.trace is not None
    load = done.trace.dynamic[7]
    assert load["memory"] == Memory.LOAD_SHARED, "the kind of the first lane"
    assert (load["line_count"], load["passes"]) == (2, 1)


def reference_passes(words: list[list[int]], size: int, atomic: bool) -> int:
    lanes = 32 // max(size // 4, 1)
    total = 0
    for start in range(0, 32, lanes):
        wanted: list[list[int]] = [[] for _ in range(32)]
        for mine in words[start : start + lanes]:
            for word in mine:
                if atomic or word not in wanted[word % 32]:
                    wanted[word % 32].append(word)
        total += max(map(len, wanted))
    return total


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([1, 4, 8, 16]), st.lists(st.integers(0, 63), min_size=32, max_size=32), st.booleans())
def test_bank_conflicts(size: int, places: list[int], atomic: bool) -> None:
    if atomic:
        size = 4
    access = (
        Instr(Op.ATOM, dst=Reg(8), srcs=(Reg(6), Reg(0)), aux=Atomic.ADD, space=Space.SHARED)
        if atomic
        else Instr(
            Op.LD, DType.U8, dst=Reg(8, max(size // 4, 1)), srcs=(Reg(6),), size=size, space=Space.SHARED
        )
    )
    program = code(at(4), Instr(Op.LD, dst=Reg(6), srcs=(Reg(4, 2),)), access, shared_bytes=64 * 16)
    done = run(program, {"in": np.array([p * size for p in places], np.uint32)}, trace=True)
    words = [[(p * size) // 4 + k for k in range(max(size // 4, 1))] for p in places]
    assert done.trace is not None
    assert done.trace.dynamic[3]["passes"] == reference_passes(words, size, atomic)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 255), min_size=32, max_size=32))
def test_lines_in_order_of_first_touch(places: list[int]) -> None:
    program = code(
        at(8),
        Instr(Op.LD, dst=Reg(6, 2), srcs=(Reg(4, 2),), size=8),
        Instr(Op.LD, dst=Reg(8), srcs=(Reg(6, 2),)),
        parameters=2,
    )
    base = GLOBAL_BASE + 512
    done = run(
        program,
        {"in": np.array([base + 32 * p for p in places], np.uint64), "data": np.zeros(8192, np.uint8)},
        trace=True,
    )
    assert done.trace is not None
    row = done.trace.dynamic[3]
    found = done.trace.lines[row["line"] : row["line"] + row["line_count"]].tolist()
    touched: dict[int, int] = {}
    for place in places:
        sector = (base + 32 * place) // 32
        touched[sector // 4] = touched.get(sector // 4, 0) | 1 << sector % 4
    assert found == [of_line(line, sectors) for line, sectors in touched.items()]


def test_local_memory_is_interleaved_and_private() -> None:
    """The same offset in all lanes is one line per word; warps and CTAs have lines of their own."""
    program = code(
        Instr(Op.ST, srcs=(Imm(0), Reg(0)), space=Space.LOCAL, offset=8),
        Instr(Op.LD, dst=Reg(1), srcs=(Imm(0),), space=Space.LOCAL, offset=8),
        at(4),
        Instr(Op.ST, srcs=(Reg(4, 2), Reg(1))),
        local_bytes=16,
    )
    done = run(program, {"out": np.zeros(32, np.uint32)}, grid=(2, 1, 1), block=(64, 1, 1), trace=True)
    assert done.buffers["out"].tolist() == list(range(32))
    t = done.trace
    assert t is not None
    local = t.dynamic[t.dynamic["memory"] == Memory.STORE_LOCAL]
    lines = [int(t.lines[row["line"]]) for row in local]
    assert len(set(lines)) == 4
    assert all(line >> LINE_WIDTH == WHOLE_LINE for line in lines), "a word of all lanes is a line"
    assert set(local["line_count"].tolist()) == {1}


ATOMICS = {
    Atomic.ADD: lambda m, x: (m + x) % 2**32,
    Atomic.MIN: min,
    Atomic.MAX: max,
    Atomic.AND: lambda m, x: m & x,
    Atomic.OR: lambda m, x: m | x,
    Atomic.XOR: lambda m, x: m ^ x,
    Atomic.EXCH: lambda m, x: x,
    Atomic.INC: lambda m, x: 0 if m >= x else m + 1,
    Atomic.DEC: lambda m, x: x if m == 0 or m > x else m - 1,
}


@pytest.mark.parametrize("which", ATOMICS)
@pytest.mark.parametrize("dtype", [DType.U32, DType.U64, DType.S32, DType.S64])
def test_atomics(which: Atomic, dtype: DType) -> None:
    rng = np.random.default_rng(9)
    bits = dtype.bits
    operands = rng.integers(0, 6, 32).astype(np.int64)
    if dtype.is_signed:
        operands -= 3
    start = np.int64(3)
    raw = operands.astype(f"i{bits // 8}").view(f"u{bits // 8}")
    d, x = Reg(8, bits // 32), Reg(10, bits // 32)
    program = code(
        at(bits // 8),
        Instr(Op.LD, dst=x, srcs=(Reg(4, 2),), size=bits // 8),
        Instr(Op.ATOM, dtype, dst=d, srcs=(Const(PARAMETERS + 8, 2), x), aux=which, size=bits // 8),
        Instr(Op.ATOM, dtype, srcs=(Const(PARAMETERS + 8, 2), x), aux=which, size=bits // 8, offset=8),
        at(bits // 8, 4, 2),
        Instr(Op.ST, srcs=(Reg(4, 2), d), size=bits // 8),
        parameters=3,
    )
    memory = np.array([start, start], np.uint64)
    done = run(program, {"in": raw, "memory": memory, "old": np.zeros_like(raw)}, trace=True)
    m, olds = int(start), []
    for x_ in operands.tolist():
        olds.append(m % 2**bits)
        if which in (Atomic.MIN, Atomic.MAX):
            m = ATOMICS[which](m, x_)
        else:
            m = ATOMICS[which](m % 2**bits, x_ % 2**bits) % 2**bits
    assert done.buffers["old"].tolist() == olds
    assert [int(v) % 2**bits for v in done.buffers["memory"]] == [m % 2**bits] * 2
    assert done.trace is not None
    assert done.trace.dynamic["memory"][3:5].tolist() == [Memory.ATOMIC_GLOBAL, Memory.REDUCE_GLOBAL]


@pytest.mark.parametrize("bits", [32, 64])
def test_compare_and_swap(bits: int) -> None:
    """Lane i swaps i for i + 1: in lane order the value climbs to 32."""
    words = bits // 32
    compare, new, old = Reg(8, words), Reg(10, words), Reg(12, words)
    clear = [Instr(Op.MOV, dst=r.word(1), srcs=(Reg(255),)) for r in (compare, new)] if words == 2 else []
    program = code(
        *clear,
        Instr(Op.MOV, dst=compare.word(0), srcs=(Reg(0),)),
        Instr(Op.IADD, dst=new.word(0), srcs=(Reg(0), Imm(1))),
        Instr(
            Op.ATOM,
            DType(DType.U32 if bits == 32 else DType.U64),
            dst=old,
            srcs=(POINTER, compare, new),
            aux=Atomic.CAS,
            size=bits // 8,
        ),
        at(bits // 8, 4, 1),
        Instr(Op.ST, srcs=(Reg(4, 2), old), size=bits // 8),
        parameters=2,
    )
    done = run(program, {"memory": np.zeros(1, np.uint64), "old": np.zeros(32, f"u{bits // 8}")})
    assert done.buffers["memory"].tolist() == [32]
    assert done.buffers["old"].tolist() == list(range(32))


def test_float_atomics() -> None:
    x32 = np.linspace(-1, 2, 32).astype(np.float32)
    x64 = np.linspace(-1, 2, 32)
    halves = np.array([1.5, -2.0] * 32, np.float16)
    program = code(
        at(4),
        Instr(Op.LD, dst=Reg(8), srcs=(Reg(4, 2),)),
        Instr(Op.ATOM, DType.F32, srcs=(Const(PARAMETERS + 24, 2), Reg(8)), aux=Atomic.ADD),
        at(8, 4, 1),
        Instr(Op.LD, dst=Reg(8, 2), srcs=(Reg(4, 2),), size=8),
        Instr(
            Op.ATOM, DType.F64, srcs=(Const(PARAMETERS + 24, 2), Reg(8, 2)), aux=Atomic.ADD, size=8, offset=8
        ),
        at(4, 4, 2),
        Instr(Op.LD, dst=Reg(8), srcs=(Reg(4, 2),)),
        Instr(Op.ATOM, DType.F16X2, srcs=(Const(PARAMETERS + 24, 2), Reg(8)), aux=Atomic.ADD, offset=16),
        parameters=4,
    )
    done = run(program, {"a": x32, "b": x64, "c": halves, "sum": np.zeros(3, np.uint64)}).buffers["sum"]
    single, double = np.float32(0), 0.0
    for x, y in zip(x32, x64.tolist(), strict=True):
        single, double = single + x, double + y
    assert done[:1].view(np.float32)[0] == single
    assert done[1:2].view(np.float64)[0] == double
    assert done[2:].view(np.float16)[:2].tolist() == [48.0, -64.0]


def test_f32_additions_flush_in_global_memory_only() -> None:
    program = code(
        Instr(Op.MOV, dst=Reg(1), srcs=(Imm(1),)),
        Instr(Op.ATOM, DType.F32, srcs=(POINTER, Reg(1)), aux=Atomic.ADD),
        Instr(Op.ATOM, DType.F32, srcs=(Imm(0), Reg(1)), aux=Atomic.ADD, space=Space.SHARED),
        Instr(Op.LD, dst=Reg(2), srcs=(Imm(0),), space=Space.SHARED),
        Instr(Op.ST, srcs=(POINTER, Reg(2)), offset=4),
        shared_bytes=4,
    )
    assert run(program, {"out": np.zeros(2, np.uint32)}).buffers["out"].tolist() == [0, 32]


# ---- faults


def refused(program: Kernel, buffers: dict[str, np.ndarray], *parts: str, **launch: object) -> None:
    """Running ends in a one-paragraph error that says all of this."""
    with pytest.raises(ExecutionError) as caught:
        run(program, buffers, **launch)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    for part in parts:
        assert part in text, text


def test_past_the_end_is_found_to_the_byte() -> None:
    program = code(at(8), Instr(Op.ST, srcs=(Reg(4, 2), Reg(0)), size=4, line=17))
    place = ("test.ptx:17", "pc 2", "ST")
    run(program, {"c": np.zeros(252, np.uint8)})
    access = "kernel k, block (0, 0, 0), thread (31, 0, 0) writes 4 bytes of global memory"
    refused(
        program,
        {"c": np.zeros(251, np.uint8)},
        access,
        "3 bytes before the end of buffer 'c' (251 bytes)",
        *place,
    )
    beyond = ("thread (1, 0, 0)", "4 bytes past the end of buffer 'a' (4 bytes)", hex(GLOBAL_BASE + 8))
    refused(program, {"a": np.zeros(4, np.uint8), "c": np.zeros(240, np.uint8)}, *beyond, *place)


def test_block_and_thread_are_named_in_three_dimensions() -> None:
    program = kernel(
        [
            Block(
                "entry",
                [
                    Instr(Op.S2R, dst=Reg(0), aux=Sreg.TID_Z),
                    Instr(Op.S2R, dst=Reg(1), aux=Sreg.CTAID_Y),
                    Instr(Op.IMUL, dst=Reg(0), srcs=(Reg(0), Reg(1))),
                    at(4),
                    Instr(Op.LD, dst=Reg(1), srcs=(Reg(4, 2),)),
                    Instr(Op.EXIT),
                ],
            )
        ]
    )
    where = (
        "block (0, 1, 0), thread (0, 0, 2) reads 4 bytes",
        "0 bytes past the end of buffer 'x' (8 bytes)",
    )
    refused(program, {"x": np.zeros(2, np.uint32)}, *where, grid=(2, 2, 1), block=(4, 4, 4))


def test_null_and_wild_addresses() -> None:
    load = Instr(Op.LD, dst=Reg(1), srcs=(Imm(0, 2),), space=Space.GENERIC)
    refused(code(load), {"x": np.zeros(2, np.uint32)}, "at 0x0", "no buffer is near")
    before = Instr(Op.LD, dst=Reg(1), srcs=(POINTER,), offset=-8)
    refused(code(before), {"x": np.zeros(2, np.uint32)}, "8 bytes before the start of buffer 'x'")


def test_misaligned() -> None:
    program = code(at(4), Instr(Op.LD, dst=Reg(6, 2), srcs=(Reg(4, 2),), size=8))
    refused(program, {"x": np.zeros(64, np.uint32)}, "thread (1, 0, 0)", "misaligned", "multiple of 8")


@pytest.mark.parametrize("space", [Space.SHARED, Space.LOCAL, Space.CONST])
def test_small_spaces_end_where_they_end(space: Space) -> None:
    sizes = {"shared_bytes": 24, "local_bytes": 24}
    end = {Space.CONST: PARAMETERS + 8}.get(space, 24)
    run(
        code(Instr(Op.LD, dst=Reg(1), srcs=(Imm(0),), space=space, offset=end - 4), **sizes),
        {"x": np.zeros(1, np.uint32)},
    )
    beyond = code(Instr(Op.LD, dst=Reg(1), srcs=(Imm(0),), space=space, offset=end), **sizes)
    refused(beyond, {"x": np.zeros(1, np.uint32)}, f"{space.name.lower()} memory", f"{end} bytes")


def test_dynamic_shared_memory_counts() -> None:
    program = code(
        Instr(Op.LD, dst=Reg(1), srcs=(Imm(0),), space=Space.SHARED, offset=36),
        shared_bytes=8,
        dynamic_shared_base=8,
    )
    run(program, {"x": np.zeros(1, np.uint32)}, dynamic_shared=32)
    refused(program, {"x": np.zeros(1, np.uint32)}, "shared memory", "36 bytes", dynamic_shared=28)


def test_trap() -> None:
    program = code(Instr(Op.TRAP, line=3))
    refused(program, {"x": np.zeros(1, np.uint32)}, "trapped", "test.ptx:3", "thread (0, 0, 0)")


def test_message_is_one_sentence_per_fact() -> None:
    program = code(at(4), Instr(Op.LD, dst=Reg(1), srcs=(Reg(4, 2),)))
    with pytest.raises(ExecutionError) as caught:
        run(program, {"x": np.zeros(1, np.uint32)})
    assert re.fullmatch(
        r"kernel .*: 0 bytes past the end of buffer 'x' \(4 bytes\)\. The instruction is pc 2: .*\.",
        str(caught.value),
    )
