"""Device mathematics: every function of the header within the bound that docs/cuda.md states, in the
emulator, against numpy with more digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from warpbank.program.cuda import compile_cuda
from warpbank.program.launch import Job, Launch
from warpbank.program.runner import execute

pytestmark = pytest.mark.compile

POINTS = 1500


@dataclass(frozen=True)
class Function:
    """A function of one argument.

    Parameters
    ----------
    name : in f64; that of f32 has an `f` at its end.
    reference : in the precision of its argument, which is longer than the function's.
    low, high : arguments are drawn between them, half of them evenly and half by their logarithm.
    single, double : bounds of f32 and f64, in units in the last place.
    """

    name: str
    reference: Callable[[np.ndarray], np.ndarray]
    low: float
    high: float
    single: float
    double: float


def _each(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.array([function(float(v)) for v in x])


def _pi(function: Callable[[np.ndarray], np.ndarray], shift: float) -> Callable[[np.ndarray], np.ndarray]:
    """sin(pi x) or cos(pi x) of an exactly reduced x."""

    def value(x: np.ndarray) -> np.ndarray:
        turns = x - 2 * np.rint(x / 2) + shift
        near = turns - np.rint(turns)
        sign = np.where(np.rint(turns) % 2 == 0, 1, -1)
        return sign * function(near * np.longdouble("3.14159265358979323846264338327950288"))

    return value


def _lgamma(x: np.ndarray) -> np.ndarray:
    """log(gamma(x)) for x > 0, by Stirling's series far from zero, in longdouble."""
    shift = np.zeros_like(x)
    while np.any(x < 40):
        near = x < 40
        shift = shift + np.where(near, np.log(np.where(near, x, 1)), 0)
        x = np.where(near, x + 1, x)
    series = sum(
        np.longdouble(top) / np.longdouble(bottom) / x**power
        for top, bottom, power in ((1, 12, 1), (-1, 360, 3), (1, 1260, 5), (-1, 1680, 7), (1, 1188, 9))
    )
    half_log_two_pi = np.log(2 * np.longdouble("3.14159265358979323846264338327950288")) / 2
    return (x - np.longdouble(0.5)) * np.log(x) - x + half_log_two_pi + series - shift


# fmt: off
FUNCTIONS = [
    Function("exp", np.exp, -103, 709, 1, 1),
    Function("exp2", np.exp2, -149, 1023, 1, 1),
    Function("exp10", lambda x: np.longdouble(10) ** x, -44, 308, 2, 2),
    Function("expm1", np.expm1, -30, 700, 2, 2),
    Function("log", np.log, 1e-40, 1e40, 1, 1),
    Function("log2", np.log2, 1e-40, 1e40, 2, 2),
    Function("log10", np.log10, 1e-40, 1e40, 2, 2),
    Function("log1p", np.log1p, -0.999, 1e30, 2, 2),
    Function("sin", np.sin, -1e7, 1e7, 2, 1),
    Function("cos", np.cos, -1e7, 1e7, 2, 1),
    Function("tan", np.tan, -1e7, 1e7, 4, 2),
    Function("sinpi", _pi(np.sin, 0), -1e5, 1e5, 2, 2),
    Function("cospi", _pi(np.sin, 0.5), -1e5, 1e5, 2, 2),
    Function("asin", np.arcsin, -1, 1, 2, 2),
    Function("acos", np.arccos, -1, 1, 2, 2),
    Function("atan", np.arctan, -1e6, 1e6, 2, 2),
    Function("sinh", np.sinh, -89, 89, 3, 3),
    Function("cosh", np.cosh, -89, 89, 2, 2),
    Function("tanh", np.tanh, -20, 20, 3, 3),
    Function("asinh", np.arcsinh, -1e8, 1e8, 3, 3),
    Function("acosh", np.arccosh, 1, 1e8, 3, 3),
    Function("atanh", np.arctanh, -0.9999, 0.9999, 3, 3),
    Function("sqrt", np.sqrt, 0, 1e30, 0.5, 0.5),
    Function("rsqrt", lambda x: 1 / np.sqrt(x), 1e-30, 1e30, 1, 1.5),
    Function("cbrt", np.cbrt, -1e30, 1e30, 1, 1),
    Function("rcbrt", lambda x: 1 / np.cbrt(x), 1e-30, 1e30, 1, 2),
    Function("erf", _each(math.erf), -5, 5, 2, 2),
    Function("erfc", _each(math.erfc), -5, 9, 1, 6),
    Function("erfcx", lambda x: np.exp(x * x) * _each(math.erfc)(x), 0.1, 9, 1, 6),
    Function("normcdf", _each(lambda x: 0.5 * math.erfc(-x * math.sqrt(0.5))), -1, 5, 1, 4),
    Function("tgamma", lambda x: np.exp(_lgamma(x)), 0.01, 34, 1, 8),
    Function("lgamma", _lgamma, 2.5, 1e4, 1, 4),
    Function("floor", np.floor, -1e5, 1e5, 0, 0),
    Function("ceil", np.ceil, -1e5, 1e5, 0, 0),
    Function("trunc", np.trunc, -1e5, 1e5, 0, 0),
    Function("rint", np.rint, -1e5, 1e5, 0, 0),
    Function("round", lambda x: np.copysign(np.floor(abs(x) + 0.5), x), -1e5, 1e5, 0, 0),
]
# fmt: on

#: Those that the default run measures; the others take longer.
QUICK = ("exp", "log", "sin", "atan", "tanh")


def _arguments(function: Function, dtype: type) -> np.ndarray:
    rng = np.random.default_rng(5)
    low, high = function.low, function.high
    if dtype is np.float32:
        high = {"exp": 88.7, "exp2": 127.9, "exp10": 38.5, "expm1": 88.7}.get(function.name, min(high, 3e38))
    even = rng.uniform(low, high, POINTS // 2)
    smallest = max(abs(low), 1e-6) if low > 0 else 1e-6
    small = np.exp(rng.uniform(math.log(smallest), math.log(high), POINTS - POINTS // 2))
    if low < 0:
        small = np.where(rng.random(len(small)) < 0.5, small, np.maximum(-small, low))
    return np.concatenate([even, small]).astype(dtype)


def _values(source: str, folder: Path, kernel: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """What a kernel `(inputs..., y, n)` leaves in y."""
    file = folder / "functions.cu"
    file.write_text(source)
    ptx = compile_cuda(file)
    n = len(arrays["y"])
    launch = Launch(kernel, (-(-n // 128), 1, 1), (128, 1, 1), (*arrays, np.int32(n)))
    return execute(Job("functions", "custom", ptx, "functions.ptx", arrays, [launch])).buffers["y"]


def _ulps(found: np.ndarray, reference: np.ndarray, dtype: type) -> np.ndarray:
    """Distance in units in the last place of the reference."""
    spacing = np.spacing(np.abs(reference).astype(dtype)).astype(np.longdouble)
    return np.abs(found.astype(np.longdouble) - reference) / spacing


def worst(function: Function, dtype: type, folder: Path) -> float:
    """The largest error of a function."""
    kind, suffix = ("float", "f") if dtype is np.float32 else ("double", "")
    source = (
        f'extern "C" __global__ void k(const {kind} *x, {kind} *y, int n) {{\n'
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    if (i < n) y[i] = {function.name}{suffix}(x[i]);\n}}\n"
    )
    x = _arguments(function, dtype)
    found = _values(source, folder, "k", {"x": x, "y": np.zeros_like(x)})
    with np.errstate(all="ignore"):
        reference = function.reference(x.astype(np.longdouble)).astype(np.longdouble)
    return float(np.max(_ulps(found, reference, dtype)))


def _case(function: Function) -> object:
    marks = () if function.name in QUICK else (pytest.mark.long,)
    return pytest.param(function, marks=marks, id=function.name)


@pytest.mark.parametrize("function", map(_case, FUNCTIONS))
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_error_is_within_the_bound(function: Function, dtype: type, tmp_path: Path) -> None:
    bound = function.single if dtype is np.float32 else function.double
    assert worst(function, dtype, tmp_path) <= bound


@dataclass(frozen=True)
class Function2:
    """A function of two arguments, between `low` and `high` of each."""

    name: str
    reference: Callable[[np.ndarray, np.ndarray], np.ndarray]
    low: tuple[float, float]
    high: tuple[float, float]
    single: float
    double: float


# fmt: off
FUNCTIONS2 = [
    Function2("pow", np.power, (0.01, -20), (30, 20), 1, 2),
    Function2("atan2", np.arctan2, (-100, -100), (100, 100), 3, 2),
    Function2("hypot", np.hypot, (-100, -100), (100, 100), 1, 2),
    Function2("fmod", np.fmod, (-1e6, -50), (1e6, 50), 0, 0),
    Function2("remainder", lambda x, y: x - y * np.rint(x / y), (-1e3, 0.5), (1e3, 50), 0, 0),
    Function2("fdim", lambda x, y: np.maximum(x - y, 0), (-10, -10), (10, 10), 0.5, 0.5),
    Function2("copysign", np.copysign, (-10, -10), (10, 10), 0, 0),
    Function2("fmax", np.fmax, (-10, -10), (10, 10), 0, 0),
]
# fmt: on


@pytest.mark.parametrize("function", FUNCTIONS2, ids=lambda function: function.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_two_arguments(function: Function2, dtype: type, tmp_path: Path) -> None:
    kind, suffix = ("float", "f") if dtype is np.float32 else ("double", "")
    source = (
        f'extern "C" __global__ void k(const {kind} *x, const {kind} *z, {kind} *y, int n) {{\n'
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    if (i < n) y[i] = {function.name}{suffix}(x[i], z[i]);\n}}\n"
    )
    rng = np.random.default_rng(6)
    x, z = (
        rng.uniform(low, high, POINTS).astype(dtype)
        for low, high in zip(function.low, function.high, strict=True)
    )
    found = _values(source, tmp_path, "k", {"x": x, "z": z, "y": np.zeros_like(x)})
    reference = function.reference(x.astype(np.longdouble), z.astype(np.longdouble))
    bound = function.single if dtype is np.float32 else function.double
    assert np.max(_ulps(found, reference, dtype)) <= bound


#: What C says of arguments at the edges of the functions.
EDGES = {
    "exp": {0.0: 1, math.inf: math.inf, -math.inf: 0, 1e5: math.inf, -1e5: 0, math.nan: math.nan},
    "log": {0.0: -math.inf, 1.0: 0, -1.0: math.nan, math.inf: math.inf, math.nan: math.nan},
    "log1p": {-0.0: -0.0, -1.0: -math.inf, -2.0: math.nan, math.inf: math.inf},
    "expm1": {-0.0: -0.0, -math.inf: -1, math.inf: math.inf},
    "sin": {-0.0: -0.0, math.inf: math.nan, math.nan: math.nan},
    "cos": {0.0: 1, math.inf: math.nan},
    "atan": {math.inf: math.pi / 2, -math.inf: -math.pi / 2, -0.0: -0.0, math.nan: math.nan},
    "asin": {1.0: math.pi / 2, -1.0: -math.pi / 2, 2.0: math.nan, -0.0: -0.0},
    "acos": {1.0: 0, -1.0: math.pi, 0.0: math.pi / 2, 1.5: math.nan},
    "tanh": {math.inf: 1, -math.inf: -1, -0.0: -0.0, math.nan: math.nan},
    "sinh": {math.inf: math.inf, -math.inf: -math.inf, -0.0: -0.0},
    "cosh": {math.inf: math.inf, 0.0: 1},
    "atanh": {1.0: math.inf, -1.0: -math.inf, 2.0: math.nan, 0.0: 0},
    "acosh": {1.0: 0, 0.5: math.nan, math.inf: math.inf},
    "asinh": {math.inf: math.inf, -0.0: -0.0},
    "cbrt": {-8.0: -2, 27.0: 3, -0.0: -0.0, math.inf: math.inf},
    "erf": {math.inf: 1, -math.inf: -1, 0.0: 0, math.nan: math.nan},
    "erfc": {math.inf: 0, -math.inf: 2, 0.0: 1},
    "tgamma": {1.0: 1, 5.0: 24, 0.0: math.inf, -1.0: math.nan, math.inf: math.inf},
    "lgamma": {1.0: 0, 2.0: 0, 0.0: math.inf, -3.0: math.inf},
    "sinpi": {1.0: 0, 0.5: 1, 1.5: -1, -0.5: -1, math.inf: math.nan},
    "cospi": {1.0: -1, 0.5: 0, 2.0: 1, 1e30: 1},
    "logb": {8.0: 3, 0.0: -math.inf, -math.inf: math.inf},
    "round": {0.5: 1, -0.5: -1, 2.5: 3, 0.49999997: 0, math.inf: math.inf},
}


@pytest.mark.parametrize("suffix", ["f", ""], ids=["f32", "f64"])
def test_edges(suffix: str, tmp_path: Path) -> None:
    kind, dtype = ("float", np.float32) if suffix else ("double", np.float64)
    kernels = "".join(
        f'extern "C" __global__ void edges_of_{name}(const {kind} *x, {kind} *y)\n'
        f"{{ y[threadIdx.x] = {name}{suffix}(x[threadIdx.x]); }}\n"
        for name in EDGES
    )
    file = tmp_path / "edges.cu"
    file.write_text(kernels)
    arrays: dict[str, np.ndarray] = {}
    launches = []
    for name, values in EDGES.items():
        arrays[f"{name}_x"] = np.array(list(values), dtype)
        arrays[f"{name}_y"] = np.full(len(values), 77, dtype)
        launches.append(
            Launch(f"edges_of_{name}", (1, 1, 1), (len(values), 1, 1), (f"{name}_x", f"{name}_y"))
        )
    found = execute(Job("edges", "custom", compile_cuda(file), "edges.ptx", arrays, launches)).buffers
    for name, values in EDGES.items():
        for argument, got, want in zip(
            values, found[f"{name}_y"], np.array(list(values.values()), dtype), strict=True
        ):
            same = np.isnan(got) if np.isnan(want) else abs(got - want) <= 4 * np.spacing(abs(want))
            if np.isinf(want) or want == 0:
                same = got == want and np.signbit(got) == np.signbit(want)
            assert same, f"{name}{suffix}({argument}) is {got}, not {want}"


def test_huge_angles(tmp_path: Path) -> None:
    """Angles at which most of pi's digits are needed, by remainders of whole numbers."""
    angles = [2.0**k * m for k in (60, 119, 300, 500, 1000) for m in (1, 1.1, 1.9)]
    angles.append(6381956970095103.0 * 2.0**797)  # the f64 nearest to a multiple of pi / 2
    # pi to 1200 bits, by Machin's formula in whole numbers
    bits = 1300

    def arctangent(inverse: int) -> int:
        total, term, k = 0, (1 << bits) // inverse, 0
        while term:
            total += (term // (2 * k + 1)) * (-1) ** k
            term //= inverse * inverse
            k += 1
        return total

    pi = 4 * (4 * arctangent(5) - arctangent(239))
    expected = []
    for angle in angles:
        whole = int(angle) << bits
        rest = whole % (2 * pi)
        turn = rest - 2 * pi if rest > pi else rest
        expected.append(math.sin(turn / (1 << bits)))
    source = 'extern "C" __global__ void k(const double *x, double *y, int n)\n'
    source += "{ y[threadIdx.x] = sin(x[threadIdx.x]); }\n"
    x = np.array(angles)
    file = tmp_path / "huge.cu"
    file.write_text(source)
    job = Job(
        "huge", "custom", compile_cuda(file), "huge.ptx", {"x": x, "y": np.zeros_like(x)},
        [Launch("k", (1, 1, 1), (len(x), 1, 1), ("x", "y", np.int32(len(x))))],
    )  # fmt: skip
    assert np.max(_ulps(execute(job).buffers["y"], np.array(expected, np.longdouble), np.float64)) <= 2
