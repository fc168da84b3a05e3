"""mma.sync against a matrix product, in place, out of place, and with destinations that are factors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.lowering.bench import check_legal
from warpbank.program.emulator import run_job
from warpbank.program.isa import Op
from warpbank.program.launch import Job, Launch
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
{{
    .reg .b32 %r<8>, %a<4>, %b<2>, %c<4>, %d<4>; .reg .b64 %rd<8>;
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd0, %r0, 16; mul.wide.u32 %rd1, %r0, 8;
    ld.param.u64 %rd2, [pa]; ld.param.u64 %rd3, [pb]; ld.param.u64 %rd4, [pc]; ld.param.u64 %rd5, [pd];
    add.s64 %rd2, %rd2, %rd0; add.s64 %rd3, %rd3, %rd1; add.s64 %rd4, %rd4, %rd0; add.s64 %rd5, %rd5, %rd0;
    ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%rd2];
    ld.global.v2.b32 {{%b0, %b1}}, [%rd3];
    ld.global.v4.b32 {{%c0, %c1, %c2, %c3}}, [%rd4];
    {line}
    st.global.v4.b32 [%rd5], {{{result}}};
    ret;
}}
"""


def fragments(matrix: np.ndarray, rows: tuple[int, ...], depths: tuple[int, ...]) -> np.ndarray:
    """(32, registers, 2): the pairs along the second axis that each lane holds."""
    lanes = [(g, t) for g in range(8) for t in range(4)]
    return np.array(
        [[[matrix[g + r, 2 * t + k + e] for e in (0, 1)] for k in depths for r in rows] for g, t in lanes]
    )


SHAPES = {16: ("m16n8k16", "{%a0, %a1, %a2, %a3}", "{%b0, %b1}"), 8: ("m16n8k8", "{%a0, %a1}", "{%b0}")}


@pytest.mark.parametrize("k", [8, 16])
@pytest.mark.parametrize(
    "target",
    [
        "{%a1, %d1, %d2, %d3}",
        "{%d0, %d1, %d2, %d3}",
        "{%c0, %c1, %c2, %c3}",
        "{%b0, %a0, %c2, %a1}",
        "{%c2, %c3, %c0, %c1}",
    ],
)
@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("optimize", [True, False], ids=["clean", "raw"])
def test_f32_accumulators(k: int, target: str, half: str, optimize: bool) -> None:
    rng = np.random.default_rng(k)
    a, b, c = (
        rng.integers(-8, 8, (16, k)),
        rng.integers(-8, 8, (k, 8)),
        rng.integers(-50, 50, (16, 8)).astype(np.float32),
    )

    def words(pairs: np.ndarray) -> np.ndarray:
        if half == "f16":
            bits = pairs.astype(np.float16).view(np.uint16).astype(np.uint32)
        else:
            bits = pairs.astype(np.float32).view(np.uint32) >> 16
        return bits[..., 0] | bits[..., 1] << 16

    depths = (0,) if k == 8 else (0, 8)
    fa, fb = np.zeros((32, 4), np.uint32), np.zeros((32, 2), np.uint32)
    fa[:, : k // 4] = words(fragments(a, (0, 8), depths))
    fb[:, : k // 8] = words(fragments(b.T, (0,), depths))
    fc = fragments(c, (0, 8), (0,)).reshape(32, 4).astype(np.float32)
    shape, left, right = SHAPES[k]
    line = (
        f"mma.sync.aligned.{shape}.row.col.f32.{half}.{half}.f32 {target}, {left}, {right}, {{%c0, %c1, %c2, "
        f"%c3}};"
    )
    text = KERNEL.format(line=line, result=target.strip("{}"))
    kernel = lower(parse(text, "mma.ptx"), "k", optimize=optimize)
    check_legal(kernel)
    assert sum(i.op == Op.MMA for i in kernel.instructions()) == 2
    buffers = {"a": fa, "b": fb, "c": fc, "d": np.zeros((32, 4), np.float32)}
    job = Job(
        "mma", "tiny", text, "mma.ptx", buffers, [Launch("k", (1, 1, 1), (32, 1, 1), ("a", "b", "c", "d"))]
    )
    found = run_job(job, {"k": kernel}).buffers["d"]
    np.testing.assert_array_equal(found, fragments(a @ b + c, (0, 8), (0,)).reshape(32, 4))


def test_f16_accumulators() -> None:
    rng = np.random.default_rng(3)
    a, b, c = (rng.integers(-3, 3, s).astype(np.float16) for s in ((16, 16), (16, 8), (16, 8)))
    words = lambda pairs: pairs.astype(np.float16).view(np.uint32)[..., 0]  # noqa: E731
    fa, fb = words(fragments(a, (0, 8), (0, 8))), words(fragments(b.T, (0,), (0, 8)))
    fc = np.zeros((32, 4), np.uint32)
    fc[:, :2] = words(fragments(c, (0, 8), (0,)))
    line = (
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%c0, %c1}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, "
        "{%c0, %c1};"
    )
    text = KERNEL.format(line=line, result="%c0, %c1, %c2, %c3")
    buffers = {"a": fa, "b": fb, "c": fc, "d": np.zeros((32, 4), np.uint32)}
    job = Job(
        "mma", "tiny", text, "mma.ptx", buffers, [Launch("k", (1, 1, 1), (32, 1, 1), ("a", "b", "c", "d"))]
    )
    found = run_job(job, {"k": lower(parse(text, "mma.ptx"), "k")}).buffers["d"][:, :2]
    wanted = words(fragments((a.astype(int) @ b.astype(int) + c.astype(int)), (0, 8), (0,)))
    np.testing.assert_array_equal(found, wanted)
