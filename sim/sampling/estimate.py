"""Estimate of a whole run from a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpbank.arch.counters import COUNTERS
from warpbank.arch.events import Stall
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden.result import Result
from warpbank.golden.sm import Sm
from warpbank.program.trace.schema import Trace
from warpbank.sim.sampling.plan import Part, plan
from warpbank.sim.sampling.settings import DEFAULTS, Settings

#: Cycles between two looks at the machine.
_EVERY = 200
#: Confidence of the intervals, and what makes a standard error their half (the normal distribution's).
CONFIDENCE, _Z = 0.95, 1.96
#: Batches into which the sampled time of a part is divided, from whose scatter the error follows.
_BATCHES = 12


@dataclass(frozen=True)
class Estimate:
    """Estimate of a number of the whole run.

    Parameters
    ----------
    value : the estimate.
    margin : half of the interval that holds the number with 95 % confidence.
    """

    value: float
    margin: float


@dataclass
class Sampled:
    """Whole run as a sample gives it.

    Parameters
    ----------
    result : the estimates, rounded, in the form of a simulated run.
    ipc : warp instructions per cycle.
    cycles : clock cycles.
    counters, stalls : by name.
    simulated, instructions : warp instructions that were simulated, and those of the whole run.
    parts : per launch that was simulated: its number, the launches that it stands for, its instructions that
        were simulated and all of them.
    settings : of the selection.
    """

    result: Result
    ipc: Estimate
    cycles: Estimate
    counters: dict[str, Estimate]
    stalls: dict[str, Estimate]
    simulated: int
    instructions: int
    parts: list[dict[str, Any]]
    settings: Settings

    @property
    def ratio(self) -> float:
        """Instructions of the whole run by those simulated."""
        return self.instructions / self.simulated if self.simulated else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries for JSON."""
        return {
            "ipc_margin": self.ipc.margin,
            "cycles_margin": self.cycles.margin,
            "counter_margins": {name: each.margin for name, each in self.counters.items()},
            "stall_margins": {name: each.margin for name, each in self.stalls.items()},
            "confidence": CONFIDENCE,
            "simulated": self.simulated,
            "ratio": self.ratio,
            "parts": self.parts,
            "settings": self.settings.to_dict(),
        }


class Watch:
    """Watch of a machine that runs a part: what was retired and counted, every few cycles.

    Parameters
    ----------
    machine : runs the part's trace.
    part : gives every instruction its weight.
    """

    def __init__(self, machine: Sm, part: Part) -> None:
        self._machine = machine
        self._sums = np.concatenate([[0.0], np.cumsum(part.weights)])
        self._first = part.trace.warps["first"].astype(np.int64)
        self._end = self._first + part.trace.warps["length"].astype(np.int64)
        self.rows: list[list[float]] = []

    def look(self, cycle: int) -> None:
        """Record the state at the beginning of `cycle`."""
        machine = self._machine
        end = int(self._end[machine.started - 1]) if machine.started else 0
        retired, weight = float(end), float(self._sums[end])
        for (number, slot), row in machine.resident.items():
            at = int(self._first[row]) + machine.cores[number].retired[slot]
            retired -= int(self._end[row]) - at
            weight -= float(self._sums[self._end[row]] - self._sums[at])
        stalls: list[int] = []
        counters = [0] * len(COUNTERS)
        for core in machine.cores:
            core.settle(cycle)
            stalls += core.stalls
        for probe in (machine.probe, *(core.probe for core in machine.cores)):
            counters = [a + probe.count(name) for a, name in zip(counters, COUNTERS, strict=True)]
        self.rows.append([cycle, retired, weight, machine.checker.checked, *stalls, *counters])


def sample(
    trace: Trace,
    config: SmConfig,
    scheme: Scheme,
    settings: Settings = DEFAULTS,
    *,
    check_operands: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Sampled:
    """Simulate a sample of a trace on the golden model, and estimate the whole run.

    Parameters
    ----------
    trace : of the whole job, with the hints of the scheme.
    config, scheme : as in `warpbank.golden.sm.simulate`.
    settings : of the selection.
    check_operands : compare every operand of what is simulated.
    progress : called with (warp instructions simulated, those of the part) now and then.

    Raises
    ------
    MissingPackageError : scikit-learn is not installed.
    LaunchError : a CTA does not fit the machine.
    """
    machine = scheme.machine(config)
    sums, squares = np.zeros(1), np.zeros(1)
    simulated, cores = 0, machine.sub_cores
    parts: list[dict[str, Any]] = []
    for part in plan(trace, machine, settings):
        looks = _run(part, config, scheme, check_operands, progress)
        whole, error = _scaled(looks)
        sums = sums + part.weight * whole
        others = (part.weight - 1) * part.distance * whole
        squares = squares + (part.weight * error) ** 2 + others**2
        simulated += part.trace.warp_instructions
        parts.append(
            {
                "launch": part.launch,
                "stands_for": part.stands_for,
                "distance": part.distance,
                "simulated": part.trace.warp_instructions,
                "instructions": round(float(part.weights.sum())),
            }
        )
    return _sampled(trace, sums, np.sqrt(squares), cores, simulated, parts, settings)


def _run(
    part: Part,
    config: SmConfig,
    scheme: Scheme,
    check_operands: bool,
    progress: Callable[[int, int], None] | None,
) -> np.ndarray:
    """Simulate a part. Returns what its watch recorded, from an empty row to its end."""
    sm = Sm(part.trace, config, scheme, check_operands=check_operands)
    watch = Watch(sm, part)
    todo = sorted(part.warm)

    def look(done: int, total: int) -> None:
        while todo and todo[0] < sm.started:
            contents = part.warm[todo.pop(0)]
            sm.lsu.warm(contents.lines, contents.loads)
        watch.look(sm.cycle + 1)
        if progress is not None:
            progress(done, total)

    result = sm.run(look, _EVERY)
    watch.look(result.cycles)
    rows = np.array(watch.rows, np.float64)
    return np.vstack([np.zeros(rows.shape[1]), rows])


def _scaled(looks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The whole launch by what its watch recorded, and the standard error: cycles, operands checked, stalls
    and counters. The time between two looks counts as often as the instructions retired in it stand for
    others."""
    same = np.append(False, np.diff(looks[:, 1]) == 0)  # a time without any joins the one after it
    if same[-1]:  # or, at the end, the one before it
        same[np.flatnonzero(~same)[-1]], same[-1] = True, False
    kept = looks[~same]
    steps = np.diff(kept, axis=0)
    retired, stands = steps[:, 1], steps[:, 2]
    numbers = np.delete(steps, (1, 2), 1)
    scale = stands / np.maximum(retired, 1)
    whole = (scale[:, None] * numbers).sum(0)
    return whole, _error(retired, stands, scale, numbers)


def _error(retired: np.ndarray, stands: np.ndarray, scale: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Standard error of each number: from the scatter of its rate per instruction among batches of the time
    in which instructions stood for others."""
    sampled = scale > 1.001
    count = min(_BATCHES, int(sampled.sum()))
    if count < 2:
        return np.zeros(numbers.shape[1])
    done, stood, mine = retired[sampled], stands[sampled], numbers[sampled]
    batch = np.minimum((np.cumsum(done) - done / 2) * count // done.sum(), count - 1).astype(int)
    used, batch = np.unique(batch, return_inverse=True)
    if len(used) < 2:
        return np.zeros(numbers.shape[1])
    size = np.bincount(batch, done)
    sums = np.zeros((len(used), mine.shape[1]))
    np.add.at(sums, batch, mine)
    rates = sums / size[:, None]
    share = size / size.sum()
    mean = (share[:, None] * rates).sum(0)
    variance = (share[:, None] * (rates - mean) ** 2).sum(0) / (len(used) - 1)
    left: float = 1 - done.sum() / stood.sum()
    error: np.ndarray = stood.sum() * np.sqrt(variance * left)
    return error


def _sampled(
    trace: Trace,
    sums: np.ndarray,
    errors: np.ndarray,
    cores: int,
    simulated: int,
    parts: list[dict[str, Any]],
    settings: Settings,
) -> Sampled:
    """The sample by its sums: cycles, operands checked, stalls of every scheduler, counters."""
    total = trace.warp_instructions
    reasons = [reason.name.lower() for reason in Stall]
    margins = _Z * errors
    cycles = Estimate(float(sums[0]), float(margins[0]))
    ipc = total / cycles.value if cycles.value else 0.0
    per_core = sums[2 : 2 + cores * len(reasons)].reshape(cores, -1)
    per_core_margins = margins[2 : 2 + cores * len(reasons)].reshape(cores, -1)
    first = 2 + cores * len(reasons)
    counters = {
        name: Estimate(float(sums[first + place]), float(margins[first + place]))
        for place, name in enumerate(COUNTERS)
    }
    stalls = {
        reason: Estimate(float(per_core[:, place].sum()), float(per_core_margins[:, place].sum()))
        for place, reason in enumerate(reasons)
    }
    result = Result(
        cycles=round(cycles.value),
        warp_instructions=total,
        stalls={name: round(each.value) for name, each in stalls.items()},
        stalls_per_scheduler=[
            {name: round(float(each)) for name, each in zip(reasons, row, strict=True)} for row in per_core
        ],
        counters={name: round(each.value) for name, each in counters.items()},
        operands_checked=round(float(sums[1])),
    )
    margin = ipc * cycles.margin / cycles.value if cycles.value else 0.0
    return Sampled(result, Estimate(ipc, margin), cycles, counters, stalls, simulated, total, parts, settings)
