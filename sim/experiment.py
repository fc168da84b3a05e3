"""Experiment, one run of a job on a machine with a scheme: from the names a user types to the numbers the
machine gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import prod
from pathlib import Path
from typing import Any

from warpbank import workloads
from warpbank.arch.config import SmConfig, config_hash, load_config, preset, with_overrides
from warpbank.arch.errors import ArgumentError, ConfigError
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.golden.result import Result
from warpbank.program import runner
from warpbank.program.description import load_job
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.executed import executed_kernels
from warpbank.program.hint_passes import with_hints
from warpbank.program.isa import Kernel
from warpbank.program.launch import Job
from warpbank.program.options import DEFAULT_OPTIONS, MIN_REGISTERS, CompileOptions
from warpbank.program.trace.repeat import repeated
from warpbank.program.trace.schema import Trace
from warpbank.sim import extensions
from warpbank.sim.engines import Engine, RtlEngine, Waves
from warpbank.sim.engines.base import OnBuild, Progress
from warpbank.sim.engines.checkpoint import Checkpoint
from warpbank.sim.engines.golden import GoldenEngine, form
from warpbank.sim.inputs import named_in
from warpbank.sim.sampling import Sampled
from warpbank.sim.sampling import sample as take_sample

#: The machine of the comparisons.
DEFAULT_PRESET = "turing"
#: Most warp instructions that a limit can be.
MOST_INSTRUCTIONS = 10**15
#: Most runs of a program, one after the other.
MOST_REPEATS = 10**6


@dataclass(frozen=True)
class Experiment:
    """Description of a run: what runs, on what.

    Parameters
    ----------
    job : the kernel with its data and launches.
    config : the machine; `preset` is the name it started from.
    scheme : the register file.
    compile : options of the compiler; without `max_registers`, as many registers per thread as let one CTA of
        the largest launch fit.
    max_instructions : warp instructions after which the job counts as endless.
    trace : the job's trace, where it does not come from the emulator (`warpbank.sim.traced`).
    repeat : runs of the job, one after the other: all its launches, then all again, on caches that stay as
        the run before left them.
    """

    job: Job
    config: SmConfig
    preset: str
    scheme: Scheme
    compile: CompileOptions = DEFAULT_OPTIONS
    max_instructions: int = MAX_INSTRUCTIONS
    trace: Trace | None = None
    repeat: int = 1

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
    sample: Sampled | None = None

    @property
    def hints(self) -> str:
        """Source of the scheme's hints: the kernel's "code", the "executed edges" of a trace; "none" if the
        scheme has none."""
        if not self.experiment.scheme.hints:
            return "none"
        return "code" if self.experiment.trace is None else "executed edges"

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
            "repeat": e.repeat,
            **{name: self.trace.meta.get(name) for name in DEFAULT_OPTIONS.to_dict()},
            "hints": self.hints,
            "registers": self.registers,
            "memory": self.trace.meta["memory"],
            **self.result.to_dict(),
            "sample": self.sample.to_dict() if self.sample is not None else None,
            "versions": {**self.trace.meta["versions"], **extensions.versions()},
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
    options: CompileOptions | None,
    max_instructions: int,
) -> Experiment:
    """The experiment that a command's arguments name; without `options`, code is compiled as usual.

    Raises
    ------
    ArgumentError : two arguments name a machine, a launch description comes with a shipped kernel, or the
        kernel is CUDA source.
    KernelError, ConfigError, SchemeError : there is no such kernel, size, machine or scheme.
    PtxError, LaunchError : the user's own PTX or its launch description is wrong.
    """
    name = machine_name(preset_name, file)
    config, chosen = find_config(name, file, overrides or []), find_scheme(scheme)
    check_machine(chosen, config)
    job = find_job(kernel, size, launch)
    return Experiment(job, config, name, chosen, options or DEFAULT_OPTIONS, max_instructions)


def machine_name(preset_name: str | None, file: Path | None, default: str = DEFAULT_PRESET) -> str:
    """Name of the machine that a preset or a TOML file gives; `default` if neither is named. Raises
    ArgumentError if both are."""
    if file is not None and preset_name is not None:
        raise ArgumentError(
            f"--config {file} and --preset {preset_name} both name a machine; the file may begin with a "
            "preset"
        )
    if file is not None and not is_file(str(file)):
        raise ConfigError(f"{file}: a configuration file is TOML; its name ends in .toml")
    return str(file) if file is not None else preset_name or default


def files(kernel: str | None, launch: Path | None, preset_name: str | None, *more: Path | None) -> list[Path]:
    """Files that a command reads: those that its arguments name, a launch description that is not named,
    `more`, and what lists of traces and launch descriptions among them name."""
    found = [path for path in (launch, *more) if path is not None]
    if kernel is not None and kernel.endswith(".ptx"):
        found += [Path(kernel), Path(kernel).with_suffix(".toml")]
    if preset_name is not None and is_file(preset_name):
        found.append(Path(preset_name))
    return [*found, *(each for path in found for each in named_in(path))]


def is_file(name: str) -> bool:
    """Whether the name of a machine is that of a TOML file."""
    return name.endswith(".toml")


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
    """The machine: a preset or a TOML file, then `--set` overrides. A name that ends in `.toml` is a file,
    too."""
    if file is None and is_file(preset_name):
        file = Path(preset_name)
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
    on_build: OnBuild | None = None,
    progress: Progress | None = None,
    sample: bool = False,
    checkpoint: Checkpoint | None = None,
) -> Report:
    """Trace the job (or take its trace from the cache) and simulate it.

    Parameters
    ----------
    engine : the simulator; the golden model unless another is named.
    waves : waves to write; only engines that simulate the RTL have any.
    on_emulate, on_build : called when a trace has to be made, when the RTL has to be built.
    progress : called with (retired, total) now and then during the simulation.
    sample : simulate representative parts on the golden model, and estimate the whole (docs/sampling.md).
    checkpoint : file from which the run goes on if it was killed; golden only, of a whole run.

    Raises
    ------
    ArgumentError : a sample or a checkpoint with an engine other than the golden model, or both.
    CheckpointError : the checkpoint is damaged, somebody else's, or of another experiment.
    MissingPackageError : a sample without scikit-learn.
    """
    job, config = experiment.job, experiment.config
    simulator = engine if engine is not None else GoldenEngine()
    if sample:
        check_sample(simulator)
    if checkpoint is not None:
        check_checkpoint(simulator, sample)
    started = time.perf_counter()
    trace = experiment.trace
    if trace is None:
        trace = runner.trace_job(job, compile_options(experiment), on_emulate=on_emulate)
    trace = repeated(hinted(experiment, trace), experiment.repeat)
    checks = bool(trace.meta.get("values", True))
    traced = time.perf_counter()
    sampled = None
    if sample:
        sampled = take_sample(trace, config, experiment.scheme, check_operands=checks, progress=progress)
        result = sampled.result
    else:
        own: dict[str, Any] = {}  # what engines of this kind alone take
        if isinstance(simulator, RtlEngine):
            own["on_build"] = on_build
        elif isinstance(simulator, GoldenEngine):
            own["checkpoint"] = checkpoint
        result = simulator.run(
            trace, config, experiment.scheme, waves=waves, progress=progress, check_operands=checks, **own
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
        sampled,
    )


def check_sample(engine: Engine) -> None:
    """Raise ArgumentError if an engine cannot run a sample."""
    if not isinstance(engine, GoldenEngine):
        raise ArgumentError(
            f"a sample runs on the golden model, not on {engine.name}: its caches are warmed from outside; "
            "leave --engine or --sample out"
        )


def check_checkpoint(engine: Engine, sample: bool) -> None:
    """Raise ArgumentError if an engine's runs keep no checkpoint, or those of a sample."""
    if not isinstance(engine, GoldenEngine):
        raise ArgumentError(
            f"a checkpoint keeps the state of the golden model, not that of {engine.name}; leave --engine or "
            "--checkpoint out"
        )
    if sample:
        raise ArgumentError("a sample is short and has no checkpoint; leave --sample or --checkpoint out")


def hinted(experiment: Experiment, trace: Trace) -> Trace:
    """Trace with the hints that the scheme asks of the compiler. Where the trace came without code they hold
    for what was executed (`warpbank.program.executed`)."""
    kernels: Callable[[], Mapping[str, Kernel]]
    if experiment.trace is None:
        kernels = partial(runner.compile_job, experiment.job, compile_options(experiment))
    else:
        kernels = partial(executed_kernels, trace)
    return with_hints(trace, experiment.scheme.hints, experiment.machine, kernels)


def compile_options(experiment: Experiment) -> runner.Options:
    """Compile options of the job for the machine."""
    chosen = experiment.compile.to_dict()
    if experiment.compile.max_registers is None:
        chosen["max_registers"] = register_limit(experiment.job, experiment.config)
    return runner.Options(**chosen, max_instructions=experiment.max_instructions)
