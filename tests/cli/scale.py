"""A CUDA program with a header in another folder, which does not compile without options."""

from __future__ import annotations

from pathlib import Path

PROGRAM = """#include <cuda_runtime.h>
#include <cstdio>
#include "size.cuh"
template <typename T> __global__ void scale(const T *in, T *out, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * factor * MORE;
    if (i == SIZE) printf("%d", i);
}
int main() { scale<float><<<1, SIZE>>>(nullptr, nullptr, 2, SIZE); }
"""
#: Options with which it compiles.
OPTIONS = ("-I", "headers", "-D", "MORE=3", "--std", "c++20")


def write(folder: Path) -> None:
    """Write scale.cu, and headers/size.cuh."""
    (folder / "headers").mkdir()
    (folder / "headers" / "size.cuh").write_text("#define SIZE 32\n")
    (folder / "scale.cu").write_text(PROGRAM)
