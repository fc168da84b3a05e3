"""Speed of the golden model, compiled and interpreted: `python -m bench.golden`.

Warp instructions per second of CPU time, operand check on, per kernel and as geometric mean. Each kernel runs
in both forms, one after the other, so that the ratio holds on a machine whose speed varies.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from typing import Annotated

import typer

from bench import command_line
from warpbank import native, workloads
from warpbank.native import build

FORMS = {"compiled": "1", "interpreted": "0"}


def measure(kernel: str, size: str, preset: str, scheme: str) -> dict[str, float]:
    """Simulate a kernel in this process. Making the trace is not part of the time."""
    from warpbank.golden.sm import simulate
    from warpbank.program import runner
    from warpbank.sim import experiment as exp

    found = exp.find(kernel, size, None, preset, None, scheme, [], None, runner.Options().max_instructions)
    trace = exp.hinted(found, runner.trace_job(found.job, exp.compile_options(found)))
    begin = time.process_time()
    result = simulate(trace, found.config, found.scheme)
    seconds = time.process_time() - begin
    return {"uops": result.warp_instructions, "cycles": result.cycles, "seconds": seconds}


def elsewhere(form: str, *asked: str) -> dict[str, float]:
    """`measure` in a process of its own that runs the model in this form."""
    command = [sys.executable, "-m", "bench.golden", "--worker", *asked]
    environment = {**os.environ, "WARPBANK_COMPILED": FORMS[form]}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    made: dict[str, float] = json.loads(done.stdout)
    return made


def mean(rates: list[float]) -> float:
    """Geometric mean."""
    return math.exp(sum(map(math.log, rates)) / len(rates))


def main(
    kernels: Annotated[list[str] | None, typer.Argument(help="Kernels; all if none is named.")] = None,
    size: str = "small",
    preset: str = "turing",
    scheme: str = "baseline",
    pairs: Annotated[int, typer.Option(min=1, max=100, help="Pairs of runs per kernel.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    worker: Annotated[bool, typer.Option("--worker", hidden=True)] = False,
) -> None:
    """Simulate the kernels one after the other, each in both forms in turn."""
    if worker:
        (kernel, *_) = kernels or []
        print(json.dumps({**measure(kernel, size, preset, scheme), "compiled": native.active()}))
        return
    build.ensure()
    rates: dict[str, list[float]] = {form: [] for form in FORMS}
    ratios = []
    if not as_json:
        print(f"{'kernel':14} {'uops':>9} {'cycles':>10} {'compiled':>9} {'interpreted':>11} {'ratio':>6}")
    for name in kernels or workloads.names():
        seconds = dict.fromkeys(FORMS, 0.0)
        for _ in range(pairs):
            for form in FORMS:
                made = elsewhere(form, name, "--size", size, "--preset", preset, "--scheme", scheme)
                assert made["compiled"] == (form == "compiled"), f"{name} did not run {form}"
                seconds[form] += made["seconds"]
        for form in FORMS:
            rates[form].append(made["uops"] * pairs / seconds[form])
        ratios.append(seconds["interpreted"] / seconds["compiled"])
        if not as_json:
            print(
                f"{name:14} {made['uops']:9.0f} {made['cycles']:10.0f} {rates['compiled'][-1]:9.0f} "
                f"{rates['interpreted'][-1]:11.0f} {ratios[-1]:6.2f}",
                flush=True,
            )
    summary = {form: round(mean(each)) for form, each in rates.items()}
    if as_json:
        print(json.dumps({**summary, "ratio": round(mean(ratios), 3)}))
    else:
        print(
            f"geometric mean of {len(ratios)} kernels ({size}, {preset}, {scheme}): compiled "
            f"{summary['compiled']}, interpreted {summary['interpreted']} warp instructions/s, "
            f"ratio {mean(ratios):.2f}"
        )


if __name__ == "__main__":
    command_line.run(main)
