"""Files that are wrong, cut off or changed: a sentence with file, line and text, and nothing else; and the
parser's speed."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.ptx.texts import HEADER, NVCC, SAMPLES, TRITON, fails, kernel
from warpbank.program.errors import PtxError
from warpbank.program.ptx.parser import parse


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("bad.ptx:1", "empty", ".version")),
        ("int main() {}", ("not PTX", "'int'")),
        ("\x7fELF\x02", ("unexpected character",)),
        (".version 7.8\n", ("no .target", "truncated")),
        (HEADER + ".alias a, b;", (".alias is not supported",)),
        (HEADER + ".bogus x;", ("bad.ptx:4", "unknown directive '.bogus'")),
        (HEADER + ".visible 3", ("found '3'",)),
        (HEADER + ".global .b32 v = {1};\n", ("expected",)),
        (HEADER + ".global .b32 v[1] = {1, 2};", ("more elements than the 1",)),
        (HEADER + ".global .b8 v = 256;", ("256 does not fit .b8",)),
        (HEADER + ".global .b8 v = 0f3F800000;", ("does not fit .b8",)),
        (HEADER + ".global .f32 v = 1e300;", ("does not fit .f32",)),
        (HEADER + ".global .pred v;", ("type such as",)),
        (HEADER + ".global .align 3 .b32 v;", ("power of two, not 3",)),
        (HEADER + ".global .b32 v[-1];", ("negative size",)),
        (HEADER + ".global .b32 v[2][];", ("found ']'",)),
        (HEADER + ".global .b32 v[];", ("array v has no size: write one in its brackets, in",)),
        (HEADER + ".const .b32 v[0];", ("array v has no size",)),
        (HEADER + ".weak .global .b8 v[] = {};", ("array v has no size",)),
        (
            HEADER + ".shared .b32 v[];",
            ("v has no size: write one in its brackets, or .extern if the launch",),
        ),
        (HEADER + ".extern .global .b32 v = 5;", (".extern variable v cannot have an initial value",)),
        (HEADER + ".global .b64 v[99999999999999];", ("more than any GPU",)),
        (HEADER + ".shared .b32 v = 1;", (".shared variable v cannot have an initial value",)),
        (HEADER + ".global .u64 v = nowhere;", ("'nowhere' is used but not declared",)),
        (HEADER + ".global .u8 v = 0xF0(v);", ("one whole byte",)),
        (HEADER + ".global .u8 v = 1(v);", ("one whole byte",)),
        (HEADER + ".global .u8 v = 0xFF00(v);", ("consecutive",)),
        (HEADER + ".global .b32 v;.global .b32 v;", ("'v' is declared twice",)),
        (HEADER + ".func f { ret; }\n.func f { ret; }", ("two bodies", "line 4")),
        (HEADER + ".entry k .bogus 3 { }", ("unknown directive '.bogus' in the head of function k",)),
        (HEADER + "/* never closed", ("comment", "truncated")),
        (HEADER + '.pragma "never closed;', ("string is not closed",)),
        (HEADER + ".global .b32 v = 0f3F;", ("0f3F", "8")),
        (HEADER + ".global .b32 v = 12abc;", ("'12abc' is not a PTX constant",)),
        (HEADER + ".global .b32 v = 09;", ("octal",)),
        (HEADER + ".global .b32 v = 1/0;", ("division by zero",)),
        (HEADER + ".global .b32 v = 1<<99;", ("shift by 99",)),
        (HEADER + ".global .b32 v = " + "(" * 9000 + "1;", ("too deeply",)),
        (HEADER + ".address_size 16", ("32 or 64 bits, not 16",)),
    ],
)
def test_bad_modules(text: str, parts: tuple[str, ...]) -> None:
    fails(text, *parts)


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ("add.s32 %r1, %r2, %r99;", ("'%r99' is used but not declared", "add.s32 %r1, %r2, %r99;")),
        ("add.s32 %r1, %r2", ("',' or ';' after an operand of 'add'", "'}'")),
        ("add.s32 %r1, , %r2;", ("an operand of 'add'",)),
        ("add.s32 %r1, -%r2, 1;", ("no negated operand -%r2",)),
        ("bra $nowhere;", ("label '$nowhere' is not defined in function k",)),
        ("bra table;", ("label 'table' is not defined",)),
        ("T: .branchtargets $a, $b;\n$a: ret;", ("label '$b'",)),
        ("$a: $a: ret;", ("'$a' is declared twice",)),
        (".reg .b32 %r1;", ("'%r1' is declared twice",)),
        (".reg .b32 x, x;", ("'x' is declared twice",)),
        (".reg .b33 x;", ("register type",)),
        (".reg .b32 %x<99999999>;", ("99999999 registers",)),
        (".bogus;", ("unknown directive '.bogus' in a function body",)),
        ("@%r1 ret;", ("guard '%r1' is a .b32 register",)),
        ("@%q1 ret;", ("guard '%q1' is not a declared register",)),
        ("mov.u32 %r1, %tid.q;", ("'%tid.q' is not declared",)),
        ("vadd.s32.s32.s32 %r1, %r2.b0, %r3;", ("video",)),
        ("ld.b32 %r1, [%tid.x];", ("special register '%tid.x' cannot be an address",)),
        ("ld.b32 %r1, [%rd1;", ("']' after the address",)),
        ("ld.b32 %r1, [missing];", ("'missing' is used but not declared",)),
        ("ld.b32 %r1, [%rd1+%rd2];", ("a constant offset",)),
        ("mov.b64 {%r1, table}, %rd1;", ("register, a constant or '_'", "'table'")),
        ("call missing;", ("'missing' is used but not declared",)),
        ("call k, (nothing);", ("an argument 'nothing' is not declared",)),
        ("call (%r1), k, (), proto;", ("'proto' is used but not declared",)),
        (".callprototype _ ();", ("needs a label",)),
        ("5;", ("an instruction, a label",)),
    ],
)
def test_bad_bodies(body: str, parts: tuple[str, ...]) -> None:
    registers = ".reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<5>;"
    fails(
        f"{HEADER}.global .b32 table[4];\n.entry k(.param .u64 k_param_0)\n{{\n{registers}\n{body}\n}}\n",
        *parts,
    )


def test_a_truncated_function_is_called_truncated() -> None:
    text = HEADER + ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<3>;\nadd.s32 %r1, %r1"
    fails(
        text,
        "bad.ptx:7",
        "unexpected end of file inside function k, opened at line 5: the file looks truncated",
    )
    fails(HEADER + ".visible .entry k(.param .u64 p,", "unexpected end of file inside", "line 4", "truncated")
    fails(
        HEADER + ".section .debug_str {", "unexpected end of file inside the debug section opened at line 4"
    )


def parses_or_explains(text: str) -> None:
    """Parsing gives a module or a PtxError, nothing else."""
    with suppress(PtxError):
        parse(text, "any.ptx")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_cut_between_lines(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    for count in range(0, len(lines), 3):
        parses_or_explains("".join(lines[:count]))


@pytest.mark.parametrize("text", [NVCC, TRITON], ids=["nvcc", "triton"])
def test_every_cut_between_characters(text: str) -> None:
    for count in range(len(text)):
        parses_or_explains(text[:count])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_mutations(data: st.DataObject) -> None:
    """Spans deleted, doubled, or replaced by fragments that mean something elsewhere."""
    text = data.draw(st.sampled_from([NVCC, TRITON]))
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(begin, min(len(text), begin + 40)))
        fragment = data.draw(
            st.sampled_from(["", *"{}()[];,:|-!@_", ".reg", ".b32", "0f", "%r1", "<9>", "\0"])
            | st.text(max_size=5)
            | st.just(text[begin:end] * 2)
        )
        text = text[:begin] + fragment + text[end:]
    parses_or_explains(text)


def test_ten_thousand_lines_take_about_a_second() -> None:
    body = "mad.lo.s32 %r1, %r2, %r3, -7;\nld.global.v2.b32 {%r4, %r5}, [%rd1+8];\n@%p1 bra $top;\n" * 3400
    begin = time.perf_counter()
    assert len(kernel("$top:\n" + body).body or []) == 10201
    assert time.perf_counter() - begin < 3  # a fraction of a second on a quiet machine
