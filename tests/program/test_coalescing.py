"""Coalescing: merges of random conflict graphs keep their conflicts, can still be coloured, and are as many
as the rules allow."""

from __future__ import annotations

from random import Random

import pytest

from warpbank.program.allocation.interference import Interference
from warpbank.program.allocation.work import Work
from warpbank.program.isa import VIRTUAL, Kernel
from warpbank.program.liveness import mask_of, members


def graph(
    widths: list[int], conflicts: set[tuple[int, int]], moves: list[tuple[int, int, int]]
) -> Interference:
    """Graph of groups of these widths, one behind the other and aligned, of which these words conflict."""
    made = object.__new__(Interference)
    made.work = Work(Kernel("k", [], {}, 0), 255)
    made.widths, words = {}, 0
    for width in widths:
        base = -(-words // width) * width
        made.widths[base], words = width, base + width
    made.costs = dict.fromkeys(made.widths, 1.0)
    made.base, made.words = list(range(words)), [0] * words
    for base, width in made.widths.items():
        made.base[base : base + width] = [base] * width
    for one, other in conflicts:
        made.words[one] |= 1 << other
        made.words[other] |= 1 << one
    made.moves = moves
    made.of_width = {
        width: mask_of(base for base, its in made.widths.items() if its == width) for width in (1, 2, 4)
    }
    made.groups = {base: neighbours(made, base) for base in made.widths}
    return made


def neighbours(of: Interference, base: int) -> int:
    """Groups that a word of the group conflicts with a word of."""
    words = [of.words[base + place] for place in range(of.widths[base])]
    return mask_of({of.base[other] for conflicts in words for other in members(conflicts)}) & ~(1 << base)


def random_graph(rng: Random, widths: tuple[int, ...]) -> Interference:
    chosen = [rng.choice(widths) for _ in range(rng.randint(6, 24))]
    empty = graph(chosen, set(), [])
    words = [base + place for base, width in empty.widths.items() for place in range(width)]
    pairs = [(x, y) for x in words for y in words if x < y and empty.base[x] != empty.base[y]]
    density = rng.choice((0.1, 0.2, 0.3))
    conflicts = {pair for pair in pairs if rng.random() < density}
    free = [pair for pair in pairs if pair not in conflicts]
    moves = [(rng.choice((1, 10)), *rng.choice(free)) for _ in range(rng.randint(1, 15))]
    return graph(chosen, conflicts, moves)


def colourable(of: Interference, limit: int) -> bool:
    """Groups leave one by one, as each finds a place wherever those that are left have theirs."""
    left = mask_of(of.groups)
    while left:
        sure = mask_of(
            base
            for base in members(left)
            if of.degree(of.groups[base] & left, of.widths[base]) + of.widths[base] <= limit
        )
        if not sure:
            return False
        left &= ~sure
    return True


def test_merged_words_have_the_conflicts_of_both():
    merges = 0
    for seed in range(300):
        rng = Random(seed)
        found = random_graph(rng, (1, 1, 1, 2, 4))
        conflicts, costs = list(found.words), sum(found.costs.values())
        names = found.coalesce(rng.choice((4, 6, 8)))
        merges += len(names)
        final = [names.get(word + VIRTUAL, word + VIRTUAL) - VIRTUAL for word in range(len(conflicts))]
        expected = [0] * len(conflicts)
        for word, others in enumerate(conflicts):
            expected[final[word]] |= mask_of({final[other] for other in members(others)})
        assert found.words == expected, f"seed {seed}"
        assert found.groups == {base: neighbours(found, base) for base in found.widths}, f"seed {seed}"
        assert not any(found.groups[base] >> base & 1 for base in found.groups), f"seed {seed}"
        assert sum(found.costs.values()) == costs
        assert found.costs.keys() == found.widths.keys()
        for width, bases in found.of_width.items():
            assert bases == mask_of(b for b, its in found.widths.items() if its == width), f"seed {seed}"
        assert all(final[word] == word for _, *ends in found.moves for word in ends)
    assert merges > 300


@pytest.mark.parametrize(
    ("seed", "merges"),
    [
        pytest.param(21, 3, id="again-after-a-merge"),
        pytest.param(57, 6, id="heaviest-first"),
        pytest.param(150, 6, id="as-many-crowded-as-fit"),
        pytest.param(511, 2, id="crowded-by-a-merge"),
        pytest.param(1498, 10, id="crowded-no-more"),
    ],
)
def test_the_rules_allow_as_many_merges(seed, merges):
    rng = Random(seed)
    found = random_graph(rng, (1, 1, 1, 2, 4))
    assert len(found.coalesce(rng.choice((4, 6, 8)))) == merges


def test_a_graph_of_single_registers_can_be_coloured_as_before():
    """Not so one of groups of several words, whose neighbours may be crowded when they take a word in."""
    before = 0
    for seed in range(1500):
        rng = Random(seed)
        found, limit = random_graph(rng, (1,)), rng.choice((4, 6, 8))
        if colourable(found, limit):
            before += 1
            found.coalesce(limit)
            assert colourable(found, limit), f"seed {seed}"
    assert before > 500
