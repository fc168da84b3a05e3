"""Speed of the RTL engines: `python -m bench.rtl`.

Simulated SM cycles per second of CPU time, operand check on, and beside it the golden model and Amaranth's
simulator on the same machine in the same run. The rates of one run can be compared with each other, those of
two machines cannot.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from bench import command_line
from warpbank import workloads
from warpbank.arch.config import preset as preset_of
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.result import Result
from warpbank.program.runner import Options, trace_job
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.engines.model import Build, library
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.engines.verilator import VerilatorEngine
from warpbank.sim.experiment import register_limit


@dataclass
class Row:
    """Rates of one kernel, in cycles per CPU-second."""

    kernel: str
    cycles: int
    ipc: float
    verilator: float
    golden: float


def timed(run: Callable[[], Result]) -> tuple[Result, float]:
    """Result of a run and the cycles per second of CPU time that it took."""
    begin = time.process_time()
    result = run()
    return result, result.cycles / (time.process_time() - begin)


def measure_build(preset: str, scheme: str, fast: bool) -> tuple[float, float]:
    """CPU-seconds to build the model with an empty cache, Verilator's run-time library included, and MiB of
    the largest process that took part."""
    before = os.environ.get("WARPBANK_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WARPBANK_CACHE"] = folder
        begin = _cpu_seconds()
        register_file = parse_scheme(scheme)
        library(register_file.machine(preset_of(preset)), register_file, Build(fast=fast))
        seconds = _cpu_seconds() - begin
    os.environ.pop("WARPBANK_CACHE")
    if before is not None:
        os.environ["WARPBANK_CACHE"] = before
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return seconds, peak / 1024


def _cpu_seconds() -> float:
    """CPU time of this process and of those that it has waited for."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main(
    kernels: Annotated[list[str] | None, typer.Argument(help="Kernels [default: five of them].")] = None,
    size: str = "small",
    preset: str = "turing",
    scheme: str = "baseline",
    build: Annotated[bool, typer.Option(help="Measure the build, too, with an empty cache.")] = True,
    pysim_cycles: Annotated[
        int, typer.Option(help="Cycles for Amaranth's simulator; 0 leaves it out.")
    ] = 300,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Run the kernels on both engines; making traces and building are not part of the rates."""
    config, register_file = preset_of(preset), parse_scheme(scheme)
    report: dict[str, object] = {"size": size, "preset": preset, "scheme": scheme}
    if build:
        report["build_cpu_seconds"], report["build_peak_mib"] = measure_build(preset, scheme, True)
        report["quick_build_cpu_seconds"], _ = measure_build(preset, scheme, False)
    engine = VerilatorEngine(Build(fast=True))
    rows = []
    for name in kernels or ("sgemm", "matrixmul", "blackscholes", "reduction", "bfs"):
        job = workloads.get(name).job(size)
        trace = trace_job(job, Options(max_registers=register_limit(job, config)))
        library(config, register_file, Build(fast=True))
        compiled, rate = timed(lambda: engine.run(trace, config, register_file))  # noqa: B023 - called at once
        model, slow = timed(lambda: GoldenEngine().run(trace, config, register_file))  # noqa: B023
        assert compiled.to_dict() == model.to_dict(), f"{name}: golden and RTL differ"
        rows.append(Row(name, compiled.cycles, compiled.ipc, rate, slow))
        rates = f"Verilator {rate:8.0f} cycles/s  golden {slow:8.0f}"
        print(
            f"{name:14} {compiled.cycles:9} cycles  IPC {compiled.ipc:5.2f}  {rates}",
            file=sys.stderr,
            flush=True,
        )
    report["kernels"] = [asdict(row) for row in rows]
    rate = math.exp(sum(math.log(row.verilator) for row in rows) / len(rows))
    report["verilator"] = rate
    report["over_golden"] = rate / math.exp(sum(math.log(row.golden) for row in rows) / len(rows))
    report["run_peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if pysim_cycles:
        session = PysimEngine().open(trace, config, register_file)
        session.advance(1)
        begin = time.process_time()
        session.advance(1 + pysim_cycles)
        report["pysim"] = pysim_cycles / (time.process_time() - begin)
        report["over_pysim"] = rate / float(str(report["pysim"]))
    if as_json:
        print(json.dumps(report, indent=2))
        return
    for name, value in report.items():
        if name != "kernels":
            print(f"{name:20} {value:.1f}" if isinstance(value, float) else f"{name:20} {value}")


if __name__ == "__main__":
    command_line.run(main)
