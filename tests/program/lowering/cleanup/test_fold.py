"""Constant folding computes what the machine would, and drops what does nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.program.lowering.cleanup.bench import becomes
from tests.program.lowering.cleanup.lane import Lane
from tests.program.lowering.cleanup.notation import kernel
from warpbank.program.cfg import Cfg
from warpbank.program.isa import Imm, Op
from warpbank.program.lowering.cleanup.facts import Facts
from warpbank.program.lowering.cleanup.fold import fold
from warpbank.program.lowering.cleanup.propagate import propagate

NUMBERS = (
    0,
    1,
    2,
    7,
    8,
    31,
    32,
    33,
    0xFF,
    0x108,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFE,
    0xFFFFFFFF,
    0x100000005,
    0x1FFFFFFFF,
)
UNARY, TERNARY = ("NOT",), ("IMAD", "BFE.U32", "BFE.S32", "LOP3.x96", "LOP3.xE8", "LOP3.x1D")
BINARY = (
    *("IADD", "ISUB", "IMUL", "AND", "OR", "XOR", "SHL", "SHR.U32", "SHR.S32"),
    *(f"ISETP.{cmp}.{dtype}" for cmp in ("EQ", "NE", "LT", "LE", "GT", "GE") for dtype in ("U32", "S32")),
)


@pytest.mark.parametrize("name", [*UNARY, *BINARY, *TERNARY])
def test_constants(name: str) -> None:
    pick = random.Random(name)
    count = 1 if name in UNARY else 3 if name in TERNARY else 2
    for _ in range(200):
        numbers = ", ".join(str(pick.choice(NUMBERS)) for _ in range(count))
        results = "v1"
        if name.startswith("ISETP"):
            results = "p0 p1"
        elif name in ("IADD", "ISUB"):
            results = "v1 p0"
        code = kernel(f"{name} {results} = {numbers}")
        facts = Facts(code, Cfg(code))
        facts.enter(0)
        made = fold(code.blocks[0].instrs[0], facts)
        assert made is not None
        assert all(each.op in (Op.MOV, Op.PLOP) for each in made)
        assert all(isinstance(s, Imm) and 0 <= s.value < 1 << 32 for each in made for s in each.srcs)
        before = Lane(code, 0)
        code.blocks[0].instrs = made
        after = Lane(code, 0)
        assert (after.registers, after.predicates) == (before.registers, before.predicates), numbers


@given(
    st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.sampled_from(TERNARY)
)
def test_three_constants(a: int, b: int, c: int, name: str) -> None:
    code = kernel(f"{name} v1 = {a}, {b}, {c}")
    facts = Facts(code, Cfg(code))
    facts.enter(0)
    made = fold(code.blocks[0].instrs[0], facts)
    assert made is not None
    before = Lane(code, 0)
    code.blocks[0].instrs = made
    assert Lane(code, 0).registers == before.registers


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Carries that are known.
        ("IADDC v1 = v2, v3, !pt", "IADD v1 = v2, v3"),
        ("IADDC v1 p1 = v2, v3, !pt", "IADD v1 p1 = v2, v3"),
        ("IADDC v1 = v2, 5, pt", "IADD v1 = v2, 6"),
        ("IADDC v1 = 5, v2, pt", "IADD v1 = 6, v2"),
        ("IADDC v1 = v2, 0x100000005, pt", "IADD v1 = v2, 6"),
        ("IADDC v1 = v2, 0xffffffff, pt", None),
        ("IADDC v1 = v2, 0x1ffffffff, pt", None),
        ("IADDC v1 = v2, v3, pt", None),
        ("IADDC v1 = v2, 5, p0", None),
        ("IADDC v1 = 0xffffffff, 5, pt", "IADD v1 = 0xffffffff, 6"),
        ("ISUBC v1 = v2, v3, pt", "ISUB v1 = v2, v3"),
        ("ISUBC v1 = v2, v3, !pt", None),
        ("ISUBC v1 = v2, v3, p0", None),
        # Selections.
        ("SEL v1 = v2, v3, pt", "MOV v1 = v2"),
        ("SEL v1 = v2, v3, !pt", "MOV v1 = v3"),
        ("SEL v1 = v2, v2, p0", "MOV v1 = v2"),
        ("SEL v1 = v2, v3, p0", None),
        # Neutral elements, on either side where they may stand there.
        ("IADD v1 = v2, 0", "MOV v1 = v2"),
        ("IADD v1 = 0, v2", "MOV v1 = v2"),
        ("IADD v1 = v2, 0x100000000", "MOV v1 = v2"),
        ("ISUB v1 = v2, 0", "MOV v1 = v2"),
        ("ISUB v1 = 0, v2", None),
        ("OR v1 = 0, v2", "MOV v1 = v2"),
        ("XOR v1 = v2, 0", "MOV v1 = v2"),
        ("XOR v1 = 0, v2", "MOV v1 = v2"),
        ("SHL v1 = v2, 0", "MOV v1 = v2"),
        ("SHR v1 = v2, 0", "MOV v1 = v2"),
        ("SHL v1 = 0, v2", None),
        ("SHR v1 = 0, v2", None),
        ("SHL v1 = v2, 1", None),
        ("IMUL v1 = v2, 1", "MOV v1 = v2"),
        ("IMUL v1 = 1, v2", "MOV v1 = v2"),
        ("IMUL v1 = v2, 0", "MOV v1 = 0"),
        ("IMUL v1 = 0, v2", "MOV v1 = 0"),
        ("IMUL v1 = v2, 2", None),
        ("IADD v1 = v2, 1", None),
        ("AND v1 = v2, 0", "MOV v1 = 0"),
        ("AND v1 = 0, v2", "MOV v1 = 0"),
        ("AND v1 = v2, 0xffffffff", "MOV v1 = v2"),
        ("AND v1 = 0xffffffff, v2", "MOV v1 = v2"),
        ("AND v1 = v2, 0x7fffffff", None),
        ("AND v1 = v2, 1", None),
        ("OR v1 = v2, 1", None),
        ("SHL v1 = v2, 32", "MOV v1 = 0"),
        ("SHL v1 = v2, 31", None),
        ("SHR.U32 v1 = v2, 32", None),
        ("SHR.S32 v1 = v2, 32", None),
        ("XOR v1 = v2, v3", None),
        ("NOT v1 = v2", None),
        ("IMAD v1 = v2, 0, v3", None),
        # Masks and fields of what is as narrow already.
        ("LD.SHARED.1.U8 v2 = v0; AND v1 = v2, 0xff", "LD.SHARED.1.U8 v2 = v0; MOV v1 = v2"),
        ("LD.SHARED.1.U8 v2 = v0; AND v1 = v2, 0x1ff", "LD.SHARED.1.U8 v2 = v0; MOV v1 = v2"),
        ("LD.SHARED.1.U8 v2 = v0; AND v1 = v2, 0x7f", None),
        ("LD.SHARED.1.U8 v2 = v0; AND v1 = v2, 0x1fe", None),
        ("LD.SHARED.1.U8 v2 = v0; BFE.U32 v1 = v2, 0, 8", "LD.SHARED.1.U8 v2 = v0; MOV v1 = v2"),
        ("LD.SHARED.1.U8 v2 = v0; BFE.U32 v1 = v2, 0x100, 0x108", "LD.SHARED.1.U8 v2 = v0; MOV v1 = v2"),
        ("LD.SHARED.1.U8 v2 = v0; BFE.U32 v1 = v2, 0, 7", None),
        ("LD.SHARED.1.U8 v2 = v0; BFE.U32 v1 = v2, 1, 8", None),
        ("LD.SHARED.1.U8 v2 = v0; BFE.S32 v1 = v2, 0, 9", "LD.SHARED.1.U8 v2 = v0; MOV v1 = v2"),
        ("LD.SHARED.1.U8 v2 = v0; BFE.S32 v1 = v2, 0, 8", None),
        ("LD.SHARED.1.S8 v2 = v0; BFE.S32 v1 = v2, 0, 8", "LD.SHARED.1.S8 v2 = v0; MOV v1 = v2"),
        ("LD.SHARED.1.S8 v2 = v0; BFE.U32 v1 = v2, 0, 8", None),
        ("BFE.U32 v1 = v2, 0, 32", "MOV v1 = v2"),
        ("BFE.U32 v1 = v2, 0, 200", "MOV v1 = v2"),
        ("BFE.U32 v1 = v2, 0, 31", None),
        ("BFE.U32 v1 = v2, v3, 8", None),
        ("BFE.U32 v1 = v2, 0, v3", None),
        # Carries of what is dropped.
        ("IADD v1 p1 = v2, 0", "MOV v1 = v2; PLOP.xF0 p1 = !pt"),
        ("ISUB v1 p1 = v2, 0", "MOV v1 = v2; PLOP.xF0 p1 = pt"),
        # Comparisons of constants are made, others are not.
        ("ISETP.LT p0 = v1, 5", None),
        ("ISETP.LT p0 = 4, 5, p1", None),
        ("ISETP.LT p0 p1 = 4, 5", "PLOP.xF0 p0 = pt; PLOP.xF0 p1 = !pt"),
        ("@p3 ISETP.LT p0 = 4, 5", "@p3 PLOP.xF0 p0 = pt"),
        ("@p3 IADD v1 p1 = 0xffffffff, 1", "@p3 MOV v1 = 0; @p3 PLOP.xF0 p1 = pt"),
        # Wide products and operations with predicates are left.
        ("IMULW v16:2 = 3, 4", None),
        ("ISUBC v1 = 3, 4, p0", None),
    ],
)
def test_texts(before: str, after: str | None) -> None:
    becomes(propagate, before, after)


@pytest.mark.parametrize("text", ["IADD v1 p1 = 3, 4", "ISETP.LT p0 = 4, 5"])
def test_lines_stay(text: str) -> None:
    code = kernel(text)
    code.blocks[0].instrs[0].line = 7
    assert propagate(code)
    assert {each.line for each in code.blocks[0].instrs} == {7}
