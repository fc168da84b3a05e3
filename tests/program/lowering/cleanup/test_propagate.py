"""Copy propagation brings operands to their origin and changes no result."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.program.lowering.cleanup.bench import becomes, check
from tests.program.lowering.cleanup.drawn import Drawn
from tests.program.lowering.cleanup.notation import kernel
from warpbank.program.lowering.cleanup.propagate import propagate


@given(st.integers(0, 2**32))
def test_drawn_kernels_do_what_they_did(seed: int) -> None:
    once = check(Drawn(random.Random(seed)).kernel, propagate)
    check(once, propagate)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Copies, constants and places in the constant bank, words and pairs.
        ("MOV v1 = v0; XOR v2 = v1, v3", "MOV v1 = v0; XOR v2 = v0, v3"),
        ("MOV v1 = 5; XOR v2 = v3, v1", "MOV v1 = 5; XOR v2 = v3, 5"),
        ("MOV v1 = c8; XOR v2 = v3, v1", "MOV v1 = c8; XOR v2 = v3, c8"),
        ("MOV v1 = v0; MOV v2 = v1; XOR v3 = v2, v2", "MOV v1 = v0; MOV v2 = v0; XOR v3 = v0, v0"),
        (
            "MOV v18 = v16; MOV v19 = v17; FADD.F64 v20:2 = v18:2, v22:2",
            "MOV v18 = v16; MOV v19 = v17; FADD.F64 v20:2 = v16:2, v22:2",
        ),
        (
            "MOV v18 = 1; MOV v19 = 2; FADD.F64 v20:2 = v18:2, v22:2",
            "MOV v18 = 1; MOV v19 = 2; FADD.F64 v20:2 = 0x200000001:2, v22:2",
        ),
        (
            "MOV v18 = 0x1200000001; MOV v19 = 0x1200000002; FADD.F64 v20:2 = v18:2, v22:2",
            "MOV v18 = 0x1200000001; MOV v19 = 0x1200000002; FADD.F64 v20:2 = 0x200000001:2, v22:2",
        ),
        (
            "MOV v18 = c8; MOV v19 = c12; FADD.F64 v20:2 = v18:2, v22:2",
            "MOV v18 = c8; MOV v19 = c12; FADD.F64 v20:2 = c8:2, v22:2",
        ),
        # Words that are no pair in one group or one place.
        ("MOV v18 = c4; MOV v19 = c8; FADD.F64 v20:2 = v18:2, v22:2", None),
        ("MOV v18 = c8; MOV v19 = c16; FADD.F64 v20:2 = v18:2, v22:2", None),
        ("MOV v18 = c8; MOV v19 = 7; FADD.F64 v20:2 = v18:2, v22:2", None),
        ("MOV v18 = 7; MOV v19 = c8; FADD.F64 v20:2 = v18:2, v22:2", None),
        ("MOV v18 = 7; MOV v19 = v2; FADD.F64 v20:2 = v18:2, v22:2", None),
        ("MOV v18 = v2; MOV v19 = v3; FADD.F64 v20:2 = v18:2, v22:2", None),
        ("MOV v18 = v17; MOV v19 = v16; FADD.F64 v20:2 = v18:2, v22:2", None),
        ("MOV v20 = v17; MOV v21 = v18; FADD.F64 v22:2 = v20:2, v24:2", None),
        ("MOV v18 = v16; MOV v19 = v16; FADD.F64 v20:2 = v18:2, v22:2", None),
        # Matrix products take registers alone.
        (
            "MOV v1 = 5; MOV v2 = v0; MMA v16:2 = v1, v2, v18:2",
            "MOV v1 = 5; MOV v2 = v0; MMA v16:2 = v1, v0, v18:2",
        ),
        # Predicates, as operands and as guards.
        ("PLOP.xF0 p1 = p0; SEL v1 = v2, v3, !p1", "PLOP.xF0 p1 = p0; SEL v1 = v2, v3, !p0"),
        ("PLOP.x0F p1 = p0; @p1 ST v1, v2", "PLOP.x0F p1 = p0; @!p0 ST v1, v2"),
        # Signs.
        ("XOR v1 = v0, 0x80000000; FADD.F32 v2 = v1, v3", "XOR v1 = v0, 0x80000000; FADD.F32 v2 = -v0, v3"),
        ("XOR v1 = v0, 0x80000000; FMUL.F32 v2 = v3, -v1", "XOR v1 = v0, 0x80000000; FMUL.F32 v2 = v3, v0"),
        (
            "XOR v1 = v0, 0x80000000; FFMA.F32 v2 = v3, v4, v1",
            "XOR v1 = v0, 0x80000000; FFMA.F32 v2 = v3, v4, -v0",
        ),
        (
            "XOR v1 = v0, 0x80000000; FSETP.F32 p0 = v1, v1",
            "XOR v1 = v0, 0x80000000; FSETP.F32 p0 = -v0, -v0",
        ),
        ("AND v1 = v0, 0x7fffffff; FADD.F32 v2 = v1, v3", "AND v1 = v0, 0x7fffffff; FADD.F32 v2 = |v0|, v3"),
        (
            "AND v1 = v0, 0x7fffffff; FADD.F32 v2 = -v1, v3",
            "AND v1 = v0, 0x7fffffff; FADD.F32 v2 = -|v0|, v3",
        ),
        (
            "XOR v1 = v0, 0x80000000; FADD.F32 v2 = |v1|, v3",
            "XOR v1 = v0, 0x80000000; FADD.F32 v2 = |v0|, v3",
        ),
        (
            "XOR v1 = v0, 0x80000000; FADD.F32 v2 = -|v1|, v3",
            "XOR v1 = v0, 0x80000000; FADD.F32 v2 = -|v0|, v3",
        ),
        (
            "XOR v1 = v0, 0x80008000; FADD.F16X2 v2 = v1, v3",
            "XOR v1 = v0, 0x80008000; FADD.F16X2 v2 = -v0, v3",
        ),
        (
            "AND v1 = v0, 0x7fff7fff; FADD.BF16X2 v2 = v1, v3",
            "AND v1 = v0, 0x7fff7fff; FADD.BF16X2 v2 = |v0|, v3",
        ),
        (
            "MOV v18 = v16; XOR v19 = v17, 0x80000000; FADD.F64 v20:2 = v18:2, v22:2",
            "MOV v18 = v16; XOR v19 = v17, 0x80000000; FADD.F64 v20:2 = -v16:2, v22:2",
        ),
        ("XOR v1 = v0, 0x80000000; FADD.F32 v2 = 5, v1", "XOR v1 = v0, 0x80000000; FADD.F32 v2 = 5, -v0"),
        # Changes that are none of a sign, and operations that have no modifiers.
        ("OR v1 = v0, 0x80000000; FADD.F32 v2 = v1, v3", None),
        ("OR v1 = v0, 0x7fffffff; FADD.F32 v2 = v1, v3", None),
        ("XOR v1 = v0, 0x7fffffff; FADD.F32 v2 = v1, v3", None),
        ("AND v1 = v0, 0x80000000; FADD.F32 v2 = v1, v3", None),
        ("XOR v1 = v0, 0x80000000; FADD.F16X2 v2 = v1, v3", None),
        ("XOR v1 = v0, 0x80000000; MUFU.F32 v2 = v1", None),
        ("XOR v1 = v0, 0x80000000; FADD.F16 v2 = v1, v3", None),
        ("XOR v1 = v0, v4; FADD.F32 v2 = v1, v3", None),
        ("XOR v1 = c0, 0x80000000; FADD.F32 v2 = v1, v3", None),
        ("MOV v18 = v17; XOR v19 = v17, 0x80000000; FADD.F64 v20:2 = v18:2, v22:2", None),
        ("MOV v18 = v15; XOR v19 = v16, 0x80000000; FADD.F64 v20:2 = v18:2, v22:2", None),
        ("XOR v19 = v17, 0x80000000; FADD.F64 v20:2 = v18:2, v22:2", None),
        # Addresses.
        ("MOV v1 = 16; LD.SHARED v2 = v1 +4", "MOV v1 = 16; LD.SHARED v2 = 0 +20"),
        ("MOV v1 = 16; ST.LOCAL v1, v2", "MOV v1 = 16; ST.LOCAL 0, v2 +16"),
        ("ATOM.SHARED v2 = 16, v3", "ATOM.SHARED v2 = 0, v3 +16"),
        ("LD.SHARED v2 = 0xfffffffc +8", "LD.SHARED v2 = 0 +4"),
        ("LD.SHARED v2 = 0 +20", None),
        ("LD.GLOBAL v2 = 16:2 +4", None),
        # Generic addresses whose window is known.
        ("MOV v17 = 1; LD.GENERIC v2 = v16:2 +4", "MOV v17 = 1; LD.SHARED v2 = v16 +4"),
        ("MOV v17 = 2; ST.GENERIC v16:2, v3", "MOV v17 = 2; ST.LOCAL v16, v3"),
        (
            "MOV v17 = 1; MOV v16 = v3; LD.GENERIC v2 = v16:2 +4",
            "MOV v17 = 1; MOV v16 = v3; LD.SHARED v2 = v3 +4",
        ),
        ("LD.GENERIC v2 = 0x100000010:2 +4", "LD.SHARED v2 = 0 +20"),
        ("LD.GENERIC.1.U8 v2 = 0x300000010:2 +4", "LD.CONST.1.U8 v2 = 0 +20"),
        ("ST.GENERIC 0x300000010:2, v2", None),
        ("MOV v17 = 4; LD.GENERIC v2 = v16:2", None),
        ("MOV v17 = 0; LD.GENERIC v2 = v16:2", None),
        ("MOV v17 = c8; LD.GENERIC v2 = v16:2", None),
        ("LD.GENERIC v2 = c8:2", None),
        ("LD.GENERIC v2 = 0:2", None),
        # Loads of the constant bank.
        ("LD.CONST v1 = 0 +16", "MOV v1 = c16"),
        ("LD.CONST.8 v16:2 = 0 +16", "MOV v16 = c16; MOV v17 = c20"),
        ("@p0 LD.CONST v1 = 8 +8", "@p0 MOV v1 = c16"),
        ("LD.CONST v1 = 0 +2", None),
        ("LD.CONST.8 v16:2 = 0 +4", None),
        ("LD.CONST.2.U16 v1 = 0 +4", None),
        ("LD.CONST v1 = v0 +4", None),
        ("LD.SHARED v1 = 0 +4", None),
    ],
)
def test_texts(before: str, after: str | None) -> None:
    becomes(propagate, before, after)


def test_halves_of_a_quad_are_pairs() -> None:
    becomes(
        propagate,
        "MOV v20 = v18; MOV v21 = v19; FADD.F64 v22:2 = v20:2, v24:2",
        "MOV v20 = v18; MOV v21 = v19; FADD.F64 v22:2 = v18:2, v24:2",
        quads=(16,),
    )
    becomes(propagate, "MOV v20 = v17; MOV v21 = v18; FADD.F64 v22:2 = v20:2, v24:2", quads=(16,))


def test_lines_stay() -> None:
    """What a load of constants becomes comes from its line of the source."""
    code = kernel("LD.CONST.8 v16:2 = 0 +16")
    code.blocks[0].instrs[0].line = 7
    assert propagate(code)
    assert [each.line for each in code.blocks[0].instrs] == [7, 7]
