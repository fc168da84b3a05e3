"""The cache table: which line is replaced. Malekeh, section IV-A1."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from warpbank.golden.collector.cache_table import CacheTable, Line

EVERY_LANE = 0b1111


def _full(size: int = 8, seed: int = 1, far: int = 0, locked: int = 0, far_first: bool = True) -> CacheTable:
    """A table with register n in line n, taken in this order; masks of the lines whose reuse is far, and of
    the locked ones."""
    table = CacheTable(size, seed, far_first)
    for number in range(size):
        line = _take(table, number, near=not far >> number & 1)
        assert line is not None
        assert line.number == number, "empty lines first, in order"
        line.locked = bool(locked >> number & 1)
    return table


def _take(table: CacheTable, register: int, near: bool) -> Line | None:
    """Choose a line for a register and give it; None: all are locked."""
    table.victim = table.next_victim([])
    return None if table.victim is None else table.take(register, near)


def _replaced(table: CacheTable) -> int | None:
    """The line that a new register would get."""
    line = table.next_victim([])
    return None if line is None else line.number


def test_it_begins_empty() -> None:
    table = CacheTable(8, 1, True)
    assert (table.used, table.any_near, table.find(0)) == (0, False, None)


def test_a_line_that_was_dropped_is_taken_before_any_other() -> None:
    table = _full(far=0b0000_0010)
    table.lines[5].valid = False
    assert _replaced(table) == 5


def test_find_looks_at_what_is_valid() -> None:
    table = _full()
    found = table.find(3)
    assert found is table.lines[3]
    found.valid = False
    assert table.find(3) is None
    assert table.find(99) is None


def test_a_flush_forgets_all() -> None:
    table = _full()
    assert (table.used, table.any_near) == (8, True)
    table.flush()
    assert (table.used, table.any_near) == (0, False)
    assert [table.find(register) for register in range(8)] == [None] * 8


@pytest.mark.parametrize("far", [0b1, 0b1000_0000, 0b0101_0010, 0b1111_1111])
def test_far_lines_go_first_at_random(far: int) -> None:
    """All of them as often, and none else, however old the others are, and wherever they stand."""
    table, chosen = _full(far=far), Counter[int | None]()
    for _ in range(600):
        chosen[_replaced(table)] += 1
        table.taken()
    assert set(chosen) == {number for number in range(8) if far >> number & 1}
    share = 600 / far.bit_count()
    assert all(abs(count - share) < share / 3 for count in chosen.values())


def test_a_locked_line_is_never_replaced() -> None:
    table, chosen = _full(far=0b1111_0000, locked=0b1101_0001), Counter[int | None]()
    for _ in range(200):
        chosen[_replaced(table)] += 1
        table.taken()
    assert set(chosen) == {5}


def test_without_far_ones_the_least_recently_used_goes() -> None:
    table = _full()
    for number in (0, 2, 1):
        table.touch(table.lines[number])
    order = []
    for register in range(100, 108):
        line = _take(table, register, near=True)
        assert line is not None
        order.append(line.number)
        table.taken()
    assert order == [3, 4, 5, 6, 7, 0, 2, 1]


def test_the_least_recently_used_that_is_not_locked() -> None:
    assert _replaced(_full(locked=0b0000_0111)) == 3


def test_a_far_line_that_is_locked_does_not_count() -> None:
    """Then all that may go are near: the oldest."""
    assert _replaced(_full(far=0b0100_0000, locked=0b0100_0001)) == 1


@pytest.mark.parametrize("far_first", [True, False])
def test_all_are_locked(far_first: bool) -> None:
    table = _full(4, far=0b0110, locked=0b1111, far_first=far_first)
    assert table.next_victim([]) is None
    assert [line.register for line in table.lines] == [0, 1, 2, 3]


def test_lines_that_are_written_in_the_cycle_are_spared() -> None:
    table = _full(far=0b0000_0110)
    spared = [table.lines[1], table.lines[2]]
    assert table.next_victim(spared[:1]) is table.lines[2]
    assert table.next_victim(spared) is table.lines[0], "the oldest of those that are near"


def test_plain_lru_does_not_look_at_reuse() -> None:
    table = _full(far=0b1111_0000, far_first=False)
    table.touch(table.lines[0])
    assert _replaced(table) == 1


def test_a_seed_decides() -> None:
    """The same seed makes the same choices, another one others."""
    choices = []
    for seed in (1, 1, 2, 0xBEEF):
        table = _full(seed=seed, far=0xFF)
        made = []
        for _ in range(40):
            made.append(_replaced(table))
            table.taken()
        choices.append(made)
    assert choices[0] == choices[1]
    assert len({tuple(made) for made in choices}) == 3


def test_a_line_that_is_taken_is_the_register_s() -> None:
    table = _full(far=0b10)
    line = _take(table, 200, near=True)
    assert line is table.lines[1]
    assert (line.register, line.near, line.valid) == (200, True, True)
    assert table._order[-1] is line


def test_values_on_some_lanes_are_merged() -> None:
    table = _full()
    line = table.lines[2]
    first = np.array([1, 2, 3, 4], np.uint32)
    table.write(line, first, EVERY_LANE, EVERY_LANE)
    table.write(line, np.array([9, 9, 9, 9], np.uint32), 0b0110, EVERY_LANE)
    assert line.value is not None
    assert line.value.tolist() == [1, 9, 9, 4]
    assert first.tolist() == [1, 2, 3, 4], "values are moved by reference and never changed in place"


class Reference:
    """The policy said once more: register, reuse, lock and time of last use of every line."""

    def __init__(self, size: int) -> None:
        self.register: list[int | None] = [None] * size
        self.near, self.locked, self.used = [False] * size, [False] * size, list(range(-size, 0))

    def allowed(self, far_first: bool) -> set[int]:
        """Lines that may be replaced now; more than one only where chance decides."""
        places = range(len(self.used))
        free = [place for place in places if not self.locked[place]]
        if empty := [place for place in free if self.register[place] is None]:
            return {empty[0]}
        if far_first and (far := {place for place in free if not self.near[place]}):
            return far
        return set(sorted(free, key=lambda place: self.used[place])[:1])


@pytest.mark.parametrize("far_first", [True, False])
@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_any_history(size: int, far_first: bool) -> None:
    rng = random.Random(size)
    table, model = CacheTable(size, size, far_first), Reference(size)
    kinds = Counter[str]()
    for time in range(2000):
        what, near = rng.random(), rng.random() < 0.7
        line: Line | None = rng.choice(table.lines)
        assert line is not None
        if what < 0.25:
            line.locked = model.locked[line.number] = rng.random() < 0.4
        elif what < 0.3 and not line.locked:
            line.valid, model.register[line.number] = False, None
        elif what < 0.31:
            table.flush()
            model.register = [None] * size
        elif what < 0.5 and line.valid:
            table.touch(line)
            line.near = model.near[line.number] = near
            model.used[line.number] = time
        elif what > 0.5:
            allowed = model.allowed(far_first)
            line = _take(table, time, near)
            if line is None:
                assert not allowed
                continue
            assert line.number in allowed
            kinds[
                "random" if len(allowed) > 1 else "empty" if model.register[line.number] is None else "one"
            ] += 1
            model.register[line.number], model.near[line.number], model.used[line.number] = time, near, time
            table.taken()
        held = [register for register in model.register if register is not None]
        assert table.used == len(held)
        assert all(
            found is not None and model.register[found.number] == register
            for register in held
            for found in [table.find(register)]
        )
        assert table.any_near == any(
            near for near, register in zip(model.near, model.register, strict=True) if register is not None
        )
    assert min(kinds[kind] for kind in ("empty", "one", *(["random"] if far_first and size > 2 else []))) > 20
