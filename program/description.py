"""Launch descriptions of users' own kernels: PTX plus TOML (docs/launch.md) make a `Job`, and every job is
checked to be sound."""

from __future__ import annotations

import os
import re
import tomllib
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from warpbank.arch import toml
from warpbank.program.contents import CONTENTS, TYPES, read_array, read_shape, read_type, type_name
from warpbank.program.cuda.names import find, source_name
from warpbank.program.errors import LaunchError
from warpbank.program.launch import Argument, Expected, Job, Launch, Pointer
from warpbank.program.ptx.ast import Function, Module, Variable
from warpbank.program.ptx.parser import parse
from warpbank.program.texture_tables import read_textures, texture_problem, unused_texture
from warpbank.program.toml_table import Table

#: What every CUDA device allows: CTAs of a grid, threads of a CTA along x, y and z, and threads of a CTA in
#: all.
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
#: Bytes of shared memory of a CTA on the GPU that has most of it (sm_90).
MAX_SHARED = 232448


def load_job(ptx: Path, launch: Path | None = None) -> Job:
    """The job that a PTX file and its launch description make.

    Parameters
    ----------
    ptx : the PTX file.
    launch : its launch description; by default the file of the same name that ends in .toml.

    Raises
    ------
    PtxError : the PTX cannot be parsed.
    LaunchError : the description, or how it fits the PTX, is wrong.
    """
    path = launch if launch is not None else ptx.with_suffix(".toml")
    text = read_ptx(ptx)
    if launch is None and not os.path.exists(path):
        raise LaunchError(
            f"{path}: there is no launch description for {ptx.name}; write one under this name, or name "
            f"one with --launch (docs/launch.md describes them)"
        )
    try:
        top = Table(str(path), "", toml.loads(_read(path, "the launch description")))
    except tomllib.TOMLDecodeError as error:
        raise LaunchError(f"{path}: this is not TOML: {error}") from None
    module = parse(text, str(ptx))
    try:
        job = _Reader(top, path.parent, module).job(ptx.stem, text, str(ptx))
    except MemoryError:
        raise LaunchError(f"{path}: the buffers take more memory than there is here") from None
    problem = _problem(job, module) or unused_texture(job, module)
    if problem:
        raise LaunchError(f"{path}: {problem}")
    return job


def read_ptx(path: Path) -> str:
    """The text of a PTX file. Raises LaunchError if it cannot be read."""
    return _read(path, "the PTX file")


def check_job(job: Job, module: Module) -> None:
    """Raises LaunchError if `job` cannot run on its parsed PTX; says which launch, what is wrong and what
    would be right."""
    problem = _problem(job, module)
    if problem:
        raise LaunchError(f"{job.name}: {problem}")


def _read(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise LaunchError(f"{path}: cannot read {what}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise LaunchError(f"{path}: {what} is not text; expected UTF-8") from None


class _Reader:
    """Turns the tables of a launch description into a job.

    Parameters
    ----------
    top : the whole file.
    folder : where the files that it names are looked for.
    module : the PTX; gives numbers among the arguments their type.
    """

    def __init__(self, top: Table, folder: Path, module: Module) -> None:
        self.top = top
        self.folder = folder
        self.module = module

    def job(self, stem: str, text: str, path: str) -> Job:
        """Reads everything."""
        top = self.top
        name = top.take("name", (str,), stem)
        buffers = self._arrays("buffers")
        symbols = self._symbols()
        expected = self._expected(buffers)
        textures = read_textures(top, buffers, self.module)
        entries = top.take("launch", (list,), required=True)
        top.done()
        if not entries:
            top.fail("launch", "there is no launch; write at least one [[launch]]")
        launches = [self._launch(top.child(f"launch[{index}]", entry)) for index, entry in enumerate(entries)]
        return Job(name, "custom", text, path, buffers, launches, expected, symbols, textures)

    def _arrays(self, key: str) -> dict[str, np.ndarray]:
        """`[buffers.NAME]` or `[symbols.NAME]`."""
        group = self.top.table(key)
        arrays = {}
        for name, values in group.values.items() if group else ():
            assert group is not None
            table = group.child(name, values)
            if "+" in name:
                table.fail("", "a name may not contain '+', which stands for an offset in the arguments")
            dtype = read_type(table, required=False)
            shape = read_shape(table)
            arrays[name] = read_array(table, self.folder, dtype, shape)
            table.known.extend(key for key in CONTENTS if key not in table.known)
            table.done()
        return arrays

    def _symbols(self) -> dict[str, np.ndarray]:
        """`[symbols.NAME]`, by the names that the PTX has."""
        filled = [v.name for v in self.module.variables.values() if v.space in ("const", "global")]
        symbols: dict[str, np.ndarray] = {}
        for name, array in self._arrays("symbols").items():
            found = find(name, filled) or [name]
            if len(found) > 1 or found[0] in symbols:
                self.top.fail(
                    f"symbols.{name}", f"may mean any of {_sources(found)}; write one of them in full"
                )
            symbols[found[0]] = array
        return symbols

    def _expected(self, buffers: dict[str, np.ndarray]) -> dict[str, Expected]:
        """`[expected.NAME]`: same type and shape as the buffer of that name."""
        group = self.top.table("expected")
        expected = {}
        for name, values in group.values.items() if group else ():
            assert group is not None
            table = group.child(name, values)
            if name not in buffers:
                table.fail("", f"there is no buffer {name!r}; the buffers are {_list(buffers)}")
            if not any(key in values for key in CONTENTS):
                table.fail("", f"says nothing about the content; give one of {', '.join(CONTENTS)}")
            tolerances = [table.take(key, (int, float), 0.0) for key in ("rtol", "atol")]
            for key, value in zip(("rtol", "atol"), tolerances, strict=True):
                if not value >= 0:
                    table.fail(key, f"must not be negative, and is {value}")
            array = read_array(table, self.folder, buffers[name].dtype, buffers[name].shape)
            table.known.extend(key for key in CONTENTS if key not in table.known)
            table.done()
            expected[name] = Expected(array, *map(float, tolerances))
        return expected

    def _launch(self, table: Table) -> Launch:
        """One `[[launch]]`."""
        kernels = [name for name, function in self.module.functions.items() if function.entry]
        entry = table.take("entry", (str,), kernels[0] if len(kernels) == 1 else None)
        if entry is None:
            table.fail(
                "", f"the key 'entry' is missing, and the PTX has not one kernel but {_sources(kernels)}"
            )
        found = find(entry, kernels)
        if not found:
            table.fail("entry", f"the PTX has no kernel {entry!r}; it has {_sources(kernels)}")
        if len(found) > 1:
            table.fail("entry", f"{entry!r} may mean any of {_sources(found)}; write one of them in full")
        entry = found[0]
        grid, block = self._dims(table, "grid"), self._dims(table, "block")
        shared = table.take("shared", (int,), 0)
        given = table.take("args", (list,), [])
        table.done()
        parameters = self.module.functions[entry].parameters
        if len(given) != len(parameters):
            table.fail("args", _wrong_count(len(given), self.module.functions[entry]))
        args = (
            self._argument(table, f"args[{i}]", v, p)
            for i, (v, p) in enumerate(zip(given, parameters, strict=True))
        )
        return Launch(entry, grid, block, tuple(args), shared)

    def _dims(self, table: Table, key: str) -> tuple[int, int, int]:
        """`grid` or `block`: 256, [256], [16, 16] or [8, 8, 4]."""
        value = table.take(key, (int, list), required=True)
        dims = value if isinstance(value, list) else [value]
        if not 1 <= len(dims) <= 3 or not all(isinstance(n, int) and not isinstance(n, bool) for n in dims):
            table.fail(key, f"must be an integer or a list of one to three integers, not {value!r}")
        x, y, z = (*dims, 1, 1)[:3]
        return x, y, z

    def _argument(self, table: Table, key: str, value: Any, parameter: Variable) -> Argument:
        """One argument: "buffer", "buffer+16", "texture", a number of the parameter's type, { f32 = 1.5 } or
        { bytes = "00 ff" }."""
        if isinstance(value, str):
            buffer, plus, offset = value.partition("+")
            if plus and not re.fullmatch(r"\s*\d+\s*", offset):
                table.fail(key, f'the offset of {value!r} must be a number of bytes, as in "x+16"')
            return Pointer(buffer.strip(), int(offset)) if plus else value
        if isinstance(value, dict):
            if len(value) != 1:
                table.fail(key, f"must have one key, a type or 'bytes', as in {{ f32 = 1.5 }}, not {value!r}")
            ((kind, number),) = value.items()
            if kind == "bytes":
                return self._bytes(table, key, number)
            if kind not in TYPES:
                table.fail(key, f"there is no type {kind!r}; the types are {', '.join(TYPES)}, and bytes")
            return self._scalar(table, key, number, kind)
        if parameter.type not in TYPES or parameter.size != TYPES[parameter.type].itemsize:
            table.fail(
                key,
                f"parameter {parameter.name} is a structure of {parameter.size} bytes, not a number; "
                'pass { bytes = "..." } in hexadecimal',
            )
        return self._scalar(table, key, value, parameter.type)

    def _bytes(self, table: Table, key: str, value: Any) -> bytes:
        try:
            return bytes.fromhex(value)
        except (TypeError, ValueError):
            table.fail(key, f"bytes must be a string of hexadecimal digits, two for each byte, not {value!r}")

    def _scalar(self, table: Table, key: str, value: Any, kind: str) -> np.generic:
        """A number of type `kind`. The bits of an untyped or unsigned parameter may be written as a negative
        number."""
        dtype = TYPES[kind]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            table.fail(key, f"{value!r} is not a number, as type {kind} needs; a buffer is named by a string")
        if dtype.kind == "f":
            try:
                with np.errstate(over="raise"):
                    return np.float64(value).astype(dtype)
            except (OverflowError, FloatingPointError):
                table.fail(key, f"{value} does not fit type {kind}")
        if not isinstance(value, int):
            table.fail(
                key,
                f"{value!r} is not an integer, as type {kind} needs; write {{ f32 = {value} }} if a float "
                "is meant",
            )
        bits = 8 * dtype.itemsize
        if not -(1 << (bits - 1)) <= value < 1 << (bits - (dtype.kind == "i")):
            table.fail(key, f"{value} does not fit type {kind}")
        return dtype.type(value if dtype.kind == "i" else value & ((1 << bits) - 1))


# What makes a job sound. Each function gives the sentence that says what is wrong, or "".


def _problem(job: Job, module: Module) -> str:
    """The first thing about `job` that cannot be."""
    if not job.launches:
        return "there is no launch; a job has at least one"
    for name, expected in job.expected.items():
        if name not in job.buffers:
            return f"expected.{name}: there is no buffer {name!r}; the buffers are {_list(job.buffers)}"
        buffer = job.buffers[name]
        if expected.value.shape != buffer.shape or expected.value.dtype != buffer.dtype:
            return (
                f"expected.{name}: is {type_name(expected.value.dtype)} of shape "
                f"{list(expected.value.shape)}, but the buffer is {type_name(buffer.dtype)} of shape "
                f"{list(buffer.shape)}"
            )
    for name, value in job.symbols.items():
        variable = module.variables.get(name)
        filled = [v.name for v in module.variables.values() if v.space in ("const", "global")]
        if variable is None or variable.space not in ("const", "global"):
            return (
                f"symbols.{name}: the PTX has no .const or .global variable {name!r}; it has {_list(filled)}"
            )
        if value.nbytes > variable.size:
            return (
                f"symbols.{name}: the content has {value.nbytes} bytes, but the variable has only "
                f"{variable.size}"
            )
    problem = texture_problem(job)
    if problem:
        return problem
    for index, launch in enumerate(job.launches):
        problem = _launch_problem(job, launch, module)
        if problem:
            return f"launch[{index}].{problem}"
    return ""


def _launch_problem(job: Job, launch: Launch, module: Module) -> str:
    function = module.functions.get(launch.entry)
    if function is None or not function.entry or function.body is None:
        kernels = [name for name, f in module.functions.items() if f.entry]
        return f"entry: the PTX has no kernel {launch.entry!r}; it has {_list(kernels)}"
    for key, dims, limits in (("grid", launch.grid, MAX_GRID), ("block", launch.block, MAX_BLOCK)):
        if len(dims) != 3 or not all(1 <= n <= limit for n, limit in zip(dims, limits, strict=True)):
            return (
                f"{key}: {list(dims)} is no size of a {key}; x, y and z must be at least 1 and at most "
                f"{_list(limits)}"
            )
    threads = prod(launch.block)
    if threads > MAX_THREADS:
        return f"block: {list(launch.block)} has {threads} threads; a CTA may have {MAX_THREADS}"
    required, most = function.directives.get("reqntid"), function.directives.get("maxntid")
    if required and required != tuple(launch.block):
        return (
            f"block: {list(launch.block)} is not the {list(required)} that {launch.entry} requires by "
            ".reqntid"
        )
    if most and threads > prod(most):
        return (
            f"block: {list(launch.block)} has {threads} threads; {launch.entry} allows {prod(most)} by "
            ".maxntid"
        )
    if not 0 <= launch.dynamic_shared <= MAX_SHARED:
        return (
            f"shared: {launch.dynamic_shared} bytes of shared memory cannot be; give 0 to {MAX_SHARED}, what "
            "the largest GPU has"
        )
    if len(launch.args) != len(function.parameters):
        return f"args: {_wrong_count(len(launch.args), function)}"
    for index, (argument, parameter) in enumerate(zip(launch.args, function.parameters, strict=True)):
        problem = _argument_problem(job, argument, parameter)
        if problem:
            return f"args[{index}]: {problem}"
    return ""


def _argument_problem(job: Job, argument: Argument, parameter: Variable) -> str:
    what = f"parameter {parameter.name} is .{parameter.type} of {parameter.size} bytes"
    if parameter.type == "texref" and not (isinstance(argument, str) and argument in job.textures):
        return f"{what}, and takes the name of a texture; the textures are {_list(job.textures)}"
    if isinstance(argument, str) and argument in job.textures:
        if parameter.size == 8 and parameter.type[0] != "f":
            return ""
        return f"{what}, and cannot take the handle of texture {argument!r}, an integer of 8 bytes"
    if isinstance(argument, str):
        argument = Pointer(argument)
    if isinstance(argument, Pointer):
        buffer = job.buffers.get(argument.buffer)
        if buffer is None:
            textures = f", the textures {_list(job.textures)}" if job.textures else ""
            return f"there is no buffer {argument.buffer!r}; the buffers are {_list(job.buffers)}{textures}"
        if not 0 <= argument.offset <= buffer.nbytes:
            return (
                f"offset {argument.offset} is outside buffer {argument.buffer!r}, which has {buffer.nbytes} "
                "bytes"
            )
        if parameter.size != 8 or parameter.type[0] == "f":
            return (
                f"{what}, and cannot take the address of buffer {argument.buffer!r}, an integer of 8 bytes; "
                "give it a number"
            )
        return ""
    if isinstance(argument, bytes):
        return "" if len(argument) == parameter.size else f"{what}, but {len(argument)} bytes are given"
    given = type_name(argument.dtype)
    if argument.dtype.itemsize != parameter.size:
        return f"{what}, but the number given is {given} of {argument.dtype.itemsize} bytes"
    kinds = {"f": "f", "u": "ui", "s": "ui"}.get(parameter.type[0]) if parameter.type in TYPES else None
    if kinds and parameter.size == TYPES[parameter.type].itemsize and argument.dtype.kind not in kinds:
        return f"{what}, but the number given is {given}"
    return ""


def _wrong_count(count: int, function: Function) -> str:
    parameters = ", ".join(f"{p.name} (.{p.type}, {p.size} bytes)" for p in function.parameters)
    return (
        f"{count} arguments are given, but {function.name} has {len(function.parameters)} parameters: "
        f"{parameters or 'none'}"
    )


def _sources(names: list[str]) -> str:
    """Names of the PTX as the source has them, or as they are where two would be alike."""
    written = [source_name(name) for name in names]
    alike = len(set(written)) < len(written)
    return _list(names if alike else written)


def _list(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"
