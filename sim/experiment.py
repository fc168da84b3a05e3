"""Experiment, one run of a job on a machine with a scheme: from the names a user types to the numbers the
machine gives."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from warpbank import workloads
from warpbank.arch.config import SmConfig, config_hash, load_config, preset, with_overrides
from warpbank.arch.errors import ArgumentError
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.golden.result import Result
from warpbank.program import runner
from warpbank.program.description import load_job
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.hint_passes import with_hints
from warpbank.program.launch import Job
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines import Engine, RtlEngine, Waves
from warpbank.sim.engines.base import Progress
from warpbank.sim.engines.golden import GoldenEngine, form

#: The machine of the comparisons.
DEFAULT_PRESET = "turing"
#: Fewest registers per thread the allocator accepts.
MIN_REGISTERS = 16


@dataclass(frozen=True)
class Experiment:
    """Description of a run: what runs, on what.

    Parameters
    ----------
    job : the kernel with its data and launches.
    config : the machine; `preset` is the name it started from.
    scheme : the register file.
    max_registers : registers per thread for the allocator; None: as many as let one CTA of the largest launch
        fit.
    max_instructions : warp instructions after which the job counts as endless.
    trace : the job's trace, where it does not come from the emulator (`warpbank.sim.traced`).
    """

    job: Job
    config: SmConfig
    preset: str
    scheme: Scheme
    max_registers: int | None = None
    max_instructions: int = MAX_INSTRUCTIONS
    trace: Trace | None = None

    @cached_property
    def machine(self) -> SmConfig:
        """Machine that runs: the configuration as the scheme changes it (`Scheme.machine`).

        Raises
        ------
        ValueError : the machine cannot have the scheme.
        """
        return self.scheme.machine(self.config)


@dataclass
class Report:
    """Report of a run, and everything that made it."""

    experiment: Experiment
    trace: Trace
    result: Result
    engine: str
    registers: dict[str, int]
    seconds: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """One JSON object; its keys are documented in docs/cli.md."""
        e = self.experiment
        return {
            "kernel": e.job.name,
            "size": e.job.size,
            "scheme": e.scheme.name,
            "preset": e.preset,
            "engine": self.engine,
            "model": form() if self.engine == GoldenEngine.name else "",
            "config_hash": config_hash(e.config),
            "trace": self.trace.meta["key"],
            "max_registers": self.trace.meta["max_registers"],
            "registers": self.registers,
            "memory": self.trace.meta["memory"],
            **self.result.to_dict(),
            "versions": self.trace.meta["versions"],
            "seconds": self.seconds,
        }


def find(
    kernel: str,
    size: str,
    launch: Path | None,
    preset_name: str | None,
    file: Path | None,
    scheme: str,
    overrides: list[str] | None,
    max_registers: int | None,
    max_instructions: int,
) -> Experiment:
    """The experiment that a command's arguments name.

    Raises
    ------
    ArgumentError : two arguments name a machine, a launch description comes with a shipped kernel, or the
        kernel is CUDA source.
    KernelError, ConfigError, SchemeError : there is no such kernel, size, machine or scheme.
    PtxError, LaunchError : the user's own PTX or its launch description is wrong.
    """
    if file is not None and preset_name is not None:
        raise ArgumentError(
            f"--config {file} and --preset {preset_name} both name a machine; the file may begin with a "
            "preset"
        )
    name = str(file) if file is not None else preset_name or DEFAULT_PRESET
    config, chosen = find_config(name, file, overrides or []), find_scheme(scheme)
    check_machine(chosen, config)
    return Experiment(find_job(kernel, size, launch), config, name, chosen, max_registers, max_instructions)


def check_machine(scheme: Scheme, config: SmConfig) -> None:
    """Raise SchemeError or ConfigError if the machine cannot have the scheme."""
    scheme.machine(config)


def find_job(kernel: str, size: str, launch: Path | None) -> Job:
    """Job that a user names: the shipped kernel, or the user's own PTX file with its launch description."""
    if kernel.endswith(".cu"):
        raise ArgumentError(f"{kernel} is CUDA source; make PTX of it first: warpbank compile {kernel}")
    if kernel.endswith(".ptx"):
        return load_job(Path(kernel), launch)
    if launch is not None:
        raise ArgumentError(
            f"--launch describes a PTX file, but {kernel!r} is a shipped kernel, which brings its own "
            "launches"
        )
    return workloads.get(kernel).job(size)


def find_config(preset_name: str, file: Path | None, overrides: list[str]) -> SmConfig:
    """The machine: a preset or a TOML file, then `--set` overrides."""
    return with_overrides(load_config(file) if file is not None else preset(preset_name), overrides)


def find_scheme(text: str) -> Scheme:
    """The register file scheme of that name."""
    return parse_scheme(text)


def register_limit(job: Job, config: SmConfig) -> int:
    """Register limit per thread that lets one CTA of every launch fit the machine, as `nvcc` limits registers
    by launch bounds.

    Between `MIN_REGISTERS` and 255: a CTA that does not fit even so is the simulation's to refuse.
    """
    warps = max(-(-prod(launch.block) // 32) for launch in job.launches)
    rows = config.sub_core.rows // -(-warps // config.sub_cores)
    fitting = (count for count in range(255, MIN_REGISTERS, -1) if config.rows_per_warp(count) <= rows)
    return next(fitting, MIN_REGISTERS)


def run(
    experiment: Experiment,
    engine: Engine | None = None,
    *,
    waves: Waves | None = None,
    on_emulate: Callable[[], None] | None = None,
    on_build: Callable[[], None] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Trace the job (or take its trace from the cache) and simulate it.

    Parameters
    ----------
    engine : the simulator; the golden model unless another is named.
    waves : waves to write; only engines that simulate the RTL have any.
    on_emulate, on_build : called when a trace has to be made, when the RTL has to be built.
    progress : called with (retired, total) now and then during the simulation.
    """
    job, config = experiment.job, experiment.config
    simulator = engine if engine is not None else GoldenEngine()
    started = time.perf_counter()
    trace = experiment.trace
    if trace is None:
        trace = runner.trace_job(job, compile_options(experiment), on_emulate=on_emulate)
    trace = hinted(experiment, trace)
    checks = bool(trace.meta.get("values", True))
    traced = time.perf_counter()
    if isinstance(simulator, RtlEngine):
        result = simulator.run(
            trace,
            config,
            experiment.scheme,
            waves=waves,
            progress=progress,
            check_operands=checks,
            on_build=on_build,
        )
    else:
        result = simulator.run(
            trace, config, experiment.scheme, waves=waves, progress=progress, check_operands=checks
        )
    done = time.perf_counter()
    registers = {trace.kernels[row["kernel"]]: int(row["registers"]) for row in trace.launches}
    seconds = {"trace": traced - started, "simulate": done - traced}
    return Report(
        experiment,
        trace,
        result,
        simulator.name,
        registers,
        {name: round(took, 3) for name, took in seconds.items()},
    )


def hinted(experiment: Experiment, trace: Trace) -> Trace:
    """Trace with the hints that the scheme asks of the compiler."""
    return with_hints(
        trace,
        experiment.scheme.hints,
        experiment.machine,
        lambda: runner.compile_job(experiment.job, compile_options(experiment)),
    )


def compile_options(experiment: Experiment) -> runner.Options:
    """Compile options of the job for the machine."""
    limit = experiment.max_registers
    if limit is None:
        limit = register_limit(experiment.job, experiment.config)
    return runner.Options(max_registers=limit, max_instructions=experiment.max_instructions)
