"""Every form of operand."""

from __future__ import annotations

import pytest

from tests.program.ptx.texts import instructions, kernel, one
from warpbank.program.ptx.ast import (
    Address,
    Immediate,
    Instruction,
    Negated,
    PredicatePair,
    Register,
    Special,
    Symbol,
    Vector,
)


@pytest.mark.parametrize(
    ("written", "value", "kind"),
    [
        ("0", 0, "int"),
        ("12", 12, "int"),
        ("-3", -3, "int"),
        ("+3", 3, "int"),
        ("0x7fU", 127, "int"),
        ("-0x80000000", -0x80000000, "int"),
        ("0xffffffffffffffff", (1 << 64) - 1, "int"),
        ("017", 15, "int"),
        ("0b101", 5, "int"),
        ("0B11U", 3, "int"),
        ("4294967295U", 4294967295, "int"),
        ("(1+2)", 3, "int"),
        ("(1+2)*4-1", 11, "int"),
        ("1<<4|1", 17, "int"),
        ("-7/2", -3, "int"),
        ("~0", -1, "int"),
        ("WARP_SZ", 32, "int"),
        ("WARP_SZ-1", 31, "int"),
        ("0f3F800000", 0x3F800000, "f32"),
        ("0F3f800000", 0x3F800000, "f32"),
        ("-0f3F800000", 0xBF800000, "f32"),
        ("0d3FF8000000000000", 0x3FF8000000000000, "f64"),
        ("1.5", 0x3FF8000000000000, "f64"),
        ("-15e-1", 0xBFF8000000000000, "f64"),
        ("1.", 0x3FF0000000000000, "f64"),
    ],
)
def test_immediates(written: str, value: int, kind: str) -> None:
    assert one(f"mov.b64 %rd1, {written};").operands[1] == Immediate(value, kind)
    assert kernel(f"st.b64 [%rd1], {written}; ret;").body


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("[%rd1]", Address(Register("%rd1"))),
        ("[%rd1+8]", Address(Register("%rd1"), 8)),
        ("[%rd1+-8]", Address(Register("%rd1"), -8)),
        ("[%rd1-8]", Address(Register("%rd1"), -8)),
        ("[ %rd1 + 0x10 ]", Address(Register("%rd1"), 16)),
        ("[k_param_0]", Address(Symbol("k_param_0"))),
        ("[k_param_0+4]", Address(Symbol("k_param_0", 4))),
        ("[table+4]", Address(Symbol("table", 4))),
        ("[16]", Address(Immediate(16))),
        ("[16+4]", Address(Immediate(20))),
        ("local[3]", Address(Symbol("local", 12))),
    ],
)
def test_addresses(written: str, address: Address) -> None:
    body = kernel(f".local .b32 local[8]; ld.b32 %r1, {written};", ".global .b32 table[4];").body
    assert body is not None
    assert isinstance(body[0], Instruction)
    assert body[0].operands == (Register("%r1"), address)


def test_vectors_pairs_guards_and_specials() -> None:
    assert one("mov.b32 {%h1, _}, %r1;").operands[0] == Vector((Register("%h1"), None))
    assert one("setp.eq.and.s32 %p1|%p2, %r1, %r2, !%p3;").operands == (
        PredicatePair(Register("%p1"), Register("%p2")),
        Register("%r1"),
        Register("%r2"),
        Negated(Register("%p3")),
    )
    assert one("setp.eq.s32 %p1|_, %r1, 0;").operands[0] == PredicatePair(Register("%p1"), None)
    assert one("setp.eq.s32 _|%p1, %r1, 0;").operands[0] == PredicatePair(None, Register("%p1"))
    assert one("shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;").operands[0] == PredicatePair(
        Register("%r1"), Register("%p1")
    )
    assert one("atom.global.add.u32 _, [%rd1], 1;").operands[0] is None
    assert one("@%p1 exit;").guard == ("%p1", False)
    assert one("@!%p1 exit;").guard == ("%p1", True)
    assert one("@! %p1 exit;").guard == ("%p1", True)
    assert one("mov.u32 %r1, %tid.x;").operands[1] == Special("%tid.x")
    assert one("mov.u64 %rd1, %clock64;").operands[1] == Special("%clock64")
    assert one("mov.u64 %rd1, k;").operands[1] == Symbol("k")
    assert one("mov.u64 %rd1, k_param_0+8;").operands[1] == Symbol("k_param_0", 8)


def test_instruction_record() -> None:
    instruction = one("mad .lo.s32   %r1, /* why */ %r2,\n\t%r3, // c\n -1 ;")
    assert instruction == Instruction(
        "mad",
        ("lo", "s32"),
        (Register("%r1"), Register("%r2"), Register("%r3"), Immediate(-1)),
        None,
        8,
        "mad .lo.s32 %r1, %r2, %r3, -1 ;",
    )
    assert one("ld.shared::cta.b32 %r1, [%r2];").modifiers == ("shared::cta", "b32")
    assert one("ret;").operands == ()


def test_texture_address_parts_become_operands() -> None:
    """Whatever lowering says to textures, the parser must get past them."""
    texture = one("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%f0, %f1}];", ".global .texref t;")
    assert texture.operands[1:] == (Address(Symbol("t")), Vector((Register("%f0"), Register("%f1"))))


def test_vector_registers_become_scalars() -> None:
    function = kernel(".reg .v4 .f32 v; ld.global.v4.f32 v, [%rd1]; mov.f32 %f1, v.y;")
    assert [function.registers[f"v.{axis}"] for axis in "xyzw"] == ["f32"] * 4
    load, move = instructions(function)
    assert load.operands[0] == Vector(tuple(Register(f"v.{axis}") for axis in "xyzw"))
    assert move.operands[1] == Register("v.y")
