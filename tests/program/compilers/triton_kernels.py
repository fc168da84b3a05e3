"""Triton kernels whose PTX lies in `data/`.

Triton 3.9.0 made it, without a GPU: `pip install triton==3.9.0`, then, from the repository's root,
`python tests/program/compilers/make.py triton`. The tests read the PTX alone.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    """Softmax of each row; a program has one row."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + i, powers / tl.sum(powers, axis=0), mask=i < columns)


@triton.jit
def layernorm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    """Rows of mean 0 and variance 1, times a weight and plus a bias for each column."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < columns
    values = tl.load(x + row * columns + i, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    scale = 1 / tl.sqrt(variance + epsilon)
    found = centred * scale * tl.load(weight + i, mask=inside) + tl.load(bias + i, mask=inside)
    tl.store(out + row * columns + i, found, mask=inside)


@triton.jit
def matmul(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Product of row-major matrices, summed in f32; a program has a tile of M x N."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        i = start + tl.arange(0, K)
        in_a = (rows[:, None] < m) & (i[None, :] < k)
        in_b = (i[:, None] < k) & (columns[None, :] < n)
        left = tl.load(a + rows[:, None] * k + i[None, :], mask=in_a, other=0.0)
        right = tl.load(b + i[:, None] * n + columns[None, :], mask=in_b, other=0.0)
        total += tl.dot(left, right)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], total, mask=inside)


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bins = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(out + bins, 1, mask=i < n)


@triton.jit
def scan(x, out, columns, BLOCK: tl.constexpr):
    """Inclusive sums of each row; a program has one row."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=0)
    tl.store(out + row * columns + i, tl.cumsum(values, 0), mask=i < columns)


@triton.jit
def bitonic_sort(x, out, COLUMNS: tl.constexpr):
    """Each row in ascending order, by the bitonic network of `tl.sort`; a program has one row."""
    i = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(out + i, tl.sort(tl.load(x + i)))
