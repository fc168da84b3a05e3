"""Recorder of compiled code: for kernels and register limits, how many registers, instructions and spills
the code takes, and its hash.

    python -m tests.program.compiled_code record

An allocator that spills what it need not, or that keeps a move which could go, computes right results: no
run shows it. A change of the compiler records new rows, and says in its commit why they are no worse.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tests.program.random_kernels import random_kernel
from warpbank import workloads
from warpbank.program.allocation import AllocationReport, allocate_with_report
from warpbank.program.compiler import compile_with_report
from warpbank.program.isa import Kernel
from warpbank.program.listing import disassemble
from warpbank.program.ptx.parser import parse
from warpbank.program.runner import Options
from warpbank.program.textures import NO_TEXTURES, bindings

RECORDED = Path(__file__).with_name("compiled_code.json")
#: PTX of other compilers.
PTX = tuple(
    sorted(
        path
        for folder in ("compilers", "ptx")
        for path in (Path(__file__).parent / folder / "data").glob("*.ptx")
    )
)
#: Register limits: none that matters, some spills, many.
LIMITS = (255, 24, 16)
SEEDS = range(40)
Row = dict[str, int | str]


def names() -> list[str]:
    """What is compiled: a kernel of ours, a file of PTX, or `random-SEED`."""
    return [*workloads.names(), *(path.name for path in PTX), *(f"random-{seed}" for seed in SEEDS)]


def rows(name: str) -> dict[str, Row]:
    """Rows of a name, by kernel and register limit."""
    return {
        f"{name} {kernel} {limit}": row
        for limit in LIMITS
        for kernel, row in (_random(name, limit) if name.startswith("random-") else _compiled(name, limit))
    }


def _random(name: str, limit: int) -> Iterator[tuple[str, Row]]:
    seed = int(name.removeprefix("random-"))
    kernel = random_kernel(
        seed, groups=(6, 12, 24, 40)[seed % 4], length=(6, 20)[seed % 2], predicates=(3, 14)[seed % 2]
    )
    yield "k", _row(*allocate_with_report(kernel, limit))


def _compiled(name: str, limit: int) -> Iterator[tuple[str, Row]]:
    if name in workloads.names():
        job = workloads.get(name).job("tiny")
        module = parse(job.ptx, job.ptx_path)
        textures = {launch.entry: bindings(job, launch.entry) for launch in job.launches}
    else:
        path = next(path for path in PTX if path.name == name)
        module = parse(path.read_text(), path.name)
        textures = {entry: NO_TEXTURES for entry, one in module.functions.items() if one.entry}
    for entry, bound in sorted(textures.items()):
        yield entry, _row(*compile_with_report(module, entry, Options(max_registers=limit), textures=bound))


def _row(code: Kernel, report: AllocationReport) -> Row:
    found = asdict(report)
    del found["origins"], found["max_registers"]
    return {**found, "instructions": len(code.instructions()), "hash": _hash(code)}


def _hash(code: Kernel) -> str:
    text = "\n".join(
        f"{block.label}: {disassemble(instr)}" for block in code.blocks for instr in block.instrs
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def main() -> int:
    """The command line. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.program.compiled_code", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("command", choices=["record"])
    parser.parse_args()
    found = {name: row for each in names() for name, row in rows(each).items()}
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in found.items()]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{len(found)} rows\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
