"""The whole promise: every kernel at `tiny` and many at `small`, four presets, both schedulers.
`pytest -m long tests/sim`."""

from __future__ import annotations

import pytest

from tests.sim.lockstep_cases import PRESETS, SCHEDULERS, SMALL, compare, fits, machine
from warpbank import workloads

pytestmark = pytest.mark.long


@pytest.mark.parametrize("kernel", workloads.names())
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.timeout(1800)
def test_tiny(preset: str, scheduler: str, kernel: str) -> None:
    _equal(preset, scheduler, kernel, "tiny")


@pytest.mark.parametrize("kernel", SMALL)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.timeout(3600)
def test_small(preset: str, scheduler: str, kernel: str) -> None:
    _equal(preset, scheduler, kernel, "small")


def _equal(preset: str, scheduler: str, kernel: str, size: str) -> None:
    config = machine(preset, scheduler)
    if not fits(kernel, size, config):
        pytest.skip("a CTA does not fit the machine")
    outcome = compare(kernel, size, config)
    assert outcome.divergence is None, outcome.divergence.reason
    assert outcome.events > 0
