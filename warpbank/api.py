"""The Python API: what the commands of `warpbank` do, as functions that return dataclasses.

Keyword arguments have the names of the command line's options, except that `--set` is `overrides`. A mistake
raises one of `warpbank.errors` with the sentence that the command line prints. `import warpbank as wb` loads
these functions when they are first used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from warpbank import arguments as check
from warpbank import workloads
from warpbank.arch.errors import ArgumentError
from warpbank.arch.presets import PRESETS
from warpbank.arch.presets import preset as machine_of
from warpbank.arch.schemes import BASELINE, SCHEMES
from warpbank.arch.units import ROOMS
from warpbank.program.cuda import compile_source
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.options import FREE_REGISTERS, CodeOrder, ConstantPlace
from warpbank.program.ptx.parser import parse
from warpbank.results import (
    KernelInfo,
    Listing,
    Lockstep,
    PresetInfo,
    Ptx,
    PtxKernel,
    Run,
    SchemeInfo,
    SweepResult,
)
from warpbank.sim import engines, extensions, traced
from warpbank.sim import experiment as exp
from warpbank.sim.engines.base import Progress
from warpbank.sim.engines.checkpoint import SECONDS, Checkpoint
from warpbank.sim.lockstep import run_lockstep
from warpbank.sim.output import check_file, check_folder
from warpbank.sim.runs.execute import Progress as RunsProgress
from warpbank.studies.compare import DEFAULT_KERNELS, DEFAULT_SCHEMES, Comparison
from warpbank.studies.compare import compare as run_comparison
from warpbank.studies.compare.page import FILES as COMPARISON_FILES
from warpbank.studies.compare.page import write as write_comparison
from warpbank.studies.explore import DEFAULT_KERNELS as EXPLORED_KERNELS
from warpbank.studies.explore import FACTOR, MOST_SEED, SAMPLES, Exploration
from warpbank.studies.explore import explore as run_exploration
from warpbank.studies.explore.measure import DEFAULT_AIMS
from warpbank.studies.explore.page import FILES as EXPLORATION_FILES
from warpbank.studies.explore.page import write as write_exploration
from warpbank.studies.sweep import Sweep, read_sweep
from warpbank.studies.sweep import sweep as run_sweep
from warpbank.studies.sweep.table import check_writable
from warpbank.synth import energy as energies

__all__ = [
    "Overrides",
    "StrPath",
    "compare",
    "compile",
    "explore",
    "kernels",
    "load",
    "lockstep",
    "presets",
    "run",
    "schemes",
    "sweep",
]

#: A file or folder.
StrPath = str | Path
#: Fields of the machine and their values, such as `{"sub_core.banks": 4}`; or texts as after the command
#: line's `--set`, such as `["sub_core.banks=4", "rf7"]`.
Overrides = Mapping[str, int | str] | Sequence[str]


def run(
    kernel: StrPath | None = None,
    *,
    size: str = "small",
    launch: StrPath | None = None,
    preset: str | None = None,
    config: StrPath | None = None,
    scheme: str = BASELINE.name,
    overrides: Overrides = (),
    max_registers: int | None = None,
    code_order: str = CodeOrder.SCHEDULED.value,
    constants: str = ConstantPlace.BANK.value,
    free_registers: int = FREE_REGISTERS,
    max_instructions: int = MAX_INSTRUCTIONS,
    engine: str = "golden",
    fast: bool = True,
    waves: StrPath | None = None,
    wave_cycles: tuple[int, int | None] | None = None,
    energy: StrPath = energies.COMMON,
    trace: StrPath | None = None,
    sample: bool = False,
    repeat: int = 1,
    checkpoint: StrPath | None = None,
    checkpoint_every: float = SECONDS,
    progress: Progress | None = None,
) -> Run:
    """Run a kernel through a machine, with every operand checked.

    Parameters
    ----------
    kernel : a shipped kernel (`warpbank.kernels`), or a PTX file.
    size : problem size of a shipped kernel: "tiny", "small" or "full".
    launch : launch description of a PTX file (docs/launch.md); None: the PTX file's name with `.toml`.
    preset : the machine (`warpbank.presets`); None: "turing".
    config : the machine as a TOML file, instead of a preset.
    scheme : the register file (`warpbank.schemes`); several are joined by "+".
    overrides : fields of the machine to change, such as `{"sub_core.banks": 4}` (docs/machine.md).
    max_registers : registers per thread for the allocator, 16 to 255; None: as many as let one CTA of the
        largest launch fit.
    code_order : "scheduled": the list scheduler orders each block; "source": as the PTX has it.
    constants : "bank": parameters and constants are read from the constant bank; "registers": they are loaded
        into registers when a thread starts.
    free_registers : registers per thread that the list scheduler may use without need, 0 to 255.
    max_instructions : warp instructions after which a kernel counts as endless.
    engine : "golden", the model in Python; "verilator" or "pysim", simulators of the RTL.
    fast : Verilator: compile for speed; False: a build in half the time.
    waves : file for the RTL's waves, `.vcd` or `.fst`; None: none.
    wave_cycles : cycles of the waves, first and end, which is not included; None: all.
    energy : energy table (docs/energy.md) or a TOML file of your own.
    trace : instead of a kernel, a trace of Accel-Sim: `.traceg` or `kernelslist.g`.
    sample : simulate representative parts on the golden model, and estimate the whole run with a confidence
        interval (docs/sampling.md).
    repeat : runs of the program, one after the other, on caches that stay warm.
    checkpoint : file that keeps the state of a long run on the golden model, which goes on from it if it is
        there (docs/checkpoint.md); None: none.
    checkpoint_every : seconds between two writes of the checkpoint.
    progress : called with (warp instructions retired, of how many) now and then.

    Returns
    -------
    Run : cycles, IPC, stalls, counters and energy.

    Raises
    ------
    ArgumentError : an argument of the wrong type, or two that exclude each other.
    KernelError, ConfigError, SchemeError : there is no such kernel, size, machine or scheme, or they do not
        fit each other.
    PtxError, LaunchError, TraceError : a file of yours is wrong.
    EngineError, ToolError : the engine is not installed, or cannot run this.
    CheckpointError : the checkpoint is damaged, somebody else's, or of another experiment.
    OutputError : the checkpoint or the waves cannot be written.
    MissingPackageError : `sample` needs scikit-learn.
    EnergyError : there is no such energy table, or its file is wrong.
    ExecutionError : the kernel went wrong: out of bounds, deadlock, wrong result.
    OperandMismatch : the register file delivered a wrong operand.
    """
    simulator = engines.engine(check.text("engine", engine), fast=check.switch("fast", fast))
    if waves is None and wave_cycles is not None:
        raise ArgumentError("wave_cycles says which cycles go into the file that waves names; give both")
    every = check.seconds("checkpoint_every", checkpoint_every)
    kept = None if checkpoint is None else Checkpoint(check.path("checkpoint", checkpoint), every)
    prices = energies.table(check.name("energy", energy))
    recorded = (
        None if waves is None else engines.Waves(check.path("waves", waves), *check.cycles(wave_cycles))
    )
    experiment, notes = traced.choose(
        check.optional(check.name, "kernel", kernel),
        check.size(size),
        check.optional(check.path, "launch", launch),
        check.optional(check.text, "preset", preset),
        check.optional(check.path, "config", config),
        check.text("scheme", scheme),
        check.overrides(overrides),
        check.compile_options(code_order, constants, free_registers, max_registers),
        check.whole("max_instructions", max_instructions, 1, exp.MOST_INSTRUCTIONS),
        check.optional(check.path, "trace", trace),
    )
    sampled = check.switch("sample", sample)
    if sampled and recorded is not None:
        raise ArgumentError("a sample has no waves; leave sample or waves out")
    report = exp.run(
        replace(experiment, repeat=check.whole("repeat", repeat, 1, exp.MOST_REPEATS)),
        simulator,
        waves=recorded,
        progress=check.optional(check.function, "progress", progress),
        sample=sampled,
        checkpoint=kept,
    )
    data = report.to_dict()
    own = energies.own_tables(experiment.scheme) if str(energy) == energies.COMMON else ()
    return Run(
        report,
        energies.energy(data, prices, experiment.config),
        tuple(energies.energy(data, energies.table(name), experiment.config) for name in own),
        tuple(notes),
    )


def compare(
    schemes: str | Sequence[str] = DEFAULT_SCHEMES,
    kernels: StrPath | Sequence[StrPath] = DEFAULT_KERNELS,
    *,
    size: str = "small",
    preset: str | None = None,
    config: StrPath | None = None,
    overrides: Overrides = (),
    max_registers: int | None = None,
    code_order: str = CodeOrder.SCHEDULED.value,
    constants: str = ConstantPlace.BANK.value,
    free_registers: int = FREE_REGISTERS,
    as_published: bool = False,
    engine: str = "golden",
    output: StrPath | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: RunsProgress | None = None,
) -> Comparison:
    """Compare register files on one machine under one warp scheduler, normalised to the baseline.

    Runs go over processes of this machine, or over a dask cluster. Results are kept, so that a comparison
    that was stopped goes on where it was. A run that fails stops no other.

    Parameters
    ----------
    schemes : register files (`warpbank.schemes`), or "all". The baseline always comes first; a scheme that
        needs a warp scheduler of its own stands beside a baseline under that scheduler.
    kernels : shipped kernels (`warpbank.kernels`), groups of them ("core", "register-sensitive",
        "deep-learning", "all"), and PTX files with a launch description beside them.
    size : problem size of shipped kernels: "tiny", "small" or "full".
    preset : the machine (`warpbank.presets`); None: "turing".
    config : the machine as a TOML file, instead of a preset.
    overrides : fields of the machine to change, such as `{"sub_core.banks": 4}` (docs/machine.md).
    max_registers, code_order, constants, free_registers : options of the compiler, for all schemes alike
        (`run`).
    as_published : each scheme runs on its paper's machine, under its scheduler and in its code order, beside
        that paper's baseline; without `preset`, `config`, `overrides` and options of the compiler.
    engine : "golden", "verilator" or "pysim".
    output : folder for `compare.html` and `compare.json`; None: nothing is written.
    workers : processes on this machine; None: one per core.
    scheduler : address of a dask scheduler, such as "tcp://host:8786"; None: this machine.
    progress : called with each run's outcome, how many have come, and of how many.

    Returns
    -------
    Comparison : the measures of every scheme on every kernel, and the causes of runs that failed.

    Raises
    ------
    ArgumentError : an argument of the wrong type, or no scheme or kernel at all.
    KernelError, ConfigError, SchemeError : there is no such kernel, size, machine or scheme, or they do not
        fit each other.
    PtxError, LaunchError : a file of yours is wrong.
    EngineError : there is no such engine.
    MissingPackageError, ClusterError : `scheduler` needs dask, or no scheduler answers.
    OutputError : `output` cannot be written; said before anything runs.
    """
    folder = check.optional(check.path, "output", output)
    if folder is not None:
        check_folder(folder, *COMPARISON_FILES)
    made = run_comparison(
        check.names("schemes", schemes),
        check.names("kernels", kernels),
        size=check.size(size),
        preset=None
        if preset is config is None
        else exp.machine_name(
            check.optional(check.text, "preset", preset), check.optional(check.path, "config", config)
        ),
        overrides=check.overrides(overrides),
        options=check.compile_options(code_order, constants, free_registers, max_registers),
        published=check.switch("as_published", as_published),
        engine=check.text("engine", engine),
        scheduler=check.optional(check.text, "scheduler", scheduler),
        workers=check.optional(check.workers, "workers", workers),
        progress=check.optional(check.function, "progress", progress),
    )
    if folder is not None:
        write_comparison(made, folder)
    return made


def sweep(
    description: Sweep | StrPath,
    *,
    output: StrPath | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: RunsProgress | None = None,
) -> SweepResult:
    """Run kernels x schemes x values of configuration fields on a dask cluster, of this machine or elsewhere.

    Results are kept, so that a sweep that was stopped goes on where it was. A run that fails stops no other.

    Parameters
    ----------
    description : what is run: a `warpbank.Sweep`, or a TOML file (docs/sweep.md).
    output : Parquet file to write; None: none.
    workers : processes on this machine; None: one per core.
    scheduler : address of a dask scheduler, such as "tcp://host:8786"; None: this machine.
    progress : called with each run's outcome, how many have come, and of how many.

    Returns
    -------
    SweepResult : a row for each run, in the description's order.

    Raises
    ------
    ArgumentError : an argument of the wrong type.
    SweepError : the description cannot be read, or has a value that cannot be.
    KernelError, ConfigError, SchemeError, EngineError : it names what does not exist.
    MissingPackageError : dask is not installed, or with `output` pyarrow.
    ClusterError : no scheduler answers.
    OutputError : `output` cannot be written; said before anything runs.
    """
    file = None if isinstance(description, Sweep) else check.path("description", description)
    wanted = description if isinstance(description, Sweep) else read_sweep(Path(description))
    target = check.optional(check.path, "output", output)
    if target is not None:
        check_writable(target, wanted, file)
    outcomes = run_sweep(
        wanted,
        scheduler=check.optional(check.text, "scheduler", scheduler),
        workers=check.optional(check.workers, "workers", workers),
        progress=check.optional(check.function, "progress", progress),
    )
    made = SweepResult(wanted, tuple(outcomes))
    if target is not None:
        made.write(target)
    return made


def explore(
    kernels: StrPath | Sequence[StrPath] = EXPLORED_KERNELS,
    *,
    size: str = "tiny",
    preset: str | None = None,
    config: StrPath | None = None,
    overrides: Overrides = (),
    only: str | None = None,
    vary: Mapping[str, Sequence[int | str]] | None = None,
    aims: Sequence[str] = DEFAULT_AIMS,
    samples: int = SAMPLES,
    factor: int = FACTOR,
    seed: int = 1,
    synthesize: int = 0,
    liberty: StrPath | Sequence[StrPath] | None = None,
    engine: str = "golden",
    output: StrPath | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: RunsProgress | None = None,
) -> Exploration:
    """Explore which register file to build: every legal combination of schemes and its main parameters.

    All points run on a few kernels, the best of them on more, until those left have run on all. Each
    evaluation is kept, so that an exploration that was stopped goes on where it was, and equal seeds give
    equal fronts (docs/explore.md).

    Parameters
    ----------
    kernels : shipped kernels (`warpbank.kernels`), groups of them, and PTX files with a launch description
        beside them.
    size : problem size of shipped kernels: "tiny", "small" or "full".
    preset : the machine (`warpbank.presets`); None: "turing".
    config : the machine as a TOML file, instead of a preset.
    overrides : fields of the machine to change, such as `{"sub_core.banks": 4}` (docs/machine.md).
    only : combinations that have all of these rows, such as "malekeh+gscalar"; None: all legal ones.
    vary : further fields and the values that are tried, such as `{"sub_core.collectors": [2, 4]}`.
    aims : what points are judged by: two or more of "ipc", "work", "area", "clock".
    samples : points with other values of their parameters, which Optuna chooses.
    factor : by which kernels grow and points shrink from rung to rung; 1: every point runs on all kernels.
    seed : of the order of kernels, and of what Optuna chooses.
    synthesize : finalists that are synthesized, the knee of the front first.
    liberty : cell library of the synthesis, a file or several; None: as `warpbank synth` finds one.
    engine : "golden", "verilator" or "pysim".
    output : folder for `explore.html` and `explore.json`; None: nothing is written.
    workers : processes on this machine; None: one per core.
    scheduler : address of a dask scheduler, such as "tcp://host:8786"; None: this machine.
    progress : called with each evaluation's outcome, how many of a step have come, and of how many.

    Returns
    -------
    Exploration : the points, their fronts, what beats what, and the errors of the models of area and clock.

    Raises
    ------
    ArgumentError : an argument of the wrong type, an aim or a field that there is not, or no kernel.
    KernelError, ConfigError, SchemeError : there is no such kernel, size, machine or row.
    LibertyError : a file of the cell library is not there, or is none.
    MissingPackageError, ClusterError : the extra `explore` is not installed, or no scheduler answers.
    OutputError : `output` cannot be written; said before anything runs.
    """
    folder = check.optional(check.path, "output", output)
    if folder is not None:
        check_folder(folder, *EXPLORATION_FILES)
    made = run_exploration(
        check.names("kernels", kernels),
        size=check.size(size),
        preset=exp.machine_name(
            check.optional(check.text, "preset", preset), check.optional(check.path, "config", config)
        ),
        overrides=check.overrides(overrides),
        only=check.optional(check.text, "only", only),
        vary=check.varied(vary),
        aims=check.several("aims", aims),
        samples=check.whole("samples", samples, 0),
        factor=check.whole("factor", factor),
        seed=check.whole("seed", seed, 0, MOST_SEED),
        synthesize=check.whole("synthesize", synthesize, 0),
        liberty=None if liberty is None else check.several("liberty", liberty),
        engine=check.text("engine", engine),
        scheduler=check.optional(check.text, "scheduler", scheduler),
        workers=check.optional(check.workers, "workers", workers),
        progress=check.optional(check.function, "progress", progress),
    )
    if folder is not None:
        write_exploration(made, folder)
    return made


def compile(
    source: StrPath,
    *,
    arch: str | None = None,
    defines: Mapping[str, str | int] | None = None,
    include: StrPath | Sequence[StrPath] = (),
    standard: str = "gnu++17",
    optimize: str = "3",
    output: StrPath | None = None,
) -> Ptx:
    """Compile CUDA C++ to PTX with the LLVM of the ziglang wheel; no CUDA toolkit is needed.

    Parameters
    ----------
    source : the `.cu` file.
    arch : GPU to compile for, such as "sm_80"; None: as the source's first line says (`// arch: sm_80`), or
        "sm_75".
    defines : preprocessor macros and their values.
    include : folders to search for headers, after the source's own.
    standard : dialect of C++, such as "c++20".
    optimize : level of optimization: "0", "1", "2", "3", "s".
    output : PTX file to write; None: none.

    Returns
    -------
    Ptx : the text, and what kernels it has.

    Raises
    ------
    ArgumentError : an argument of the wrong type.
    CompileError : no such source or architecture, no compiler, or a source that the compiler refuses.
    OutputError : `output` cannot be written.
    """
    path = check.path("source", source)
    target = check.optional(check.path, "output", output)
    if target is not None:
        check_file(target, path)
    compiled = compile_source(
        path,
        arch=check.optional(check.text, "arch", arch),
        defines=check.optional(check.macros, "defines", defines),
        include=[Path(folder) for folder in check.several("include", include)],
        standard=check.text("standard", standard),
        optimize=check.text("optimize", optimize),
    )
    text = compiled.ptx
    module = parse(text, str(path.with_suffix(".ptx")))
    found = [function for function in module.functions.values() if function.entry]
    entries = tuple(
        PtxKernel(
            entry.name,
            len(entry.parameters),
            sum(parameter.size for parameter in entry.parameters),
            sum(variable.size for variable in entry.variables if variable.space == "shared"),
        )
        for entry in found
    )
    made = Ptx(path, module.target, text, entries, compiled.notes)
    if target is not None:
        made.write(target)
    return made


def lockstep(
    kernel: StrPath | None = None,
    *,
    size: str = "tiny",
    launch: StrPath | None = None,
    preset: str | None = None,
    config: StrPath | None = None,
    scheme: str = BASELINE.name,
    overrides: Overrides = (),
    max_registers: int | None = None,
    code_order: str = CodeOrder.SCHEDULED.value,
    constants: str = ConstantPlace.BANK.value,
    free_registers: int = FREE_REGISTERS,
    max_instructions: int = MAX_INSTRUCTIONS,
    engine: str = "verilator",
    fast: bool = False,
    trace: StrPath | None = None,
    progress: Progress | None = None,
) -> Lockstep:
    """Run a kernel through the golden model and the RTL, and compare every event of every cycle.

    Parameters
    ----------
    kernel : a shipped kernel (`warpbank.kernels`), or a PTX file.
    size : problem size of a shipped kernel: "tiny", "small" or "full".
    launch : launch description of a PTX file (docs/launch.md); None: the PTX file's name with `.toml`.
    preset : the machine (`warpbank.presets`); None: "turing".
    config : the machine as a TOML file, instead of a preset.
    scheme : the register file (`warpbank.schemes`); several are joined by "+".
    overrides : fields of the machine to change, such as `{"sub_core.banks": 4}` (docs/machine.md).
    max_registers : registers per thread for the allocator, 16 to 255; None: as many as let one CTA of the
        largest launch fit.
    code_order : "scheduled": the list scheduler orders each block; "source": as the PTX has it.
    constants : "bank": parameters and constants are read from the constant bank; "registers": they are loaded
        into registers when a thread starts.
    free_registers : registers per thread that the list scheduler may use without need, 0 to 255.
    max_instructions : warp instructions after which a kernel counts as endless.
    engine : simulator of the RTL: "verilator" or "pysim".
    fast : Verilator: compile for speed; False: a build in half the time.
    trace : instead of a kernel, a trace of Accel-Sim: `.traceg` or `kernelslist.g`. It has no values, so that
        events are compared and no operands.
    progress : called with (warp instructions retired, of how many) now and then.

    Returns
    -------
    Lockstep : whether the two are equal, and where they part if not.

    Raises
    ------
    ArgumentError : an argument of the wrong type, or two that exclude each other.
    KernelError, ConfigError, SchemeError : there is no such kernel, size, machine or scheme, or they do not
        fit each other.
    PtxError, LaunchError, TraceError : a file of yours is wrong.
    EngineError, ToolError : the engine is not installed, or cannot run this.
    ExecutionError : the kernel went wrong: out of bounds, deadlock, wrong result.
    OperandMismatch : the golden model's register file delivered a wrong operand.
    """
    experiment, notes = traced.choose(
        check.optional(check.name, "kernel", kernel),
        check.size(size),
        check.optional(check.path, "launch", launch),
        check.optional(check.text, "preset", preset),
        check.optional(check.path, "config", config),
        check.text("scheme", scheme),
        check.overrides(overrides),
        check.compile_options(code_order, constants, free_registers, max_registers),
        check.whole("max_instructions", max_instructions, 1, exp.MOST_INSTRUCTIONS),
        check.optional(check.path, "trace", trace),
    )
    simulator = engines.rtl_engine(check.text("engine", engine), fast=check.switch("fast", fast))
    outcome = run_lockstep(
        experiment, simulator, progress=check.optional(check.function, "progress", progress)
    )
    job = experiment.job
    return Lockstep(
        job.name, job.size, experiment.scheme.name, experiment.preset, simulator.name, outcome, tuple(notes)
    )


def kernels() -> Listing[KernelInfo]:
    """List the shipped kernels.

    Returns
    -------
    Listing : names, what the kernels compute, and where their algorithms come from.
    """
    shipped = map(workloads.get, workloads.names(workloads.ALL))
    return Listing(tuple(KernelInfo(w.name, w.summary, w.origin, workloads.SIZES, w.group) for w in shipped))


def schemes() -> Listing[SchemeInfo]:
    """List the register-file schemes, those of your own that `warpbank.load` has registered included.

    Returns
    -------
    Listing : names, what the schemes do, the paper of each, and the units it is made of.
    """
    return Listing(
        tuple(
            SchemeInfo(
                each.name, each.description, each.paper, **{room: getattr(each, room) for room in ROOMS}
            )
            for each in SCHEMES.values()
        )
    )


def presets() -> Listing[PresetInfo]:
    """List the machines that have a name.

    Returns
    -------
    Listing : names, where the numbers come from, and the configurations.
    """
    return Listing(tuple(PresetInfo(name, text, machine_of(name)) for name, text in PRESETS.items()))


def load(path: StrPath) -> None:
    """Load Python of your own that registers units and schemes (docs/tutorial.md), once in this process.

    Worker processes of `compare` and `sweep` load it too; what only the running script registers, they do not
    know.

    Parameters
    ----------
    path : a Python file, or a folder with an `__init__.py`.

    Raises
    ------
    ArgumentError : an argument of the wrong type.
    ExtensionError : it cannot be loaded.
    """
    extensions.load(check.path("path", path))
