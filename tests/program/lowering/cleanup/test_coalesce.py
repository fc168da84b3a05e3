"""Move coalescing computes results where they are wanted, and keeps what guarded definitions leave."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.program.lowering.cleanup.bench import becomes, check
from tests.program.lowering.cleanup.drawn import Drawn
from warpbank.program.emulator import run_job
from warpbank.program.launch import Job, Launch
from warpbank.program.lowering import lower
from warpbank.program.lowering.cleanup.coalesce import coalesce
from warpbank.program.lowering.cleanup.propagate import propagate
from warpbank.program.ptx.parser import parse

#: `%t` keeps its value of an earlier iteration where `%p` is false, and `%d` is changed elsewhere.
PTX = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
    .reg .b64 %o;
    .reg .b32 %t, %d, %i, %acc, %m;
    .reg .pred %p, %q, %s;
    ld.param.u64 %o, [p];
    mov.u32 %i, 0;
    mov.u32 %acc, 0;
    mov.u32 %d, 0;
LOOP:
    and.b32 %m, %i, 3;
    setp.eq.u32 %p, %m, 0;
    @%p mad.lo.u32 %t, %i, 7, 100;
    mov.u32 %d, %t;
    setp.eq.u32 %s, %m, 2;
    @%s bra SKIP;
    add.u32 %acc, %acc, %d;
    add.u32 %d, %d, 1000;
SKIP:
    xor.b32 %acc, %acc, %d;
    add.u32 %i, %i, 1;
    setp.lt.u32 %q, %i, 10;
    @%q bra LOOP;
    st.global.u32 [%o], %acc;
    ret;
}
"""


def expected() -> int:
    total = kept = 0
    for each in range(10):
        if each & 3 == 0:
            kept = 7 * each + 100
        value = kept
        if each & 3 != 2:
            total, value = total + value, value + 1000
        total ^= value
    return total


@pytest.mark.parametrize("optimize", [False, True])
def test_a_move_behind_a_guarded_definition_stays(optimize: bool) -> None:
    buffers = {"out": np.zeros(1, np.uint32)}
    job = Job("k", "tiny", PTX, "k.ptx", buffers, [Launch("k", (1, 1, 1), (1, 1, 1), ("out",))])
    code = {"k": lower(parse(PTX, "k.ptx"), "k", optimize=optimize)}
    assert run_job(job, code).buffers["out"].tolist() == [expected()]


@given(st.integers(0, 2**32))
def test_drawn_kernels_do_what_they_did(seed: int) -> None:
    code = Drawn(random.Random(seed)).kernel
    check(check(code, coalesce), coalesce)
    check(check(code, propagate), coalesce)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("IADD v1 = v2, v3; MOV v4 = v1", "IADD v4 = v2, v3"),
        ("IADD v1 = v2, v3; ST v5, v1; MOV v4 = v1", "IADD v4 = v2, v3; ST v5, v4"),
        ("IADD v1 = v2, v3; MOV v4 = v1; ST v5, v1", "IADD v4 = v2, v3; ST v5, v4"),
        ("IADD v1 = v4, v3; MOV v4 = v1", "IADD v4 = v4, v3"),
        ("MOV v4 = v4; ST v5, v4", "ST v5, v4"),
        ("MOV v4 = v5; ST v5, v4", None),
        ("MOV v4 = c8; ST v5, v4", None),
        ("MOV v4 = rz; ST v5, v4", None),
        ("NOT v4 = v4; ST v5, v4", None),
        ("IADD v1 = v2, v3; MOV v4 = v1; IADD v4 = v1, v5", None),
        ("IADD v1 = v2, v3; MOV v4 = v1; ST v4, v1", None),
        # Another move before it, which stays.
        (
            "MOV v7 = v8; IADD v1 = v2, v3; MOV v4 = v1\nb1:\nST v5, v8",
            "MOV v7 = v8; IADD v4 = v2, v3\nb1:\nST v5, v8",
        ),
        # Two values that travel into one register, one after the other.
        (
            "IADD v1 = v2, v3; MOV v4 = v1; ST v5, v4; IADD v6 = v2, v5; MOV v4 = v6",
            "IADD v4 = v2, v3; ST v5, v4; IADD v4 = v2, v5",
        ),
        # A definition that is its own use.
        ("IADD v1 = v1, v3; MOV v4 = v1", None),
        # The destination is read or written in between, or behind the move.
        ("IADD v1 = v2, v3; ST v5, v4; MOV v4 = v1", None),
        ("IADD v1 = v2, v3; MOV v4 = v2; MOV v4 = v1", None),
        ("IADD v1 = v2, v3; MOV v4 = v1; MOV v4 = v2; ST v5, v1", None),
        ("IADD v1 = v2, v3; MOV v4 = v1; ST v5, v4; ST v6, v1", None),
        # The source is no value of this block, of one definition and one move.
        ("IADD v1 = v2, v3\nb1:\nMOV v4 = v1", None),
        ("IADD v1 = v2, v3; MOV v4 = v1\nb1:\nST v5, v1", None),
        ("ST v5, v1; IADD v1 = v2, v3; MOV v4 = v1", None),
        ("IADD v1 = v2, v3; IADD v1 = v1, v3; MOV v4 = v1", None),
        ("IADD v1 = v2, v3; IADD v1 = v2, v6; MOV v4 = v1", None),
        ("MOV v4 = v1; IADD v1 = v2, v3", None),
        ("IADD v1 = v2, v3; MOV v4 = v1; MOV v5 = v1", "IADD v4 = v2, v3; MOV v5 = v4"),
        ("IADD v1 = v2, v3; MOV v4 = v1; MOV v4 = v1", None),
        # Guards: a move brings what a guarded definition leaves.
        ("@p0 IADD v1 = v2, v3; MOV v4 = v1", None),
        ("@p0 IADD v1 = v2, v3; @p0 MOV v4 = v1", "@p0 IADD v4 = v2, v3"),
        ("IADD v1 = v2, v3; @p0 MOV v4 = v1", "@p0 IADD v4 = v2, v3"),
        ("@p1 IADD v1 = v2, v3; @p0 MOV v4 = v1", None),
        ("@!p0 IADD v1 = v2, v3; @p0 MOV v4 = v1", None),
        ("IADD v1 = v2, v3; ISETP.EQ p0 = v5, v6; @p0 MOV v4 = v1", None),
        ("IADD v1 p1 = v2, v3; @p0 MOV v4 = v1", None),
        ("SHFL v1 = v2, v3, v5; @p0 MOV v4 = v1", None),
        ("IADD v1 = v2, v3; ST v5, v1; @p0 MOV v4 = v1", None),
        ("IADD v1 = v2, v3; IADD v6 = v1, v2; @p0 MOV v4 = v1; ST v5, v6", None),
        ("IMULW v16:2 = v1, v2; IADD v6 = v17, v2; @p0 MOV v18 = v16; @p0 MOV v19 = v17", None),
        ("IMULW v16:2 = v1, v2; IADD v6 = v16, v2; @p0 MOV v18 = v16; @p0 MOV v19 = v17", None),
        ("IMULW v16:2 = v1, v2; @p0 MOV v18 = v16; MOV v19 = v17", None),
        ("IMULW v16:2 = v1, v2; MOV v18 = v16; IADD v19 = v17, v2", None),
        ("IMULW v16:2 = v1, v2; @p0 MOV v18 = v16; @p0 MOV v19 = v17", "@p0 IMULW v18:2 = v1, v2"),
        ("@p0 IADD v1 p0 = v2, v3; @p0 MOV v4 = v1", None),
        (
            "IADD v1 = v2, v3; @p0 MOV v4 = v1; @p0 ISETP.EQ p0 = v1, v5",
            "@p0 IADD v4 = v2, v3; @p0 ISETP.EQ p0 = v4, v5",
        ),
        ("IADD v1 = v2, v3; @p0 ST v5, v1; @p0 MOV v4 = v1", "@p0 IADD v4 = v2, v3; @p0 ST v5, v4"),
        ("IADD v1 = v2, v3; @p1 ST v5, v1; @p0 MOV v4 = v1", None),
        # Pairs, into a pair and into a half of a quad.
        ("IMULW v16:2 = v1, v2; MOV v18 = v16; MOV v19 = v17", "IMULW v18:2 = v1, v2"),
        (
            "IMULW v16:2 = v1, v2; ST v5, v16:2; MOV v18 = v16; MOV v19 = v17",
            "IMULW v18:2 = v1, v2; ST v5, v18:2",
        ),
        ("IMULW v16:2 = v1, v2; MOV v18 = v16", None),
        ("IMULW v16:2 = v1, v2; MOV v18 = v17; MOV v19 = v16", None),
        ("IMULW v16:2 = v1, v2; MOV v4 = v16; MOV v5 = v17", None),
        ("IMULW v16:2 = v18, v19; MOV v18 = v16; MOV v19 = v17", None),
        ("IMULW v16:2 = v18, v2; MOV v18 = v16; MOV v19 = v17", None),
        (
            "IADD v16 = v1, v2; IADD v17 = v3, v2; MOV v18 = v16; MOV v19 = v17",
            "IADD v18 = v1, v2; IADD v19 = v3, v2",
        ),
        ("IADD v16 = v1, v2; IADD v17 = v18, v2; MOV v18 = v16; MOV v19 = v17", None),
        ("IADD v16 = v1, v2; MOV v18 = v16", "IADD v18 = v1, v2"),
        # A word of a pair that is never used does not stand in the way.
        ("IADD v17 = v1, v2; MOV v19 = v17", "IADD v19 = v1, v2"),
        ("IADD v17 = v1, v2; MOV v18 = v17", None),
        # A single into a pair.
        ("IADD v1 = v2, v3; MOV v16 = v1", "IADD v16 = v2, v3"),
        ("IADD v1 = v2, v3; MOV v17 = v1", "IADD v17 = v2, v3"),
        # Chains take a walk each.
        ("IADD v1 = v2, v3; MOV v4 = v1; MOV v5 = v4", "IADD v4 = v2, v3; MOV v5 = v4"),
        (
            "IADD v1 = v2, v3; MOV v4 = v1; IADD v6 = v2, v5; MOV v7 = v6",
            "IADD v4 = v2, v3; IADD v7 = v2, v5",
        ),
    ],
)
def test_texts(before: str, after: str | None) -> None:
    becomes(coalesce, before, after)


def test_pairs_go_into_halves_of_quads() -> None:
    before = "IMULW v22:2 = v1, v2; MOV v18 = v22; MOV v19 = v23; ST.16 v5, v16:4"
    becomes(coalesce, before, "IMULW v18:2 = v1, v2; ST.16 v5, v16:4", quads=(16,))
    becomes(coalesce, before.replace("v18 =", "v17 =").replace("v19 =", "v18 ="), quads=(16,))
