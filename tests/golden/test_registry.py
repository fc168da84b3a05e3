"""A new scheme is a unit in its room, and one row in `warpbank.arch.schemes`: nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.registries import kept
from warpbank.arch.config import preset
from warpbank.arch.schemes import Row, parse_scheme, register_scheme
from warpbank.arch.units import MappingUnit
from warpbank.golden.interfaces import Home
from warpbank.golden.mapping.direct import Direct
from warpbank.golden.sm import simulate
from warpbank.program.random_programs.operations import random_trace


class Reversed(Direct):
    """The banks in reverse order."""

    def home(self, warp: int, register: int) -> Home | None:
        home = super().home(warp, register)
        assert home is not None
        return self._bank_mask - home[0], home[1]


@pytest.fixture(autouse=True)
def _kept() -> Iterator[None]:
    with kept():
        yield


def test_a_scheme_of_ones_own() -> None:
    unit = MappingUnit(name="reversed", golden=Reversed)
    register_scheme(Row("back-to-front", "Banks in reverse order.", units=(unit,)))
    trace, config = random_trace(1), preset("pascal")
    result = simulate(trace, config, parse_scheme("back-to-front"))
    assert (
        result.counters["rf.reads"] == simulate(trace, config, parse_scheme("baseline")).counters["rf.reads"]
    )


def test_a_row_without_its_unit() -> None:
    register_scheme(Row("paper-only", "Not built.", storage="tape"))
    with pytest.raises(ValueError, match=r"The golden model has no storage 'tape'; it has plain, "):
        simulate(random_trace(1), preset("tiny"), parse_scheme("paper-only"))
