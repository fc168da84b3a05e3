"""The matrix of G-Scalar and what it is compared with, through Verilator: all kernels at `tiny`, eight at
`small`. Many hours on two cores, most of it builds.

    pytest -m long tests/sim/test_lockstep_gscalar_long.py
    pytest -m long tests/sim/test_lockstep_gscalar_long.py -k "fermi and scalar-rf"
"""

from __future__ import annotations

import pytest

from tests.sim.lockstep_cases import SMALL, compare, fits
from warpbank import workloads
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme

RUNS = [(kernel, "tiny") for kernel in workloads.names()] + [(kernel, "small") for kernel in SMALL[:8]]
SCHEMES = ("gscalar", "gscalar-half", "scalar-rf", "bdi")


@pytest.mark.long
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["turing", "fermi", "tiny"])
def test_every_event_of_every_cycle(name: str, scheme: str) -> None:
    config = preset(name)
    for kernel, size in RUNS:
        if not fits(kernel, size, config):
            continue
        outcome = compare(kernel, size, config, scheme=parse_scheme(scheme))
        assert outcome.divergence is None, f"{kernel} at {size}: {outcome.divergence.reason}"
