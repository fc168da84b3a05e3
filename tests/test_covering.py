"""The lists of lockstep cells cover what they say."""

from __future__ import annotations

from itertools import combinations, product
from types import ModuleType

import pytest

from tests.covering import all_pairs, pairs
from tests.sim import test_lockstep_bow_long as bow
from tests.sim import test_lockstep_ltrf_long as ltrf


@pytest.mark.parametrize(("matrix", "share"), [(bow, 2), (ltrf, 5)])
def test_every_pair_of_values_meets(matrix: ModuleType, share: int) -> None:
    """Counted from the parameters alone. What is run always is one in `share` at most."""
    short, parameters = matrix.SHORT, matrix.PARAMETERS
    met = set().union(*map(pairs, short))
    for a, b in combinations(range(len(parameters)), 2):
        for one, other in product(parameters[a], parameters[b]):
            assert (a, one, b, other) in met, f"{one} and {other} never meet"
    assert set(short) < set(matrix.CROSSING)
    assert len(short) <= len(matrix.CROSSING) // share
    assert all_pairs(*parameters) == short
    assert sorted([*short, *matrix.REST]) == sorted(matrix.CROSSING)


def test_two_parameters_are_crossed_in_full() -> None:
    assert sorted(all_pairs("ab", (1, 2, 3))) == [(letter, number) for letter in "ab" for number in (1, 2, 3)]
