"""The parser on PTX of several compilers, on every operand form, and on files that are wrong."""

from __future__ import annotations

import struct
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from program.errors import PtxError
from program.ptx.ast import (
    Address,
    BranchTargets,
    Call,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Negated,
    PredicatePair,
    Register,
    Special,
    Symbol,
    Variable,
    Vector,
)
from program.ptx.parser import parse

DATA = Path(__file__).parent / "data"
SAMPLES = sorted(DATA.glob("*.ptx"))
HEADER = ".version 7.8\n.target sm_75\n.address_size 64\n"


def kernel(body: str, before: str = "") -> Function:
    """A kernel `k` with one parameter, some registers and `body`."""
    registers = ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<10>; .reg .f32 %f<4>; .reg .b64 %rd<5>;"
    module = parse(f"{HEADER}{before}\n.visible .entry k(.param .u64 k_param_0)\n{{\n{registers}\n{body}\n}}\n", "k.ptx")
    return module.functions["k"]


def one(statement: str, before: str = "") -> Instruction:
    """The only instruction of a kernel."""
    body = kernel(statement, before).body
    assert body is not None
    (instruction,) = body
    assert isinstance(instruction, Instruction)
    return instruction


def variable(declaration: str) -> Variable:
    """The last variable of a module."""
    module = parse(HEADER + declaration, "v.ptx")
    return list(module.variables.values())[-1]


def fails(text: str, *parts: str) -> None:
    """Parsing `text` gives a PtxError that begins with file and line and holds every part."""
    with pytest.raises(PtxError) as caught:
        parse(text, "bad.ptx")
    message = str(caught.value)
    assert message.startswith(f"bad.ptx:{caught.value.line}: ")
    assert "\n" not in message
    for part in parts:
        assert part in message


def instructions(function: Function) -> list[Instruction]:
    return [statement for statement in function.body or [] if isinstance(statement, Instruction)]


# Compiled files


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    return {path.stem: parse(path.read_text(), str(path)) for path in SAMPLES}


def test_there_are_samples() -> None:
    assert {path.stem for path in SAMPLES} >= {"scopes.O0", "scopes.O3", "switch.O0", "switch.O3", "switch.g"}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_statement_of_a_compiled_file_is_kept(path: Path) -> None:
    """Counted independently: instruction lines are those that end in a semicolon and begin with neither a dot nor a label."""
    count = 0
    for line in path.read_text().splitlines():
        statement = line.split("//")[0].strip()
        if statement.startswith("{ .reg"):
            count += 2  # the one inline assembly
        elif statement.endswith(";") and not statement.startswith((".", "$L", "prototype", ")")):
            count += 1
    module = parse(path.read_text(), str(path))
    assert sum(len(instructions(function)) for function in module.functions.values()) == count


def test_module_of_the_scopes_sample(modules: dict[str, Module]) -> None:
    module = modules["scopes.O0"]
    assert (module.version, module.target, module.address_size) == ("8.8", "sm_75", 64)
    assert set(module.functions) == {"_Z5twicei", "_Z9make_pairif", "_Z4notePix", "_Z5applyPFiiEi", "scopes"}
    entry = module.functions["scopes"]
    assert entry.entry
    assert [(p.type, p.size, p.align) for p in entry.parameters] == [
        ("u64", 8, 8), ("u64", 8, 8), ("b8", 8, 4), ("f64", 8, 8), ("u32", 4, 4)
    ]  # fmt: skip
    pair = module.functions["_Z9make_pairif"]
    assert [(r.name, r.size) for r in pair.returns] == [("func_retval0", 8)]
    assert module.variables["weights"].init == struct.pack("<4f", 1.0, 0.5, -0.25, 3.0)
    assert module.variables["counter"].init == struct.pack("<i", 7)
    assert module.variables["table"].init == struct.pack("<6i", 1, 2, 3, 4, 5, 6)
    assert module.variables["cursor"].relocations == ((0, Symbol("table", 12, True), 8),)
    assert module.variables["_ZL8greeting"].init == b"warp\0"
    dynamic = module.variables["dynamic"]
    assert (dynamic.space, dynamic.size, dynamic.external) == ("shared", 0, True)


def test_call_buffers_of_nested_scopes_have_unique_names(modules: dict[str, Module]) -> None:
    entry = modules["scopes.O0"].functions["scopes"]
    names = [v.name for v in entry.variables]
    assert len(names) == len(set(names))
    assert names.count("param0") == 1
    calls = [i.operands[0] for i in instructions(entry) if i.opcode == "call"]
    assert all(isinstance(call, Call) for call in calls)
    declared = {v.name for v in entry.variables}
    for call in calls:
        assert isinstance(call, Call)
        assert {a.name for a in call.arguments if isinstance(a, Symbol)} <= declared
        assert set(call.returns) <= declared
    indirect = [i.operands[0] for i in instructions(modules["scopes.O0"].functions["_Z5applyPFiiEi"]) if i.opcode == "call"]
    assert indirect == [Call(("retval0",), Register("%rd2"), (Symbol("param0"),))]


def test_inline_assembly_declares_registers_in_its_own_scope(modules: dict[str, Module]) -> None:
    entry = modules["scopes.O3"].functions["scopes"]
    assert entry.registers["t"] == "u32"
    moves = [i for i in instructions(entry) if Special("%laneid") in i.operands]
    assert [m.operands for m in moves] == [(Register("t"), Special("%laneid"))]


def test_launch_bounds_and_jump_table(modules: dict[str, Module]) -> None:
    entry = modules["switch.O3"].functions["opcodes"]
    assert entry.directives == {"maxntid": (256, 1, 1), "minnctapersm": (2,)}
    (table,) = [s for s in entry.body or [] if isinstance(s, BranchTargets)]
    labels = {s.name for s in entry.body or [] if isinstance(s, Label)}
    assert len(table.labels) == 7
    assert set(table.labels) <= labels
    (jump,) = [i for i in instructions(entry) if i.opcode == "brx"]
    assert jump.operands == (Register("%r2"), Symbol(table.name))


NVCC = """\
//
// Generated by NVIDIA NVVM Compiler
//
.version 7.4
.target sm_60, debug
.address_size 64
@@DWARF .section .debug_old
\t// .globl\tfoo
.extern .func  (.param .b32 func_retval0) vprintf
(
\t.param .b64 vprintf_param_0,
\t.param .b64 vprintf_param_1
)
;
.weak .func  (.param .b32 func_retval0) cudaMalloc(
\t.param .b64 cudaMalloc_param_0,
\t.param .b64 cudaMalloc_param_1
)
{
\t.reg .b32 \t%r<2>;
\tmov.u32 \t%r1, 999;
\tst.param.b32 \t[func_retval0+0], %r1;
\tret;
}
.common .global .align 8 .u64 _ZN08NumbaEnv3fooE;
.global .align 1 .b8 $str[3] = {37, 100, 10};
.visible .entry foo(
\t.param .u64 foo_param_0,
\t.param .align 8 .b8 foo_param_1[16]
)
.maxntid 256, 1, 1
.pragma "nounroll";
.noreturn
{
\t.local .align 8 .b8 \t__local_depot1[8];
\t.reg .b64 \t%SP;
\t.reg .b64 \t%SPL;
\t.reg .pred \t%p<2>;
\t.reg .f32 \t%f<3>;
\t.reg .b32 \t%r<4>;
\t.reg .b64 \t%rd<5>;
\t.loc 1 3 0
Lfunc_begin0:
\t.loc\t1 5 3, function_name $L__info_string0, inlined_at 1 12 3
\tmov.u64 \t%SPL, __local_depot1;
\tcvta.local.u64 \t%SP, %SPL;
\tadd.u64 \t%rd1, %SP, 0;
\tmov.u64 \t%rd2, $str;
\tcvta.global.u64 \t%rd3, %rd2;
\t{ // callseq 0, 0
\t.reg .b32 temp_param_reg;
\t.param .b64 param0;
\tst.param.b64 \t[param0+0], %rd3;
\t.param .b64 param1;
\tst.param.b64 \t[param1+0], %rd1;
\t.param .b32 retval0;
\tcall.uni (retval0),
\tvprintf,
\t(
\tparam0,
\tparam1
\t);
\tld.param.b32 \t%r2, [retval0+0];
\t} // callseq 0
BB1_1:
\t.pragma "nounroll";
\t@!%p1 bra \tBB1_1;
\t// inline asm
\t{.reg .f16 low,high;
\t  mov.b32 {low,high}, %r1;
\t  cvt.f32.f16 %f1, low;}

\t// inline asm
\tbra.uni BB1_1;
Lfunc_end0:
}
.file 1 "/home/user/a // b.cu", 1600000000, 1234
.section .debug_str {
Linfo_string0:
.b8 108
.b32 .debug_abbrev
.b64 Lfunc_begin0-Lfunc_end0
.b8 "}"
}
\t.section\t.debug_macinfo\t{\t}
"""

TRITON = """\
.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry add_kernel(
\t.param .u64 .ptr .global .align 1 add_kernel_param_0,
\t.param .u32 add_kernel_param_1
)
.reqntid 128
{
\t.reg .pred \t%p<4>;
\t.reg .b32 \t%r<9>;
\t.reg .b64 \t%rd<3>;
$L__func_begin0:
\tld.param.u64 \t%rd1, [add_kernel_param_0];
$L__tmp0:
\t// begin inline asm
\tmov.u32 %r1, 0x0;
\tmov.u32 %r2, 0x0;
\t@%p1 ld.global.L1::evict_last.v2.b32 { %r1, %r2 }, [ %rd1 + 0 ];
\t@!%p1 mov.u32 %r1, %r5;
\t// end inline asm
\tcp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 16 ], 0x10, %r2;
\tshfl.sync.bfly.b32 \t%r3, %r1, 16, 31, -1;
\tmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %r1, %r2, %r3, %r4 }, { %r1, %r2, %r3, %r4 }, { %r5, %r6 }, { 0f00000000, _, %r1, -1 };
\tret;
}
"""  # noqa: E501


def test_nvcc_dialect() -> None:
    module = parse(NVCC, "nvcc.ptx")
    assert module.target == "sm_60"
    assert module.functions["vprintf"].body is None
    assert module.functions["foo"].directives == {"maxntid": (256, 1, 1), "noreturn": ()}
    assert module.variables["$str"].init == b"%d\n"
    foo = module.functions["foo"]
    assert foo.parameters[1].size == 16
    assert [s.name for s in foo.body or [] if isinstance(s, Label)] == ["Lfunc_begin0", "BB1_1", "Lfunc_end0"]
    (call,) = [i for i in instructions(foo) if i.opcode == "call"]
    assert call.operands == (Call(("retval0",), Symbol("vprintf"), (Symbol("param0"), Symbol("param1"))),)
    assert call.text == "call.uni (retval0), vprintf, ( param0, param1 );"
    assert foo.registers["low"] == "f16"


def test_triton_dialect() -> None:
    function = parse(TRITON, "triton.ptx").functions["add_kernel"]
    assert function.directives == {"reqntid": (128, 1, 1)}
    load = next(i for i in instructions(function) if i.opcode == "ld" and i.guard)
    assert load.modifiers == ("global", "L1::evict_last", "v2", "b32")
    assert load.operands == (Vector((Register("%r1"), Register("%r2"))), Address(Register("%rd1")))
    mma = next(i for i in instructions(function) if i.opcode == "mma")
    assert mma.operands[3] == Vector((Immediate(0, "f32"), None, Register("%r1"), Immediate(-1)))


# Operands


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
    assert one("shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;").operands[0] == PredicatePair(Register("%r1"), Register("%p1"))
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


# Scopes


def test_inner_scopes_are_renamed_and_end() -> None:
    function = kernel(
        "{ .reg .b32 t; mov.b32 t, 1; $again: bra $again; }\n"
        "{ .reg .b32 t; mov.b32 t, 2; bra $again; $again: { .reg .b64 t; mov.b64 t, 3; bra $again; } add.s32 t, t, 1; }"
    )
    assert (function.registers["t"], function.registers["t#2"], function.registers["t#3"]) == ("b32", "b32", "b64")
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
        ".entry k { .reg .u32 x; .reg .u64 p; .reg .f64 d; call (x), f, (x, d); call g; call g, (); list: .calltargets f, g;\n"
        "mov.u64 p, f; call (x), p, (1, d), list; }"
    )
    module = parse(text, "abi.ptx")
    function = module.functions["f"]
    assert [(v.name, v.space) for v in (*function.returns, *function.parameters)] == [("rv", "reg"), ("a", "reg"), ("b", "reg")]
    assert function.registers == {"rv": "u32", "a": "u32", "b": "f64"}
    calls = [i.operands[0] for i in instructions(module.functions["k"]) if i.opcode == "call"]
    assert calls == [
        Call(("x",), Symbol("f"), (Register("x"), Register("d"))),
        Call((), Symbol("g"), ()),
        Call((), Symbol("g"), ()),
        Call(("x",), Register("p"), (Immediate(1), Register("d")), ("f", "g")),
    ]


def test_declaration_before_definition() -> None:
    module = parse(HEADER + ".func f;\n.extern .global .b32 v;\n.func f { ret; }\n.func f;\n.global .b32 v = 3;", "d.ptx")
    assert module.functions["f"].body
    assert module.variables["v"].init == b"\3\0\0\0"


# Variables


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
    assert variable(table + ".global .u64 p[3] = {t, 0, t+4};").relocations == ((0, Symbol("t"), 8), (16, Symbol("t", 4), 8))
    assert variable(table + ".global .u64 p = generic(t)+12;").relocations == ((0, Symbol("t", 12, True), 8),)
    assert variable(table + ".global .u64 p = generic(t+4)-8;").relocations == ((0, Symbol("t", -4, True), 8),)
    assert variable(table + ".global .u64 p[] = {f, p2};.global .u64 p2;" + ".global .u64 q = f;").relocations == (
        (0, Symbol("f"), 8),
    )
    masks = ", ".join(f"0xFF{'00' * i}(generic(t)+4)" for i in range(8))
    packed = variable(table + f".global .u8 p[10] = {{1, {masks}}};")
    assert packed.relocations == ((1, Symbol("t", 4, True), 8),)
    assert packed.init == b"\1" + bytes(9)


def test_shapes() -> None:
    found = parse(
        HEADER + ".extern .shared .align 16 .b8 dyn[];.shared .v2 .f32 a[3][4];.global .attribute(.managed) .u32 m, n[2];"
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


# Mistakes


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
    fails(f"{HEADER}.global .b32 table[4];\n.entry k(.param .u64 k_param_0)\n{{\n{registers}\n{body}\n}}\n", *parts)


def test_a_truncated_function_is_called_truncated() -> None:
    text = HEADER + ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<3>;\nadd.s32 %r1, %r1"
    fails(text, "bad.ptx:7", "unexpected end of file inside function k, opened at line 5: the file looks truncated")
    fails(HEADER + ".visible .entry k(.param .u64 p,", "unexpected end of file inside", "line 4", "truncated")
    fails(HEADER + ".section .debug_str {", "unexpected end of file inside the debug section opened at line 4")


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
