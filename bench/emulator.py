"""Speed of the emulator in warp instructions per second: `python -m bench.emulator`; `--help` tells what else
it can measure."""

from __future__ import annotations

import resource
import time

from bench import command_line
from warpbank import workloads
from warpbank.program.emulator import run_job
from warpbank.program.emulator.check import check_expected
from warpbank.program.runner import compile_job


def main(name: str = "sgemm", size: str = "full", repeats: int = 3) -> None:
    """Emulate a kernel with and without a trace, the fastest of `repeats` runs each."""
    job = workloads.get(name).job(size)
    start = time.perf_counter()
    kernels = compile_job(job)
    print(f"{name} {size}: machine code in {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    first = run_job(job, kernels)
    print(f"first run, compilation of the emulator included: {time.perf_counter() - start:.2f} s")
    check = check_expected(job, first.buffers)
    print(f"{first.warp_instructions} warp instructions; {check.wrong} of {check.elements} elements wrong")
    for tracing in (False, True):
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            execution = run_job(job, kernels, trace=tracing)
            times.append(time.perf_counter() - start)
        speed = execution.warp_instructions / min(times) / 1e6
        print(f"trace {'on ' if tracing else 'off'}: {min(times):.3f} s, {speed:.2f} M warp instructions/s")
    trace = execution.trace
    assert trace is not None
    size_mib = sum(a.nbytes for a in (trace.dynamic, trace.values, trace.lines)) / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    each = size_mib * 2**20 / trace.warp_instructions
    print(f"trace {size_mib:.0f} MiB, {each:.0f} bytes an instruction; peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    command_line.run(main)
