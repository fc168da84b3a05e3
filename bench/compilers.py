"""Shipped kernels as NVIDIA's compiler makes them: `python -m bench.compilers --nvcc PATH`.

`nvcc` is part of the CUDA toolkit, and of wheels, which need no GPU: `pip install nvidia-cuda-nvcc
nvidia-cuda-cccl` puts it into `nvidia/cu13/bin` of the environment's packages. It calls the system's C++
compiler. Each kernel's CUDA source is compiled at -O3 and -O0 for the GPU that its committed PTX names. The
emulator runs the PTX and compares memory with what the kernel's job expects; `--schemes` runs it on the
golden model, too, which compares every operand.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from bench import command_line
from warpbank import workloads
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.program.emulator.check import check_expected
from warpbank.program.launch import Job
from warpbank.program.runner import execute, wrong_memory
from warpbank.sim.experiment import DEFAULT_PRESET, Experiment, find_config, find_scheme, run

LEVELS = ("O3", "O0")
RIGHT, REFUSED = "right", "refused"
#: What stands in place of `warpbank.cuh`, which is written for LLVM. nvcc lets device code read an array of
#: constants only if it is told where that lies.
HEADER = """\
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>
typedef unsigned char uchar;
typedef unsigned long long ull;
__device__ __forceinline__ float4 load4(const float *p) { return *(const float4 *)p; }
__device__ __forceinline__ void store4(float *p, float4 v) { *(float4 *)p = v; }
#define constexpr __constant__ constexpr
"""
_TARGET = re.compile(r"^\.target\s+(\w+)", re.MULTILINE)


def compiled(nvcc: Path, source: Path, gpu: str, level: str) -> str:
    """PTX that nvcc makes of one of our sources, for a GPU ("sm_75") at a level ("O3").

    Raises
    ------
    ValueError : it refuses the source; the message is its own.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "warpbank.cuh").write_text(HEADER)
        shutil.copy(source, folder)
        command = [
            str(nvcc.resolve()),
            "-ptx",
            f"-{level}",
            "-Xcicc",
            f"-{level}",
            f"-arch={gpu}",
            source.name,
        ]
        command += ["-o", "kernel.ptx"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(done.stderr.strip() or done.stdout.strip())
        return (folder / "kernel.ptx").read_text()


def emulated(job: Job) -> str:
    """`RIGHT`, or the sentence that says what is wrong with the job in the emulator."""
    try:
        check = check_expected(job, execute(job).buffers)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return RIGHT if check.passed else wrong_memory(job, check)


def simulated(job: Job, machine: SmConfig, preset: str, scheme: Scheme) -> str:
    """`RIGHT`, or the sentence that says what is wrong with the job on the golden model."""
    try:
        run(Experiment(job, machine, preset, scheme))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return RIGHT


def main(
    nvcc: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="NVIDIA's compiler.")],
    kernels: Annotated[
        list[str] | None, typer.Option("--kernel", help="May be repeated; all shipped ones.")
    ] = None,
    size: str = "tiny",
    schemes: Annotated[str, typer.Option(help="Schemes, with commas between; none.")] = "",
    preset: str = DEFAULT_PRESET,
) -> None:
    """Print a row for every kernel and level, then what is wrong. Exit code 1 if anything is."""
    machine = find_config(preset, None, [])
    wanted = {name: find_scheme(name) for name in schemes.split(",") if name}
    print(f"| kernel | GPU | level | {' | '.join(['emulator', *wanted])} |")
    print("|" + "---|" * (4 + len(wanted)))
    wrong = []
    for kernel in kernels or workloads.names(workloads.ALL):
        job = workloads.get(kernel).job(size)
        target = _TARGET.search(job.ptx)
        assert target is not None
        for level in LEVELS:
            answers = {"emulator": REFUSED}
            try:
                with as_file(files("warpbank.workloads") / "cuda" / f"{kernel}.cu") as source:
                    ptx = compiled(nvcc, source, target[1], level)
            except ValueError as error:
                wrong.append(f"{kernel} -{level}, {REFUSED} by nvcc:\n{error}")
            else:
                job = replace(job, ptx=ptx, ptx_path=f"{kernel}.{level}.ptx")
                answers["emulator"] = emulated(job)
                if answers["emulator"] == RIGHT:
                    answers |= {
                        name: simulated(job, machine, preset, scheme) for name, scheme in wanted.items()
                    }
            cells = []
            for where in ("emulator", *wanted):
                answer = answers.get(where, "")  # golden runs nothing that the emulator does not
                if answer in ("", RIGHT, REFUSED):
                    cells.append(answer)
                else:
                    cells.append("wrong")
                    wrong.append(f"{kernel} -{level}, {where}: {answer}")
            print(f"| `{kernel}` | {target[1]} | -{level} | {' | '.join(cells)} |", flush=True)
    print("\n" + "\n".join(wrong or ["Nothing is wrong."]))
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    command_line.run(main)
