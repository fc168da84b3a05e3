"""cp.async and ldmatrix against numpy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.program.lowering.test_refusals import body
from warpbank.program.emulator import run_job
from warpbank.program.errors import PtxError
from warpbank.program.isa import Op
from warpbank.program.launch import Job, Launch
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

#: Thread t has the 16 bytes at %rd1 in global memory, %r1 in shared memory and %rd2 in the result; %r3 is t.
TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p_in, .param .u64 p_out)
{{
    .reg .pred %p<4>;  .reg .b32 %r<12>;  .reg .b64 %rd<6>;
    .shared .align 16 .b8 tile[512];
    ld.param.u64 %rd1, [p_in];
    ld.param.u64 %rd2, [p_out];
    mov.u32 %r3, %tid.x;
    mul.wide.u32 %rd3, %r3, 16;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    mov.u32 %r1, tile;
    mad.lo.u32 %r1, %r3, 16, %r1;
    {copy}
    cp.async.commit_group;
    cp.async.wait_group 0;
    bar.sync 0;
    {read}
    st.global.v4.b32 [%rd2], {{%r4, %r5, %r6, %r7}};
    ret;
}}
"""
PLAIN = "cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16;"
READ = "ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r1];"
TILE = np.arange(256, dtype=np.uint16).reshape(32, 8) * 257  # thread t's row of 8 elements


def _run(copy: str, read: str) -> np.ndarray:
    """32 rows of 4 words."""
    text = TEXT.format(copy=copy, read=read)
    buffers = {"in": TILE.view(np.uint32), "out": np.zeros((32, 4), np.uint32)}
    job = Job("k", "tiny", text, "k.ptx", buffers, [Launch("k", (1, 1, 1), (32, 1, 1), ("in", "out"))])
    found = [
        run_job(job, {"k": lower(parse(text, "k.ptx"), "k", optimize=o)}).buffers["out"]
        for o in (True, False)
    ]
    np.testing.assert_array_equal(*found)
    return found[0]


def test_copy() -> None:
    np.testing.assert_array_equal(_run(PLAIN, READ), TILE.view(np.uint32))
    eights = (
        "cp.async.ca.shared::cta.global [%r1], [%rd1], 8; cp.async.ca.shared.global [%r1+8], [%rd1+8], 8;"
    )
    np.testing.assert_array_equal(_run(eights, READ), TILE.view(np.uint32))


def test_copy_of_less_than_the_whole() -> None:
    """The source size is 0, 4, 8 or 12; a guard leaves the zeros of before."""
    wanted = TILE.view(np.uint32).copy()
    for t in range(32):
        wanted[t, t % 4 :] = 0
    sized = "and.b32 %r2, %r3, 3; shl.b32 %r2, %r2, 2; cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;"
    np.testing.assert_array_equal(_run(sized, READ), wanted)
    guarded = "setp.lt.u32 %p1, %r3, 20; @%p1 cp.async.cg.shared.global [%r1], [%rd1], 16, 8;"
    wanted = TILE.view(np.uint32).copy()
    wanted[:, 2:], wanted[20:] = 0, 0
    np.testing.assert_array_equal(_run(guarded, READ), wanted)


def test_copy_with_a_predicate_that_says_no() -> None:
    wanted = TILE.view(np.uint32).copy()
    wanted[7:] = 0
    ignoring = "setp.gt.u32 %p1, %r3, 6; cp.async.cg.shared.global [%r1], [%rd1], 16, %p1;"
    np.testing.assert_array_equal(_run(ignoring, READ), wanted)
    inverted = "setp.le.u32 %p1, %r3, 6; cp.async.cg.shared.global [%r1], [%rd1], 16, !%p1;"
    np.testing.assert_array_equal(_run(inverted, READ), wanted)


@pytest.mark.parametrize("given", ["", ", %r10", ", 16"])
def test_a_copy_with_a_cache_policy(given: str) -> None:
    policy = "mov.b32 %r10, 16; createpolicy.fractional.L2::evict_first.b64 %rd4, 1.0; "
    for size in ("", ".L2::128B"):
        copy = f"cp.async.cg.shared.global.L2::cache_hint{size} [%r1], [%rd1], 16{given}, %rd4;"
        np.testing.assert_array_equal(_run(policy + copy, READ), TILE.view(np.uint32))


def test_a_copy_ends_within_a_word() -> None:
    """The source size is a number of bytes: 0 to 16 by thread, as a register and as a constant."""
    wanted = TILE.view(np.uint8).copy()
    for t in range(32):
        wanted[t, t % 17 :] = 0
    sized = "rem.u32 %r2, %r3, 17; cp.async.ca.shared.global [%r1], [%rd1], 16, %r2;"
    np.testing.assert_array_equal(_run(sized, READ), wanted.view(np.uint32))
    for size in range(17):
        wanted = TILE.view(np.uint8).copy()
        wanted[:, size:] = 0
        copy = f"cp.async.ca.shared.global [%r1], [%rd1], 16, {size};"
        np.testing.assert_array_equal(_run(copy, READ), wanted.view(np.uint32))


@pytest.mark.parametrize(("size", "steps"), [("8", 0), ("16", 0), ("%r3", 4)])
def test_a_copy_of_whole_words_takes_no_step_for_their_bytes(size: str, steps: int) -> None:
    line = f"cp.async.ca.shared.global [%r1], [%rd1], 16, {size};"
    code = lower(parse(TEXT.format(copy=line, read=READ), "k.ptx"), "k").instructions()
    assert sum(i.op is Op.BFE for i in code) == steps


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cp.async.shared.global [%r1], [%rd1], 4;", "one of .ca, .cg is needed"),
        ("cp.async.ca.shared.shared [%r1], [%r2], 4;", "it copies from .global to .shared"),
        ("cp.async.ca.global.shared [%rd1], [%r2], 4;", "it copies from .global to .shared"),
        ("cp.async.ca.shared.global [%r1], [%rd1];", "it takes 3 or 4 operands, not 2"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 4, %r2, %rd2;", "it takes 3 or 4 operands, not 5"),
        (
            "cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 4, %r2, %rd2, 0;",
            "it takes 4 or 5 operands, not 6",
        ),
        ("cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 4;", "it takes 4 or 5 operands, not 3"),
        ("cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 4, %r2;", "narrower than .b64"),
        ("cp.async.ca.shared.global.L2::32B [%r1], [%rd1], 4;", "modifier .L2::32B is not supported"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 5;", "it copies 4 or 8 or 16 bytes"),
        ("cp.async.cg.shared.global [%r1], [%rd1], 8;", "it copies 16 bytes"),
        ("cp.async.ca.shared.global [%r1], [%rd1], %r2;", "it copies 4 or 8 or 16 bytes"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 8, 9;", "its source has 0 to 8 bytes"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 8, -4;", "its source has 0 to 8 bytes"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 16, %rd2;", "64 bits where a .b32 is expected"),
        ("cp.async.commit_group 0;", "it takes 0 operands, not 1"),
        ("cp.async.wait_all 0;", "it takes 0 operands, not 1"),
        ("cp.async.wait_group;", "it takes 1 operands, not 0"),
        ("cp.async.wait_group %r1;", "a constant number of groups"),
        ("cp.async.ca.commit_group;", "modifier .ca is not supported"),
        ("ldmatrix.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];", ".sync is missing"),
        ("ldmatrix.sync.m8n8.x1.shared.b16 {%r1}, [%r2];", ".aligned is missing"),
        ("ldmatrix.sync.aligned.x1.shared.b16 {%r1}, [%r2];", ".m8n8 is missing"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared {%r1}, [%r2];", ".b16 is missing"),
        ("ldmatrix.sync.aligned.m8n8.shared.b16 {%r1}, [%r2];", "one of .x1, .x2, .x4 is needed"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [%r2];", "a vector of registers in braces"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%h1}, [%r2];", "%h1"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%rd1}, [%r2];", "%rd1"),
        ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r2];", "it loads 2 matrices into 1 registers"),
        ("ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r1}, [%rd1];", "it loads from .shared, or from a"),
    ],
)
def test_refusals(line: str, message: str) -> None:
    with pytest.raises(PtxError, match=re.escape(message)):
        lower(parse(body(line), "some.ptx"), "k")


def test_a_matrix_that_nobody_needs_has_no_register() -> None:
    load = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {_, %r5}, [%r1]; mov.b32 %r4, 0; mov.b32 %r6, 0;"
    wanted = np.zeros((32, 4), np.uint32)
    wanted[:, 1] = np.ascontiguousarray(TILE[8:16]).view(np.uint32).reshape(32)
    np.testing.assert_array_equal(_run(PLAIN, load + "mov.b32 %r7, 0;"), wanted)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrices(count: int, transposed: bool) -> None:
    """Rows are handed out in reverse, so that matrix i is rows 31-8i, 30-8i, ..."""
    registers = ", ".join(f"%r{4 + i}" for i in range(count))
    zeros = (
        "mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0; mov.u32 %r8, tile; sub.u32 %r9, 31, "
        "%r3;"
    )
    trans = ".trans" if transposed else ""
    load = (
        f"mad.lo.u32 %r8, %r9, 16, %r8; ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 "
        f"{{{registers}}}, [%r8];"
    )
    wanted = np.zeros((32, 4), np.uint32)
    for i in range(count):
        matrix = TILE[::-1][8 * i : 8 * i + 8]
        matrix = matrix.T if transposed else matrix
        wanted[:, i] = np.ascontiguousarray(matrix).view(np.uint32).reshape(32)
    np.testing.assert_array_equal(_run(PLAIN, zeros + load), wanted)


@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_at_generic_addresses(transposed: bool) -> None:
    trans = ".trans" if transposed else ""
    load = (
        "mov.u64 %rd4, tile; cvta.shared.u64 %rd4, %rd4; mul.wide.u32 %rd5, %r3, 16; "
        "add.s64 %rd4, %rd4, %rd5;"
        f" ldmatrix.sync.aligned.m8n8.x4{trans}.b16 {{%r4, %r5, %r6, %r7}}, [%rd4];"
    )
    wanted = np.zeros((32, 4), np.uint32)
    for i in range(4):
        matrix = TILE[8 * i : 8 * i + 8]
        matrix = matrix.T if transposed else matrix
        wanted[:, i] = np.ascontiguousarray(matrix).view(np.uint32).reshape(32)
    np.testing.assert_array_equal(_run(PLAIN, load), wanted)
