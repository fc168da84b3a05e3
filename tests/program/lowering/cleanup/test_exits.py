"""Lanes that return early do not hold up the barriers of the others."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.lowering.cleanup.bench import becomes
from warpbank.program.emulator import run_job
from warpbank.program.isa import Kernel, Op
from warpbank.program.launch import Job, Launch
from warpbank.program.lowering import lower
from warpbank.program.lowering.cleanup.exits import exit_at_branches
from warpbank.program.ptx.parser import parse

#: Threads 40 and up leave at once, odd ones after the first barrier; the rest add up what their right
#: neighbours stored.
EARLY = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p_out)
{
    .reg .pred %p<4>;  .reg .b32 %r<9>;  .reg .b64 %rd<4>;
    .shared .align 4 .b8 tile[256];
    mov.u32 %r1, %tid.x;
    setp.gt.u32 %p1, %r1, 39;
    @%p1 bra $leave;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.u32 %r3, %r3, %r2;
    st.shared.b32 [%r3], %r1;
    bar.sync 0;
    and.b32 %r4, %r1, 1;
    setp.ne.u32 %p2, %r4, 0;
    @%p2 bra $leave;
    ld.shared.b32 %r5, [%r3+4];
    bar.sync 0;
    ld.param.u64 %rd1, [p_out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.b32 [%rd1], %r5;
$leave:
    ret;
}
"""


def _lower(optimize: bool) -> Kernel:
    return lower(parse(EARLY, "early.ptx"), "k", optimize=optimize)


@pytest.mark.parametrize("optimize", [True, False])
def test_early_returns_before_barriers(optimize: bool) -> None:
    job = Job(
        "k",
        "tiny",
        EARLY,
        "early.ptx",
        {"out": np.zeros(64, np.uint32)},
        [Launch("k", (1, 1, 1), (64, 1, 1), ("out",))],
    )
    found = run_job(job, {"k": _lower(optimize)}).buffers["out"]
    assert found.tolist() == [t + 1 if t < 40 and t % 2 == 0 else 0 for t in range(64)]


def test_a_branch_to_the_return_is_an_exit() -> None:
    ops = [i.op for i in _lower(True).instructions()]
    assert Op.BRA not in ops
    assert ops.count(Op.EXIT) == 3


#: Threads below 4 leave from inside two branches; the others vote together.
NESTED = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p_out)
{
    .reg .pred %p<4>;  .reg .b32 %r<9>;  .reg .b64 %rd<4>;
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [p_out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    mov.u32 %r2, 1000;
    setp.gt.u32 %p1, %r1, 15;
    @%p1 bra $vote;
    setp.gt.u32 %p2, %r1, 3;
    @%p2 bra $stay;
    st.global.b32 [%rd1], %r2;
    bra.uni $leave;
$stay:
    mul.lo.u32 %r2, %r1, 7;
$vote:
    setp.eq.u32 %p3, %r2, 35;
    vote.sync.ballot.b32 %r3, !%p3, -1;
    st.global.b32 [%rd1], %r3;
$leave:
    ret;
}
"""


@pytest.mark.parametrize("optimize", [True, False])
def test_lanes_vote_together_after_others_returned(optimize: bool) -> None:
    job = Job(
        "k",
        "tiny",
        NESTED,
        "n.ptx",
        {"out": np.zeros(32, np.uint32)},
        [Launch("k", (1, 1, 1), (32, 1, 1), ("out",))],
    )
    kernel = lower(parse(NESTED, "n.ptx"), "k", optimize=optimize)
    assert run_job(job, {"k": kernel}).buffers["out"].tolist() == [1000] * 4 + [0xFFFFFFD0] * 28


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@!p0 BRA >b2\nb1:\nST v1, v2; BRA >b2\nb2:\nEXIT", "@!p0 EXIT\nb1:\nST v1, v2; EXIT\nb2:\nEXIT"),
        ("@p0 BRA >b2\nb1:\nST v1, v2\nb2:\n@p1 EXIT\nb3:\nST v1, v2; EXIT", None),
        ("@p0 BRA >b2\nb1:\nb2:\nST v1, v2; EXIT", None),
        ("ST v1, v2; EXIT", None),
    ],
)
def test_texts(before: str, after: str | None) -> None:
    becomes(exit_at_branches, before, after)
