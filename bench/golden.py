"""Speed of the golden model: `python -m bench.golden`.

Warp instructions per second of CPU time, per kernel and geometric mean.
"""

from __future__ import annotations

import math
import time
from typing import Annotated

import typer

from warpbank import workloads
from warpbank.arch.config import preset as preset_of
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.runner import trace_job


def main(
    kernels: Annotated[list[str] | None, typer.Argument(help="Kernels; all if none is named.")] = None,
    size: str = "small",
    preset: str = "turing",
    scheme: str = "baseline",
) -> None:
    """Simulate the kernels one after the other, operand check on; making the traces is not part of the
    time."""
    rates: list[float] = []
    print(f"{'kernel':14} {'uops':>9} {'cycles':>10} {'ipc':>6} {'uops/s':>8} {'cycles/s':>9}")
    for name in kernels or workloads.names():
        trace = trace_job(workloads.get(name).job(size))
        begin = time.process_time()
        result = simulate(trace, preset_of(preset), parse_scheme(scheme))
        seconds = time.process_time() - begin
        rates.append(result.warp_instructions / seconds)
        print(
            f"{name:14} {result.warp_instructions:9} {result.cycles:10} {result.ipc:6.3f} {rates[-1]:8.0f} "
            f"{result.cycles / seconds:9.0f}",
            flush=True,
        )
    print(
        f"geometric mean of {len(rates)} kernels ({size}, {preset}, {scheme}): "
        f"{math.exp(sum(map(math.log, rates)) / len(rates)):.0f} warp instructions/s"
    )


if __name__ == "__main__":
    typer.run(main)
