"""Malekeh's lockstep matrix through Verilator: all kernels at `tiny`, eight at `small`. Hours on two cores,
most of it builds.

    pytest -m long tests/sim/test_lockstep_malekeh_long.py

Each of the 20 machines is a build of its own: the waiting time is a constant of the hardware. With a unit per
warp there are as many units as warps, and nobody waits. Kernels with few warps do not wait either: that is
seen at `small`.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.sim.lockstep_cases import SMALL, compare, fits, hinted
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.golden.sm import simulate

RUNS = [(kernel, "tiny") for kernel in workloads.names()] + [(kernel, "small") for kernel in SMALL[:8]]
#: Scheme and collectors of a sub-core.
UNITS = [("malekeh", 2), ("malekeh", 8), ("malekeh-pr", 8), ("ccu-lru-gto", 2), ("ccu-lru-gto", 8)]
#: Cycles between two adaptions, so short that the machine moves in kernels of a few thousand cycles.
INTERVAL = 128
#: Kernels in which that is looked for.
MOVING = ("sgemm", "reduction", "scan", "hotspot")


def _machine(scheme: str, units: int, sthld: str) -> tuple[SmConfig, Scheme]:
    overrides = (
        f"sub_core.collectors={units}",
        f"sub_core.collector.sthld={sthld}",
        f"sub_core.collector.sthld_interval={INTERVAL}",
    )
    return with_overrides(preset("turing"), overrides), parse_scheme(scheme)


def _moves(kernel: str, config: SmConfig, scheme: Scheme) -> Counter[tuple[int, int]]:
    """States of the STHLD machine and its values, by golden, whose every event the RTL has, too."""
    seen = Counter[tuple[int, int]]()

    def sink(event: Record) -> None:
        if event[2] == "sthld":
            seen[event[3][0], event[3][1]] += 1

    simulate(hinted(kernel, "tiny", config, scheme), config, scheme, events=sink)
    return seen


@pytest.mark.long
@pytest.mark.parametrize("sthld", ["0", "1", "8", "adaptive"])
@pytest.mark.parametrize(("scheme", "units"), UNITS)
def test_every_event_of_every_cycle(scheme: str, units: int, sthld: str) -> None:
    config, chosen = _machine(scheme, units, sthld)
    counted = Counter[str]()
    for kernel, size in RUNS:
        if not fits(kernel, size, config):
            continue
        outcome = compare(kernel, size, config, scheme=chosen)
        assert outcome.divergence is None, f"{kernel} at {size}: {outcome.divergence.reason}"
        assert outcome.result is not None
        counted.update(outcome.result.counters)
    assert counted["boc.forwards"]
    assert units != 2 or counted["ccu.flushes"]
    assert bool(counted["ccu.waits"]) == (scheme == "malekeh" and units == 2 and sthld != "0")


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "units"), UNITS)
def test_the_waiting_time_moves(scheme: str, units: int) -> None:
    """In what is compared above, it climbs, speculates, retreats and holds."""
    config, chosen = _machine(scheme, units, "adaptive")
    seen = sum((_moves(kernel, config, chosen) for kernel in MOVING), Counter[tuple[int, int]]())
    assert {state for state, _ in seen} == {2, 3, 4, 5, 6}
    assert len({value for _, value in seen}) > 3
