"""Golden and RTL in lockstep with register file caches that results are written into, on random programs.

pytest -m "long or not long" tests/sim/test_lockstep_rfc.py
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.random_strands import strand_trace
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.program.hints import Hints
from warpbank.program.random_programs.intervals import dead_bits
from warpbank.program.random_programs.operations import random_trace
from warpbank.program.random_programs.strands import with_strands
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import lockstep

CORE = "sub_core."
CASES = [
    (
        "rfc",
        ("cache.registers=8", "cache.replacement=lru", "active_warps=3", "bank_latency=280", "collectors=3"),
    ),
    ("sw-rfc", ("cache.registers=16", "active_warps=3", "bank_latency=280", "collectors=3")),
]
MORE = [
    ("rfc", ("cache.registers=8",)),
    ("rfc", ("cache.registers=16", "active_warps=1", "bank_latency=630")),
    ("rfc", ("cache.registers=8", "active_warps=4", "banks=8", "rows=64", "cache.replacement=lru")),
    ("sw-rfc", ("cache.registers=8",)),
    ("rfc+bow", ("cache.registers=8", "cache.replacement=lru")),
    ("sw-rfc", ("cache.registers=8", "active_warps=1", "bank_latency=630", "banks=8", "rows=64")),
]


@pytest.mark.quick("rfc-*")
@pytest.mark.parametrize(
    ("scheme", "overrides"), [*CASES, *(pytest.param(*case, marks=pytest.mark.long) for case in MORE)]
)
def test_every_event_of_every_cycle(scheme: str, overrides: tuple[str, ...]) -> None:
    config = with_overrides(preset("tiny"), [CORE + override for override in overrides])
    chosen = parse_scheme(scheme)
    if chosen.hierarchy == "rfc":
        trace = random_trace(7, ctas=2, length=15)
        trace = replace(trace, hints=replace(Hints.none(len(trace.code)), dead=dead_bits(trace)))
    else:
        trace = with_strands(strand_trace(7, 3, 20), config.sub_core.cache.registers)
    outcome = lockstep(trace, chosen.machine(config), chosen, PysimEngine())
    assert outcome.divergence is None, f"seed 7: {outcome.divergence.reason}"
    assert outcome.result is not None
    counters = outcome.result.counters
    assert counters["cache.reads"] > 0
    assert counters["cache.writes"] > 0
    assert counters["rf.reads"] > 0
    assert (counters["rf.write_backs"] > 0) == (chosen.hierarchy == "rfc")
