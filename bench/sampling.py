"""Error and gain of sampling: `python -m bench.sampling`.

Every kernel runs whole and as a sample on the golden model. A row has the IPC of both, the error of the
estimate, half of its confidence interval and whether the interval holds the true IPC, the mean error of the
counters that reach 1000, and how many instructions the whole run has for each that the sample simulates.
"""

from __future__ import annotations

import json
import math
import time
from typing import Annotated, Any

import typer

from bench import command_line
from warpbank import workloads
from warpbank.golden.sm import simulate
from warpbank.program import runner
from warpbank.program.trace.repeat import repeated
from warpbank.sim import experiment as exp
from warpbank.sim.sampling import sample

#: Counters below this are left out of the mean of relative errors.
_COUNTED = 1000


def measure(kernel: str, size: str, preset: str, scheme: str, repeat: int = 1) -> dict[str, Any]:
    """Run a kernel, so many times, whole and as a sample."""
    found = exp.find(kernel, size, None, preset, None, scheme, [], None, runner.Options().max_instructions)
    once = exp.hinted(found, runner.trace_job(found.job, exp.compile_options(found)))
    trace = repeated(once, repeat)
    begin = time.process_time()
    whole = simulate(trace, found.config, found.scheme)
    between = time.process_time()
    made = sample(trace, found.config, found.scheme)
    end = time.process_time()
    errors = [
        abs(made.counters[name].value / count - 1)
        for name, count in whole.counters.items()
        if count >= _COUNTED
    ]
    return {
        "kernel": kernel,
        "instructions": made.instructions,
        "simulated": made.simulated,
        "ipc": whole.ipc,
        "estimate": made.ipc.value,
        "error": made.ipc.value / whole.ipc - 1,
        "margin": made.ipc.margin / made.ipc.value,
        "inside": abs(made.ipc.value - whole.ipc) <= made.ipc.margin,
        "counters": sum(errors) / len(errors),
        "ratio": made.ratio,
        "whole_seconds": between - begin,
        "sample_seconds": end - between,
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Means over the kernels."""
    count = len(rows)
    return {
        "kernels": count,
        "mean_error": sum(abs(row["error"]) for row in rows) / count,
        "worst_error": max(abs(row["error"]) for row in rows),
        "inside": sum(row["inside"] for row in rows),
        "ratio": math.exp(sum(math.log(row["ratio"]) for row in rows) / count),
        "total_ratio": sum(row["instructions"] for row in rows) / sum(row["simulated"] for row in rows),
        "time_ratio": sum(row["whole_seconds"] for row in rows) / sum(row["sample_seconds"] for row in rows),
    }


def main(
    kernels: Annotated[list[str] | None, typer.Argument(help="Kernels; all if none is named.")] = None,
    size: str = "full",
    preset: str = "turing",
    scheme: str = "baseline",
    repeat: Annotated[int, typer.Option(min=1, help="Times that each kernel runs, on warm caches.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print a row of a Markdown table for each kernel, and the means."""
    rows = []
    if not as_json:
        print("| kernel | instructions | IPC | estimate | error, % | interval, ± % | counters, % | ratio |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for kernel in kernels or workloads.names(workloads.ALL):
        row = measure(kernel, size, preset, scheme, repeat)
        rows.append(row)
        if not as_json:
            outside = "" if row["inside"] else " (outside)"
            print(
                f"| {kernel} | {row['instructions']} | {row['ipc']:.3f} | {row['estimate']:.3f} | "
                f"{100 * row['error']:+.2f} | {100 * row['margin']:.2f}{outside} | "
                f"{100 * row['counters']:.1f} | {row['ratio']:.1f} |",
                flush=True,
            )
    means = summary(rows)
    if as_json:
        print(json.dumps({"kernels": rows, "summary": means}))
        return
    print(
        f"\n{len(rows)} kernels ({size}, {repeat} times, {preset}, {scheme}): mean IPC error "
        f"{100 * means['mean_error']:.2f} %, worst {100 * means['worst_error']:.2f} %, "
        f"{means['inside']} intervals hold the IPC; instructions whole / simulated: geometric mean "
        f"{means['ratio']:.1f}, all together {means['total_ratio']:.1f}; CPU time {means['time_ratio']:.1f}"
    )


if __name__ == "__main__":
    command_line.run(main)
