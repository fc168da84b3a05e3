"""Calls that are inlined: what the caller's and the callee's parameters become."""

from __future__ import annotations

import pytest

from warpbank.program.isa import Instr, Op, Reg
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def lowered(result: str, stores: str, call: str) -> list[Instr]:
    """Code of a kernel that calls a function with such a result, before allocation."""
    registers = ".reg .b16 %h<3>; .reg .b32 %r<3>; .reg .b64 %rd<3>;"
    function = f".func ({result}) f() {{ {registers} {stores} ret; }}\n"
    text = f"{HEAD}{function}.visible .entry k() {{ {registers} {call} ret; }}\n"
    return lower(parse(text, "some.ptx"), "k").instructions()


@pytest.mark.parametrize("size", [2, 8, 16, 72])
def test_a_result_that_is_written_in_parts_begins_as_zeros(size: int) -> None:
    code = lowered(
        f".param .align 4 .b8 r[{size}]",
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
        f".param .b{bits} r",
        f"ld.global.b{bits} %{kind}1, [16]; st.param.b{bits} [r], %{kind}1;",
        f"call (%{kind}2), f; st.global.b{bits} [0], %{kind}2;",
    )
    copies = [i for i in code if i.op is Op.MOV and isinstance(i.srcs[0], Reg)]
    assert all(i.dst is not None and i.dst.width == i.srcs[0].width for i in copies)  # type: ignore[union-attr]
    store = next(i for i in code if i.op is Op.ST)
    assert isinstance(store.srcs[1], Reg)
    assert store.srcs[1].width == width
