"""Scopes of names."""

from __future__ import annotations

from tests.program.ptx.texts import HEADER, fails, instructions, kernel
from warpbank.program.ptx.ast import Call, Immediate, Instruction, Label, Register, Symbol
from warpbank.program.ptx.parser import parse


def test_inner_scopes_are_renamed_and_end() -> None:
    function = kernel(
        "{ .reg .b32 t; mov.b32 t, 1; $again: bra $again; }\n"
        "{ .reg .b32 t; mov.b32 t, 2; bra $again; $again: { .reg .b64 t; mov.b64 t, 3; bra $again; } add.s32 "
        "t, t, 1; }"
    )
    assert (function.registers["t"], function.registers["t#2"], function.registers["t#3"]) == (
        "b32",
        "b32",
        "b64",
    )
    first, label, loop, second, forward, label2, third, back, last = function.body or []
    assert isinstance(first, Instruction)
    assert first.operands[0] == Register("t")
    assert isinstance(second, Instruction)
    assert second.operands[0] == Register("t#2")
    assert isinstance(third, Instruction)
    assert third.operands[0] == Register("t#3")
    assert isinstance(last, Instruction)
    assert last.operands[0] == Register("t#2")
    assert label == Label("$again", 8)
    assert label2 == Label("$again#2", 9)
    for branch, target in ((loop, "$again"), (forward, "$again#2"), (back, "$again#2")):
        assert isinstance(branch, Instruction)
        assert branch.operands == (Symbol(target),)


def test_a_name_of_an_ended_scope_is_unknown() -> None:
    text = HEADER + ".entry k {\n.reg .b32 %r<2>;\n{ .reg .b32 t; }\nmov.b32 %r1, t;\n}"
    fails(text, "'t' is used but not declared", "bad.ptx:7")


def test_register_abi_and_indirect_call_targets() -> None:
    text = HEADER + (
        ".func (.reg .u32 rv) f (.reg .u32 a, .reg .f64 b) { add.u32 rv, a, 1; ret; }\n"
        ".func g { ret; }\n"
        ".entry k { .reg .u32 x; .reg .u64 p; .reg .f64 d; call (x), f, (x, d); call g; call g, (); list: "
        ".calltargets f, g;\n"
        "mov.u64 p, f; call (x), p, (1, d), list; }"
    )
    module = parse(text, "abi.ptx")
    function = module.functions["f"]
    assert [(v.name, v.space) for v in (*function.returns, *function.parameters)] == [
        ("rv", "reg"),
        ("a", "reg"),
        ("b", "reg"),
    ]
    assert function.registers == {"rv": "u32", "a": "u32", "b": "f64"}
    calls = [i.operands[0] for i in instructions(module.functions["k"]) if i.opcode == "call"]
    assert calls == [
        Call(("x",), Symbol("f"), (Register("x"), Register("d"))),
        Call((), Symbol("g"), ()),
        Call((), Symbol("g"), ()),
        Call(("x",), Register("p"), (Immediate(1), Register("d")), ("f", "g")),
    ]


def test_declaration_before_definition() -> None:
    module = parse(
        HEADER + ".func f;\n.extern .global .b32 v;\n.func f { ret; }\n.func f;\n.global .b32 v = 3;", "d.ptx"
    )
    assert module.functions["f"].body
    assert module.variables["v"].init == b"\3\0\0\0"
