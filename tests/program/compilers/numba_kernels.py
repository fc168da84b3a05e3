"""Numba kernels whose PTX lies in `data/`.

Numba-CUDA 0.30.4 made it, without a GPU: `pip install "numba-cuda[cu13]==0.30.4"`, then, from the
repository's root, `python tests/program/compilers/make.py numba`. The tests read the PTX alone.
"""

from numba import cuda, float32

#: Threads of a CTA of `matmul` in each direction.
TILE = 16


def vector_add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def matmul(a, b, out):
    """Product of f32 matrices by tiles in shared memory, summed by fused multiply-adds in the order of k."""
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0.0)
    for tile in range((a.shape[1] + TILE - 1) // TILE):
        left[ty, tx] = 0
        right[ty, tx] = 0
        if y < a.shape[0] and tile * TILE + tx < a.shape[1]:
            left[ty, tx] = a[y, tile * TILE + tx]
        if x < b.shape[1] and tile * TILE + ty < b.shape[0]:
            right[ty, tx] = b[tile * TILE + ty, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = total


def mandelbrot(out, width, height, limit):
    """Iterations, in f64, after which each point of the plane has left the circle of radius 2."""
    x, y = cuda.grid(2)
    if x < width and y < height:
        real, imaginary = -2.0 + 3.0 * x / width, -1.0 + 2.0 * y / height
        r, i, n = 0.0, 0.0, 0
        while n < limit and r * r + i * i < 4.0:
            r, i = r * r - i * i + real, 2 * r * i + imaginary
            n += 1
        out[y, x] = n


def warp_sum(x, out):
    """Sum of all elements: by shuffles within a warp, by an atomic addition across warps."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else 0
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    if cuda.threadIdx.x % 32 == 0:
        cuda.atomic.add(out, 0, value)
