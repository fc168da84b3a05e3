"""The lists of lockstep cells cover what they say."""

from __future__ import annotations

from itertools import combinations, product

from tests.covering import all_pairs, pairs
from tests.sim.test_lockstep_ltrf_long import CROSSING, PARAMETERS, SHORT


def test_every_pair_of_values_meets() -> None:
    """Counted from the parameters alone."""
    met = set().union(*map(pairs, SHORT))
    for a, b in combinations(range(len(PARAMETERS)), 2):
        for one, other in product(PARAMETERS[a], PARAMETERS[b]):
            assert (a, one, b, other) in met, f"{one} and {other} never meet"
    assert set(SHORT) < set(CROSSING)
    assert len(SHORT) <= len(CROSSING) // 5
    assert all_pairs(*PARAMETERS) == SHORT


def test_two_parameters_are_crossed_in_full() -> None:
    assert sorted(all_pairs("ab", (1, 2, 3))) == [(letter, number) for letter in "ab" for number in (1, 2, 3)]
