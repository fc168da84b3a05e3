"""Read times of the main register files of LTRF's Table 2, with queueing: `python -m bench.register_files`.

The paper's latencies "include queuing delays incurred due to bank conflicts", relative to those of the first
file. They may be read in two ways: as the time of a bank's access (`--set rf7`), or as the average from a
read's request to its grant. For each file this prints that average with the first reading, and the time of an
access for which the average is the paper's (`--set rf7-average`): `average` in
`warpbank.arch.register_files`.
"""

from __future__ import annotations

import os

os.environ["WARPBANK_COMPILED"] = "0"  # queues of the interpreted model can be looked at

from collections.abc import Callable, Sequence
from typing import Annotated
from unittest.mock import patch

import typer

from bench import command_line
from warpbank.arch.register_files import TABLE2
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.sm import simulate
from warpbank.program import runner
from warpbank.sim import experiment as exp

KERNELS = "dct8x8,hotspot,kmeans,matrixmul,mma_gemm,pathfinder,srad,stencil"
#: Share of the paper's latency within which an average counts as met.
WITHIN = 0.01


def read_time(kernel: str, size: str, preset: str, overrides: Sequence[str]) -> float:
    """Mean cycles from the request of a bank read to its grant, under the baseline: requests that wait,
    summed over the cycles, by reads (Little's law)."""
    found = exp.find(
        kernel, size, None, preset, None, "baseline", list(overrides), None, runner.Options().max_instructions
    )
    trace = exp.hinted(found, runner.trace_job(found.job, exp.compile_options(found)))
    waiting = 0
    step = MainRegisterFile.step

    def counted(file: MainRegisterFile, ports: int = 0) -> object:
        nonlocal waiting
        waiting += file._arbiter.pending
        return step(file, ports)

    with patch.object(MainRegisterFile, "step", counted):
        result = simulate(trace, found.config, found.scheme)
    return waiting / result.counters["rf.reads"]


def mean(kernels: Sequence[str], size: str, preset: str, name: str, latency: int) -> float:
    """Mean of the kernels' read times with banks that take `latency` hundredths of a cycle."""
    overrides = (name, f"sub_core.bank_latency={latency}")
    return sum(read_time(kernel, size, preset, overrides) for kernel in kernels) / len(kernels)


def solved(wanted: float, latency: int, average: Callable[[int], float]) -> tuple[float, int, float]:
    """The average read of banks of `latency`; the latency whose average is nearest to `wanted`, and that
    average. It is found by secants from 1x and `latency`."""
    found = {each: average(each) for each in (100, latency)}
    first = found[latency]
    while True:
        near = sorted(found, key=lambda each: abs(found[each] - wanted))
        if abs(found[near[0]] / wanted - 1) <= WITHIN:
            break
        slope = (found[near[1]] - found[near[0]]) / (near[1] - near[0])
        following = round(near[0] + (wanted - found[near[0]]) / slope)
        if following in found:
            break
        found[following] = average(following)
    return first, near[0], found[near[0]]


def main(
    kernels: Annotated[str, typer.Option(help="Names, separated by commas.")] = KERNELS,
    size: str = "tiny",
    preset: str = "maxwell",
) -> None:
    """Print both readings of each latency of Table 2."""
    names = kernels.split(",")
    base = mean(names, size, preset, "rf1", 100)
    typer.echo(f"rf1: {base:.2f} cycles from request to grant")
    for name, file in TABLE2.items():
        if name == "rf1":
            continue
        ratio, latency, average = solved(
            file.latency / 100,
            file.latency,
            lambda each, name=name: mean(names, size, preset, name, each) / base,
        )
        typer.echo(
            f"{name}: a read takes {ratio:.2f}x on average if a bank takes {file.latency / 100:g}x, and "
            f"{average:.2f}x if it takes {latency / 100:g}x"
        )


if __name__ == "__main__":
    command_line.run(main)
