"""Function pointers: addresses of functions, and which of them a call through a register may reach."""

from __future__ import annotations

import pytest

from tests.program.lowering.test_refusals import HEAD, body
from warpbank.program.errors import PtxError
from warpbank.program.isa import CODE_WINDOW
from warpbank.program.lowering import lower
from warpbank.program.lowering.pointers import address_taken, callees, candidates, function_address
from warpbank.program.ptx.ast import Call, Immediate, Module, Register, Symbol
from warpbank.program.ptx.parser import parse

#: Functions of several signatures. The addresses of `never` and `declared` are not taken by an instruction.
FUNCTIONS = """
.func none() { ret; }
.func one(.param .b32 a) { ret; }
.func pair(.param .b64 a) { ret; }
.func real(.param .f32 a) { ret; }
.func bytes(.param .b8 a[4]) { ret; }
.func byte(.param .b8 a) { ret; }
.func picture(.param .texref a) { ret; }
.func two(.param .b32 a, .param .b32 b) { ret; }
.func (.param .b32 r) gives(.param .b32 a) { ret; }
.func never() { ret; }
.func declared(.param .b32 a);
.entry other() { ret; }
"""
POINTED = ("none", "one", "pair", "real", "bytes", "byte", "picture", "two", "gives")
CALLER = """.entry k() { .reg .b32 %r; .reg .s32 %s; .reg .f32 %f; .reg .b64 %rd; .reg .b8 %b;
.param .b32 x; .param .b64 y; .param .f32 z; .param .texref t; .param .s32 w; .param .b8 s[4]; TAKES ret; }
"""


def module(taken: tuple[str, ...] = POINTED, variables: str = "") -> Module:
    takes = " ".join(f"mov.u64 %rd, {name};" for name in taken)
    return parse(HEAD + FUNCTIONS + variables + CALLER.replace("TAKES", takes), "some.ptx")


def call(*arguments: Register | Symbol | Immediate, returns: tuple[str, ...] = ()) -> Call:
    return Call(returns, Register("%rd"), arguments)


def test_every_function_has_an_address_of_its_own() -> None:
    found = module()
    addresses = [function_address(found, name) for name in found.functions]
    assert addresses == [CODE_WINDOW + 16 * (i + 1) for i in range(len(found.functions))]


def test_addresses_are_taken_by_operands_and_by_initial_values() -> None:
    tables = ".global .u64 table[2] = {two, never}; .const .u64 single = pair;\n"
    assert address_taken(module(("one",), tables)) == ["one", "pair", "two", "never"]
    own = parse(HEAD + ".func f() { ret; } .entry k() { .const .u64 c = f; ret; }", "some.ptx")
    assert address_taken(own) == ["f"]


def test_neither_calls_nor_declarations_take_an_address() -> None:
    text = ".func f(.param .b32 a) { ret; } .func g(); .entry k() { .param .b32 x; call f, (x); ret; }"
    assert address_taken(parse(HEAD + text, "some.ptx")) == []


@pytest.mark.parametrize(
    ("passed", "names"),
    [
        (call(), ["none"]),
        (call(Register("%r")), ["one", "real"]),
        (call(Register("%s")), ["one"]),
        (call(Register("%f")), ["one", "real"]),
        (call(Register("%rd")), ["pair"]),
        (call(Symbol("x")), ["one", "real", "bytes"]),
        (call(Symbol("y")), ["pair"]),
        (call(Symbol("t")), ["picture"]),
        (call(Symbol("z")), ["one", "real", "bytes"]),
        (call(Symbol("w")), ["one", "bytes"]),
        (call(Symbol("s")), ["one", "real", "bytes"]),
        (call(Immediate(5)), ["one", "pair", "real", "byte"]),
        (call(Register("%b")), ["byte"]),
        (call(Register("%r"), Symbol("x")), ["two"]),
        (call(Register("%r"), Symbol("y")), []),
        (call(Register("%rd"), Symbol("x")), []),
        (call(Register("%r"), returns=("%r",)), ["gives"]),
        (call(Register("%r"), returns=("%rd",)), []),
        (call(Register("%r"), returns=("x",)), ["gives"]),
        (call(Register("%r"), returns=("_",)), ["gives"]),
        (call(returns=("%r",)), []),
    ],
)
def test_a_call_reaches_the_functions_that_it_fits(passed: Call, names: list[str]) -> None:
    found = module((*POINTED, "declared", "other"))
    assert [f.name for f in candidates(found, found.functions["k"], passed)] == names
    assert [f.name for f in callees(found, found.functions["k"], passed)] == names


def test_a_list_of_targets_is_all_that_a_call_reaches() -> None:
    found = module(("one",))
    targets = Call((), Register("%rd"), (Register("%r"),), ("real", "declared"))
    assert [f.name for f in candidates(found, found.functions["k"], targets)] == ["real"]


@pytest.mark.parametrize(("name", "reached"), [("one", ["one"]), ("declared", []), ("missing", [])])
def test_a_call_by_name_reaches_the_function_with_a_body(name: str, reached: list[str]) -> None:
    found = module()
    by_name = Call((), Symbol(name), (Register("%r"),))
    assert [f.name for f in callees(found, found.functions["k"], by_name)] == reached


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "ld.global.u32 %r1, [again];",
            "'again' is a function, which is no memory: only call it, or take its",
        ),
        ("st.u32 [again], %r1;", "'again' is a function, which is no memory"),
        ("mov.u64 %rd1, again+4;", "function 'again' has one address alone: leave the offset out"),
        (
            "some: .calltargets again; call %rd1, (%rd2), some;",
            "argument '%rd2' does not fit parameter '.b32 n' of 'again'",
        ),
        ("some: .calltargets again, k; call %rd1, (%r1), some;", "'k' is a kernel: a call reaches a .func"),
    ],
)
def test_what_is_no_function_pointer_is_refused(line: str, why: str) -> None:
    with pytest.raises(PtxError) as refused:
        lower(parse(body(line), "some.ptx"), "k")
    assert why in str(refused.value)
