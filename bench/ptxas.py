"""Registers of a thread, our allocator's beside NVIDIA's: `python -m bench.ptxas --ptxas PATH`.

`ptxas` is part of the CUDA toolkit, and of the wheel `nvidia-cuda-nvcc`, which needs no GPU:
`pip install nvidia-cuda-nvcc` puts it into `nvidia/cu13/bin` of the environment's packages. It compiles the
PTX of every shipped kernel for the oldest GPU of our preset `turing` (sm_75), or for a later one where the
PTX asks for it.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from statistics import geometric_mean
from typing import Annotated

import typer

from bench import command_line
from warpbank import workloads
from warpbank.program.options import CodeOrder
from warpbank.program.runner import Options, compile_job

#: GPUs that ptxas is asked for, in order, until one runs the PTX.
TARGETS = ("sm_75", "sm_80", "sm_90")
_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_USED = re.compile(r"Used (\d+) registers")
_SPILLED = re.compile(r"(\d+) bytes spill stores")


def assembled(ptxas: Path, ptx: str) -> tuple[str, dict[str, tuple[int, int]]]:
    """GPU that ptxas compiled for, and per entry its registers and the bytes that it spills.

    Raises
    ------
    ValueError : it refuses the PTX for every GPU; the message is its own.
    """
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx)
        for target in TARGETS:
            command = [ptxas, "-v", f"-arch={target}", source, "-o", Path(folder) / "kernel.cubin"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            said = done.stderr
            if not done.returncode:
                return target, _reported(said)
    raise ValueError(said)


def _reported(text: str) -> dict[str, tuple[int, int]]:
    found, entry, spilled = {}, "", 0
    for line in text.splitlines():
        if named := _ENTRY.search(line):
            entry = named[1]
        elif bytes_ := _SPILLED.search(line):
            spilled = int(bytes_[1])
        elif used := _USED.search(line):
            found[entry] = int(used[1]), spilled
    return found


def main(
    ptxas: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="NVIDIA's assembler.")],
) -> None:
    """Print a row for every kernel function that is launched, and the mean ratio."""
    print("| function | GPU | ptxas | ours | in source order | spilled by ptxas, bytes |")
    print("|---|---|---:|---:|---:|---:|")
    ratios: dict[CodeOrder, list[float]] = {order: [] for order in CodeOrder}
    for name in workloads.names(workloads.ALL):
        job = workloads.get(name).job("tiny")
        target, theirs = assembled(ptxas, job.ptx)
        ours = {order: compile_job(job, Options(code_order=order)) for order in CodeOrder}
        for entry in dict.fromkeys(launch.entry for launch in job.launches):
            registers, spilled = theirs[entry]
            counts = {order: kernels[entry].registers for order, kernels in ours.items()}
            for order, count in counts.items():
                ratios[order].append(count / registers)
            print(
                f"| `{entry}` | {target} | {registers} | {counts[CodeOrder.SCHEDULED]} | "
                f"{counts[CodeOrder.SOURCE]} | {spilled} |"
            )
    means = ", ".join(f"{order.value} {geometric_mean(found):.2f}" for order, found in ratios.items())
    print(f"\nours / ptxas, geometric mean of {len(ratios[CodeOrder.SOURCE])} functions: {means}")


if __name__ == "__main__":
    command_line.run(main)
