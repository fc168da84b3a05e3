"""Dead-code removal takes what no one reads, and nothing else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.program.lowering.cleanup.bench import becomes, check
from tests.program.lowering.cleanup.drawn import Drawn
from warpbank.program.lowering.cleanup.dead import remove_dead


@given(st.integers(0, 2**32))
def test_drawn_kernels_do_what_they_did(seed: int) -> None:
    once = check(Drawn(random.Random(seed)).kernel, remove_dead)
    check(once, remove_dead)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("MOV v1 = v0; MOV v2 = v1; EXIT", "EXIT"),
        ("MOV v1 = v0; ST v2, v1; EXIT", None),
        ("MOV v1 = v0; MOV v1 = v2; ST v2, v1; EXIT", "MOV v1 = v2; ST v2, v1; EXIT"),
        ("MOV v1 = v0; @p0 MOV v1 = v2; ST v2, v1; EXIT", None),
        ("ISETP.EQ p0 = v1, v2; EXIT", "EXIT"),
        ("ISETP.EQ p0 = v1, v2; @p0 ST v1, v2; EXIT", None),
        ("ISETP.EQ p0 = v1, v2; @p1 ST v1, v2; EXIT", "@p1 ST v1, v2; EXIT"),
        ("MOV v1 = v0; ST v2, v3; EXIT", "ST v2, v3; EXIT"),
        ("LD.SHARED v1 = v0; EXIT", "EXIT"),
        ("LD.SHARED.V v1 = v0; EXIT", None),
        ("IMULW v16:2 = v1, v2; ST v3, v17; EXIT", None),
        # What does something stays, whether its result is read or not.
        *(
            (f"{name} v1 = v0, v2, p0; EXIT", None)
            for name in ("SHFL", "VOTE", "MATCH", "REDUX", "ACTIVEMASK")
        ),
        ("BAR 0; MEMBAR; TRAP; EXIT", None),
        # A counter that only its own increment reads goes, one that steers the loop stays.
        (
            "MOV v1 = 0; MOV v2 = 0\nb1:\nIADD v1 = v1, 1; IADD v2 = v2, 1; ISETP.LT p0 = v2, 5;"
            "@p0 BRA >b1\nb2:\nEXIT",
            "MOV v2 = 0\nb1:\nIADD v2 = v2, 1; ISETP.LT p0 = v2, 5; @p0 BRA >b1\nb2:\nEXIT",
        ),
        # What another block reads, in a loop that comes before it in the layout, too.
        ("MOV v1 = v0; @p0 BRA >b2\nb1:\nST v2, v1\nb2:\nEXIT", None),
        ("MOV v1 = v0\nb1:\nST v2, v1; MOV v1 = v3; @p0 BRA >b1\nb2:\nEXIT", None),
        ("MOV v1 = v0; MOV v3 = v4\nb1:\nST v2, v1; MOV v1 = v3; @p0 BRA >b1\nb2:\nEXIT", None),
        ("BRA >b2\nb1:\nST v2, v1; EXIT\nb2:\nMOV v1 = v0; BRA >b1", None),
        # Predicates that are not read, of instructions that have other results.
        ("IADD v1 p0 = v2, v3; ST v4, v1; EXIT", "IADD v1 = v2, v3; ST v4, v1; EXIT"),
        ("IADD v1 p0 = v2, v3; @p1 ST v4, v1; EXIT", "IADD v1 = v2, v3; @p1 ST v4, v1; EXIT"),
        ("IADD v1 pt = v2, v3; ST v4, v1; EXIT", "IADD v1 = v2, v3; ST v4, v1; EXIT"),
        ("IADD v1 p0 = v2, v3; @p0 ST v4, v1; EXIT", None),
        ("IADD v1 p0 = v2, v3; @p0 ST v4, v5; EXIT", None),
        ("SHFL v1 p0 = v2, v3, v4; ST v4, v1; EXIT", "SHFL v1 = v2, v3, v4; ST v4, v1; EXIT"),
        ("BAR.x2 v1 p0 = 0; ST v4, v1; EXIT", None),
        ("BAR.x3 p0 = 0; EXIT", None),
        ("VOTE p0 = p1; EXIT", None),
        ("ISETP.EQ p0 p1 = v1, v2; @p0 ST v1, v2; EXIT", "ISETP.EQ p0 = v1, v2; @p0 ST v1, v2; EXIT"),
        ("ISETP.EQ p0 p1 = v1, v2; @p1 ST v1, v2; EXIT", "ISETP.EQ pt p1 = v1, v2; @p1 ST v1, v2; EXIT"),
        ("ISETP.EQ pt p1 = v1, v2; @p1 ST v1, v2; EXIT", None),
        ("ISETP.EQ p0 pt = v1, v2; @p0 ST v1, v2; EXIT", None),
        ("ISETP.EQ p0 p1 = v1, v2; @p1 ST v1, v2; @p0 ST v1, v2; EXIT", None),
        ("ISETP.EQ p0 p1 p2 = v1, v2; @p0 ST v1, v2; EXIT", "ISETP.EQ p0 = v1, v2; @p0 ST v1, v2; EXIT"),
        # The high word of a product.
        ("IMULW.S32 v16:2 = v1, v2; ST v3, v16; EXIT", "IMUL.S32 v16 = v1, v2; ST v3, v16; EXIT"),
        ("IMULW v16:2 = v1, v2; ST v18, v16; EXIT", "IMUL v16 = v1, v2; ST v18, v16; EXIT"),
        ("IMULW v16:2 = v1, v2; ST v3, v16:2; EXIT", None),
        ("IMADW v16:2 = v1, v2, v18:2; ST v3, v16; EXIT", "IMAD v16 = v1, v2, v18; ST v3, v16; EXIT"),
        ("IMADW v16:2 = v1, v2, 0x500000007:2; ST v3, v16; EXIT", "IMAD v16 = v1, v2, 7; ST v3, v16; EXIT"),
        ("LD.8 v16:2 = v1; ST v3, v16; EXIT", None),
        # The old value of an atomic.
        ("ATOM v1 = v2, v3; EXIT", "ATOM v2, v3; EXIT"),
        ("ATOM v1 = v2, v3; ST v4, v5; EXIT", "ATOM v2, v3; ST v4, v5; EXIT"),
        ("ATOM v1 = v2, v3; ST v4, v1; EXIT", None),
        ("ATOM v16:2 = v2, v3; ST v4, v17; EXIT", None),
        ("ATOM v2, v3; EXIT", None),
    ],
)
def test_texts(before: str, after: str | None) -> None:
    becomes(remove_dead, before, after)
