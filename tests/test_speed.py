"""The speeds that README states, as bounds: `pytest -m benchmark` on a machine that does nothing else."""

from __future__ import annotations

import math
import time

import pytest

from bench.first_answer import measure
from warpbank import workloads
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program.emulator import run_job
from warpbank.program.runner import compile_job, trace_job

pytestmark = pytest.mark.benchmark


def test_emulator() -> None:
    """At least a million warp instructions a second on sgemm full, its trace written."""
    job = workloads.get("sgemm").job("full")
    kernels = compile_job(job)
    run_job(workloads.get("sgemm").job("tiny"), kernels, trace=True)  # compiles the emulator
    begin = time.process_time()
    execution = run_job(job, kernels, trace=True)
    assert execution.warp_instructions / (time.process_time() - begin) >= 1_000_000


def test_trace_memory() -> None:
    """A million warp instructions of sgemm take less than 2 GB."""
    job = workloads.get("sgemm").job("full")
    trace = run_job(job, compile_job(job), trace=True).trace
    assert trace is not None
    assert trace.warp_instructions >= 1_000_000
    assert sum(array.nbytes for array in (trace.dynamic, trace.values, trace.lines)) < 2e9


def test_golden() -> None:
    """At least 20 000 warp instructions a second, geometric mean of all kernels on turing, operands
    checked."""
    config, scheme = preset("turing"), parse_scheme("baseline")
    rates = []
    for name in workloads.names():
        trace = trace_job(workloads.get(name).job("small"))
        begin = time.process_time()
        result = simulate(trace, config, scheme)
        rates.append(result.warp_instructions / (time.process_time() - begin))
    assert math.exp(sum(map(math.log, rates)) / len(rates)) >= 20_000


def test_first_answer() -> None:
    """At most 90 s of CPU from an empty cache to the answer of lockstep on `tiny`; a second kernel finds the
    model there."""
    first, second = measure()
    assert first <= 90
    assert second < first / 3
