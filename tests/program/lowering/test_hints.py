"""Hints are checked as NVIDIA's assembler checks them, and make no code."""

from __future__ import annotations

import re

import pytest

from tests.program.lowering.test_refusals import body
from warpbank.program.errors import PtxError
from warpbank.program.isa import Imm, Op, Space
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

HINTED = (
    "ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;",
    "ld.global.L1::evict_last.L2::cache_hint.u32 %r1, [%rd1], %rd2;",
    "ld.L2::cache_hint.v2.u32 {%r1, %r2}, [%rd1], 0;",
    "st.global.L2::cache_hint.u32 [%rd1], %r1, %rd2;",
    "atom.global.add.L2::cache_hint.u32 %r1, [%rd1], %r2, %rd2;",
    "red.global.add.L2::cache_hint.u32 [%rd1], %r2, %rd2;",
    "red.L2::cache_hint.add.u32 [%rd1], %r2, %rd2;",
)
POLICIES = (
    "createpolicy.fractional.L2::evict_last.b64 %rd1;",
    "createpolicy.fractional.L2::evict_normal.b64 %rd1;",
    "createpolicy.fractional.L2::evict_first.b64 %rd1, 1.0;",
    "createpolicy.fractional.L2::evict_unchanged.b64 %rd1, 0f3F800000;",
    "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, %f1;",
    "createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %rd1, [%rd2], %r2, %r3;",
    "createpolicy.range.L2::evict_last.b64 %rd1, [%rd2], 0x100, 0x200;",
    "createpolicy.cvt.L2.b64 %rd1, %rd2;",
)


@pytest.mark.parametrize("line", HINTED)
def test_a_cache_policy_makes_no_difference(line: str) -> None:
    plain = line.replace(".L2::cache_hint", "").replace(", %rd2;", ";").replace(", 0;", ";")
    assert _steps(line) == _steps(plain)


@pytest.mark.parametrize("line", POLICIES)
def test_a_policy_is_a_number_that_nothing_looks_at(line: str) -> None:
    code = lower(parse(body(f"{line} st.global.b64 [%rd3], %rd1;"), "some.ptx"), "k").instructions()
    stores = [instr for instr in code if instr.op is Op.ST]
    assert [store.srcs[1:] for store in stores] == [(Imm(0, 2),)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ld.global.u32 %r1, [%rd1], %rd2;", "it takes 2 operands, not 3"),
        ("ld.global.L2::cache_hint.u32 %r1, [%rd1];", "it takes 3 operands, not 2"),
        ("ld.global.L2::cache_hint.u32 %r1, [%rd1], %r2;", "operand %r2 is narrower than .b64"),
        ("ld.shared.L2::cache_hint.u32 %r1, [%r2], %rd2;", ".global or generic addresses, not with .shared"),
        ("ld.const.L2::cache_hint.u32 %r1, [%rd1], %rd2;", "not with .const"),
        ("ld.local.L2::cache_hint.u32 %r1, [%rd1], %rd2;", "not with .local"),
        ("st.global.u32 [%rd1], %r1, %rd2;", "it takes 2 operands, not 3"),
        ("st.global.L2::cache_hint.u32 [%rd1], %r1;", "it takes 3 operands, not 2"),
        ("atom.global.add.u32 %r1, [%rd1], %r2, %rd2;", "it takes 3 operands, not 4"),
        ("red.global.add.L2::cache_hint.u32 [%rd1], %r2;", "it takes 3 operands, not 2"),
        ("atom.global.cas.L2::cache_hint.b32 %r1, [%rd1], %r2, %r3, %rd2;", "it takes 4 operands, not 5"),
        (
            "atom.global.cas.L2::cache_hint.b32 %r1, [%rd1], %r2, %r3;",
            "modifier .L2::cache_hint is not supported",
        ),
        ("ld.global.L2::32B.u32 %r1, [%rd1];", "modifier .L2::32B is not supported"),
        ("createpolicy.L2::evict_first.b64 %rd1;", "one of .fractional, .range, .cvt is needed"),
        ("createpolicy.fractional.b64 %rd1;", "one of .L2::evict_last, .L2::evict_normal"),
        ("createpolicy.fractional.L2::evict_first.L2::evict_last.b64 %rd1;", "modifier .L2::evict_last"),
        ("createpolicy.fractional.L2::evict_first.b32 %r1;", "createpolicy works on 64 bits"),
        ("createpolicy.fractional.L2::evict_first.b64 %r1;", "%r1"),
        ("createpolicy.fractional.L2::evict_first.b64 %rd1, %rd2;", "%rd2"),
        ("createpolicy.fractional.L2::evict_first.b64 %rd1, 1.0, 1.0;", "it takes 1 or 2 operands, not 3"),
        ("createpolicy.fractional.global.L2::evict_first.b64 %rd1;", "modifier .global is not supported"),
        ("createpolicy.range.L2::evict_last.b64 %rd1, [%rd2], 4;", "it takes 4 operands, not 3"),
        ("createpolicy.range.L2::evict_last.b64 %rd1, %rd2, 4, 4;", "an address in brackets is expected"),
        ("createpolicy.range.L2::evict_last.b64 %rd1, [%rd2], 4, %rd3;", "64 bits where a .b32 is expected"),
        ("createpolicy.range.L2::evict_last.b64 %rd1, [%rd2], %rd3, 4;", "64 bits where a .b32 is expected"),
        ("createpolicy.range.shared.L2::evict_last.b64 %rd1, [%r2], 4, 4;", "not in .shared"),
        ("createpolicy.cvt.b64 %rd1, %rd2;", ".L2 is missing"),
        ("createpolicy.cvt.L2.b64 %rd1, %r2;", "operand %r2 is narrower than .b64"),
        ("createpolicy.cvt.L2.b64 %rd1;", "it takes 2 operands, not 1"),
        ("prefetch.global.L2 [%rd1], %rd2;", "it takes 1 operands, not 2"),
    ],
)
def test_refusals(line: str, message: str) -> None:
    with pytest.raises(PtxError, match=re.escape(message)):
        lower(parse(body(line), "some.ptx"), "k")


def _steps(line: str) -> list[tuple[Op, Space, int, int]]:
    """Operation, space, bytes and sources of each instruction."""
    code = lower(parse(body(line), "some.ptx"), "k").instructions()
    return [(instr.op, instr.space, instr.size, len(instr.srcs)) for instr in code]
