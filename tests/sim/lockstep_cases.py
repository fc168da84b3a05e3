"""What lockstep is run on."""

from __future__ import annotations

from functools import cache

from warpbank import workloads
from warpbank.arch.config import SmConfig, preset, with_overrides
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.program import runner
from warpbank.program.errors import LaunchError
from warpbank.program.hint_passes import with_hints
from warpbank.program.isa import Kernel
from warpbank.program.trace.schema import Trace
from warpbank.sim import experiment as exp
from warpbank.sim.engines.model import Build
from warpbank.sim.engines.verilator import VerilatorEngine
from warpbank.sim.lockstep import Outcome, lockstep

PRESETS = ("tiny", "turing", "pascal", "fermi")
SCHEDULERS = ("gto", "lrr")
#: Kernels that are run at `small`, too: every unit, memory, barriers, divergence, several launches.
SMALL = (
    "vectoradd",
    "sgemm",
    "matrixmul",
    "reduction",
    "blackscholes",
    "mma_gemm",
    "spmv",
    "bfs",
    "pathfinder",
    "scan",
)
BASELINE = parse_scheme("baseline")


def machine(name: str, scheduler: str) -> SmConfig:
    """A preset with another scheduler."""
    return with_overrides(preset(name), [f"sub_core.front_end.scheduler={scheduler}"])


@cache
def trace(kernel: str, size: str, limit: int) -> Trace:
    """A kernel's trace, from the cache."""
    return runner.trace_job(workloads.get(kernel).job(size), runner.Options(max_registers=limit))


def fits(kernel: str, size: str, config: SmConfig) -> bool:
    """Whether a CTA of the kernel fits the machine."""
    from warpbank.sim.engines.rtl import check_fits

    job = workloads.get(kernel).job(size)
    try:
        check_fits(trace(kernel, size, exp.register_limit(job, config)), config)
    except LaunchError:
        return False
    return True


@cache
def _code(kernel: str, limit: int) -> dict[str, Kernel]:
    return runner.compile_job(workloads.get(kernel).job("tiny"), runner.Options(max_registers=limit))


def hinted(kernel: str, size: str, config: SmConfig, scheme: Scheme) -> Trace:
    """A kernel's trace with the hints that the scheme asks for."""
    limit = exp.register_limit(workloads.get(kernel).job(size), config)
    return with_hints(trace(kernel, size, limit), scheme.hints, config, lambda: _code(kernel, limit))


def compare(
    kernel: str, size: str, config: SmConfig, *, scheme: Scheme = BASELINE, fast: bool = False
) -> Outcome:
    """Golden and Verilator in lockstep."""
    return lockstep(hinted(kernel, size, config, scheme), config, scheme, VerilatorEngine(Build(fast=fast)))
