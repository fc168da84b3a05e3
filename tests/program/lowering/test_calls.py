"""Calls that are inlined: what the caller's and the callee's parameters become."""

from __future__ import annotations

import pytest

from warpbank.program.errors import PtxError
from warpbank.program.isa import Instr, Op, Reg, Space
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def lowered(declared: str, inside: str, call: str, before: str = "") -> list[Instr]:
    """Code of a kernel that calls a function, declared and written so, before allocation; `before` is text
    in front of that."""
    registers = ".reg .pred %p<3>; .reg .b16 %h<3>; .reg .b32 %r<3>; .reg .b64 %rd<3>;"
    function = f"{before}.func {declared} {{ {registers} {inside} ret; }}\n"
    text = f"{HEAD}{function}.visible .entry k() {{ {registers} {call} ret; }}\n"
    return lower(parse(text, "some.ptx"), "k").instructions()


@pytest.mark.parametrize("size", [2, 8, 16, 72])
def test_a_result_that_is_written_in_parts_begins_as_zeros(size: int) -> None:
    code = lowered(
        f"(.param .align 4 .b8 r[{size}]) f()",
        "ld.global.b8 %h1, [16]; st.param.b8 [r], %h1;",
        f"{{ .param .align 4 .b8 given[{size}]; call (given), f; ld.param.b8 %r1, [given]; "
        f"ld.param.b8 %r2, [given+{size - 1}]; st.global.v2.u32 [0], {{%r1, %r2}}; }}",
    )
    written = [register for instr in code for register in instr.registers_written()]
    assert {register for instr in code for register in instr.registers_read()} <= set(written)
    assert any(instr.op is Op.LD for instr in code)


@pytest.mark.parametrize(("bits", "width"), [(32, 1), (64, 2)])
def test_a_result_in_a_register_is_copied_whole(bits: int, width: int) -> None:
    kind = "r" if bits == 32 else "rd"
    code = lowered(
        f"(.param .b{bits} r) f()",
        f"ld.global.b{bits} %{kind}1, [16]; st.param.b{bits} [r], %{kind}1;",
        f"call (%{kind}2), f; st.global.b{bits} [0], %{kind}2;",
    )
    moves = [(i.dst, i.srcs[0]) for i in code if i.op is Op.MOV]
    assert all(
        target.width == source.width
        for target, source in moves
        if isinstance(target, Reg) and isinstance(source, Reg)
    )
    store = next(i for i in code if i.op is Op.ST)
    assert isinstance(store.srcs[1], Reg)
    assert store.srcs[1].width == width


#: Takes the address of its parameter, and reads it.
TAKES = "mov.u64 %rd1, a; st.global.u64 [0], %rd1; ld.param.u32 %r1, [a]; st.global.u32 [8], %r1;"


def test_an_argument_in_local_memory_stays_there() -> None:
    """The callee passes its parameter on, whose address it has taken."""
    inner = f".func h(.param .b32 a) {{ .reg .b32 %r<3>; .reg .b64 %rd<3>; {TAKES} ret; }}\n"
    code = lowered(
        "f(.param .b32 a)",
        "mov.u64 %rd1, a; st.global.u64 [16], %rd1; call h, (a);",
        "{ .param .b32 g; st.param.b32 [g], %r1; call f, (g); }",
        inner,
    )
    local = [(i.op, i.offset) for i in code if i.space is Space.LOCAL and i.op in (Op.LD, Op.ST)]
    assert local == [(Op.ST, local[0][1]), (Op.LD, local[0][1])]


@pytest.mark.parametrize(
    ("parameter", "call", "why"),
    [
        (
            ".param .b32 a",
            "{ .param .b32 g; st.param.b32 [g+4], %r1; call f, (g); }",
            "it writes bytes 4 to 7 of a",
        ),
        (
            ".param .b32 a",
            "{ .param .align 4 .b8 g[7]; st.param.b32 [g+4], %r1; call f, (g); }",
            "it writes bytes 4 to 7",
        ),
        (
            ".param .b8 a[16]",
            "call f, (%r1);",
            r"argument '%r1' does not fit parameter '\.b8 a\[16\]' of 'f'",
        ),
        (".param .texref a", "call f, (5);", r"argument 5 does not fit parameter '\.texref a' of 'f'"),
        (".param .b8 a[4]", "call f, (%r1);", r"argument '%r1' does not fit parameter '\.b8 a\[4\]' of 'f'"),
        (".param .b16 a[4]", "call f, (5);", r"argument 5 does not fit parameter '\.b16 a\[4\]' of 'f'"),
        (".param .b64 a", "call f, (%p1);", r"argument '%p1' does not fit parameter '\.b64 a' of 'f'"),
        (".param .b32 a", "call f, (n);", "an argument 'n' is not declared"),
        (".param .b32 a", "{ .param .b32 g; call.wide f, (g); }", "modifier .wide is not supported on call"),
    ],
)
def test_what_cannot_be_passed_is_refused(parameter: str, call: str, why: str) -> None:
    with pytest.raises(PtxError, match=why):
        lowered(f"f({parameter})", "", call)
