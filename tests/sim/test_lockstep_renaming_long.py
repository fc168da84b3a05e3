"""Renaming's lockstep matrix through Verilator: all kernels at `tiny`, eight at `small`. Hours on two cores, most of it builds.

    pytest -m long tests/sim/test_lockstep_renaming_long.py
"""

from __future__ import annotations

import pytest

import workloads
from arch.config import preset, with_overrides
from arch.schemes import parse_scheme
from tests.sim.lockstep_cases import SMALL, compare, fits

RUNS = [(kernel, "tiny") for kernel in workloads.names()] + [(kernel, "small") for kernel in SMALL[:8]]


@pytest.mark.long
@pytest.mark.parametrize("policy", ["consolidate", "wear_level"])
@pytest.mark.parametrize("scheduler", ["scheme", "gto", "lrr"])
@pytest.mark.parametrize("name", ["fermi", "turing"])
def test_every_event_of_every_cycle(name: str, scheduler: str, policy: str) -> None:
    overrides = (f"sub_core.front_end.scheduler={scheduler}", f"sub_core.mapping.policy={policy}")
    config = with_overrides(preset(name), overrides)
    for kernel, size in RUNS:
        if not fits(kernel, size, config):
            continue
        outcome = compare(kernel, size, config, scheme=parse_scheme("renaming"))
        assert outcome.divergence is None, f"{kernel} at {size}: {outcome.divergence.reason}"
