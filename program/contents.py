"""Array descriptions in TOML: element type, shape and contents."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from warpbank.program.toml_table import Table

#: Element types by the name they have in PTX; untyped bits are unsigned integers.
TYPES: dict[str, np.dtype[Any]] = {
    **{f"u{8 * n}": np.dtype(f"u{n}") for n in (1, 2, 4, 8)},
    **{f"s{8 * n}": np.dtype(f"i{n}") for n in (1, 2, 4, 8)},
    **{f"b{8 * n}": np.dtype(f"u{n}") for n in (1, 2, 4, 8)},
    **{f"f{8 * n}": np.dtype(f"f{n}") for n in (2, 4, 8)},
}
CONTENTS = ("zeros", "fill", "arange", "random", "values", "file")
_DISTRIBUTIONS = {"uniform": ("low", "high"), "normal": ("mean", "std"), "integers": ("low", "high")}
_MAX_BYTES = 1 << 34
_MAX_DIMENSIONS = 8


def type_name(dtype: np.dtype[Any]) -> str:
    """The name in `TYPES` of a numpy type; numpy's own name for what has none."""
    return next((name for name, known in TYPES.items() if known == dtype), str(dtype))


def read_type(table: Table, required: bool) -> np.dtype[Any] | None:
    """Element type under the key `type`."""
    name = table.take("type", (str,), required=required)
    if name is None:
        return None
    if name not in TYPES:
        table.fail("type", f"there is no type {name!r}; the types are {', '.join(TYPES)}")
    return TYPES[name]


def read_shape(table: Table) -> tuple[int, ...] | None:
    """Shape under the key `shape`: a positive integer or a list of them."""
    shape = table.take("shape", (int, list))
    if shape is None:
        return None
    dims = tuple(shape) if isinstance(shape, list) else (shape,)
    if len(dims) > _MAX_DIMENSIONS:
        table.fail("shape", f"has {len(dims)} dimensions; at most {_MAX_DIMENSIONS} are supported")
    if not dims or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in dims):
        table.fail(
            "shape", f"must be a positive integer or a list of them, such as 1024 or [32, 64], not {shape!r}"
        )
    return dims


def read_array(
    table: Table, folder: Path, dtype: np.dtype[Any] | None, shape: tuple[int, ...] | None
) -> np.ndarray:
    """The array that the content keys of `table` describe.

    Parameters
    ----------
    table : has at most one of the keys `CONTENTS`; none of them means zeros.
    folder : where files are looked for.
    dtype, shape : as far as they are known; a list gives its own shape, and an .npy file both.
    """
    given = [key for key in CONTENTS if key in table.values]
    if len(given) > 1:
        table.fail("", f"has {' and '.join(given)}; choose one of {', '.join(CONTENTS)}")
    content = given[0] if given else "zeros"
    if content == "file":
        return _file(table, folder, dtype, shape)
    if dtype is None:
        table.fail("", f"the key 'type' is missing; the types are {', '.join(TYPES)}")
    if content == "values":
        return _values(table, dtype, shape)
    for key in CONTENTS[:4]:
        table.known.append(key)
    if shape is None:
        table.fail(
            "", f"the key 'shape' is missing, and {content!r} does not say how many elements there are"
        )
    if prod(shape) * dtype.itemsize > _MAX_BYTES:
        table.fail(
            "shape",
            f"{list(shape)} has {prod(shape) * dtype.itemsize} bytes; at most {_MAX_BYTES} are supported",
        )
    if content == "fill":
        value = table.take("fill", (int, float))
        return np.broadcast_to(_numbers(table, "fill", [value], dtype), shape).copy()
    if content == "arange":
        return _arange(table, dtype, shape)
    if content == "random":
        return _random(table, dtype, shape)
    if table.take("zeros", (bool,), True) is not True:
        table.fail("zeros", "can only be true; leave it out, or choose another content")
    return np.zeros(shape, dtype)


def _numbers(table: Table, key: str, values: list[Any], dtype: np.dtype[Any]) -> np.ndarray:
    """A list as an array; every number must be one that the type can hold."""
    integral = dtype.kind in "iu"
    flat: list[Any] = [values]
    while flat:
        item = flat.pop()
        if isinstance(item, list):
            flat.extend(item)
        elif isinstance(item, bool) or not isinstance(item, int if integral else (int, float)):
            table.fail(
                key,
                f"{item!r} is not {'an integer' if integral else 'a number'}, as type {type_name(dtype)} "
                "needs",
            )
        elif integral and not np.iinfo(dtype).min <= item <= np.iinfo(dtype).max:
            table.fail(key, f"{item} does not fit type {type_name(dtype)}")
    try:
        with np.errstate(over="raise"):
            return np.array(values, np.float64 if dtype.kind == "f" else dtype).astype(dtype)
    except (OverflowError, FloatingPointError):
        table.fail(key, f"a number does not fit type {type_name(dtype)}")
    except ValueError:
        table.fail(key, "the rows of a list must have equal lengths")


def _values(table: Table, dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> np.ndarray:
    array = _numbers(table, "values", table.take("values", (list,)), dtype)
    if array.size == 0:
        table.fail("values", "the list is empty; a buffer has at least one element")
    return _reshape(table, "values", array, shape)


def _reshape(table: Table, key: str, array: np.ndarray, shape: tuple[int, ...] | None) -> np.ndarray:
    """`array` in the shape that was declared: a flat list fits any shape of its size, a nested one only its
    own."""
    if shape is None or array.shape == shape:
        return array
    if array.ndim != 1 or array.size != prod(shape):
        table.fail(
            key,
            f"has shape {list(array.shape)}, but the shape should be {list(shape)} ({prod(shape)} elements)",
        )
    return array.reshape(shape)


def _arange(table: Table, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    """`arange = true` counts 0, 1, 2...; a table gives start and step. Integers wrap around as in C."""
    given = table.take("arange", (bool, dict))
    if given is False:
        table.fail("arange", "can only be true or a table such as { start = 0, step = 1 }")
    start, step = 0, 1
    if isinstance(given, dict):
        inner = table.child("arange", given)
        start, step = inner.take("start", (int, float), 0), inner.take("step", (int, float), 1)
        inner.done()
        for key, value in (("start", start), ("step", step)):
            if dtype.kind in "iu" and not (isinstance(value, int) and -(1 << 63) <= value < 1 << 63):
                inner.fail(key, f"must be a 64-bit integer for type {type_name(dtype)}, not {value!r}")
    counted = np.arange(prod(shape), dtype=np.int64 if dtype.kind in "iu" else np.float64)
    with np.errstate(over="ignore"):
        return (start + counted * step).astype(dtype).reshape(shape)


def _random(table: Table, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Random numbers of numpy's default generator from a seed, so that every run has the same."""
    inner = table.table("random")
    assert inner is not None
    name = inner.take("distribution", (str,), required=True)
    if name not in _DISTRIBUTIONS:
        inner.fail(
            "distribution", f"there is no distribution {name!r}; there are {', '.join(_DISTRIBUTIONS)}"
        )
    seed = inner.take("seed", (int,), 0)
    if seed < 0:
        inner.fail("seed", f"must not be negative, and is {seed}")
    rng = np.random.default_rng(seed)
    if name == "integers":
        low, high = inner.take("low", (int,), 0), inner.take("high", (int,), required=True)
        inner.done()
        limits = np.iinfo(dtype if dtype.kind in "iu" else np.int64)
        if not limits.min <= low < high <= int(limits.max) + 1:
            inner.fail(
                "high", f"[{low}, {high}) is not a range of {type_name(dtype)}; low is included, high is not"
            )
        return rng.integers(low, high, shape, dtype=dtype if dtype.kind in "iu" else np.int64).astype(dtype)
    if dtype.kind != "f":
        inner.fail("distribution", f"{name} makes fractions; type {type_name(dtype)} needs 'integers'")
    first_key, second_key = _DISTRIBUTIONS[name]
    first, second = inner.take(first_key, (int, float), 0.0), inner.take(second_key, (int, float), 1.0)
    inner.done()
    if name == "normal":
        if not second >= 0:
            inner.fail("std", f"must not be negative, and is {second}")
        return rng.normal(first, second, shape).astype(dtype)
    if not (first <= second and np.isfinite(second - first)):
        inner.fail("high", f"must be a number not below low, but low is {first} and high is {second}")
    return rng.uniform(first, second, shape).astype(dtype)


def _file(
    table: Table, folder: Path, dtype: np.dtype[Any] | None, shape: tuple[int, ...] | None
) -> np.ndarray:
    """An .npy file, or the raw little-endian elements that any other file is taken for."""
    name = table.take("file", (str,))
    path = folder / name
    try:
        if path.suffix == ".npy":
            array = np.load(path, allow_pickle=False)
        else:
            raw = path.read_bytes()
            if dtype is None:
                table.fail("", f"the key 'type' is missing; the raw file {name} does not say its own")
            size, what = dtype.itemsize, type_name(dtype)
            if not raw or len(raw) % size:
                table.fail(
                    "file", f"{name} has {len(raw)} bytes, not a positive multiple of the {size} of {what}"
                )
            array = np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype)
    except OSError as error:
        table.fail("file", f"cannot read {path}: {error.strerror or error}")
    except (ValueError, EOFError) as error:
        table.fail("file", f"{path} is no .npy file that holds numbers: {error}")
    if array.dtype not in TYPES.values():
        table.fail("file", f"{name} holds {array.dtype}; a buffer may hold {', '.join(TYPES)}")
    if dtype is not None and array.dtype != dtype:
        table.fail("file", f"{name} holds {type_name(array.dtype)}, but the type is {type_name(dtype)}")
    if array.size == 0:
        table.fail("file", f"{name} is empty; a buffer has at least one element")
    return _reshape(table, "file", np.ascontiguousarray(array), shape)
