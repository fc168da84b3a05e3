"""Matrix products that clang's builtins make: the wmma PTX of LLVM against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warpbank.program.cuda import compile_cuda
from warpbank.program.launch import Job, Launch
from warpbank.program.runner import execute

pytestmark = pytest.mark.compile

SOURCE = """
extern "C" __global__ void halves(const int *a, const int *b, const float *c, float *d) {
    int fa[8], fb[8]; float fc[8];
    __hmma_m16n16k16_ld_a(fa, a, 16, 0); __hmma_m16n16k16_ld_b(fb, b, 16, 1);
    __hmma_m16n16k16_ld_c_f32(fc, c, 16, 0);
    __hmma_m16n16k16_mma_f32f32(fc, fa, fb, fc, 1, 0); __hmma_m16n16k16_st_c_f32(d, fc, 16, 0);
}
extern "C" __global__ void bytes(const int *a, const int *b, const int *c, int *d) {
    int fa[2], fb[2], fc[8];
    __imma_m16n16k16_ld_a_s8(fa, a, 16, 0); __imma_m16n16k16_ld_b_s8(fb, b, 16, 1);
    __imma_m16n16k16_ld_c(fc, c, 16, 0);
    __imma_m16n16k16_mma_s8(fc, fa, fb, fc, 1, 0); __imma_m16n16k16_st_c_i32(d, fc, 16, 0);
}
extern "C" __global__ void doubles(const double *a, const double *b, const double *c, double *d) {
    double fa, fb, fc[2];
    __dmma_m8n8k4_ld_a(&fa, a, 4, 0); __dmma_m8n8k4_ld_b(&fb, b, 4, 1); __dmma_m8n8k4_ld_c(fc, c, 8, 0);
    __dmma_m8n8k4_mma_f64(fc, &fa, &fb, fc, 1, 0); __dmma_m8n8k4_st_c_f64(d, fc, 8, 0);
}
"""


def test_wmma_of_clang(tmp_path: Path) -> None:
    file = tmp_path / "m.cu"
    file.write_text(SOURCE)
    ptx = compile_cuda(file, arch="sm_90")
    rng = np.random.default_rng(2)
    buffers, launches, wanted = {}, [], {}
    kinds = (
        ("halves", (16, 16, 16), np.float16, np.float32),
        ("bytes", (16, 16, 16), np.int8, np.int32),
        ("doubles", (8, 8, 4), np.float64, np.float64),
    )
    for name, (m, n, k), factor, total in kinds:
        a, b, c = (rng.integers(-9, 9, s) for s in ((m, k), (n, k), (m, n)))
        names = tuple(f"{name}_{x}" for x in "abcd")
        arrays = (a.astype(factor), b.astype(factor), c.astype(total), np.zeros((m, n), total))
        buffers |= dict(zip(names, arrays, strict=True))
        launches.append(Launch(name, (1, 1, 1), (32, 1, 1), names))
        wanted[names[3]] = a @ b.T + c
    found = execute(Job("m", "custom", ptx, "m.ptx", buffers, launches)).buffers
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
