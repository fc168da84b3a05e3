"""Task descriptions: plain data that travel to worker processes and other machines."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass, replace
from typing import Any, Protocol

from warpbank import workloads
from warpbank.arch.config import config_hash
from warpbank.arch.errors import OutputError
from warpbank.arch.names import unknown
from warpbank.arch.schemes import BASELINE
from warpbank.program import runner
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.errors import KernelError
from warpbank.program.options import DEFAULT_OPTIONS, CompileOptions
from warpbank.sim import engines, extensions
from warpbank.sim import experiment as exp
from warpbank.sim.engines.base import Engine
from warpbank.sim.engines.checkpoint import Checkpoint
from warpbank.sim.errors import CheckpointError, EngineError
from warpbank.sim.runs import store


class Task(Protocol):
    """Task that `execute` can do: hashable, picklable, and named by its content."""

    @property
    def label(self) -> str:
        """Label of a few words that tells people which task this is."""

    def check(self) -> None:
        """Raise WarpbankError if the description itself is wrong. Cheap: it runs before anything is
        started."""

    def key(self) -> str:
        """Hash of all that the result depends on."""

    def compute(self) -> dict[str, Any]:
        """The result, as JSON takes it."""


@dataclass(frozen=True)
class RunSpec:
    """Description of one simulation.

    Parameters
    ----------
    kernel, size : the job: a shipped kernel and its size, or a PTX file with a launch description beside it.
    scheme : scheme string.
    preset : the machine, or a TOML file that describes one and that every worker can read; `overrides`: as
        after `--set`, in order.
    compile : options of the compiler.
    engine : golden, verilator or pysim.
    observer : `module:Class` of an observer of the run's events, whose `result()` is stored as "observed"; ""
        for none. It is made without arguments, its `start` is called with the trace and the machine, then it
        with every `warpbank.sim.events.Batch`. Its attribute `wanted`, if it has one, is the frozenset of the
        names of the events that it reads, which makes the run several times as fast. Golden only.
    sample : simulate representative parts and estimate the whole (docs/sampling.md). Golden only, without an
        observer.
    repeat : runs of the job, one after the other (`warpbank.sim.experiment.Experiment`).
    """

    kernel: str
    size: str = "small"
    scheme: str = BASELINE.name
    preset: str = exp.DEFAULT_PRESET
    overrides: tuple[str, ...] = ()
    compile: CompileOptions = DEFAULT_OPTIONS
    engine: str = "golden"
    observer: str = ""
    sample: bool = False
    repeat: int = 1

    @property
    def label(self) -> str:
        """Label: kernel, scheme and what else is unusual."""
        times = f"{self.repeat} times" if self.repeat > 1 else ""
        return " ".join(filter(None, (self.kernel, times, self.scheme, *self.overrides, self.compile.label)))

    def check(self) -> None:
        """Raise WarpbankError that says which field is wrong."""
        if self.kernel.endswith(".ptx"):
            exp.find_job(self.kernel, self.size, None)
        elif self.kernel not in (known := workloads.names(workloads.ALL)):
            raise KernelError(unknown("kernel", self.kernel, known))
        if self.size not in workloads.SIZES:
            raise KernelError(unknown("size", self.size, workloads.SIZES))
        if self.engine not in engines.ENGINES:
            raise EngineError(unknown("engine", self.engine, engines.ENGINES))
        if self.observer and self.engine != "golden":
            raise EngineError(f"only the golden engine can be observed, not {self.engine}")
        if self.sample and (self.engine != "golden" or self.observer):
            raise EngineError(f"a sample runs on the golden engine, unobserved, not on {self.engine}")
        exp.check_machine(
            exp.find_scheme(self.scheme), exp.find_config(self.preset, None, list(self.overrides))
        )

    def experiment(self) -> exp.Experiment:
        """The experiment that is run."""
        once = exp.find(
            self.kernel,
            self.size,
            None,
            self.preset,
            None,
            self.scheme,
            list(self.overrides),
            self.compile,
            MAX_INSTRUCTIONS,
        )
        return replace(once, repeat=self.repeat)

    def key(self) -> str:
        """Key of job, machine, scheme, engine, observer, and the code that runs them."""
        e = self.experiment()
        code = ["warpbank.arch", "warpbank.golden", "warpbank.sim.engines", "warpbank.sim.experiment"]
        if self.engine != "golden":
            code.append("warpbank.hdl")
        if self.observer:
            code.append(self.observer.partition(":")[0])
        trace = runner.job_key(e.job, exp.compile_options(e))
        if self.sample:
            code.append("warpbank.sim.sampling")
        return store.key(
            "sample" if self.sample else "run",
            trace,
            config_hash(e.config),
            self.preset,
            e.scheme.name,
            self.engine,
            self.observer,
            store.code_digest(*code),
            *filter(None, [extensions.digest()]),
            *([f"{self.repeat} times"] if self.repeat > 1 else []),
        )

    def compute(self) -> dict[str, Any]:
        """Result of the run, a `Report.to_dict()`."""
        simulator = engines.engine(self.engine)
        if not self.observer:
            return self._run(simulator).to_dict()
        observer = load(self.observer)()
        report = exp.run(self.experiment(), Observed(simulator, observer))
        return {**report.to_dict(), "observed": observer.result()}

    def _run(self, simulator: Engine) -> exp.Report:
        """The run, from where it was when the process that had it in hand was killed."""
        checkpoint = self._checkpoint()
        try:
            return exp.run(self.experiment(), simulator, sample=self.sample, checkpoint=checkpoint)
        except CheckpointError as error:
            warnings.warn(f"{error}; it runs from its beginning", stacklevel=2)
            return exp.run(self.experiment(), simulator)

    def _checkpoint(self) -> Checkpoint | None:
        """File for the state of a run beside the results; None if the engine keeps none, or the folder cannot
        be written."""
        if self.engine != "golden" or self.sample:
            return None
        folder = store.folder() / "unfinished"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return Checkpoint(folder / f"{self.key()}.ckpt")
        except (OSError, OutputError):
            return None


class Observed:
    """Engine whose events go to an observer."""

    def __init__(self, engine: Engine, observer: Any) -> None:
        self.name = engine.name
        self._engine = engine
        self._observer = observer

    def run(self, trace: Any, config: Any, scheme: Any, **options: Any) -> Any:
        """Run the trace to its end on the engine that is observed."""
        self._observer.start(trace, config)
        return self._engine.run(trace, config, scheme, events=self._observer, **options)


@dataclass(frozen=True)
class AnalysisSpec:
    """Description of a study of a kernel's code or trace that needs no machine.

    Parameters
    ----------
    kernel, size : the job.
    function : `module:function`, called with (job, options, **arguments); returns what JSON takes.
    arguments : its further arguments, as (name, value) pairs.
    preset, compile : the machine that the code is compiled for, and how, as in `RunSpec`.
    """

    kernel: str
    size: str
    function: str
    arguments: tuple[tuple[str, Any], ...] = ()
    preset: str = exp.DEFAULT_PRESET
    compile: CompileOptions = DEFAULT_OPTIONS

    @property
    def label(self) -> str:
        """Label: kernel, analysis, and what is unusual in how the code is compiled."""
        return " ".join(filter(None, (self.kernel, self.function.partition(":")[2], self.compile.label)))

    def check(self) -> None:
        """Raise WarpbankError that says which field is wrong."""
        self._compiled.check()

    def key(self) -> str:
        """Key of job, analysis, and the code that does it."""
        module = self.function.partition(":")[0]
        e = self._compiled.experiment()
        trace = runner.job_key(e.job, exp.compile_options(e))
        return store.key(
            "analysis",
            trace,
            self.function,
            self.arguments,
            store.code_digest("warpbank.arch", "warpbank.sim.experiment", module),
        )

    def compute(self) -> dict[str, Any]:
        """Result of the analysis function."""
        e = self._compiled.experiment()
        result = load(self.function)(e.job, exp.compile_options(e), **dict(self.arguments))
        assert isinstance(result, dict)
        return result

    @property
    def _compiled(self) -> RunSpec:
        """A run of the same code."""
        return RunSpec(self.kernel, self.size, preset=self.preset, compile=self.compile)


def load(name: str) -> Any:
    """Object that `module:attribute` names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
