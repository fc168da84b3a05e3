"""State of a golden machine: a copy made between two cycles goes on with the events of the machine."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.registries import kept
from warpbank.arch.events import Record
from warpbank.golden.result import Result
from warpbank.golden.sm import Sm
from warpbank.program import runner
from warpbank.program.trace.schema import Trace
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.engines import state

#: Schemes of the default suite, and further ones.
SCHEMES = ("baseline", "bow-wr", "malekeh", "ltrf", "renaming", "gscalar", "rfc", "malekeh+gscalar+renaming")
FURTHER = ("bdi", "scalar-rf", "sw-rfc", "ltrf-plus+gscalar", "malekeh-pr", "ccu-lru-gto")
EXTENSION = Path(__file__).parents[3] / "examples" / "last_value"


def _experiment(scheme: str, kernel: str = "bfs") -> exp.Experiment:
    return exp.find(kernel, "tiny", None, "tiny", None, scheme, [], None, 1_000_000)


@cache
def _trace(scheme: str) -> Trace:
    experiment = _experiment(scheme)
    return exp.hinted(experiment, runner.trace_job(experiment.job, exp.compile_options(experiment)))


def _machine(scheme: str, events: list[Record] | None = None, skip: bool = True) -> Sm:
    experiment = _experiment(scheme)
    sink = None if events is None else events.append
    return Sm(_trace(scheme), experiment.config, experiment.scheme, events=sink, skip=skip)


def _whole(scheme: str, every: int) -> tuple[Result, list[Record], list[tuple[int, bytes]]]:
    """A run: its result, its events, and its states with the cycles at which they begin."""
    events: list[Record] = []
    states: list[tuple[int, bytes]] = []
    machine = _machine(scheme, events)
    result = machine.run(None, every, lambda each: states.append((len(events), state.dump(each))))
    return result, events, states


@pytest.mark.quick("malekeh+gscalar+renaming", "baseline", "bow-wr")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_restored_machine_goes_on(scheme: str) -> None:
    chosen = random.Random(f"states of {scheme}")
    result, events, states = _whole(scheme, chosen.randrange(150, 350))
    assert len(states) > 10
    for seen, content in chosen.sample(states, 2):
        later: list[Record] = []
        machine = _machine(scheme, later)
        state.load(machine, content)
        assert machine.run() == result
        assert later == events[seen:]


@pytest.mark.long
@pytest.mark.parametrize("scheme", [*SCHEMES, *FURTHER])
def test_many_states_are_whole(scheme: str) -> None:
    """Twenty states of hundreds, at edges near each other."""
    result, events, states = _whole(scheme, 13)
    for seen, content in random.Random(scheme).sample(states, 20):
        later: list[Record] = []
        machine = _machine(scheme, later)
        state.load(machine, content)
        assert machine.run() == result
        assert later == events[seen:]


def _kept(machine: Sm, every: int) -> tuple[list[bytes], Result]:
    """States of a machine that runs to its end, and the result."""
    states: list[bytes] = []
    return states, machine.run(None, every, lambda each: states.append(state.dump(each)))


def test_a_state_of_a_state() -> None:
    """A restored machine can be kept again, with idle cycles or without."""
    result, _, states = _whole("ltrf", 500)
    for skip in (True, False):
        machine = _machine("ltrf", skip=skip)
        state.load(machine, states[1][1])
        again, found = _kept(machine, 700)
        assert found == result
        machine = _machine("ltrf", skip=skip)
        state.load(machine, again[-1])
        assert machine.run() == result


def test_keeping_changes_nothing() -> None:
    result, _, states = _whole("renaming", 100)
    assert states
    assert _machine("renaming").run() == result


def test_a_state_does_not_hold_the_trace() -> None:
    """It is as large with eight times the values."""
    experiment = _experiment("baseline", "vectoradd")
    short = runner.trace_job(experiment.job, exp.compile_options(experiment))
    long = runner.trace_job(experiment.job, exp.compile_options(experiment))
    long.values = np.concatenate([short.values] * 8)
    sizes = []
    for trace in (short, long):
        states, _ = _kept(Sm(trace, experiment.config, experiment.scheme), 100)
        sizes.append(len(states[0]))
    assert abs(sizes[0] - sizes[1]) < 100  # numbers of rows are longer


def test_a_scheme_of_ones_own_is_kept() -> None:
    """Interpreted classes of an extension, which may extend compiled ones."""
    with kept():
        extensions.load(EXTENSION)
        result, events, states = _whole("last-value", 200)
        seen, content = states[len(states) // 2]
        later: list[Record] = []
        machine = _machine("last-value", later)
        state.load(machine, content)
        assert machine.run() == result
        assert later == events[seen:]
