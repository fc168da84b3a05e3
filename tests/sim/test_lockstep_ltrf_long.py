"""LTRF's lockstep matrix through Verilator: all kernels at `tiny`, eight at `small`. Hours on two cores, most of it builds.

    pytest -m long tests/sim/test_lockstep_ltrf_long.py
"""

from __future__ import annotations

import pytest

import workloads
from arch.config import preset, with_overrides
from arch.schemes import parse_scheme
from tests.sim.lockstep_cases import SMALL, compare, fits

RUNS = [(kernel, "tiny") for kernel in workloads.names()] + [(kernel, "small") for kernel in SMALL[:8]]


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["ltrf", "ltrf-plus", "ltrf-strand"])
@pytest.mark.parametrize("registers", [8, 16, 32])
@pytest.mark.parametrize("active", [4, 8])
@pytest.mark.parametrize("latency", [100, 280, 630])
@pytest.mark.parametrize("name", ["maxwell", "turing"])
def test_every_event_of_every_cycle(name: str, latency: int, active: int, registers: int, scheme: str) -> None:
    config = with_overrides(preset(name), [
        f"sub_core.bank_latency={latency}", f"sub_core.active_warps={active}", f"sub_core.cache.registers={registers}",
    ])  # fmt: skip
    for kernel, size in RUNS:
        if not fits(kernel, size, config):
            continue
        outcome = compare(kernel, size, config, scheme=parse_scheme(scheme))
        assert outcome.divergence is None, f"{kernel} at {size}: {outcome.divergence.reason}"
        assert outcome.result is not None
        assert outcome.result.counters["rf.reads"] == outcome.result.counters["cache.fetches"]
