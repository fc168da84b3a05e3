"""wmma.load, wmma.mma and wmma.store of every type, shape and layout against a matrix product."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.lowering.bench import check_legal
from warpbank.program.errors import PtxError
from warpbank.program.isa import Op
from warpbank.program.launch import Job, Launch
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse
from warpbank.program.runner import Options, execute

HEAD = ".version 7.8\n.target sm_90\n.address_size 64\n"
#: Registers of A, B and C by shape and types, from the manual's table of fragments.
COUNTS = {
    ("f16", (16, 16, 16)): (8, 8),
    ("f16", (8, 32, 16)): (8, 8),
    ("f16", (32, 8, 16)): (8, 8),
    ("bf16", (16, 16, 16)): (4, 4),
    ("bf16", (8, 32, 16)): (2, 8),
    ("bf16", (32, 8, 16)): (8, 2),
    ("s8", (16, 16, 16)): (2, 2),
    ("u8", (8, 32, 16)): (1, 4),
    ("s8", (32, 8, 16)): (4, 1),
    ("tf32", (16, 16, 8)): (4, 4),
    ("f64", (8, 8, 4)): (1, 1),
}
ACCUMULATORS = {"f16": 4, "f32": 8, "s32": 8, "f64": 2}
DTYPES = {"f16": np.float16, "f32": np.float32, "tf32": np.float32, "f64": np.float64, "s32": np.int32}


def stored(matrix: np.ndarray, kind: str, layout: str, pad: int) -> tuple[np.ndarray, int]:
    """A matrix in memory with `pad` unused elements behind each line; the stride."""
    lines = matrix if layout == "row" else matrix.T
    wide = np.zeros((lines.shape[0], lines.shape[1] + pad), np.float64)
    wide[:, : lines.shape[1]] = lines
    stride = wide.shape[1]
    if kind == "bf16":
        return (wide.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16), stride
    if kind in ("s8", "u8"):
        return wide.astype(np.int8 if kind == "s8" else np.uint8), stride
    return wide.astype(DTYPES[kind]), stride


def listed(name: str, count: int) -> str:
    return "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"


CASES = [
    (kind, shape, c)
    for kind, shape in COUNTS
    for c in {"f16": ("f32", "f16"), "bf16": ("f32",), "tf32": ("f32",), "f64": ("f64",)}.get(kind, ("s32",))
]


@pytest.mark.parametrize(("layouts", "pad"), [("row.col", 0), ("col.row", 8)])
@pytest.mark.parametrize(("kind", "shape", "c_type"), CASES)
def test_products(kind: str, shape: tuple[int, int, int], c_type: str, layouts: str, pad: int) -> None:
    m, n, k = shape
    rng = np.random.default_rng(m + k)
    low = 0 if kind == "u8" else -8
    a, b, c = rng.integers(low, 8, (m, k)), rng.integers(low, 8, (k, n)), rng.integers(-50, 50, (m, n))
    a_layout, b_layout = layouts.split(".")
    (fa, sa), (fb, sb) = stored(a, kind, a_layout, pad), stored(b, kind, b_layout, pad)
    (fc, sc), (fd, sd) = stored(c, c_type, b_layout, pad), stored(0 * c, c_type, a_layout, pad)
    na, nb = COUNTS[kind, shape]
    nc = ACCUMULATORS[c_type]
    size = f"m{m}n{n}k{k}"
    register = "f64" if kind == "f64" else "b32"
    strides = [f", {s}" if pad else "" for s in (sa, sb, sc, sd)]
    types = f"{c_type}.{c_type}" if kind == "f16" else f"{c_type}.{kind}.{kind}.{c_type}"
    text = (
        HEAD
        + f"""
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
{{
    .reg .{register} %a<{na}>, %b<{nb}>, %c<{nc}>; .reg .b64 %rd<5>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [pa]; ld.param.u64 %rd2, [pb]; ld.param.u64 %rd3, [pc]; ld.param.u64 %rd4, [pd];
    wmma.load.a.sync.aligned.{a_layout}.{size}.global.{kind} {listed("a", na)}, [%rd1]{strides[0]};
    wmma.load.b.sync.aligned.{b_layout}.{size}.{kind} {listed("b", nb)}, [%rd2]{strides[1]};
    mov.u32 %r1, {sc};
    wmma.load.c.sync.aligned.{b_layout}.{size}.global.{c_type} {listed("c", nc)}, [%rd3], %r1;
    wmma.mma.sync.aligned.{layouts}.{size}.{types} {listed("c", nc)}, {listed("a", na)}, {listed("b", nb)},
        {listed("c", nc)};
    wmma.store.d.sync.aligned.{a_layout}.{size}.global.{c_type} [%rd4], {listed("c", nc)}{strides[3]};
    ret;
}}
"""
    )
    buffers = {"a": fa, "b": fb, "c": fc, "d": fd}
    launch = Launch("k", (1, 1, 1), (32, 1, 1), ("a", "b", "c", "d"))
    job = Job("k", "tiny", text, "k.ptx", buffers, [launch])
    wanted = stored(a @ b + c, c_type, a_layout, pad)[0]
    for options in (Options(allocate=False), Options(max_registers=40)):
        np.testing.assert_array_equal(execute(job, options).buffers["d"], wanted)
    kernel = lower(parse(text, "k.ptx"), "k")
    check_legal(kernel)
    assert all(len(i.registers_read()) <= 6 for i in kernel.instructions() if i.op is Op.MMA)


@pytest.mark.parametrize("saturate", [False, True])
def test_integers_wrap_or_saturate(saturate: bool) -> None:
    finite = ".satfinite" if saturate else ""
    text = (
        HEAD
        + f"""
.visible .entry k(.param .u64 pd)
{{
    .reg .b32 %a<2>, %b<2>, %c<8>; .reg .b64 %rd<5>;
    ld.param.u64 %rd4, [pd];
    mov.u32 %a0, 0x7f7f7f7f; mov.u32 %a1, %a0; mov.u32 %b0, %a0; mov.u32 %b1, %a0;
    {" ".join(f"mov.u32 %c{i}, 0x7ffffff0;" for i in range(8))}
    wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32{finite} {listed("c", 8)}, {listed("a", 2)},
        {listed("b", 2)}, {listed("c", 8)};
    wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%rd4], {listed("c", 8)};
    ret;
}}
"""
    )
    buffers = {"d": np.zeros((16, 16), np.int32)}
    job = Job("k", "tiny", text, "k.ptx", buffers, [Launch("k", (1, 1, 1), (32, 1, 1), ("d",))])
    found = execute(job, Options()).buffers["d"]
    total = 0x7FFFFFF0 + 16 * 127 * 127
    assert (found == (2**31 - 1 if saturate else total - 2**32)).all()


def test_shared_memory() -> None:
    """A fragment through shared memory: stored by columns and loaded by rows, it comes out transposed."""
    text = (
        HEAD
        + f"""
.visible .entry k(.param .u64 pc, .param .u64 pd)
{{
    .reg .b32 %c<8>; .reg .b64 %rd<5>; .reg .b32 %r<4>; .shared .align 32 .b8 tile[2048];
    ld.param.u64 %rd3, [pc]; ld.param.u64 %rd4, [pd];
    wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {listed("c", 8)}, [%rd3];
    mov.u32 %r1, tile;
    wmma.store.d.sync.aligned.col.m16n16k16.shared.f32 [%r1+64], {listed("c", 8)}, 16;
    bar.sync 0;
    wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {listed("c", 8)}, [%r1+64], 16;
    wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd4], {listed("c", 8)}, 16;
    ret;
}}
"""
    )
    c = np.arange(256, dtype=np.float32).reshape(16, 16)
    job = Job(
        "k", "tiny", text, "k.ptx", {"c": c, "d": 0 * c}, [Launch("k", (1, 1, 1), (32, 1, 1), ("c", "d"))]
    )
    np.testing.assert_array_equal(execute(job, Options()).buffers["d"], c.T)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("wmma.load.a.sync.aligned.row.m16n16k8.f16 {%r1}, [%rd1];", "of wmma these work"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%rd1];", "has 1 registers, not 8"),
        ("wmma.load.c.sync.aligned.row.m16n16k16.f64 {%r1}, [%rd1];", "of wmma these work"),
        ("wmma.load.a.sync.aligned.row.m8n32k16.s8 %r1, [%rd1];", "a vector of 1 registers in braces"),
        ("wmma.mma.sync.aligned.row.col.f32.f16.f16.f32 {%r1}, {%r1}, {%r1}, {%r1};", "of wmma these work"),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.s32.f16.f16.s32 {%r1}, {%r1}, {%r1}, {%r1};",
            "of wmma these",
        ),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite {%r1}, {%r1}, {%r1}, {%r1};",
            ".satfinite works with .s32 accumulators only",
        ),
        ("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 %r1, %r1, %r1, %r1;", "wmma"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16 {%r1}, {%r1}, {%r1}, {%r1};", "convert C to .f32"),
    ],
)
def test_refusals(line: str, message: str) -> None:
    text = HEAD + ".visible .entry k()\n{\n.reg .b32 %r<5>; .reg .b64 %rd<5>;\n" + line + "\nret;\n}\n"
    with pytest.raises(PtxError, match=message):
        lower(parse(text, "k.ptx"), "k")
