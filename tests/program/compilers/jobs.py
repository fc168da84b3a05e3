"""Jobs of the PTX in `data/`: random inputs, launches, and what NumPy says memory must hold.

Sizes are no multiples of a block, so that masks matter. Tolerances of floats are the errors that the
operations may have, not measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tests.program.compilers.make import DATA, SHARED, WARPS
from warpbank.program.launch import Argument, Expected, Job, Launch
from warpbank.program.ptx.parser import parse

#: Stems of the files: "triton.softmax.sm75", "numba.matmul.O0".
NAMES = sorted(path.stem for path in DATA.glob("*.ptx"))
#: Null addresses of the scratch memory of a grid and of a profiler: Triton's last two parameters.
_SCRATCH = (np.uint64(0), np.uint64(0))
_SHARED: dict[str, int] = json.loads(SHARED.read_text())

Size = tuple[int, int, int]


@dataclass(frozen=True)
class _Task:
    """What a kernel is given, and what it must leave.

    Parameters
    ----------
    inputs : buffers that it reads.
    expected : buffers that it writes; they begin as zeros.
    scalars : arguments after the buffers.
    grid, block : CTAs and threads; Triton's CTAs are all alike.
    """

    inputs: Mapping[str, np.ndarray]
    expected: Mapping[str, Expected]
    grid: Size
    block: Size = (WARPS * 32, 1, 1)
    scalars: tuple[np.generic, ...] = ()


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def _product(a: np.ndarray, b: np.ndarray, factors: float = 0.0) -> Expected:
    """Product of two matrices, each element within a rounding of 2^-23 for each term; `factors` is the
    relative error that a product has since its factors are cut."""
    exact = a.astype(np.float64) @ b.astype(np.float64)
    terms = float((np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))).max())
    return Expected(exact.astype(np.float32), atol=(a.shape[1] * 2.0**-23 + factors) * terms)


def _vector_add(rng: np.random.Generator) -> _Task:
    x, y = _normal(rng, 900), _normal(rng, 900)
    return _Task({"x": x, "y": y}, {"out": Expected(x + y)}, (4, 1, 1), scalars=(np.int32(900),))


def _softmax(rng: np.random.Generator) -> _Task:
    x = _normal(rng, 9, 100)
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    exact = (powers / powers.sum(1, keepdims=True)).astype(np.float32)
    # ex2.approx of exponents up to 8, which have an error of 2^-21.
    return _Task({"x": x}, {"out": Expected(exact, rtol=2.0**-18)}, (9, 1, 1), scalars=(np.int32(100),))


def _layernorm(rng: np.random.Generator) -> _Task:
    x, weight, bias = _normal(rng, 7, 200), _normal(rng, 200), _normal(rng, 200)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    exact = centred / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * weight + bias
    expected = Expected(exact.astype(np.float32), atol=float(np.abs(exact).max()) * 2.0**-18)
    scalars = (np.int32(200), np.float32(1e-5))
    return _Task({"x": x, "weight": weight, "bias": bias}, {"out": expected}, (7, 1, 1), scalars=scalars)


def _tiles(rng: np.random.Generator, dtype: type, factors: float = 0.0) -> _Task:
    """Matrices of 70 x 100 and 100 x 50: 3 x 2 tiles of 32 x 32, four steps."""
    a, b = _normal(rng, 70, 100).astype(dtype), _normal(rng, 100, 50).astype(dtype)
    scalars = (np.int32(70), np.int32(50), np.int32(100))
    return _Task({"a": a, "b": b}, {"out": _product(a, b, factors)}, (3, 2, 1), scalars=scalars)


def _histogram(rng: np.random.Generator) -> _Task:
    x = rng.integers(0, 17, 900).astype(np.int32)
    bins = np.bincount(x, minlength=17).astype(np.int32)
    return _Task({"x": x}, {"out": Expected(bins)}, (4, 1, 1), scalars=(np.int32(900),))


def _scan(rng: np.random.Generator) -> _Task:
    x = rng.integers(-50, 50, (7, 200)).astype(np.int32)
    sums = np.cumsum(x, 1).astype(np.int32)
    return _Task({"x": x}, {"out": Expected(sums)}, (7, 1, 1), scalars=(np.int32(200),))


def _sort(rng: np.random.Generator) -> _Task:
    x = rng.integers(-5000, 5000, (5, 128)).astype(np.int32)
    return _Task({"x": x}, {"out": Expected(np.sort(x, 1))}, (5, 1, 1))


def _numba_vector_add(rng: np.random.Generator) -> _Task:
    x, y = _normal(rng, 300), _normal(rng, 300)
    return _Task({"x": x, "y": y}, {"out": Expected(x + y)}, (5, 1, 1), (64, 1, 1))


def _numba_matmul(rng: np.random.Generator) -> _Task:
    a, b = _normal(rng, 20, 18), _normal(rng, 18, 14)
    return _Task({"a": a, "b": b}, {"out": _product(a, b)}, (1, 2, 1), (16, 16, 1))


def _mandelbrot(rng: np.random.Generator) -> _Task:
    """No input but the sizes. 50 iterations are too few for a fused multiply-add to change a count."""
    width, height, limit = 40, 30, 50
    y, x = np.mgrid[0:height, 0:width]
    point = -2.0 + 3.0 * x / width + 1j * (-1.0 + 2.0 * y / height)
    z, count = np.zeros_like(point), np.zeros(point.shape, np.int32)
    for _ in range(limit):
        inside = z.real**2 + z.imag**2 < 4.0
        z = np.where(inside, z * z + point, z)
        count += inside
    scalars = (np.int32(width), np.int32(height), np.int32(limit))
    return _Task({}, {"out": Expected(count)}, (3, 2, 1), (16, 16, 1), scalars)


def _warp_sum(rng: np.random.Generator) -> _Task:
    x = rng.integers(-9, 9, 700).astype(np.int32)
    return _Task({"x": x}, {"out": Expected(x.sum(dtype=np.int32, keepdims=True))}, (6, 1, 1), (128, 1, 1))


_TASKS: dict[str, Callable[[np.random.Generator], _Task]] = {
    "triton.vector_add.sm75": _vector_add,
    "triton.softmax.sm75": _softmax,
    "triton.layernorm.sm75": _layernorm,
    "triton.matmul_f16.sm75": lambda rng: _tiles(rng, np.float16),
    "triton.matmul_f16.sm80": lambda rng: _tiles(rng, np.float16),
    "triton.matmul_f32.sm75": lambda rng: _tiles(rng, np.float32),
    # tf32 has 10 bits behind the point, and the bits behind those are cut: 2^-10 of each factor.
    "triton.matmul_f32.sm80": lambda rng: _tiles(rng, np.float32, 2.0**-9),
    "triton.histogram.sm75": _histogram,
    "triton.scan.sm75": _scan,
    "triton.bitonic_sort.sm75": _sort,
    **{
        f"numba.{kernel}.{level}": task
        for kernel, task in (
            ("vector_add", _numba_vector_add),
            ("matmul", _numba_matmul),
            ("mandelbrot", _mandelbrot),
            ("warp_sum", _warp_sum),
        )
        for level in ("O0", "O3")
    },
}


def _array(name: str, array: np.ndarray) -> list[Argument]:
    """Array as Numba hands it over: owner, parent, elements, bytes of one, address, shape, strides."""
    numbers = [np.uint64(number) for number in (0, 0, array.size, array.itemsize)]
    return [*numbers, name, *map(np.uint64, array.shape), *map(np.uint64, array.strides)]


def job(name: str, seed: int) -> Job:
    """Job of a file of `data/`, on inputs of that seed."""
    task = _TASKS[name](np.random.default_rng(seed))
    path = DATA / f"{name}.ptx"
    ptx = path.read_text()
    (entry,) = (function.name for function in parse(ptx, str(path)).functions.values() if function.entry)
    outputs = {key: np.zeros_like(expected.value) for key, expected in task.expected.items()}
    buffers = {**task.inputs, **outputs}
    args: list[Argument]
    if name.startswith("numba."):
        args = [part for key, array in buffers.items() for part in _array(key, array)] + [*task.scalars]
    else:
        args = [*buffers, *task.scalars, *_SCRATCH]
    launch = Launch(entry, task.grid, task.block, tuple(args), _SHARED.get(name, 0))
    return Job(name, f"seed{seed}", ptx, str(path), buffers, [launch], dict(task.expected))
