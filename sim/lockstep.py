"""Lockstep of golden model and RTL: both run one trace, and every event of every cycle is compared.

The golden model leads; each time it has made a batch of cycles the RTL makes the same cycles, and the two
batches must hold the same events. At the end cycles, counters, stall reasons and launches must be equal.
There is no tolerance.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden.check import OperandMismatch
from warpbank.golden.result import Result
from warpbank.program import runner
from warpbank.program.errors import ExecutionError
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.base import OnBuild, Progress
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.engines.rtl import RtlEngine, Session
from warpbank.sim.events import Batch, same
from warpbank.sim.experiment import Experiment, compile_options, hinted

#: Cycles of both sides that a divergence shows.
WINDOW = 20


@dataclass
class Divergence:
    """First divergence of the RTL from the golden model.

    Parameters
    ----------
    cycle : the first cycle whose events differ; None: all events are equal.
    reason : what differs, in a sentence.
    golden, rtl : events of the last cycles up to that one.
    """

    cycle: int | None
    reason: str
    golden: np.ndarray
    rtl: np.ndarray


@dataclass
class Outcome:
    """Outcome of a lockstep run: no `divergence` means that the two are equal."""

    events: int
    cycles: int
    result: Result | None
    divergence: Divergence | None
    seconds: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Outcome as a JSON object."""
        found = self.divergence
        return {
            "equal": found is None,
            "cycles": self.cycles,
            "events": self.events,
            "divergence": None if found is None else {"cycle": found.cycle, "reason": found.reason},
            "counters": self.result.counters if self.result else {},
            "seconds": self.seconds,
        }


class _Diverged(Exception):
    """Ends the golden run."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(divergence.reason)
        self.divergence = divergence


class _Comparer:
    """Receives the golden model's batches, and drives the RTL after it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._before: tuple[np.ndarray, np.ndarray] | None = None
        self.events = 0
        self.seconds = 0.0

    def __call__(self, batch: Batch) -> None:
        started = time.perf_counter()
        reason = ""
        try:
            self._session.advance(batch.end)
        except (OperandMismatch, ExecutionError) as error:
            reason = str(error)
        rows = self._session.take()
        self.seconds += time.perf_counter() - started
        if reason or not same(batch.records, rows):
            raise _Diverged(self._divergence(batch, rows, reason))
        self.events += len(rows)
        self._before = batch.records, rows

    def _divergence(self, batch: Batch, rows: np.ndarray, reason: str) -> Divergence:
        cycle = first_difference(batch.records, rows)
        if reason and rows.size and (cycle is None or cycle > int(rows["cycle"].max())):
            cycle = int(rows["cycle"].max())  # nothing differs up to the cycle in which the RTL was stopped
        last = batch.end - 1 if cycle is None else cycle
        golden, rtl = batch.records, rows
        if self._before is not None:
            golden = np.concatenate([self._before[0], golden])
            rtl = np.concatenate([self._before[1], rtl])
        if not reason:
            reason = f"The events of cycle {cycle} differ."
        return Divergence(cycle, reason, *(_window(side, last) for side in (golden, rtl)))


def _window(rows: np.ndarray, last: int) -> np.ndarray:
    first = max(0, last - WINDOW + 1)
    return rows[(rows["cycle"] >= first) & (rows["cycle"] <= last)]


def first_difference(golden: np.ndarray, rtl: np.ndarray) -> int | None:
    """First cycle whose events differ between the two sides."""
    cycles = np.union1d(golden["cycle"], rtl["cycle"])
    low, high = 0, len(cycles)  # all cycles before `low` are the same
    while low < high:
        middle = (low + high) // 2
        if same(golden[golden["cycle"] <= cycles[middle]], rtl[rtl["cycle"] <= cycles[middle]]):
            low = middle + 1
        else:
            high = middle
    return int(cycles[low]) if low < len(cycles) else None


def lockstep(
    trace: Trace,
    config: SmConfig,
    scheme: Scheme,
    engine: RtlEngine,
    *,
    check_operands: bool = True,
    progress: Progress | None = None,
    on_build: OnBuild | None = None,
) -> Outcome:
    """Run golden model and RTL in lockstep and compare.

    A trace without values has nothing to check operands against: `check_operands` is False.

    Raises what the engines raise, save for what the RTL does wrong: that is a divergence.
    """
    started = time.perf_counter()
    session = engine.open(
        trace, config, scheme, events=True, check_operands=check_operands, on_build=on_build
    )
    built = time.perf_counter()
    comparer = _Comparer(session)
    try:
        result = GoldenEngine().run(
            trace, config, scheme, events=comparer, progress=progress, check_operands=check_operands
        )
        divergence = _compare_results(result, session)
    except _Diverged as found:
        result, divergence = None, found.divergence
    finally:
        session.close()
    done = time.perf_counter()
    cycles = result.cycles if result else session.cycle
    seconds = {
        "build": round(built - started, 3),
        "run": round(done - built, 3),
        "rtl": round(comparer.seconds, 3),
    }
    return Outcome(comparer.events, cycles, result, divergence, seconds)


def run_lockstep(
    experiment: Experiment,
    engine: RtlEngine,
    *,
    on_emulate: Callable[[], None] | None = None,
    on_build: OnBuild | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Trace an experiment's job (or take its trace from the cache) and run golden model and RTL on it.

    Parameters
    ----------
    experiment : kernel, machine, scheme.
    engine : simulator of the RTL.
    on_emulate, on_build : called when a trace has to be made, when the RTL has to be built.
    progress : called with (retired, total) now and then during the simulation.
    """
    trace = experiment.trace
    if trace is None:
        trace = runner.trace_job(experiment.job, compile_options(experiment), on_emulate=on_emulate)
    trace = hinted(experiment, trace)
    return lockstep(
        trace,
        experiment.config,
        experiment.scheme,
        engine,
        check_operands=bool(trace.meta.get("values", True)),
        progress=progress,
        on_build=on_build,
    )


def _compare_results(golden: Result, session: Session) -> Divergence | None:
    empty = np.zeros(0, session.take().dtype)
    if not session.finished:
        return Divergence(
            None, f"The golden model is done after {golden.cycles} cycles, the RTL is not.", empty, empty
        )
    expected, found = golden.to_dict(), session.result().to_dict()
    wrong = [
        f"{name} (golden {expected[name]}, RTL {found[name]})"
        for name in expected
        if name != "counters" and expected[name] != found[name]
    ]
    wrong += [
        f"counter {name} (golden {count}, RTL {found['counters'].get(name)})"
        for name, count in golden.counters.items()
        if found["counters"].get(name) != count
    ]
    return (
        Divergence(None, "All events are equal, but not: " + "; ".join(wrong) + ".", empty, empty)
        if wrong
        else None
    )
