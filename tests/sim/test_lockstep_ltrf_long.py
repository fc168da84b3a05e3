"""LTRF's and its comparators' lockstep matrix through Verilator: all kernels at `tiny`, eight at `small`.

    pytest -m long tests/sim/test_lockstep_ltrf_long.py -k pairs

Five schemes, three sizes, two active sets, three latencies and two presets are 180 machines, each with a
build of its own. `pairs` runs 15 of them, a covering array: every value of a parameter meets every value of
every other one in some machine, but three values need not meet (tests/test_covering.py checks the list). Of
the others `rest` draws one for each scheme and preset, by the slice's seed: all of them would take most of
a day.
"""

from __future__ import annotations

import random
from itertools import product

import pytest

from tests.covering import all_pairs
from tests.sim.lockstep_cases import SMALL, compare, fits
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme

RUNS = [(kernel, "tiny") for kernel in workloads.names()] + [(kernel, "small") for kernel in SMALL[:8]]
#: Schemes, registers of an interval or of a warp in the cache, active warps, latencies, presets.
PARAMETERS = (
    ("ltrf", "ltrf-plus", "ltrf-strand", "rfc", "sw-rfc"),
    (8, 16, 32),
    (4, 8),
    (100, 280, 630),
    ("maxwell", "turing"),
)
CROSSING = list(product(*PARAMETERS))
SHORT = all_pairs(*PARAMETERS)
REST = [cell for cell in CROSSING if cell not in SHORT]


def _lockstep(scheme: str, registers: int, active: int, latency: int, name: str) -> None:
    config = with_overrides(
        preset(name),
        [
            f"sub_core.bank_latency={latency}",
            f"sub_core.active_warps={active}",
            f"sub_core.cache.registers={registers}",
        ],
    )
    for kernel, size in RUNS:
        if not fits(kernel, size, config):
            continue
        outcome = compare(kernel, size, config, scheme=parse_scheme(scheme))
        where = f"{scheme}, {name}, {registers} registers, {active} active, {latency} %: {kernel} at {size}"
        assert outcome.divergence is None, f"{where}: {outcome.divergence.reason}"
        assert outcome.result is not None
        if scheme.startswith("ltrf"):
            assert outcome.result.counters["rf.reads"] == outcome.result.counters["cache.fetches"]
            assert outcome.result.counters["cache.interval_reads"] == 0
        else:
            assert outcome.result.counters["cache.fetches"] == 0


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "registers", "active", "latency", "name"), SHORT)
def test_pairs(scheme: str, registers: int, active: int, latency: int, name: str) -> None:
    """Every event of every cycle."""
    _lockstep(scheme, registers, active, latency, name)


@pytest.mark.long
@pytest.mark.parametrize("name", PARAMETERS[4])
@pytest.mark.parametrize("scheme", PARAMETERS[0])
def test_rest(scheme: str, name: str, drawn: random.Random) -> None:
    """A machine that `test_pairs` leaves out."""
    _lockstep(*drawn.choice([cell for cell in REST if (cell[0], cell[4]) == (scheme, name)]))
