"""Variables: initial values, relocations, shapes."""

from __future__ import annotations

import struct

import pytest

from tests.program.ptx.texts import HEADER, variable
from warpbank.program.ptx.ast import Symbol
from warpbank.program.ptx.parser import parse


@pytest.mark.parametrize(
    ("declaration", "init"),
    [
        (".global .b32 v = 7;", struct.pack("<i", 7)),
        (".global .b32 v = -1;", b"\xff" * 4),
        (".global .f32 v = 0f40490FDB;", bytes.fromhex("db0f4940")),
        (".global .f32 v = 1.5;", struct.pack("<f", 1.5)),
        (".global .f32 v = 2;", struct.pack("<f", 2)),
        (".global .f32 v = 0x40490FDB;", struct.pack("<f", 0x40490FDB)),
        (".global .f64 v = 0d3FF8000000000000;", struct.pack("<d", 1.5)),
        (".global .f32 v = 0f7F800001;", bytes.fromhex("0100807f")),
        (".global .b32 v = 0f3F800000;", struct.pack("<f", 1)),
        (".const .align 4 .b8 v[4] = {1, 2};", b"\1\2\0\0"),
        (".global .u16 v[] = {1, 2, 3};", struct.pack("<3H", 1, 2, 3)),
        (".global .s32 v[2][3] = {{1}, {4, 5, 6}};", struct.pack("<6i", 1, 0, 0, 4, 5, 6)),
        (".global .s32 v[2][3] = {1, 2, 3, 4};", struct.pack("<6i", 1, 2, 3, 4, 0, 0)),
        (".global .s8 v[][2] = {{1,2},{3}};", b"\1\2\3\0"),
        (".global .v4 .f32 v = {1.0, 2.0, 3.0};", struct.pack("<4f", 1, 2, 3, 0)),
        (".global .v2 .u8 v[2] = {{1,2},{3,4}};", b"\1\2\3\4"),
        (".global .u8 v[3] = {0x10, (1+1), 1<<2,};", b"\x10\2\4"),
    ],
)
def test_initial_values(declaration: str, init: bytes) -> None:
    found = variable(declaration)
    assert (found.init, found.size) == (init, len(init))


def test_relocations() -> None:
    table = ".global .b32 t[4];\n.func f { ret; }\n"
    assert variable(table + ".global .u64 p[3] = {t, 0, t+4};").relocations == (
        (0, Symbol("t"), 8),
        (16, Symbol("t", 4), 8),
    )
    assert variable(table + ".global .u64 p = generic(t)+12;").relocations == ((0, Symbol("t", 12, True), 8),)
    assert variable(table + ".global .u64 p = generic(t+4)-8;").relocations == (
        (0, Symbol("t", -4, True), 8),
    )
    assert variable(
        table + ".global .u64 p[] = {f, p2};.global .u64 p2;" + ".global .u64 q = f;"
    ).relocations == ((0, Symbol("f"), 8),)
    masks = ", ".join(f"0xFF{'00' * i}(generic(t)+4)" for i in range(8))
    packed = variable(table + f".global .u8 p[10] = {{1, {masks}}};")
    assert packed.relocations == ((1, Symbol("t", 4, True), 8),)
    assert packed.init == b"\1" + bytes(9)


def test_shapes() -> None:
    found = parse(
        HEADER
        + ".extern .shared .align 16 .b8 dyn[];.shared .v2 .f32 a[3][4];.global .attribute(.managed) .u32 m, "
        "n[2];"
        ".global .align 64 .f16 h;.visible .global .texref t;.const[2] .b32 banked[4];",
        "s.ptx",
    ).variables
    shapes = {name: (v.space, v.type, v.size, v.align) for name, v in found.items()}
    assert shapes == {
        "dyn": ("shared", "b8", 0, 16),
        "a": ("shared", "f32", 96, 8),
        "m": ("global", "u32", 4, 4),
        "n": ("global", "u32", 8, 4),
        "h": ("global", "f16", 2, 64),
        "t": ("global", "texref", 8, 8),
        "banked": ("const", "b32", 16, 4),
    }
