"""Layout of what a kernel names: what fits into constant memory, variables of other files, textures."""

from __future__ import annotations

import pytest

from warpbank.program.errors import PtxError
from warpbank.program.isa import CODE_WINDOW, CONST_WINDOW, Kernel
from warpbank.program.lowering import lower
from warpbank.program.lowering.layout import CONST_PARAMETERS, CONSTANT_BYTES, Layout, vectors_of
from warpbank.program.ptx.parser import parse

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def lowered(variables: str, body: str = "", parameters: str = "") -> Kernel:
    body = f".reg .b32 %r<5>; .reg .b64 %rd<3>; {body}"
    text = f"{HEAD}{variables}\n.visible .entry k({parameters}) {{ {body} ret; }}\n"
    return lower(parse(text, "some.ptx"), "k")


@pytest.mark.parametrize("more", [0, 4])
def test_constant_memory_can_be_filled_to_its_end(more: int) -> None:
    room = CONSTANT_BYTES - CONST_PARAMETERS - 8 + more
    variables = f".const .align 4 .b8 table[{room}];"
    body = "ld.const.u32 %r1, [table]; st.global.u32 [0], %r1;"
    if not more:
        assert len(lowered(variables, body, ".param .u64 a").constants) == CONSTANT_BYTES
    else:
        with pytest.raises(
            PtxError, match=rf"table.* does not fit: .* may take {CONSTANT_BYTES} bytes together"
        ):
            lowered(variables, body, ".param .u64 a")


@pytest.mark.parametrize(("declared", "size"), [(".b8 v", 1), (".b32 v", 4), (".b8 v[6]", 6)])
def test_a_variable_of_another_file_has_room_where_its_size_is_known(declared: str, size: int) -> None:
    made = lowered(f".extern .global {declared};", "mov.u64 %rd1, v; ld.global.b8 %r1, [%rd1];")
    assert made.globals["v"].size == size


def test_a_variable_of_another_file_and_no_size_is_refused() -> None:
    with pytest.raises(PtxError, match="'v' is only declared"):
        lowered(".extern .global .b8 v[];", "mov.u64 %rd1, v; ld.global.b8 %r1, [%rd1];")


def test_addresses_of_textures_stand_one_behind_the_other() -> None:
    module = parse(f"{HEAD}.entry k() {{ ret; }}\n", "some.ptx")
    kernel = Kernel("k", [], {}, 0)
    layout = Layout(module, module.functions["k"], kernel)
    slots = [layout.texture_slot(name, 1) for name in ("a", "b", "a", "c")]
    assert slots == [slots[0], slots[0] + 8, slots[0], slots[0] + 16]
    assert slots[0] % 8 == 0
    assert kernel.texture_slots == dict(zip("abac", slots, strict=True))
    assert len(kernel.constants) == slots[-1] + 8


@pytest.mark.parametrize(
    ("value", "base", "added"),
    [
        (".u64 held = g;", None, CODE_WINDOW + 16),
        (".u32 held = g;", None, (CODE_WINDOW + 16) & 0xFFFFFFFF),
        (".u64 held = c+4;", "c", 4),
        (".u32 held = c+12;", "c", 12),
        (".u16 held = c;", "c", 0),
        (".u64 held = generic(c)+8;", "c", CONST_WINDOW + 8),
        (".u64 held = generic(c);", "c", CONST_WINDOW),
        (".u64 held = c+-4096;", "c", -4096),
    ],
)
def test_an_initial_value_holds_an_address(value: str, base: str | None, added: int) -> None:
    kernel = lowered(f".func g() {{ ret; }}\n.const .b32 c[4]; .const .align 8 {value}")
    place, size = kernel.symbols["held"]
    address = (kernel.symbols[base][0] if base else 0) + added
    image = bytes(kernel.constants[place : place + size])
    assert image == address.to_bytes(8, "little", signed=True)[:size]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (".u64 held = g+4;", "holds the address of 'g' with an offset: leave it out"),
        (".u64 held = s;", "holds the address of 's', which has none before the kernel runs"),
        (".u32 held = v;", "holds the address of .global 'v' in 4 bytes: it takes 8"),
        (".u64 held = w;", "'w' is used but not declared"),
    ],
)
def test_an_initial_value_that_nobody_knows_is_refused(value: str, why: str) -> None:
    with pytest.raises(PtxError, match=why):
        lowered(f".func g() {{ ret; }}\n.global .b32 v; .shared .b32 s; .const .align 8 {value}")


def test_a_function_that_is_only_declared_has_no_variables() -> None:
    declared = ".func f(.param .b32 n);\n.shared .b32 s;"
    assert lowered(declared, "mov.u32 %r1, s; st.global.u32 [%rd1], %r1;").shared_bytes == 4


@pytest.mark.parametrize(
    "called", ["call f;", "mov.u64 %rd1, f; some: .callprototype _ (); call %rd1, some;"]
)
def test_shared_variables_of_functions_have_room_where_these_may_be_called(called: str) -> None:
    function = ".func f() { .shared .b32 own[8]; st.shared.b32 [own], 1; ret; }\n"
    unused = function.replace(" f()", " g()")
    assert lowered(function + unused, called).shared_bytes == 32
    assert lowered(function + unused).shared_bytes == 0


def test_shared_variables_of_functions_that_called_functions_call() -> None:
    inner = ".func g() { .shared .b32 own[8]; st.shared.b32 [own], 1; ret; }\n"
    assert lowered(inner + ".func f() { call g; ret; }\n", "call f;").shared_bytes == 32


def test_a_constant_of_another_file_is_refused() -> None:
    with pytest.raises(PtxError, match="'c' has no address here"):
        lowered(".extern .const .b32 c[4];", "ld.const.u32 %r1, [c]; st.global.u32 [%rd1], %r1;")


def test_constant_memory_is_whole_words_of_64_bits() -> None:
    for parameters, size in ((".param .u8 a", 8), (".param .u64 a", 8), (".param .u64 a, .param .u32 b", 16)):
        assert len(lowered("", "", parameters).constants) == CONST_PARAMETERS + size


def test_vectors_of_distinct_registers() -> None:
    text = """.entry k() { .reg .b32 %r<9>; .reg .b64 %d; ld.global.v2.b32 {%r1, %r2}, [%d];
ld.global.v4.b32 {%r1, _, %r2, %r3}, [%d]; ld.global.v2.b32 {%r4, %r4}, [%d]; st.global.v2.b32 [%d], {%r5, 3};
st.global.v4.b32 [%d], {%r5, %r6, %r7, %r8}; ret; }"""
    function = parse(HEAD + text, "some.ptx").functions["k"]
    assert [(i.opcode, names) for i, names in vectors_of(function)] == [
        ("ld", ("%r1", "%r2")),
        ("st", ("%r5", "%r6", "%r7", "%r8")),
    ]


def test_an_address_of_global_memory_has_64_bits() -> None:
    with pytest.raises(PtxError, match=r"the address of \.global variable 'v' has 64 bits"):
        lowered(".global .b32 v;", "mov.u32 %r1, v;")
