"""Parameters of calls: bytes of structures at every alignment, numbers in registers and as constants, and
results."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.semantics.bench import HEAD, run
from warpbank.program.errors import PtxError
from warpbank.program.isa import Op, Space
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

#: PTX type and register prefix by width. A register of a byte has 16 bits.
REGISTERS = {8: ("b16", "%h"), 16: ("b16", "%h"), 32: ("b32", "%r"), 64: ("b64", "%d")}


def structure(align: int, size: int, *, addressed: bool) -> str:
    """A call that passes `size` bytes, of which the callee gives one back: by its address, or by its name."""
    writes = "".join(
        f"add.u32 %r3, %r2, {3 * i + 1}; cvt.u16.u32 %h1, %r3; st.param.b8 [n+{i}], %h1;\n"
        for i in range(size)
    )
    picks = "".join(
        f"setp.eq.u32 %p, %r1, {i}; ld.param.u8 %h1, [a+{i}]; cvt.u32.u16 %r3, %h1; @%p mov.b32 %r2, %r3;\n"
        for i in range(size)
    )
    by_address = "mov.b64 %d1, a; cvt.u64.u32 %d2, %r1; add.s64 %d1, %d1, %d2; ld.param.u8 %h1, [%d1];"
    look = f"{by_address} cvt.u32.u16 %r2, %h1;" if addressed else f"mov.b32 %r2, 0;\n{picks}"
    return f"""
.func (.param .b32 r) byte(.param .align {align} .b8 a[{size}], .param .b32 at) {{
    .reg .b32 %r<5>; .reg .b64 %d<5>; .reg .b16 %h<3>; .reg .pred %p;
    ld.param.b32 %r1, [at];
    {look}
    st.param.b32 [r], %r2; ret; }}
.visible .entry k(.param .u64 out) {{
    .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b16 %h<3>;
    ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 29; rem.u32 %r4, %r1, {size};
    {{ .param .align {align} .b8 n[{size}]; .param .b32 at; .param .b32 got;
    {writes}
    st.param.b32 [at], %r4; call (got), byte, (n, at); ld.param.b32 %r5, [got]; }}
    mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r5; ret; }}
"""


@pytest.mark.parametrize("addressed", [False, True], ids=["named", "addressed"])
@pytest.mark.parametrize("align", [1, 2, 4, 8])
def test_bytes_of_a_structure(align: int, addressed: bool) -> None:
    for size in range(1, 10):
        expected = [(29 * t + 3 * (t % size) + 1) & 255 for t in range(32)]
        for buffers in run(structure(align, size, addressed=addressed), {"out": np.zeros(32, np.uint32)}):
            assert buffers["out"].tolist() == expected, size


@pytest.mark.parametrize(
    ("align", "size", "stores"),
    [(4, 8, [4, 4]), (8, 5, [4, 1]), (4, 7, [4, 2, 1]), (2, 2, [2]), (1, 2, [1, 1]), (2, 5, [1, 1, 1, 1, 1])],
)
def test_a_structure_with_an_address_is_copied_in_the_widest_pieces(
    align: int, size: int, stores: list[int]
) -> None:
    code = lower(parse(HEAD + structure(align, size, addressed=True), "one.ptx"), "k").instructions()
    assert [i.size for i in code if i.op is Op.ST and i.space is Space.LOCAL] == stores
    assert [i.op for i in code].count(Op.SHR) == len(stores) - -(-size // 4)


def number(bits: int, argument: str, formal: str, result: str, place: str = "register") -> str:
    """A call of x + 5.

    Parameters
    ----------
    bits : of x; no register that arithmetic takes has 8.
    argument : an operand; `register`; `buffer` for a .param variable, `local` for one whose address is taken.
    formal, result : state spaces of the callee, or `addressed`: a parameter whose address is taken.
    place : of the result: `register`, `buffer` or `local`.
    """
    wide, r = REGISTERS[bits]
    bare = f"b{bits}"
    given = {"register": f"{r}2", "buffer": "given", "local": "given"}.get(argument, argument)
    load = {
        "param": f"ld.param.{bare} {r}1, [a];",
        "addressed": f"mov.b64 %d3, a; ld.param.{bare} {r}1, [%d3];",
        "reg": f"mov.{wide} {r}1, a;",
    }[formal]
    back = f"st.param.{bare} [r], {r}1;" if result == "param" else f"mov.{wide} r, {r}1;"
    parameter = f".reg .{wide}" if formal == "reg" else f".param .{bare}"
    returned = f".reg .{wide}" if result == "reg" else f".param .{bare}"
    before = f".param .{bare} given, got; st.param.{bare} [given], {r}2;" if argument in BUFFERS else ""
    before += f".param .{bare} got;" if place in BUFFERS and not before else ""
    before += "mov.b64 %d7, given;" if argument == "local" else ""
    before += "mov.b64 %d8, got;" if place == "local" else ""
    kernel = ".visible .entry k(.param .u64 out)"
    caller, rest = kernel, ""
    if "local" in (argument, place):  # a kernel has no such variables
        caller = ".func body(.param .u64 out)"
        rest = f"{kernel} {{ .reg .b64 %d; ld.param.u64 %d, [out]; call body, (%d); ret; }}"
    return f"""
.func ({returned} r) f({parameter} a) {{
    .reg .b32 %r<5>; .reg .b64 %d<5>; .reg .b16 %h<3>;
    {load} add.u{max(16, bits)} {r}1, {r}1, 5; {back} ret; }}
{caller} {{
    .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b16 %h<5>;
    ld.param.u64 %d5, [out]; mov.u32 %r7, %tid.x; mul.wide.u32 %d6, %r7, 8; add.s64 %d5, %d5, %d6;
    cvt.u64.u32 %d2, %r7; mul.lo.u64 %d2, %d2, 0x100000003; mul.lo.u32 %r2, %r7, 0x1000003;
    mul.lo.u32 %r3, %r7, 3; cvt.u16.u32 %h2, %r3; {before}
    call ({f"{r}4" if place == "register" else "got"}), f, ({given});
    {f"ld.param.{bare} {r}4, [got];" if place in BUFFERS else ""}
    {f"cvt.u64.u{bits} %d4, {r}4;" if bits < 64 else ""}
    st.global.u64 [%d5], %d4; ret; }}
{rest}"""


BUFFERS = ("buffer", "local")
#: Width, argument, formal parameter, result and its place. No register has 8 bits.
NUMBERS = [
    (bits, argument, formal, result, place)
    for bits in REGISTERS
    for argument in ("register", "37", *BUFFERS)
    for formal in ("param", "addressed", "reg")
    for result in ("param", "reg")
    for place in ("register", *BUFFERS)
    if bits > 8 or (argument != "register" and place != "register" and "reg" not in (formal, result))
]


@pytest.mark.parametrize(("bits", "argument", "formal", "result", "place"), NUMBERS)
def test_numbers(bits: int, argument: str, formal: str, result: str, place: str) -> None:
    step = {8: 3, 16: 3, 32: 0x1000003, 64: 0x100000003}[bits]
    expected = [((int(argument) if argument == "37" else t * step) + 5) & (1 << bits) - 1 for t in range(32)]
    text = number(bits, argument, formal, result, place)
    for buffers in run(text, {"out": np.zeros(32, np.uint64)}, lenient="local" in (argument, place)):
        assert buffers["out"].tolist() == expected


@pytest.mark.parametrize("formal", ["reg", "param"])
def test_numbers_of_128_bits(formal: str) -> None:
    take = "mov.b128 %q, a;" if formal == "reg" else "ld.param.b128 %q, [a];"
    text = f"""
.func (.reg .b128 r) f(.{formal} .b128 a) {{
    .reg .b64 %d<3>; .reg .b128 %q; {take} mov.b128 {{%d1, %d2}}, %q; add.u64 %d1, %d1, 1;
    mov.b128 r, {{%d2, %d1}}; ret; }}
.visible .entry k(.param .u64 out) {{
    .reg .b64 %d<5>; .reg .b128 %q; .param .b128 given, got; ld.param.u64 %d1, [out];
    mov.b64 %d2, 0x1122334455667788; mov.b128 %q, {{%d2, 7}};
    st.param.b128 [given], %q; call (got), f, (given); ld.param.b128 %q, [got];
    mov.b128 {{%d3, %d4}}, %q; st.global.v2.u64 [%d1], {{%d3, %d4}}; ret; }}
"""
    for buffers in run(text, {"out": np.zeros(2, np.uint64)}):
        assert buffers["out"].tolist() == [7, 0x1122334455667789]


def test_a_result_that_nobody_needs() -> None:
    for result in ("param", "reg"):
        text = number(32, "37", "param", result).replace("call (%r4)", "mov.u32 %r4, 3; call (_)")
        for buffers in run(text, {"out": np.zeros(32, np.uint64)}):
            assert buffers["out"].tolist() == [3] * 32


def test_two_parameters_have_their_own_addresses() -> None:
    text = """
.func (.param .b32 r) f(.param .b32 a, .param .b64 b) {
    .reg .b32 %r<5>; .reg .b64 %d<5>;
    mov.b64 %d1, a; mov.b64 %d2, b; ld.param.b32 %r1, [%d1];
    ld.param.b32 %r2, [%d2]; ld.param.b32 %r3, [%d2+4];
    mad.lo.u32 %r1, %r1, 100, %r2; mad.lo.u32 %r1, %r1, 100, %r3; st.param.b32 [r], %r1; ret; }
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<9>; .reg .b64 %d<9>;
    ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 3; mov.b64 %d2, {%r2, 7};
    call (%r4), f, (%r1, %d2);
    mul.wide.u32 %d3, %r1, 4; add.s64 %d1, %d1, %d3; st.global.u32 [%d1], %r4; ret; }
"""
    for buffers in run(text, {"out": np.zeros(32, np.uint32)}):
        assert buffers["out"].tolist() == [10000 * t + 100 * (t + 3) + 7 for t in range(32)]


def test_a_result_has_no_address() -> None:
    text = number(32, "37", "param", "param").replace("st.param.b32 [r], %r1", "mov.b64 %d1, r")
    with pytest.raises(PtxError, match="'f' takes the address of its result 'r', which has none: write it"):
        run(text, {"out": np.zeros(32, np.uint64)})
    by_name = text.replace("call (%r4)", "{ .param .b32 got; call (got)").replace(
        "cvt.u64.u32 %d4, %r4;", "ld.param.b32 %r4, [got]; }"
    )
    with pytest.raises(PtxError, match="'r' has no address here"):
        run(by_name, {"out": np.zeros(32, np.uint64)})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("call (%r4), f, (%r2, %r2);", "'f' takes 1 arguments and gives 1 results"),
        ("call f, (%r2);", "'f' takes 1 arguments and gives 1 results"),
        (
            "{ .shared .b32 tile; call (%r4), f, (tile); }",
            "argument 'tile' does not fit parameter '.b32 a' of",
        ),
        ("{ .param .b16 n; call (%r4), f, (n); }", "argument 'n' does not fit parameter '.b32 a' of 'f'"),
        ("{ .param .b64 n; call (%r4), f, (n); }", "argument 'n' does not fit parameter '.b32 a' of 'f'"),
        ("call (%r4), f, (%d2);", "argument '%d2' does not fit parameter '.b32 a' of 'f'"),
        ("{ .shared .b32 tile; call (tile), f, (%r2); }", "'tile' does not fit result '.b32 r' of 'f'"),
        ("call (%d4), f, (%r2);", "'%d4' does not fit result '.b32 r' of 'f'"),
        ("call (%h4), f, (%r2);", "'%h4' does not fit result '.b32 r' of 'f'"),
        ("{ .param .b64 n; call (n), f, (%r2); }", "'n' does not fit result '.b32 r' of 'f'"),
        ("call (5), f, (%r2);", "expected a return parameter, found '5'"),
        ("call (%r4), f, (_);", "an argument '_' is not declared"),
        ("call k;", "'k' is a kernel: a call reaches a .func"),
    ],
)
def test_calls_that_do_not_fit(call: str, message: str) -> None:
    text = number(32, "register", "param", "param").replace("call (%r4), f, (%r2);", call)
    with pytest.raises(PtxError, match=message):
        run(text, {"out": np.zeros(32, np.uint64)})
