"""A launch drops what the one before has left on its way, so that no value of a warp that has ended comes
into a row of another warp. The operand check would see it."""

from __future__ import annotations

import pytest

from tests.sim.launches import CASES
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.check import OperandMismatch
from warpbank.golden.collector.boc import Boc
from warpbank.golden.hierarchy.rfc import Rfc
from warpbank.golden.sm import simulate


def _run(name: str) -> None:
    scheme, config, trace = CASES[name]
    chosen = parse_scheme(scheme)
    simulate(trace, chosen.machine(config), chosen)


@pytest.mark.parametrize("name", CASES)
def test_values_of_the_launch_before_are_dropped(name: str) -> None:
    _run(name)


@pytest.mark.parametrize("name", CASES)
def test_a_mutant_that_keeps_them_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Boc, "launch", lambda self: None)
    monkeypatch.setattr(Rfc, "_forget", lambda self: None)
    with pytest.raises((OperandMismatch, IndexError)):
        _run(name)
