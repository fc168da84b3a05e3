"""`warpbank waiting`, and a kernel of two phases that the waiting time follows."""

from __future__ import annotations

from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest

from warpbank.arch.config import preset, with_overrides
from warpbank.program.cuda import compile_cuda
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.errors import WarpbankError
from warpbank.program.trace.builder import TraceBuilder, alu
from warpbank.sim import experiment as exp
from warpbank.sim.events import Batch, encode
from warpbank.sim.runs import RunSpec
from warpbank.studies.waiting import Interval, Waiting, draw, watch

FOLDER = Path(__file__).parents[2] / "examples" / "phases"
CLIMB, SPECULATE, RETREAT, CONFIRM, HOLD = range(2, 7)


def _experiment(*overrides: str, scheme: str = "malekeh") -> exp.Experiment:
    return exp.find(
        str(FOLDER / "phases.ptx"),
        "small",
        None,
        "turing",
        None,
        scheme,
        list(overrides),
        None,
        MAX_INSTRUCTIONS,
    )


def test_expected_values_are_those_of_a_numpy_reference() -> None:
    table = (37 * np.arange(1024, dtype=np.uint32) << np.uint32(7)) & np.uint32(1023)
    lane = np.arange(1024) % 32
    sums, found = np.arange(1024, dtype=np.uint32), np.zeros(1024, np.uint32)
    for _ in range(250):
        found = table[found + 4 * lane]
        sums = sums + found
    for _ in range(250):
        found = table[found + lane]
        sums = sums ^ found
    np.testing.assert_array_equal(np.load(FOLDER / "expected.npy"), sums)


@pytest.mark.compile
def test_ptx_is_what_the_compiler_makes() -> None:
    assert compile_cuda(FOLDER / "phases.cu") == (FOLDER / "phases.ptx").read_text()


@pytest.mark.long
def test_the_machine_leaves_a_knee_and_finds_another() -> None:
    """It climbs until more waiting costs IPC, retreats and holds; at the other phase it leaves, goes back to
    0 and holds there. The walk depends on the seed (docs/malekeh.md)."""
    seen = watch(_experiment("sub_core.collector.sthld_interval=1000", "sub_core.collector.seed=4"))
    groups = groupby(seen, key=lambda interval: interval.state)
    walk = [(state, [interval.sthld for interval in group]) for state, group in groups]
    assert walk[0][0] == CLIMB
    for (before, _), (after, _) in pairwise(walk):
        assert (
            after
            in {
                CLIMB: (SPECULATE,),
                SPECULATE: (CLIMB, RETREAT),
                RETREAT: (CONFIRM,),
                CONFIRM: (RETREAT, HOLD),
                HOLD: (SPECULATE,),
            }[before]
        )
    assert all({*held} == {held[0]} for state, held in walk if state == HOLD)
    first, *others = (held for state, held in walk if state == HOLD)
    assert len(first) >= 4
    assert first[0] > 4
    assert others
    assert all(held[0] == 0 for held in others)
    rates = [interval.ipc for interval in seen if interval.state == HOLD and interval.sthld == first[0]]
    assert max(rates) < 1.04 * min(rates)  # it holds where IPC does not change


@pytest.mark.long
def test_more_waiting_costs_less_in_the_first_phase() -> None:
    """What the machine follows: a wait of four cycles costs the first phase nothing, and the second one an
    eighth."""

    def cycles(first: int, second: int, sthld: int) -> int:
        experiment = _experiment(f"sub_core.collector.sthld={sthld}")
        launch = experiment.job.launches[0]
        launch = type(launch)(
            launch.entry, launch.grid, launch.block, (launch.args[0], np.uint32(first), np.uint32(second))
        )
        experiment.job.launches[:] = [launch]
        experiment.job.expected.clear()
        return exp.run(experiment).result.cycles

    assert abs(cycles(60, 0, 4) / cycles(60, 0, 0) - 1) < 0.03
    assert cycles(0, 60, 4) / cycles(0, 60, 0) > 1.08


@pytest.mark.quick("baseline*", "malekeh-pr*", "*STHLD*")
@pytest.mark.parametrize(
    ("scheme", "overrides", "message"),
    [
        ("baseline", (), "does not adapt with scheme baseline"),
        ("malekeh-pr", (), "does not adapt with scheme malekeh-pr"),
        ("malekeh", ("sub_core.collector.sthld=3",), "STHLD '3'"),
        (
            "malekeh",
            ("sub_core.collector.sthld_interval=50000",),
            "ends within two intervals of 50000 cycles",
        ),
    ],
)
def test_mistakes(scheme: str, overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(WarpbankError, match=message):
        watch(_experiment(*overrides, scheme=scheme))


def test_an_observed_run_counts_what_it_issues() -> None:
    """IPC of the intervals is the run's, but for what comes after the last one."""
    spec = RunSpec(
        "nn",
        "tiny",
        "malekeh",
        overrides=("sub_core.collector.sthld_interval=16",),
        observer="warpbank.studies.waiting:Waiting",
    )
    data = spec.compute()
    issued = sum(interval["ipc"] * 16 for interval in data["observed"]["intervals"])
    assert data["counters"]["issue.uops"] - 64 <= issued <= data["counters"]["issue.uops"]


def test_intervals_by_hand() -> None:
    config = with_overrides(preset("tiny"), ["sub_core.collector.sthld_interval=16"])
    waiting = Waiting()
    waiting.start(TraceBuilder().launch([[alu(1, 2)]]).build(), config)
    first = [(0, 0, "issue", (0, 0, 0)), (15, 0, "issue", (0, 1, 0)), (15, -1, "sthld", (2, 1))]
    second = [(16, 0, "issue", (0, 2, 0)), (31, -1, "sthld", (3, 2))]
    waiting(Batch(0, 16, encode(first)))
    waiting(Batch(16, 40, encode(second)))
    assert waiting.intervals == [Interval(15, 2 / 16, 0, 2), Interval(31, 1 / 16, 1, 3)]
    assert draw("by hand", waiting.intervals).count("stroke-width") == 4
