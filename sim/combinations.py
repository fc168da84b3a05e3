"""Every combination of the rooms' units: which are legal, and whether golden and RTL agree on them cycle by cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from arch.config import config_hash
from arch.schemes import SCHEMES, Row, parse_scheme
from program import runner
from program.errors import WarpbankError
from sim import experiment as exp
from sim import extensions
from sim.engines import rtl_engine
from sim.lockstep import lockstep
from sim.runs import store

#: The rooms that are combined. The scheduler follows: it is that of the row named first.
ROOMS = ("hierarchy", "collector", "mapping", "storage")
#: Small kernels: streams, divergence with barriers and shared memory, loops over irregular lists.
KERNELS = ("vectoradd", "reduction", "spmv")
#: What a result depends on besides the programs.
SOURCES = ("arch", "golden", "hdl", "sim")


@dataclass(frozen=True)
class Combination:
    """A row of every room that is changed.

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
        """The machine can be built."""
        return not self.reason

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "legal": self.legal}


def room_of(row: Row) -> str:
    """The room that a row is about: the first of `ROOMS` that it changes; "": none."""
    return next((room for room in ROOMS if getattr(row, room)), "")


def combinations() -> list[Combination]:
    """All choices of at most one row per room, in the order of the rooms and of the registry. The first changes nothing."""
    choices: list[list[Row | None]] = []
    for room in ROOMS:
        rows = [row for row in SCHEMES.values() if row.name != "baseline" and room_of(row) == room]
        choices.append([None, *rows])
    found = []
    for chosen in product(*choices):
        rows = [row for row in chosen if row is not None]
        text = "+".join(row.name for row in rows) or "baseline"
        try:
            parse_scheme(text)
            reason = ""
        except ValueError as error:
            reason = str(error).partition(" cannot work: ")[2] or str(error)
        units = {room: next((getattr(row, room) for row in rows if getattr(row, room)), "") for room in ROOMS}
        found.append(Combination(text, units, reason))
    return found


@dataclass(frozen=True)
class Verdict:
    """A lockstep run of one combination.

    Parameters
    ----------
    scheme, kernel : what was run.
    wrong : where golden and RTL part, or what stopped them; "": they are equal.
    cycles : how long they ran.
    seconds : how long it took; `kept`: earlier.
    """

    scheme: str
    kernel: str
    wrong: str
    cycles: int
    seconds: float
    kept: bool = False


def check(wanted: list[Combination], kernels: list[str], preset: str, overrides: list[str], engine: str, *,
          on_build: Callable[[], None] | None = None) -> Iterator[Verdict]:
    """Run every legal combination in lockstep on every kernel at `tiny`, one after the other, and yield what was found.

    A combination that has passed is not run again as long as sources, machine and engine are the same, so that a check that was
    stopped goes on where it was.

    Raises
    ------
    WarpbankError : a kernel, a machine or an engine that there is not, or a kernel that does not fit the machine.
    """
    config = exp.find_config(preset, None, overrides)
    simulator = rtl_engine(engine, fast=False)
    for kernel in kernels:
        exp.find_job(kernel, "tiny", None)
    code = store.code_digest(*SOURCES) + extensions.digest()
    for combination in wanted:
        if not combination.legal:
            continue
        for kernel in kernels:
            name = store.key("combination", combination.scheme, kernel, config_hash(config), engine, code)
            kept = store.read(name)
            if kept is not None:
                yield Verdict(**kept, kept=True)
                continue
            experiment = exp.find(kernel, "tiny", None, preset, None, combination.scheme, overrides, None,
                                  runner.Options().max_instructions)
            trace = exp.hinted(experiment, runner.trace_job(experiment.job, exp.compile_options(experiment)))
            try:
                outcome = lockstep(trace, config, experiment.scheme, simulator, on_build=on_build)
            except (AssertionError, RuntimeError) as error:  # what the model or the RTL says of itself
                yield Verdict(combination.scheme, kernel, f"{type(error).__name__}: {error}", 0, 0.0)
                continue
            wrong = "" if outcome.divergence is None else outcome.divergence.reason
            seconds = round(sum(outcome.seconds[name] for name in ("build", "run")), 1)
            verdict = Verdict(combination.scheme, kernel, wrong, outcome.cycles, seconds)
            if not wrong:
                store.put(name, {key: value for key, value in asdict(verdict).items() if key != "kept"})
            yield verdict


def named(text: str | None) -> list[Combination]:
    """The combinations whose scheme string has all the rows that `text` names, joined by `+`; None: all.

    Raises
    ------
    WarpbankError : a row that there is not.
    """
    if text is None:
        return combinations()
    rows = {part.strip() for part in text.split("+")}
    unknown = sorted(rows - set(SCHEMES))
    if unknown:
        raise WarpbankError(f"--only names {', '.join(unknown)}, and there is no such row; known: {', '.join(SCHEMES)}")
    return [each for each in combinations() if rows <= set(each.scheme.split("+"))]
