"""Runner from a job to its trace in one call: parse, compile, emulate, check the memory, cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import warpbank.program.trace.cache as trace_cache
from warpbank.program import emulator
from warpbank.program.compiler import compile_kernel
from warpbank.program.description import check_job
from warpbank.program.emulator.check import MemoryCheck, check_expected
from warpbank.program.errors import ExecutionError
from warpbank.program.isa import Kernel
from warpbank.program.launch import Job
from warpbank.program.options import CompileOptions
from warpbank.program.ptx.parser import parse
from warpbank.program.textures import bindings
from warpbank.program.trace.schema import SCHEMA_VERSION, Trace


@dataclass(frozen=True)
class Options(CompileOptions):
    """Options of compiling and emulating a job; part of the trace's identity.

    Parameters
    ----------
    allocate : allocate registers; False runs the code on virtual registers (no trace can be made of it).
    max_instructions : warp instructions after which a job counts as endless.
    """

    allocate: bool = True
    max_instructions: int = emulator.MAX_INSTRUCTIONS


def compile_job(job: Job, options: Options = Options()) -> dict[str, Kernel]:
    """Machine code of every kernel the job launches, by entry name.

    Raises PtxError for PTX that cannot be read or lowered, LaunchError for launches that do not fit it.
    """
    module = parse(job.ptx, job.ptx_path)
    check_job(job, module)
    entries = dict.fromkeys(launch.entry for launch in job.launches)
    return {
        entry: compile_kernel(
            module, entry, options, allocate=options.allocate, textures=bindings(job, entry)
        )
        for entry in entries
    }


def execute(job: Job, options: Options = Options(), *, trace: bool = False) -> emulator.Execution:
    """Run the job on the emulator; its result holds the final buffers and, if asked for, the trace."""
    kernels = compile_job(job, options)
    return emulator.run_job(job, kernels, trace=trace, max_instructions=options.max_instructions)


def trace_job(
    job: Job, options: Options = Options(), *, on_emulate: Callable[[], None] | None = None
) -> Trace:
    """The job's trace, from the user's cache if an identical job was traced before.

    `trace.meta` tells how the final memory compared with the job's expectation ("memory": buffers compared,
    elements compared, elements wrong). Raises ExecutionError if it did not match: a trace of a wrong
    execution is of no use to anyone. `on_emulate` is called if the trace has to be made.
    """
    key = job_key(job, options)

    def build() -> Trace:
        if on_emulate is not None:
            on_emulate()
        execution = execute(job, options, trace=True)
        check = check_expected(job, execution.buffers)
        if not check.passed:
            raise ExecutionError(wrong_memory(job, check))
        result = execution.trace
        assert result is not None
        result.meta |= {
            "job": job.name,
            "size": job.size,
            "ptx": job.ptx_path.rsplit("/", 1)[-1],
            "key": key,
            **options.to_dict(),
            "max_registers": options.registers,
            "versions": tool_versions(),
            "memory": {"buffers": check.buffers, "elements": check.elements, "wrong": check.wrong},
            "thread_instructions": execution.thread_instructions,
        }
        return result

    return trace_cache.get(key, build)


def wrong_memory(job: Job, check: MemoryCheck) -> str:
    """Message that says which element of memory is wrong."""
    return (
        f"kernel {job.name} ({job.size}) left memory that differs from the expected result in "
        f"{check.wrong} of {check.elements} elements; the first is {check.first}."
    )


def job_key(job: Job, options: Options) -> str:
    """Content hash of everything the trace depends on: the PTX, the launches, the data, the options and our
    own code."""
    digest = hashlib.sha256()

    def add(*parts: object) -> None:
        digest.update(json.dumps([str(p) for p in parts]).encode())

    def add_array(name: str, array: np.ndarray) -> None:
        add(name, array.dtype.str, array.shape)
        digest.update(np.ascontiguousarray(array).tobytes())

    add(SCHEMA_VERSION, source_digest(), job.name, job.size, job.ptx)
    add(options.code_order, options.constants, options.free_registers, options.registers)
    add(options.allocate, options.max_instructions)
    for name, array in job.buffers.items():
        add_array(name, array)
    for name, array in job.symbols.items():
        add_array(name, array)
    for name, texture in job.textures.items():
        add(name, texture)
    for name, expected in job.expected.items():
        add_array(name, expected.value)
        add(expected.rtol, expected.atol)
    for launch in job.launches:
        add(launch.entry, launch.grid, launch.block, launch.dynamic_shared)
        for arg in launch.args:
            add(type(arg).__name__, getattr(arg, "dtype", ""), arg.hex() if isinstance(arg, bytes) else arg)
    return digest.hexdigest()[:32]


@cache
def source_digest() -> str:
    """Digest of the sources of this package: a trace made by other code is another trace."""
    digest = hashlib.sha256()
    pending = [files(__package__)]
    texts: list[tuple[str, bytes]] = []
    while pending:
        folder = pending.pop()
        for entry in folder.iterdir():
            if entry.is_dir() and entry.name != "__pycache__":
                pending.append(entry)
            elif entry.name.endswith(".py"):
                texts.append((str(entry), entry.read_bytes()))
    root = str(files(__package__))
    for path, text in sorted(texts):
        digest.update(path.removeprefix(root).encode() + text)
    return digest.hexdigest()


@cache
def code_digest(*modules: str) -> str:
    """Digest of the sources of these packages and modules, those of `program` included: changed code gives
    other results."""
    digest = hashlib.sha256(source_digest().encode())
    for module in sorted(modules):
        spec = find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        for path in sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]:
            digest.update(f"{module}/{path.relative_to(origin.parent)}".encode() + path.read_bytes())
    return digest.hexdigest()


def tool_versions() -> dict[str, Any]:
    """Versions of the software that makes a number: ours and the libraries underneath."""
    return {name: version(name) for name in ("warpbank", "numpy", "numba")}
