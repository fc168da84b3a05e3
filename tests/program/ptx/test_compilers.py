"""The parser on PTX that several compilers print."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.program.ptx.texts import NVCC, SAMPLES, TRITON, instructions
from warpbank.program.ptx.ast import (
    Address,
    BranchTargets,
    Call,
    Immediate,
    Label,
    Module,
    Register,
    Special,
    Symbol,
    Vector,
)
from warpbank.program.ptx.parser import parse


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    return {path.stem: parse(path.read_text(), str(path)) for path in SAMPLES}


def test_there_are_samples() -> None:
    assert {path.stem for path in SAMPLES} >= {"scopes.O0", "scopes.O3", "switch.O0", "switch.O3", "switch.g"}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_statement_of_a_compiled_file_is_kept(path: Path) -> None:
    """Counted independently: instruction lines are those that end in a semicolon and begin with neither a dot
    nor a label."""
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
        ("u64", 8, 8),
        ("u64", 8, 8),
        ("b8", 8, 4),
        ("f64", 8, 8),
        ("u32", 4, 4),
    ]
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
    indirect = [
        i.operands[0]
        for i in instructions(modules["scopes.O0"].functions["_Z5applyPFiiEi"])
        if i.opcode == "call"
    ]
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
