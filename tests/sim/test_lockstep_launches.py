"""Golden and RTL in lockstep where a launch begins while values of the one before are on their way.

pytest -m "long or not long" tests/sim/test_lockstep_launches.py
"""

from __future__ import annotations

import pytest
from amaranth.hdl import Elaboratable

from tests.sim.launches import CASES
from warpbank.arch.schemes import parse_scheme
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import Outcome, lockstep


def _run(name: str) -> Outcome:
    scheme, config, trace = CASES[name]
    chosen = parse_scheme(scheme)
    return lockstep(trace, chosen.machine(config), chosen, PysimEngine())


@pytest.mark.quick("buffers")
@pytest.mark.parametrize("name", CASES)
def test_values_of_the_launch_before_are_dropped(name: str) -> None:
    found = _run(name)
    assert found.divergence is None, found.divergence.reason


@pytest.mark.long
def test_a_mutant_whose_buffers_outlive_a_launch_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def kept(condition: object) -> object:
        def same(unit: Elaboratable) -> Elaboratable:
            return unit

        return same

    monkeypatch.setattr("warpbank.hdl.hierarchy.rfc.ResetInserter", kept)
    assert _run("buffers").divergence is not None
