"""Frame of a function that is lowered: which registers stand side by side, and the room of parameters."""

from __future__ import annotations

import pytest

from warpbank.program.isa import Kernel
from warpbank.program.lowering.frame import Frame
from warpbank.program.ptx.parser import parse

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k() {
    .reg .b16 %h<9>; .reg .b32 %r<25>; .reg .f32 %f<17>; .reg .b64 %rd<9>; .reg .f64 %fd<5>; .reg .pred %p<3>;
    .param .align 8 .b8 eights[16]; .param .align 8 .b8 ragged[20]; .param .align 4 .b8 fours[12];
"""


def frame(*lines: str) -> Frame:
    module = parse(f"{HEAD}{chr(10).join(lines)}\nret;\n}}\n", "some.ptx")
    return Frame(Kernel("k", [], {}, 0), module.functions["k"], "some.ptx", "", 0, None)


def groups(made: Frame) -> list[list[str]]:
    """Names of registers that share a group, in its order."""
    found: dict[int, list[tuple[int, str]]] = {}
    for name, register in made.registers.items():
        base = max(base for base in made.kernel.groups if base <= register.index)
        found.setdefault(base, []).append((register.index, name))
    return [[name.removeprefix("%") for _, name in sorted(members)] for _, members in sorted(found.items())]


def vector(kind: str, *numbers: int) -> str:
    return "{" + ", ".join(f"%{kind}{number}" for number in numbers) + "}"


A, B, C, D = range(8), range(8, 16), range(8), range(8, 16)
PAIRS = [[f"f{n}", f"f{n + 1}"] for n in range(0, 16, 2)]
VOLTA = (
    "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 "
    f"{vector('r', 0, 1, 2, 3)}, {vector('r', 4, 5)}, {vector('r', 6, 7)}, {vector('r', 0, 1, 2, 3)};"
)
WMMA = "wmma.mma.sync.aligned.row.col.m16n16k16"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];", [["f1", "f2", "f3", "f4"]]),
        ("st.global.v2.b32 [%rd1], {%r4, %r2};", [["r4", "r2"]]),
        ("ld.global.v2.b64 {%rd2, %rd3}, [%rd1];", [["rd2", "rd3"]]),
        ("ld.global.v2.b16 {%h1, %h2}, [%rd1];", []),
        ("st.global.v2.b32 [%rd1], {%r2, %r2};", []),
        (f"wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {vector('f', *C)}, [%rd1], %r20;", PAIRS[:4]),
        (
            f"wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%rd1], {vector('r', *C)}, %r20;",
            [[f"r{n}", f"r{n + 1}"] for n in range(0, 8, 2)],
        ),
        ("wmma.load.c.sync.aligned.row.m8n8k32.global.s32 {%r0, %r1}, [%rd1], %r20;", []),
        (f"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {vector('r', *A)}, [%rd1], %r20;", []),
        (
            f"{WMMA}.f32.f32 {vector('f', *D)}, {vector('r', *A)}, {vector('r', *B)}, {vector('f', *C)};",
            [*PAIRS[4:], *PAIRS[:4]],
        ),
        (
            f"{WMMA}.f16.f16 {vector('r', 16, 17, 18, 19)}, {vector('r', *A)}, {vector('r', *B)}, "
            f"{vector('r', 20, 21, 22, 23)};",
            [],
        ),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            f"{vector('f', 4, 5, 6, 7)}, {vector('r', 0, 1, 2, 3)}, {vector('r', 4, 5)}, "
            f"{vector('f', 0, 1, 2, 3)};",
            [*PAIRS[2:4], *PAIRS[:2]],
        ),
        (VOLTA, [["r4", "r5"], ["r6", "r7"]]),
        (
            "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
            f"{vector('r', 0, 1)}, {vector('r', 4, 5)}, {{%r6}}, {vector('r', 0, 1)};",
            [],
        ),
    ],
)
def test_registers_of_a_vector_are_neighbours(line: str, expected: list[list[str]]) -> None:
    assert groups(frame(line)) == expected


def test_accumulators_come_before_vectors_in_memory_and_earlier_ones_first() -> None:
    memory = "ld.global.v2.f32 {%f1, %f2}, [%rd1];", "ld.global.v2.f32 {%f2, %f5}, [%rd1];"
    product = (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f6, %f7}, "
        "{%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f6, %f7};"
    )
    assert groups(frame(*memory)) == [["f1", "f2"]]
    assert groups(frame(*memory, product)) == [["f0", "f1"], ["f6", "f7"], ["f2", "f5"]]
    integers = "mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%r8, %r5}, {%r9}, {%r10}, {%r8, %r5};"
    assert groups(frame(VOLTA, integers)) == [["r8", "r5"], ["r6", "r7"]]
    assert groups(frame(VOLTA, "ld.global.v2.b32 {%r6, %r5}, [%rd1];")) == [["r4", "r5"], ["r6", "r7"]]
    assert groups(frame("ld.global.v2.b32 {%r6, %r5}, [%rd1];", VOLTA)) == [["r6", "r5"]]


@pytest.mark.parametrize(
    ("name", "widths"), [("eights", [2, 2]), ("ragged", [2, 2, 1]), ("fours", [1, 1, 1])]
)
def test_a_parameter_has_pairs_where_it_is_aligned_for_them(name: str, widths: list[int]) -> None:
    made = frame()
    buffer = made.buffer(name)
    assert buffer is made.buffer(name)
    assert buffer is not None
    assert len(buffer.words) == sum(widths)
    assert list(made.kernel.groups.values()) == widths
    assert made.buffer("another") is None


def test_a_carry_has_one_predicate() -> None:
    made = frame()
    assert made.carry_flag() == made.carry_flag()
    assert made.carry_flag() != made.predicate("%p1")
