"""Cost of a sweep before it is started: `python -m bench.sweep examples/sweep/plan.toml`.

A seeded random part of the sweep's runs is done, one after the other, in this process, until a budget of CPU
time is spent; nothing of it is kept. The whole is an extrapolation: the mean over the part, with its standard
error, times the number of runs, over 1, 16 and 256 cores. Runs are independent processes of one thread, and
what they share (compiled model, traces) is made once in a cache folder that all of them see, so that it is
counted once. A cache folder that has no traces yet gives the time to make them.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from bench import command_line
from warpbank import native
from warpbank.program import runner
from warpbank.program.errors import WarpbankError
from warpbank.sim import engines
from warpbank.sim import experiment as exp
from warpbank.sim.runs import RunSpec
from warpbank.studies.sweep import read_sweep

CORES = (1, 16, 256)


def measure(spec: RunSpec) -> tuple[float, float]:
    """Seconds of CPU time of a run: to make its trace, or read it from the cache; and to simulate."""
    begin = time.process_time()
    experiment = spec.experiment()
    runner.trace_job(experiment.job, exp.compile_options(experiment))
    traced = time.process_time()
    exp.run(experiment, engines.engine(spec.engine), sample=spec.sample)
    return traced - begin, time.process_time() - traced


def extrapolated(seconds: list[float], runs: int, shared: float) -> dict[str, Any]:
    """Cost of all runs: hours by number of cores, and the relative standard error of the part's mean.

    Parameters
    ----------
    seconds : of each run of the part.
    runs : of the whole sweep.
    shared : seconds for what all of it shares.
    """
    mean = statistics.mean(seconds)
    error = statistics.stdev(seconds) / math.sqrt(len(seconds)) / mean if len(seconds) > 1 else math.inf
    total = mean * runs + shared
    return {
        "seconds_per_run": round(mean, 3),
        "relative_error": round(error, 3),
        "hours": {str(cores): round(total / cores / 3600, 3) for cores in CORES},
    }


def main(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="Description of the sweep.")],
    budget: Annotated[float, typer.Option(min=1, help="Seconds of CPU time for the part.")] = 120.0,
    seed: int = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Do a random part of the sweep and extrapolate its cost."""
    begin = time.process_time()
    specs = [spec for spec, _ in read_sweep(file).points()]
    planned = time.process_time() - begin
    random.Random(seed).shuffle(specs)
    traces: dict[str, float] = {}
    seconds: list[float] = []
    refused = 0
    begin = time.process_time()
    for spec in specs:
        try:
            tracing, simulating = measure(spec)
        except WarpbankError:  # a row of the file with its cause
            refused += 1
            continue
        traces.setdefault(f"{spec.kernel} {spec.size}", tracing)  # made once, then in the cache
        seconds.append(simulating)
        if time.process_time() - begin > budget:
            break
    kinds = len({(spec.kernel, spec.size) for spec in specs})
    shared = planned + statistics.mean(traces.values()) * kinds
    found = {
        "runs": len(specs),
        "measured": len(seconds),
        "refused": refused,
        "model": native.how(),
        "plan_seconds": round(planned, 2),
        "trace_seconds": round(statistics.mean(traces.values()), 3),
        **extrapolated(seconds, len(specs), shared),
    }
    if as_json:
        print(json.dumps(found))
        return
    print(
        f"measured: {found['measured']} of {found['runs']} runs ({found['model']}), {refused} cannot be; "
        f"{found['seconds_per_run']} s of CPU time a run, {found['trace_seconds']} s a trace, "
        f"{found['plan_seconds']} s for the plan"
    )
    for cores, hours in found["hours"].items():
        print(f"extrapolated: {hours:8.3f} h on {cores} cores, within {found['relative_error']:.0%}")


if __name__ == "__main__":
    command_line.run(main)
