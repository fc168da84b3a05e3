"""Observers of runs: each reads no events but those it names."""

from __future__ import annotations

from typing import Any

import pytest

from warpbank.sim import experiment as exp
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.events import Batch
from warpbank.sim.runs import RunSpec
from warpbank.sim.runs.spec import Observed, load

_OBSERVERS = {
    "warpbank.studies.reproduce.observe:Stages": ("baseline", "bow-wr"),
    "warpbank.studies.reproduce.kept:Kept": ("malekeh", "bow"),
    "warpbank.studies.reproduce.lane_clocking:LaneClocking": ("gscalar-half",),
    "warpbank.studies.waiting:Waiting": ("malekeh",),
    "warpbank.studies.gating:Gating": ("renaming", "baseline"),
}
_CASES = [(name, scheme) for name, schemes in _OBSERVERS.items() for scheme in schemes]


class Everything:
    """Observer that gets all events and hands them to another."""

    def __init__(self, observer: Any) -> None:
        self.observer = observer
        self.start = observer.start

    def __call__(self, batch: Batch) -> None:
        """Take the events of some cycles."""
        self.observer(batch)


@pytest.mark.parametrize(("name", "scheme"), _CASES)
def test_an_observer_says_what_it_says_of_all_events(name: str, scheme: str) -> None:
    overrides = ("sub_core.collector.sthld_interval=200",)
    spec = RunSpec("pathfinder", "tiny", scheme, "pascal" if "Stages" in name else "turing", overrides)
    few, every = load(name)(), load(name)()
    results = [
        exp.run(spec.experiment(), Observed(GoldenEngine(), observer)).result
        for observer in (few, Everything(every))
    ]
    assert few.result() == every.result()
    assert results[0].to_dict() == results[1].to_dict()


def test_events_that_nobody_wants_are_not_made() -> None:
    seen: set[int] = set()

    class Few:
        """Observer of two kinds of events."""

        wanted = frozenset(("issue", "retire"))

        def start(self, *_: object) -> None:
            """Start of the run."""

        def __call__(self, batch: Batch) -> None:
            """Take the events of some cycles."""
            seen.update(batch.records["event"].tolist())

    exp.run(RunSpec("nn", "tiny").experiment(), Observed(GoldenEngine(), Few()))
    assert len(seen) == len(Few.wanted)
