"""mma.sync of every type and shape against a matrix product, on virtual and on allocated registers.

The layouts are those of the manual's "Matrix Fragments" sections: for each lane the elements that it holds,
in order. Factors are small integers, which every type represents, so that every sum is exact.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from warpbank.program.errors import PtxError
from warpbank.program.isa import Op
from warpbank.program.launch import Job, Launch
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse
from warpbank.program.runner import Options, execute

Place = tuple[int, ...]
BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "s32": 4, "s8": 1, "u8": 1, "e4m3": 1, "e5m2": 1, "f64": 8}
HEAD = ".version 8.4\n.target sm_90\n.address_size 64\n"
#: Bits of 0 to 15 as 8-bit floats.
E4M3 = [0, 0x38, 0x40, 0x44, 0x48, 0x4A, 0x4C, 0x4E, 0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57]
E5M2 = [0, 0x3C, 0x40, 0x42, 0x44, 0x45, 0x46, 0x47, 0x48]


def bits(matrix: np.ndarray, kind: str) -> np.ndarray:
    """The elements of a matrix in a type, as unsigned numbers of its size."""
    if kind == "f16":
        return matrix.astype(np.float16).view(np.uint16)
    if kind == "bf16":
        return (matrix.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind == "tf32":
        return matrix.astype(np.float32).view(np.uint32) | 0x1ABC  # the low bits do not count
    if kind in ("f32", "f64"):
        return matrix.astype(np.float32 if kind == "f32" else np.float64).view(f"u{BYTES[kind]}")
    if kind in ("e4m3", "e5m2"):
        table = np.array(E4M3 if kind == "e4m3" else E5M2, np.uint8)
        return table[abs(matrix)] | (matrix < 0).astype(np.uint8) << 7
    return matrix.astype(np.int64).astype(f"u{BYTES[kind]}")


def packed(matrix: np.ndarray, kind: str, layout: list[list[Place]]) -> np.ndarray:
    """What the lanes hold: (32, words)."""
    values = bits(matrix, kind)
    rows = np.array([[values[place] for place in lane] for lane in layout])
    return np.ascontiguousarray(rows).view(np.uint32).reshape(32, -1)


def factor(rows: int, depth: int, each: int) -> list[list[Place]]:
    """Elements (row, k) of A, and with 8 rows (column, k) of B, that each lane holds."""
    return [
        [
            (lane // 4 + 8 * half, each * (lane % 4) + 4 * each * step + i)
            for step in range(depth // (4 * each))
            for half in range(rows // 8)
            for i in range(each)
        ]
        for lane in range(32)
    ]


def accumulator(rows: int) -> list[list[Place]]:
    """Elements of C."""
    return [
        [(lane // 4 + 8 * half, 2 * (lane % 4) + i) for half in range(rows // 8) for i in (0, 1)]
        for lane in range(32)
    ]


def run(line: str, fragments: list[np.ndarray], words: int, wide: bool) -> np.ndarray:
    """What an mma leaves in D's registers. `line` has {d}, {a}, {b}, {c} for the fragments."""
    kind, size = ("b64", 8) if wide else ("b32", 4)
    loads, names = [], {}
    for name, held in zip("abcd", (*fragments, np.zeros((32, words), np.uint32)), strict=True):
        count = held.shape[1] * 4 // size
        names[name] = "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"
        loads.append(f".reg .{kind} %{name}<{count}>;")
        loads.append(f"ld.param.u64 %rd1, [p{name}]; mad.wide.u32 %rd1, %r0, {size * count}, %rd1;")
        if name != "d":
            loads += [f"ld.global.{kind} %{name}{i}, [%rd1+{size * i}];" for i in range(count)]
    count = words * 4 // size
    result = names["c"] if "{d}" not in line else names["d"]
    stores = [
        f"st.global.{kind} [%rd1+{size * i}], {n};" for i, n in enumerate(result.strip("{}").split(", "))
    ]
    text = (
        HEAD
        + ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{\n"
        + ".reg .b32 %r0; .reg .b64 %rd1; mov.u32 %r0, %tid.x;\n"
        + "\n".join(loads)
        + "\n"
        + line.format(**names)
        + "\n"
        + "\n".join(stores)
        + "\nret;\n}\n"
    )
    found = []
    for options in (Options(allocate=False), Options(max_registers=24)):
        buffers = dict(zip("abc", (f.copy() for f in fragments), strict=True))
        buffers["d"] = np.zeros((32, words), np.uint32)
        launch = Launch("k", (1, 1, 1), (32, 1, 1), ("a", "b", "c", "d"))
        found.append(execute(Job("k", "tiny", text, "k.ptx", buffers, [launch]), options).buffers["d"])
    kernel = lower(parse(text, "k.ptx"), "k")
    mmas = [i for i in kernel.instructions() if i.op is Op.MMA]
    assert mmas
    assert all(len(i.registers_read()) <= 6 for i in mmas)
    np.testing.assert_array_equal(*found)
    return found[0]


CASES = [
    *[(m, k, kind, kind, "f32") for m, k in ((16, 8), (16, 16)) for kind in ("f16", "bf16")],
    (16, 4, "tf32", "tf32", "f32"),
    (16, 8, "tf32", "tf32", "f32"),
    *[
        (m, k, a, b, "s32")
        for m, k in ((8, 16), (16, 16), (16, 32))
        for a, b in (("s8", "s8"), ("u8", "s8"), ("s8", "u8"))
    ],
    (16, 16, "e4m3", "e4m3", "f32"),
    (16, 32, "e5m2", "e4m3", "f32"),
    (16, 32, "e4m3", "e5m2", "f32"),
    *[(m, k, "f64", "f64", "f64") for m, k in ((8, 4), (16, 4), (16, 8), (16, 16))],
]


@pytest.mark.parametrize("target", ["{d}", "{c}"], ids=["out", "in-place"])
@pytest.mark.parametrize(("m", "k", "a_type", "b_type", "c_type"), CASES)
def test_products(m: int, k: int, a_type: str, b_type: str, c_type: str, target: str) -> None:
    rng = np.random.default_rng(m * k)
    least = 0 if "u8" in (a_type, b_type) else -8
    a, b = rng.integers(least, 8, (m, k)), rng.integers(least, 8, (k, 8))
    if a_type == "u8":
        a *= 31
    c = rng.integers(-500, 500, (m, 8))
    each = max(1, 4 // BYTES[a_type])
    layout = accumulator(m)
    fragments = [
        packed(a, a_type, factor(m, k, each)),
        packed(b.T, b_type, factor(8, k, each)),
        packed(c, c_type, layout),
    ]
    line = (
        f"mma.sync.aligned.m{m}n8k{k}.row.col.{c_type}.{a_type}.{b_type}.{c_type} "
        f"{target}, {{a}}, {{b}}, {{c}};"
    )
    found = run(line, fragments, fragments[2].shape[1], c_type == "f64")
    np.testing.assert_array_equal(found, packed(a @ b + c, c_type, layout))


def test_a_piece_spares_what_the_next_ones_still_add() -> None:
    """The four MMAs of m16n8k4 of f64: each writes a register that one behind it takes from C."""
    rng = np.random.default_rng(9)
    a, b, c = rng.integers(-8, 8, (16, 4)), rng.integers(-8, 8, (4, 8)), rng.integers(-500, 500, (16, 8))
    layout = accumulator(16)
    fragments = [packed(a, "f64", factor(16, 4, 1)), packed(b.T, "f64", factor(8, 4, 1))]
    fragments.append(packed(c, "f64", layout))
    wanted = packed(a @ b + c, "f64", layout).reshape(32, 4, 2)
    for order in itertools.permutations(range(4)):
        target = ", ".join(f"%c{i}" for i in order)
        line = f"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {{{{{target}}}}}, {{a}}, {{b}}, {{c}};"
        found = run(line, fragments, 8, True).reshape(32, 4, 2)
        np.testing.assert_array_equal(found[:, order], wanted, str(order))


def test_constants_are_elements_of_a_fragment() -> None:
    rng = np.random.default_rng(10)
    a, b = rng.integers(-8, 8, (16, 8)), rng.integers(-8, 8, (8, 8))
    fragments = [packed(a, "f16", factor(16, 8, 2)), packed(b.T, "f16", factor(8, 8, 2))]
    fragments.append(np.zeros((32, 4), np.uint32))
    layout = accumulator(16)
    total = "{{0f3F800000, 0f40000000, 0f3F800000, 0f40000000}}"
    line = f"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {{d}}, {{a}}, {{b}}, {total};"
    found = run(line, fragments, 4, False)
    np.testing.assert_array_equal(found, packed(a @ b + np.array([1, 2] * 4), "f32", layout))
    wide = [packed(a[:8, :4], "f64", factor(8, 4, 1)), packed(b[:4].T, "f64", factor(8, 4, 1))]
    wide.append(np.zeros((32, 4), np.uint32))
    total = "{{0d3FF0000000000000, 0d4000000000000000}}"
    line = f"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{d}}, {{a}}, {{b}}, {total};"
    found = run(line, wide, 4, True)
    product = a[:8, :4] @ b[:4] + np.array([1, 2] * 4)
    np.testing.assert_array_equal(found, packed(product, "f64", accumulator(8)))


@pytest.mark.parametrize("saturate", [False, True])
def test_integers_wrap_or_saturate(saturate: bool) -> None:
    a, b = np.full((8, 16), 127), np.full((16, 8), 127)
    c = np.full((8, 8), 2**31 - 5)
    each = [packed(a, "s8", factor(8, 16, 4)), packed(b.T, "s8", factor(8, 16, 4))]
    finite = ".satfinite" if saturate else ""
    line = f"mma.sync.aligned.m8n8k16.row.col{finite}.s32.s8.s8.s32 {{d}}, {{a}}, {{b}}, {{c}};"
    found = run(line, [*each, packed(c, "s32", accumulator(8))], 2, False)
    assert (found == (2**31 - 1 if saturate else 2**31 - 5 + 16 * 127 * 127)).all()


@pytest.mark.parametrize("layouts", ["row.col", "col.row", "row.row", "col.col"])
@pytest.mark.parametrize("c_type", ["f32", "f16"])
def test_four_products_at_once(layouts: str, c_type: str) -> None:
    """m8n8k4 of f16: lanes 4q to 4q+3 and 16+4q to 19+4q hold the q-th product."""
    rng = np.random.default_rng(4)
    a, b, c = (rng.integers(-8, 8, (4, *shape)) for shape in ((8, 4), (4, 8), (8, 8)))
    a_layout, b_layout = layouts.split(".")
    held: list[list[list[Place]]] = [[], [], []]
    for lane in range(32):
        q, low, high = lane % 16 // 4, lane % 4, 4 * (lane >= 16)
        held[0].append([(q, low + high, i) if a_layout == "row" else (q, i + high, low) for i in range(4)])
        held[1].append([(q, low, i + high) if b_layout == "row" else (q, i, low + high) for i in range(4)])
        held[2].append(
            [
                (q, low + high, i)
                if c_type == "f16"
                else (q, (lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1))
                for i in range(8)
            ]
        )
    fragments = [packed(m, t, h) for m, t, h in zip((a, b, c), ("f16", "f16", c_type), held, strict=True)]
    line = f"mma.sync.aligned.m8n8k4.{layouts}.{c_type}.f16.f16.{c_type} {{d}}, {{a}}, {{b}}, {{c}};"
    found = run(line, fragments, fragments[2].shape[1], False)
    np.testing.assert_array_equal(found, packed(a @ b + c, c_type, held[2]))


@pytest.mark.parametrize(
    ("modifiers", "message"),
    [
        ("m16n8k16.col.row.f32.f16.f16.f32", "in any layout as m8n8k4, .row.col as m16n8k8 m16n8k16"),
        ("m16n8k8.row.col.f16.bf16.bf16.f16", "accumulators of f32"),
        ("m8n8k4.row.col.f32.f16.f16.f16", "the two of one type"),
        ("m16n8k16.row.col.f32.tf32.tf32.f32", "works .row.col as m16n8k4 m16n8k8, with"),
        ("m8n8k4.row.foo.f32.f16.f16.f32", "in any layout as m8n8k4"),
        ("m8n8k32.row.col.s32.s4.s4.s32", "f16, bf16, tf32, s8/u8, e4m3/e5m2, f64"),
        ("m16n8k64.row.col.s32.s8.s8.s32", "as m8n8k16 m16n8k16 m16n8k32, with accumulators of s32"),
    ],
)
def test_refusals_name_what_works(modifiers: str, message: str) -> None:
    line = f"mma.sync.aligned.{modifiers} {{%r1}}, {{%r2}}, {{%r3}}, {{%r4}};"
    text = HEAD + ".visible .entry k()\n{\n.reg .b32 %r<5>;\n" + line + "\nret;\n}\n"
    with pytest.raises(PtxError) as caught:
        lower(parse(text, "k.ptx"), "k")
    assert str(caught.value).startswith("k.ptx:7: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mma.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1}, {%r2}, {%r3}, {%r4};", ".sync is missing"),
        ("mma.sync.m16n8k8.row.col.f32.f16.f16.f32 {%r1}, {%r2}, {%r3}, {%r4};", ".aligned is missing"),
        (
            "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r1, %r2}, %r3, {%r4, %r1};",
            "fragment 2 is a vector of 1 registers in braces",
        ),
    ],
)
def test_refusals(line: str, message: str) -> None:
    text = HEAD + ".visible .entry k()\n{\n.reg .b32 %r<5>;\n" + line + "\nret;\n}\n"
    with pytest.raises(PtxError, match=message):
        lower(parse(text, "k.ptx"), "k")
