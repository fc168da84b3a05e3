"""Machine code of single PTX instructions: no step too many, and what has an effect stays."""

from __future__ import annotations

import pytest

from tests.program.lowering.test_refusals import HEAD, body
from warpbank.program.isa import DType, Imm, Op, Space, Sreg
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse


@pytest.mark.parametrize(
    ("line", "ops"),
    [
        ("atom.global.add.u32 %r1, [%rd1], 1;", [Op.ATOM]),
        ("atom.global.add.u32 _, [%rd1], 1;", [Op.ATOM]),
        ("atom.global.add.L2::cache_hint.u32 %r1, [%rd1], %r2, %rd2;", [Op.ATOM]),
        ("atom.release.gpu.global.add.u32 %r1, [%rd1], 1;", [Op.MEMBAR, Op.ATOM]),
        ("atom.acquire.gpu.global.add.u32 %r1, [%rd1], 1;", [Op.ATOM, Op.MEMBAR]),
        ("atom.acq_rel.gpu.global.cas.b32 %r1, [%rd1], 1, 2;", [Op.MEMBAR, Op.ATOM, Op.MEMBAR]),
        ("red.release.gpu.global.add.u32 [%rd1], 1;", [Op.MEMBAR, Op.ATOM]),
    ],
)
def test_an_atomic_keeps_its_fences_though_nobody_reads_its_result(line: str, ops: list[Op]) -> None:
    found = [
        instr
        for instr in lower(parse(body(line), "some.ptx"), "k").instructions()
        if instr.op in (Op.ATOM, Op.MEMBAR)
    ]
    assert [instr.op for instr in found] == ops
    assert all(instr.volatile for instr in found)


@pytest.mark.parametrize(
    ("line", "ops"),
    [
        ("ld.acquire.gpu.global.u32 %r1, [%rd1]; st.u32 [%rd2], %r1;", [Op.LD, Op.MEMBAR, Op.ST]),
        ("ld.relaxed.gpu.global.u32 %r1, [%rd1]; st.u32 [%rd2], %r1;", [Op.LD, Op.ST]),
        ("ld.volatile.global.u32 %r1, [%rd1]; st.u32 [%rd2], %r1;", [Op.LD, Op.ST]),
        ("st.release.gpu.global.u32 [%rd1], %r1;", [Op.MEMBAR, Op.ST]),
        ("st.relaxed.gpu.global.u32 [%rd1], %r1;", [Op.ST]),
    ],
)
def test_an_access_has_the_fences_of_its_order(line: str, ops: list[Op]) -> None:
    code = lower(parse(body(line), "some.ptx"), "k").instructions()
    found = [instr for instr in code if instr.op in (Op.LD, Op.ST, Op.MEMBAR)]
    assert [instr.op for instr in found] == ops
    assert all(instr.volatile for instr in found if instr.op is Op.MEMBAR)


@pytest.mark.parametrize(
    ("line", "base", "offset"),
    [
        ("st.global.u32 [16], %r1;", Imm(16, 2), 0),
        ("st.u32 [-4], %r1;", Imm((1 << 64) - 4, 2), 0),
        ("st.shared.u32 [16+4], %r1;", Imm(0), 20),
        ("st.shared.u32 [-4], %r1;", Imm(0), (1 << 32) - 4),
        (".shared .b32 s[4]; st.shared.u32 [s+8], %r1;", Imm(0), 8),
        (".local .b32 s[4]; st.local.u32 [s+-4], %r1;", Imm(0), -4),
    ],
)
def test_a_known_address_is_a_constant(line: str, base: Imm, offset: int) -> None:
    code = lower(parse(body(line), "some.ptx"), "k").instructions()
    (found,) = [instr for instr in code if instr.op is Op.ST]
    assert (found.srcs[0], found.offset) == (base, offset)


@pytest.mark.parametrize(
    ("line", "accesses"),
    [
        ("ld.global.v4.b64 {%rd1, %rd2, %rd3, %rd4}, [%rd1+32];", [(32, 16), (48, 16)]),
        ("ld.global.v2.b32 {%r1, %r2}, [%rd1+8];", [(8, 8)]),
        ("ld.global.v2.b64 {%rd2, %rd3}, [%rd1+-16];", [(-16, 16)]),
        ("ld.global.v4.b16 {%h1, %h2, %h3, %h4}, [%rd1];", [(0, 8)]),
        ("ld.global.v2.b8 {%h1, %h2}, [%rd1+2];", [(2, 2)]),
        ("st.global.v4.b64 [%rd1+16], {%rd1, %rd2, %rd3, %rd4};", [(16, 16), (32, 16)]),
    ],
)
def test_a_vector_is_accessed_in_pieces_of_sixteen_bytes(line: str, accesses: list[tuple[int, int]]) -> None:
    text = body(
        f"{line} st.shared.v4.b64 [0], {{%rd1, %rd2, %rd3, %rd4}}; st.shared.v2.b16 [0], {{%h1, %h2}}; "
        "st.shared.v2.b32 [0], {%r1, %r2};"
    )
    code = lower(parse(text.replace(".target sm_80", ".target sm_100"), "some.ptx"), "k").instructions()
    found = [i for i in code if i.op in (Op.LD, Op.ST) and i.space is Space.GLOBAL]
    assert [(i.offset, i.size) for i in found] == accesses


def test_a_failed_assertion_is_a_trap() -> None:
    module = parse(
        HEAD + ".extern .func __assertfail(.param .b64 a); .entry k() { .param .b64 n; .reg .b64 %d;"
        " mov.b64 %d, 5; st.param.b64 [n], %d; call.uni __assertfail, (n); ret; }",
        "some.ptx",
    )
    (found,) = [instr for instr in lower(module, "k").instructions() if instr.op is Op.TRAP]
    assert found.volatile


@pytest.mark.parametrize(
    ("line", "op", "aux"),
    [
        ("trap;", Op.TRAP, 0),
        ("bar.sync 0;", Op.BAR, 0),
        ("barrier.sync 1, 32;", Op.BAR, 0),
        ("bar.arrive 0, 32;", Op.BAR, 1),
        ("bar.red.popc.u32 %r1, 0, %p1;", Op.BAR, 2),
        ("bar.red.and.pred %p1, 0, 32, %p2;", Op.BAR, 3),
        ("bar.red.or.pred %p1, 0, 32, %p2;", Op.BAR, 4),
        ("bar.warp.sync -1;", Op.MEMBAR, 0),
    ],
)
def test_barriers_and_traps_stay_though_nobody_reads_them(line: str, op: Op, aux: int) -> None:
    code = lower(parse(body(line), "some.ptx"), "k").instructions()
    (found,) = [instr for instr in code if instr.op is op]
    assert (found.aux, found.volatile) == (aux, True)


@pytest.mark.parametrize("kinds", ["s32.s32", "s32.u32", "u32.s32", "u32.u32"])
def test_a_dot_product_is_signed_if_a_factor_is(kinds: str) -> None:
    code = lower(parse(body(f"dp4a.{kinds} %r1, %r2, %r3, %r4; st.global.b32 [%rd1], %r1;"), "some.ptx"), "k")
    (found,) = [instr for instr in code.instructions() if instr.op is Op.DP4A]
    assert found.dtype is (DType.S32 if "s" in kinds else DType.U32)


@pytest.mark.parametrize(
    ("line", "ops"),
    [
        ("cvt.sat.s32.u32 %r1, %r2; st.global.b32 [%rd1], %r1;", [Op.IMIN]),
        ("cvt.sat.u32.s16 %r1, %h1; st.global.b32 [%rd1], %r1;", [Op.IMAX]),
        ("cvt.sat.s16.s32 %h1, %r2; st.global.b16 [%rd1], %h1;", [Op.IMAX, Op.IMIN]),
        ("cvt.sat.s16.u32 %h1, %r2; st.global.b16 [%rd1], %h1;", [Op.IMIN]),
        ("cvt.sat.u16.s16 %h1, %h2; st.global.b16 [%rd1], %h1;", [Op.IMAX]),
        ("cvt.rn.f16.bf16 %h1, %h2; st.global.b16 [%rd1], %h1;", [Op.CVT, Op.CVT]),
        ("cvt.rn.bf16.f16 %h1, %h2; st.global.b16 [%rd1], %h1;", [Op.CVT, Op.CVT]),
        ("cvt.rni.bf16.bf16 %h1, %h2; st.global.b16 [%rd1], %h1;", [Op.CVT]),
        ("cvt.f32.bf16 %f1, %h2; st.global.b32 [%rd1], %f1;", [Op.SHL]),
    ],
)
def test_a_conversion_takes_no_step_too_many(line: str, ops: list[Op]) -> None:
    code = lower(parse(body(line), "some.ptx"), "k").instructions()
    assert [instr.op for instr in code if instr.op in (Op.IMAX, Op.IMIN, Op.CVT, Op.SHL)] == ops


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        ("@%p1 cvt.sat.s16.s32 %h1, %r2; st.global.b16 [%rd1], %h1;", [Op.IMAX, Op.IMIN]),
        ("@%p1 set.lt.u32.s64 %r1, %rd2, %rd3; st.global.b32 [%rd1], %r1;", [Op.ISETP, Op.ISETPX, Op.SEL]),
    ],
)
def test_the_last_step_of_a_guarded_instruction_is_guarded(line: str, steps: list[Op]) -> None:
    """A guarded write of a temporary would keep its old value alive."""
    code = lower(parse(body(line), "some.ptx"), "k").instructions()
    assert [instr.op for instr in code[:-2]] == steps
    assert [instr.guard is not None for instr in code] == [False] * (len(steps) - 1) + [True, False, False]


def test_the_end_of_a_kernel_is_its_return() -> None:
    module = parse(HEAD + ".entry k() { .shared .b32 tile; st.shared.b32 [tile], 1; }", "some.ptx")
    assert [instr.op for instr in lower(module, "k").instructions()] == [Op.ST, Op.EXIT]


@pytest.mark.parametrize(
    ("line", "accesses"),
    [
        ("ld.global.u8 %r1, [%rd1];", [(1, 1, DType.U8)]),
        ("ld.global.s16 %r1, [%rd1];", [(2, 1, DType.S16)]),
        ("ld.global.u32 %r1, [%rd1];", [(4, 1, DType.U32)]),
        ("ld.global.s32 %r1, [%rd1];", [(4, 1, DType.S32)]),
        ("ld.global.b64 %rd2, [%rd1];", [(8, 2, DType.U64)]),
        ("ld.global.f32 %f1, [%rd1];", [(4, 1, DType.U32)]),
        ("ld.global.v2.u8 {%h1, %h2}, [%rd1];", [(2, 1, DType.U16)]),
        ("ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [%rd1];", [(4, 1, DType.U32)]),
        ("ld.global.v2.s32 {%r1, %r2}, [%rd1];", [(8, 2, DType.U32)]),
        ("ld.global.v2.u32 {%rd1, %rd2}, [%rd1];", [(8, 2, DType.U32)]),
        ("st.global.u8 [%rd1], %r1;", [(1, 0, DType.U32)]),
        ("st.global.v2.b32 [%rd1], {%r1, %r2};", [(8, 0, DType.U32)]),
    ],
)
def test_an_access_names_its_bytes_and_how_they_are_extended(
    line: str, accesses: list[tuple[int, int, DType]]
) -> None:
    code = lower(parse(body(line), "some.ptx"), "k", optimize=False).instructions()
    found = [i for i in code if i.op in (Op.LD, Op.ST) and i.space is Space.GLOBAL]
    assert [(i.size, i.dst.width if i.dst is not None else 0, i.dtype) for i in found] == accesses


@pytest.mark.parametrize(
    ("line", "ops"),
    [
        ("ld.param.u32 %r1, [p];", [Op.MOV]),
        ("ld.param.u64 %rd1, [p];", [Op.MOV, Op.MOV]),
        ("ld.param.u16 %h1, [p];", [Op.BFE]),
        ("ld.param.v2.u32 {_, %r1}, [p];", [Op.MOV]),
        ("shl.b64 %rd1, %rd2, 65;", [Op.MOV, Op.MOV]),
        ("shl.b64 %rd1, %rd2, 40;", [Op.MOV, Op.SHL]),
        ("shr.u64 %rd1, %rd2, 32;", [Op.MOV, Op.MOV]),
        ("shr.s64 %rd1, %rd2, 40;", [Op.SHR, Op.SHR]),
        ("mov.b32 %r1, %r2;", [Op.MOV]),
        ("mov.b64 %rd1, {%r1, %r2};", [Op.MOV, Op.MOV]),
        ("mov.b64 {%r1, _}, %rd1;", [Op.MOV]),
        ("mov.b32 {%h1, %h2}, %r1;", [Op.MOV, Op.SHR]),
        ("mov.b32 %r1, {%h1, %h2};", [Op.PRMT, Op.MOV]),
        ("mov.b64 %rd1, {%h1, %h2, %h3, %h4};", [Op.PRMT, Op.PRMT, Op.MOV, Op.MOV]),
        ("st.global.v2.b32 [%rd1], {%r1, %r2};", [Op.ST]),
        (
            "st.global.v2.b32 [%rd1], {%r2, %r1}; ld.global.v2.b32 {%r1, %r2}, [%rd1];",
            [Op.ST, Op.LD, Op.MOV, Op.MOV],
        ),
        ("st.global.v2.b16 [%rd1], {%h1, %h2};", [Op.PRMT, Op.ST]),
    ],
)
def test_what_an_instruction_is_made_of_before_the_cleanup(line: str, ops: list[Op]) -> None:
    code = lower(parse(body(line), "some.ptx"), "k", optimize=False).instructions()
    bare = lower(parse(body(""), "some.ptx"), "k", optimize=False).instructions()
    assert [instr.op for instr in code] == ops + [instr.op for instr in bare]


@pytest.mark.parametrize(
    ("line", "sources"),
    [
        ("max.s16 %h1, %h2, -3;", [0, 16, 0xFFFFFFFD]),
        ("max.s16 %h1, %h2, 0x8001;", [0, 16, 0xFFFF8001]),
        ("max.u16 %h1, %h2, -3;", [0xFFFF, 0xFFFD]),
        (".shared .b32 s[4]; mov.u32 %r1, s+-4;", [0xFFFFFFFC]),
        (".shared .b32 s[4]; mov.u32 %r1, s+8;", [8]),
        (".global .b32 v; mov.u64 %rd1, v+0x100000004;", [4, 1]),
        (".global .b32 v; mov.u64 %rd1, v+-4;", [0xFFFFFFFC, 0xFFFFFFFF]),
        ("mov.u32 %r1, %cluster_nctaid.x;", [1]),
        ("mov.u64 %rd1, %gridid;", [0]),
        ("mov.u32 %r1, %cluster_ctaid.x;", [0]),
        ("mov.u32 %r1, %nctaid.w;", [1]),
        ("mov.f32 %f1, 1.5;", [0x3FC00000]),
        ("mov.b32 %r1, 0f3FC00000;", [0x3FC00000]),
    ],
)
def test_a_known_operand_is_a_constant_of_the_type(line: str, sources: list[int]) -> None:
    code = lower(parse(body(line), "some.ptx"), "k", optimize=False).instructions()
    assert [s.value for instr in code for s in instr.srcs if isinstance(s, Imm)] == sources


def test_a_clock_of_64_bits_is_read_in_two_parts() -> None:
    code = lower(parse(body("mov.u64 %rd1, %clock64;"), "some.ptx"), "k", optimize=False).instructions()
    assert [instr.aux for instr in code if instr.op is Op.S2R] == [int(Sreg.CLOCK), int(Sreg.CLOCK_HI)]


@pytest.mark.parametrize(
    ("line", "ftz"), [("rcp.approx.ftz.f64 %fd1, %fd2;", True), ("rcp.approx.f32 %f1, %f2;", False)]
)
def test_an_approximation_flushes_what_it_says(line: str, ftz: bool) -> None:
    code = lower(parse(body(line), "some.ptx"), "k", optimize=False).instructions()
    assert [instr.ftz for instr in code if instr.op is Op.MUFU] == [ftz]
