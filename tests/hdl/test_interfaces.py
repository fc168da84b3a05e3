"""Ports of exportable units are the recorded ones: somebody's testbench and netlist hang on them."""

from __future__ import annotations

import json

import pytest

from tests.interfaces import INNER, RECORDED, ports
from warpbank.synth.units import UNITS

KNOWN = json.loads(RECORDED.read_text())


@pytest.mark.parametrize("unit", [*UNITS, *INNER])
def test_ports_are_the_recorded_ones(unit: str) -> None:
    assert ports(unit) == KNOWN.get(unit), "if they are to change, record them: python -m tests.interfaces"


def test_no_unit_is_recorded_that_is_gone() -> None:
    assert sorted(KNOWN) == sorted([*UNITS, *INNER])
