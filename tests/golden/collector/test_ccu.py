"""Caching collector units by themselves: the four operations of Malekeh's section III-C1, and what is written
(IV-A2)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.golden.collector.ccu_bench import ONE, RESULT, TWO, Bench, owner, value
from warpbank.golden.storage.metadata import EMPTY


def expected(*registers: int) -> list[list[int]]:
    return [value(register).tolist() for register in registers]


def shown(operands: list[np.ndarray]) -> list[list[int]]:
    return [operand.tolist() for operand in operands]


# --- Allocation.


def test_what_is_missed_is_requested_and_what_is_there_is_not() -> None:
    bench = Bench(ONE)
    bench.issue(bench.uop(3, 10, 20, 30))
    assert bench.requests == [(0, 0, 3, 10), (0, 1, 3, 20), (0, 2, 3, 30)]
    bench.deliver()
    bench.go()
    uop = bench.uop(3, 40, 30, 50, 10)
    bench.issue(uop)
    assert bench.requests == [(0, 0, 3, 40), (0, 2, 3, 50)]
    assert bench.take("forward") == [(0, 3, uop.seq, 0b1010, 2)]
    bench.deliver()
    bench.go()
    assert shown(uop.operands) == expected(40, 30, 50, 10)


def test_all_found_is_ready_at_once() -> None:
    bench = Bench(ONE)
    bench.run(bench.uop(0, 1, 2))
    uop = bench.uop(0, 2, 1)
    bench.issue(uop)
    assert bench.go() == [(0, uop)]
    assert shown(uop.operands) == expected(2, 1)
    assert bench.ccu._probe.counters["boc.forwards"] == 2


def test_a_uop_without_sources_is_ready_at_once() -> None:
    bench = Bench(ONE)
    uop = bench.uop(0)
    bench.issue(uop)
    assert bench.go() == [(0, uop)]


def test_the_same_warp_keeps_its_values_and_another_one_flushes_them() -> None:
    bench = Bench(ONE, "sthld=0")
    bench.run(bench.uop(0, 1, 2, 3))
    bench.run(bench.uop(0, 4))
    assert bench.held(0) == {1, 2, 3, 4}
    assert not bench.take("flush")
    uop = bench.uop(1, 2, 5)
    bench.issue(uop)
    assert bench.held(0) == set()
    assert bench.take("flush") == [(0, 4)]
    assert bench.requests == [(0, 0, 1, 2), (0, 1, 1, 5)], "the other warp's register 2 is another one"


def test_only_the_new_uop_s_registers_are_marked_anew() -> None:
    """III-C1, fourth: near bits of other registers stay."""
    bench = Bench(ONE)
    bench.run(bench.uop(0, 1, 2, 3, near=0b011))
    assert bench.near(0) == {1, 2}
    bench.run(bench.uop(0, 2, 3, 4, near=0b110))
    assert bench.near(0) == {1, 3, 4}


def test_sources_are_locked_until_the_dispatch() -> None:
    bench = Bench(ONE)
    bench.run(bench.uop(0, 1, 2))
    bench.issue(bench.uop(0, 2, 3))
    locked = lambda: {line.register for line in bench.unit(0).table.lines if line.locked}  # noqa: E731
    assert locked() == {2}, "what is found is locked at once"
    bench.deliver()
    assert locked() == {2, 3}, "what is not when it arrives"
    bench.go()
    assert locked() == set()
    assert bench.held(0) == {1, 2, 3}, "they stay as values"


def test_an_operand_hinders_until_the_dispatch() -> None:
    """WAR hazards end when the uop has gone, for found operands as for fetched ones."""
    bench = Bench(ONE)
    bench.run(bench.uop(0, 1))
    bench.done.clear()
    bench.issue(bench.uop(0, 1, 2))
    bench.deliver()
    assert bench.done == []
    bench.go()
    assert bench.done == [(0, 1), (0, 2)]


@pytest.mark.parametrize("lines", [8, 16])
def test_six_sources_over_and_over(lines: int) -> None:
    """Two tensor uops share no register: with 8 lines, two values of the first are left, near ones in the
    first place."""
    bench = Bench(ONE, f"cache_lines={lines}")
    first = bench.run(bench.uop(0, *range(6), near=0b110000))
    second = bench.run(bench.uop(0, *range(10, 16)))
    assert (shown(first), shown(second)) == (expected(*range(6)), expected(*range(10, 16)))
    assert bench.held(0) == {4, 5, *range(10, 16)} | (set(range(6)) if lines == 16 else set())


def test_six_sources_of_which_some_are_there() -> None:
    """No source takes the line of another one of the same uop."""
    for seed in range(1, 40):
        bench = Bench(ONE, f"seed={seed}")
        bench.run(bench.uop(0, *range(6)))
        uop = bench.uop(0, 20, 4, 21, 5, 22, 0)
        assert shown(bench.run(uop)) == expected(20, 4, 21, 5, 22, 0)
        assert bench.held(0) >= {20, 4, 21, 5, 22, 0}


# --- Port S.


def test_ready_when_the_last_operand_is_there() -> None:
    bench = Bench(ONE)
    bench.issue(bench.uop(0, 1, 2))
    assert bench.go() == []
    bench.ccu.deliver(0, 1, 0, value(2), EMPTY)
    bench.edge()
    assert bench.go() == []
    bench.ccu.deliver(0, 0, 0, value(1), EMPTY)
    bench.edge()
    assert len(bench.go()) == 1
    assert bench.take("deliver") == [(0, 1), (0, 0)]


# --- Port D: results.


def _find(bench: Bench, register: int) -> list[int]:
    line = bench.unit(0).table.find(register)
    assert line is not None
    assert line.value is not None
    return line.value.tolist()


def test_a_destination_gets_its_line_when_the_result_comes() -> None:
    bench = owner()
    uop = bench.uop(0, 1, destination=9, near=RESULT)
    bench.run(uop)
    assert bench.held(0) == {1, 2, 3}
    bench.results((uop, 9, 5))
    assert bench.held(0) == {1, 2, 3, 9}
    assert bench.near(0) == {9}, "of register 1 the last uop said that its reuse is far"
    assert bench.take("collector_write") == [(0, 0, uop.seq, 9)]
    assert _find(bench, 9) == value(9, 5).tolist()


def test_a_near_result_renews_the_register_that_is_there() -> None:
    bench = owner()
    bench.results((bench.uop(0, near=RESULT), 2, 7))
    assert bench.held(0) == {1, 2, 3}
    assert _find(bench, 2) == value(2, 7).tolist()
    assert bench.near(0) == {1, 2}


def test_a_result_is_the_most_recently_used() -> None:
    bench = owner()
    bench.results((bench.uop(0, near=RESULT), 1, 7))
    assert [line.register for line in bench.unit(0).table._order][-1] == 1


def test_a_far_result_is_not_cached_and_its_old_copy_does_not_survive() -> None:
    bench = owner()
    bench.results((bench.uop(0), 2, 7), (bench.uop(0), 50, 7))
    assert bench.held(0) == {1, 3}
    assert bench.take("invalidate") == [(0, 2)]
    bench.issue(bench.uop(0, 2))
    assert bench.requests == [(0, 0, 0, 2)]


def test_one_result_per_cycle_the_first_that_is_near() -> None:
    bench = owner()
    far, near, other = bench.uop(0), bench.uop(0, near=RESULT), bench.uop(0, near=RESULT)
    bench.results((far, 2, 7), (near, 8, 7), (other, 3, 7))
    assert bench.held(0) == {1, 8}
    assert bench.take("collector_write") == [(0, 0, near.seq, 8)]


def test_results_of_other_units_have_ports_of_their_own() -> None:
    bench = Bench(TWO)
    numbers = [bench.issue(bench.uop(warp, 1)) for warp in (0, 1)]
    assert set(numbers) == {0, 1}
    bench.deliver()
    bench.go()
    bench.results(*((bench.uop(warp, near=RESULT), 8, 7) for warp in (0, 1)))
    assert [bench.held(number) for number in (0, 1)] == [{1, 8}, {1, 8}]


def test_nobody_waits_for_the_port() -> None:
    bench = owner()
    assert bench.ccu.claim([(0, bench.uop(0, near=RESULT), 1), (1, bench.uop(0, near=RESULT), 2)]) == (0, 0)


def test_the_result_of_a_warp_that_lost_its_unit_goes_to_the_banks_alone() -> None:
    bench = owner("sthld=0")
    late = bench.uop(0, near=RESULT)
    bench.run(bench.uop(1, 1, near=1))
    bench.results((late, 1, 7))
    assert _find(bench, 1) == value(1).tolist()
    assert not bench.take("collector_write")


def test_a_result_is_found_a_cycle_later_where_its_register_has_a_line() -> None:
    """The next cycle's uop finds the register, and reads the new value."""
    bench = owner()
    bench.results((bench.uop(0, near=RESULT), 2, 7), edge=False)
    bench.edge()
    uop = bench.uop(0, 2)
    bench.issue(uop)
    assert bench.requests == []
    bench.go()
    assert shown(uop.operands) == [value(2, 7).tolist()]


def test_a_result_without_a_line_waits_for_a_unit_that_collects() -> None:
    """The unit takes a uop when the result comes. It is written when the operands of that uop are there."""
    bench = owner()
    result = bench.uop(0, near=RESULT)
    bench.results((result, 9, 7), edge=False)
    bench.issue(bench.uop(0, 8, 7))
    bench.edge()
    assert 9 not in bench.held(0)
    bench.deliver()
    assert not bench.take("collector_write")
    bench.edge()
    assert bench.held(0) >= {7, 8, 9}
    assert bench.take("collector_write") == [(0, 0, result.seq, 9)]
    assert _find(bench, 9) == value(9, 7).tolist()


def test_a_uop_finds_a_result_that_takes_its_line_in_that_cycle() -> None:
    """And not the register that had the line before."""
    for seed in range(1, 20):
        bench = Bench(ONE, f"seed={seed}")
        bench.run(bench.uop(0, *range(6)))
        bench.run(bench.uop(0, 6, 7))
        result = bench.uop(0, near=RESULT)
        bench.results((result, 9, 7), edge=False)
        bench.edge()
        victim = bench.unit(0).table.victim
        assert victim is not None
        uop = bench.uop(0, 9, victim.register)
        bench.issue(uop)
        assert bench.requests == [(0, 1, 0, uop.sources[1])]
        bench.deliver()
        bench.go()
        assert [each.tolist() for each in uop.operands] == [
            value(9, 7).tolist(),
            value(uop.sources[1]).tolist(),
        ]


def test_a_result_waits_a_cycle_for_a_uop_that_found_all() -> None:
    """The line that was chosen for the result may be one of those."""
    bench = owner()
    bench.results((bench.uop(0, near=RESULT), 9, 7), edge=False)
    bench.issue(bench.uop(0, 1, 2))
    assert bench.held(0) == {1, 2, 3}
    bench.edge()
    assert bench.held(0) == {1, 2, 3}
    bench.edge()
    assert bench.held(0) == {1, 2, 3, 9}


def test_a_result_that_waits_gives_way_to_the_next_one() -> None:
    """Whether that is kept or not; it may be of that register."""
    for near, kept in ((0, {1, 2, 3, 4}), (RESULT, {1, 2, 3, 4, 10})):
        bench = owner()
        bench.results((bench.uop(0, near=RESULT), 9, 7), edge=False)
        bench.issue(bench.uop(0, 4))
        bench.results((bench.uop(0, near=near), 10, 7), edge=False)
        bench.edge()
        bench.deliver()
        bench.edge()
        assert bench.held(0) == kept


def test_a_result_that_comes_when_the_last_one_is_written_joins_its_line() -> None:
    """If they are of one register; a far one makes the line invalid."""
    for near, kept in ((0, {1, 2, 3}), (RESULT, {1, 2, 3, 9})):
        bench = owner()
        bench.results((bench.uop(0, near=RESULT), 9, 7), edge=False)
        bench.edge()
        bench.results((bench.uop(0, near=near), 9, 8))
        assert bench.held(0) == kept
        if near:
            assert _find(bench, 9) == value(9, 8).tolist()


def test_a_result_whose_register_has_a_line_is_kept_beside_a_uop() -> None:
    """The line that it goes to is none of those that the uop's sources take."""
    for seed in range(1, 40):
        bench = Bench(ONE, f"seed={seed}")
        bench.run(bench.uop(0, *range(6)))
        bench.issue(bench.uop(0, *range(10, 16)))
        bench.edge()
        bench.results((bench.uop(0, near=RESULT), 2, 7), edge=False)
        bench.edge()
        bench.deliver()
        assert bench.held(0) >= {2, *range(10, 16)}
        assert _find(bench, 2) == value(2, 7).tolist()
        assert len(bench.take("collector_write")) == 1


def test_a_result_whose_line_is_taken_in_the_cycle_in_which_it_comes_is_not_kept() -> None:
    """An operand takes a line in the cycle in which it arrives; no result joins that line."""
    taken = 0
    for seed in range(1, 40):
        bench = Bench(ONE, f"seed={seed}")
        bench.run(bench.uop(0, *range(6)))
        bench.run(bench.uop(0, 6, 7))
        bench.issue(bench.uop(0, 10))
        bench.edge()
        bench.ccu.deliver(0, 0, 0, value(10), EMPTY)
        bench.results((bench.uop(0, near=RESULT), 2, 7))
        kept = bench.take("collector_write")
        assert len(kept) == (2 in bench.held(0))
        taken += not kept
    assert 0 < taken < 39


def test_a_result_in_the_cycle_in_which_its_unit_changes_hands() -> None:
    """It has nothing to do with the new owner's register, whether it came in that cycle or in the last."""
    for late in (0, 1):
        bench = owner("sthld=0")
        bench.results((bench.uop(0, near=RESULT), 2, 7), edge=False)
        for _ in range(late):
            bench.edge()
        bench.issue(bench.uop(1, 2))
        bench.deliver()
        bench.edge()
        assert bench.held(0) == {2}
        assert _find(bench, 2) == value(2).tolist()
        assert not bench.take("invalidate")
        assert not bench.take("collector_write")


@pytest.mark.parametrize("near", [0, RESULT])
def test_a_partial_result_joins_a_complete_line_or_takes_none(near: int) -> None:
    bench = owner()
    bench.results((bench.uop(0, near=near, mask=0b0011), 9, 7))
    assert bench.held(0) == {1, 2, 3}
    bench.results((bench.uop(0, near=near, mask=0b0011), 2, 7))
    assert bench.held(0) == ({1, 2, 3} if near else {1, 3})
    if near:
        assert _find(bench, 2) == [*value(2, 7)[:2], *value(2)[2:]]


def test_a_pair_comes_one_register_per_cycle() -> None:
    bench = owner()
    uop = bench.uop(0, destination=2, count=2, near=RESULT)
    for register in (2, 3):
        bench.results((uop, register, 7))
    assert [_find(bench, register) for register in (2, 3)] == [value(2, 7).tolist(), value(3, 7).tolist()]


def test_results_take_no_locked_line() -> None:
    """Six sources in collection, two lines left: all results go there."""
    bench = Bench(ONE)
    uop = bench.uop(0, *range(6), near=0)
    bench.issue(uop)
    bench.deliver()
    for number in range(20):
        bench.results((bench.uop(0, near=RESULT), 30 + number, 7))
    assert bench.held(0) == {*range(6), 48, 49}
    bench.go()
    assert shown(uop.operands) == expected(*range(6))
