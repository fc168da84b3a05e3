"""Combinations of the rooms' units: which are legal, and whether golden and RTL agree on them cycle by
cycle."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from warpbank.arch.config import config_hash
from warpbank.arch.names import unknown
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import BASELINE, SCHEMES, Row, Scheme, parse_scheme
from warpbank.program import runner
from warpbank.program.errors import WarpbankError
from warpbank.program.random_programs.hinted import RandomProgram
from warpbank.program.trace.schema import Trace
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.engines import rtl_engine
from warpbank.sim.lockstep import lockstep
from warpbank.sim.runs import Outcome, execute, store
from warpbank.sim.runs.execute import Progress

#: The rooms that are combined. The scheduler follows: it is that of the row named first.
ROOMS = ("hierarchy", "collector", "mapping", "storage")
#: Small kernels: streams, divergence with barriers and shared memory, loops over irregular lists.
KERNELS = ("vectoradd", "reduction", "spmv")
#: What a check runs. lud and the seeded programs write registers on some lanes in the cycle of their eviction
#: (docs/event_pairs.md); pathfinder has moves of registers that no instruction reads again.
PROGRAMS = (*KERNELS, "pathfinder", "lud", "mixed-10", "divergent-3", "divergent-9")
#: What a result depends on besides the programs.
SOURCES = (
    "warpbank.arch",
    "warpbank.golden",
    "warpbank.hdl",
    "warpbank.program",
    "warpbank.sim.engines",
    "warpbank.sim.experiment",
    "warpbank.sim.lockstep",
)


@dataclass(frozen=True)
class Combination:
    """Combination of a row of every room that is changed.

    Parameters
    ----------
    scheme : scheme string.
    units : what stands in each of `ROOMS`, as far as the rows say.
    reason : why it is refused; "": it is legal.
    """

    scheme: str
    units: dict[str, str]
    reason: str

    @property
    def legal(self) -> bool:
        """Whether the machine can be built."""
        return not self.reason

    def to_dict(self) -> dict[str, Any]:
        """Combination as a JSON object."""
        return {**asdict(self), "legal": self.legal}


def room_of(row: Row) -> str:
    """Room that a row is about: the first of `ROOMS` that it changes; "": none."""
    return next((room for room in ROOMS if getattr(row, room)), "")


def combinations() -> list[Combination]:
    """Combinations of at most one row per room, in the order of the rooms and of the registry. The first
    changes nothing."""
    choices: list[list[Row | None]] = []
    for room in ROOMS:
        rows = [row for row in SCHEMES.values() if row is not BASELINE and room_of(row) == room]
        choices.append([None, *rows])
    found = []
    for chosen in product(*choices):
        rows = [row for row in chosen if row is not None]
        text = "+".join(row.name for row in rows) or BASELINE.name
        try:
            parse_scheme(text)
            reason = ""
        except ValueError as error:
            reason = str(error).partition(" cannot work: ")[2] or str(error)
        units = {room: next((getattr(row, room) for row in rows if getattr(row, room)), "") for room in ROOMS}
        found.append(Combination(text, units, reason))
    return found


@dataclass(frozen=True)
class Checked:
    """Combinations, and how those that were checked fared.

    Parameters
    ----------
    combinations : legal and refused ones.
    outcomes : of every run of the check; empty without a check.
    """

    combinations: list[Combination]
    outcomes: list[Outcome]

    @property
    def passed(self) -> bool:
        """No run found a difference between golden and RTL."""
        return not any(outcome.error for outcome in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON."""
        return {
            "combinations": [each.to_dict() for each in self.combinations],
            "runs": [_run_to_dict(outcome) for outcome in self.outcomes],
            "passed": self.passed,
        }


def _run_to_dict(outcome: Outcome) -> dict[str, Any]:
    return {
        "scheme": outcome.task.scheme,
        "kernel": outcome.task.kernel,
        "wrong": outcome.error,
        **(outcome.result or {"cycles": 0, "seconds": 0.0}),
        "kept": outcome.cached,
    }


@dataclass(frozen=True)
class LockstepRun:
    """A lockstep run of one combination: a `warpbank.sim.runs.spec.Task`, which fails where golden and RTL
    part.

    Parameters
    ----------
    scheme, kernel : what is run: a kernel at `tiny`, or a random program (`RandomProgram`).
    preset, overrides : the machine.
    engine : simulator of the RTL.
    """

    scheme: str
    kernel: str
    preset: str
    overrides: tuple[str, ...]
    engine: str

    @property
    def label(self) -> str:
        """Label for a progress line."""
        return f"{self.scheme} {self.kernel}"

    def check(self) -> None:
        """Raise WarpbankError for a kernel, a machine or an engine that there is not."""
        exp.find_config(self.preset, None, list(self.overrides))
        if RandomProgram.parse(self.kernel) is None:
            exp.find_job(self.kernel, "tiny", None)
        rtl_engine(self.engine, fast=False)

    def key(self) -> str:
        """Key of scheme, kernel, machine, engine, sources."""
        config = exp.find_config(self.preset, None, list(self.overrides))
        return store.key(
            "combination",
            self.scheme,
            self.kernel,
            config_hash(config),
            self.engine,
            store.code_digest(*SOURCES),
            extensions.digest(),
        )

    def compute(self) -> dict[str, Any]:
        """Result: cycles, and seconds that building and running took."""
        trace, config, scheme = self.prepared()
        outcome = lockstep(trace, config, scheme, rtl_engine(self.engine, fast=False))
        if outcome.divergence is not None:
            raise WarpbankError(outcome.divergence.reason)
        return {
            "cycles": outcome.cycles,
            "seconds": round(outcome.seconds["build"] + outcome.seconds["run"], 1),
        }

    def prepared(self) -> tuple[Trace, SmConfig, Scheme]:
        """Trace, with the scheme's hints, machine and scheme."""
        program = RandomProgram.parse(self.kernel)
        if program is not None:
            config = exp.find_config(self.preset, None, list(self.overrides))
            scheme = exp.find_scheme(self.scheme)
            return program.trace(scheme, config), config, scheme
        limit = runner.Options().max_instructions
        experiment = exp.find(
            self.kernel, "tiny", None, self.preset, None, self.scheme, list(self.overrides), None, limit
        )
        trace = runner.trace_job(experiment.job, exp.compile_options(experiment))
        return exp.hinted(experiment, trace), experiment.config, experiment.scheme


def check(
    wanted: list[Combination],
    kernels: list[str],
    preset: str,
    overrides: list[str],
    engine: str,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Run every legal combination in lockstep on every kernel or random program. `error` of an outcome says
    where golden and RTL part.

    What has passed is not run again as long as sources, machine and engine are the same, so that a check that
    was stopped goes on where it was. `workers`, `progress`: see `warpbank.sim.runs.execute`.

    Raises
    ------
    WarpbankError : a kernel, a machine or an engine that there is not, or a kernel that does not fit the
        machine.
    """
    runs = [
        LockstepRun(each.scheme, kernel, preset, tuple(overrides), engine)
        for kernel in kernels
        for each in wanted
        if each.legal
    ]  # a model is built once, and then there for all
    return execute(runs, workers=workers, progress=progress)


def named(text: str | None) -> list[Combination]:
    """Combinations whose scheme string has all the rows that `text` names, joined by `+`; None: all.

    Raises
    ------
    WarpbankError : a row that there is not, or rows that cannot stand beside each other.
    """
    if text is None:
        return combinations()
    rows = {part.strip() for part in text.split("+")}
    wrong = sorted(rows - set(SCHEMES))
    if wrong:
        raise WarpbankError(f"--only: {unknown('row', wrong[0], SCHEMES)}")
    found = [each for each in combinations() if rows <= set(each.scheme.split("+"))]
    if not found:
        parse_scheme(text)  # says what is in the way
        raise WarpbankError(f"--only {text}: no combination has these rows")
    return found
