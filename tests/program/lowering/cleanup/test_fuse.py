"""Multiply-add fusion makes one instruction of a product and its sum."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.program.lowering.cleanup.bench import becomes, check
from tests.program.lowering.cleanup.drawn import Drawn
from tests.program.lowering.cleanup.notation import kernel
from warpbank.program.isa import Op
from warpbank.program.lowering.cleanup.fuse import fuse


@given(st.integers(0, 2**32))
def test_drawn_kernels_do_what_they_did(seed: int) -> None:
    once = check(Drawn(random.Random(seed)).kernel, fuse)
    check(once, fuse)


WIDE = "IMULW.S32 v16:2 = v1, v2; "


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Products of words, on either side.
        ("IMUL v1 = v2, v3; IADD v4 = v1, v5", "IMUL v1 = v2, v3; IMAD v4 = v2, v3, v5"),
        ("IMUL v1 = v2, v3; IADD v4 = v5, v1", "IMUL v1 = v2, v3; IMAD v4 = v2, v3, v5"),
        ("IMUL v1 = v2, 3; @p0 IADD v4 = v1, 5", "IMUL v1 = v2, 3; @p0 IMAD v4 = v2, 3, 5"),
        ("IMUL.S32 v1 = v2, v3; IADD v4 = v1, v5", "IMUL.S32 v1 = v2, v3; IMAD.S32 v4 = v2, v3, v5"),
        (
            "IMUL v1 = v2, v3; IMUL v6 = v2, v4; IADD v4 = v1, v6",
            "IMUL v1 = v2, v3; IMUL v6 = v2, v4; IMAD v4 = v2, v4, v1",
        ),
        ("IMUL v1 = v2, v3; IADD v4 = v1, v5; ST v6, v1", None),
        ("IMUL v1 = v2, v3; IADD v4 = v1, v1", "IMUL v1 = v2, v3; IMAD v4 = v2, v3, v1"),
        ("IMUL v1 = v2, v3; IADD v4 p0 = v1, v5", None),
        ("IMUL v1 = v2, v3; ISUB v4 = v1, v5", None),
        ("IMAD v1 = v2, v3, v6; IADD v4 = v1, v5", None),
        ("IMUL v1 = v2, v3; LD.SHARED v2 = v9; IADD v4 = v1, v5", None),
        ("IADD v4 = v1, v5", None),
        ("IADD v4 = 1, v5", None),
        # Products of pairs.
        (WIDE + "IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, p0", WIDE + "IMADW.S32 v18:2 = v1, v2, v20:2"),
        (WIDE + "IADD v18 p0 = v20, v16; IADDC v19 = v21, v17, p0", WIDE + "IMADW.S32 v18:2 = v1, v2, v20:2"),
        (
            WIDE + "IADD v18 p0 = v16, 5; IADDC v19 = v17, 6, p0; ST v3, v18",
            WIDE + "IMADW.S32 v18:2 = v1, v2, 0x600000005:2; ST v3, v18",
        ),
        (
            WIDE + "@p1 IADD v18 p0 = v16, v20; @p1 IADDC v19 = v17, v21, p0",
            WIDE + "@p1 IMADW.S32 v18:2 = v1, v2, v20:2",
        ),
        # Two sums, one behind the other.
        (
            WIDE
            + "IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, p0;"
            + "IADD v22 p1 = v16, v24; IADDC v23 = v17, v25, p1",
            WIDE + "IMADW.S32 v18:2 = v1, v2, v20:2; IMADW.S32 v22:2 = v1, v2, v24:2",
        ),
        # Sums of other words, with other carries, under other guards, and what others read.
        (WIDE + "IADD v18 p0 = v16, v20; IADDC v19 = v21, v17, p0", None),
        (WIDE + "IADD v18 p0 = v16, v20; IADDC v19 = v3, v21, p0", None),
        (WIDE + "IADD v22 p0 = v17, v20; IADDC v23 = v18, v21, p0", None),
        (WIDE + "IADD v18 = v16, v20; IADDC v19 = v17, v21, p0", None),
        (WIDE + "IADD v18 p0 = v17, v20; IADDC v19 = v16, v21, p0", None),
        (WIDE + "IADD v18 p0 = v16, v20; IADDC v19 = v17, v22, p0", None),
        (WIDE + "IADD v18 p0 = v16, v20; IADDC v20 = v17, v21, p0", None),
        (WIDE + "IADD v19 p0 = v16, v20; IADDC v20 = v17, v21, p0", None),
        (WIDE + "IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, !p0", None),
        (WIDE + "IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, p1", None),
        (WIDE + "IADD v18 p0 = v16, v20; IADDC v19 p1 = v17, v21, p0", None),
        (WIDE + "IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, p0; @p0 ST v3, v4", None),
        (WIDE + "@p1 IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, p0", None),
        (WIDE + "IADD v18 p0 = v16, v20; ISUBC v19 = v17, v21, p0", None),
        (WIDE + "ISUB v18 p0 = v16, v20; IADDC v19 = v17, v21, p0", None),
        (WIDE + "IADD v18 p0 = v16, v20; ST v3, v4; IADDC v19 = v17, v21, p0", None),
        (WIDE + "IADD v18 p0 = v16, v20; IADDC v19 = v17, v18, p0", None),
        (WIDE + "LD.SHARED v1 = v5; IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, p0", None),
        (WIDE + "LD.SHARED v17 = v5; IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, p0", None),
        ("IMUL v16 = v1, v2; IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, p0; ST v3, v16", None),
        ("IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, p0", None),
        ("IADD v18 p0 = 4, v20; IADDC v19 = 5, v21, p0", None),
        ("IMADW v16:2 = v1, v2, v22:2; IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, p0", None),
    ],
)
def test_texts(before: str, after: str | None) -> None:
    becomes(fuse, before, after)


def test_a_product_at_an_end_of_a_block_is_no_part_of_the_next() -> None:
    becomes(fuse, "IMUL v1 = v2, v3; IADD v4 p0 = v5, v6\nb1:\nIADDC v7 = v5, v6, p0; IADD v8 = v1, v5", None)


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("IMUL v1 = v2, v3; IADD v4 = v1, v5", Op.IMAD),
        (WIDE + "IADD v18 p0 = v16, v20; IADDC v19 = v17, v21, p0", Op.IMADW),
    ],
)
def test_lines_stay(text: str, op: Op) -> None:
    code = kernel(text)
    for number, instr in enumerate(code.blocks[0].instrs):
        instr.line = number
    assert fuse(code)
    assert [(each.op, each.line) for each in code.blocks[0].instrs][1:] == [(op, 1)]
