"""Caching collector units by themselves: which unit a warp gets, and when. Malekeh, section IV-B2, Figure
6."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.golden.collector.ccu_bench import ANY, LRU, ONE, RESULT, TWO, Bench, owner, value

PRIVATE = ("sub_core.collectors=8", "allocation=per_warp")


def test_a_warp_stays_in_its_unit() -> None:
    """Numbers 3 and 4 of the figure: there if it is free, and nowhere else if not."""
    for seed in range(1, 20):
        bench = Bench(TWO, f"seed={seed}")
        number = bench.issue(bench.uop(0, 1))
        assert not bench.ccu.may_issue & 1
        assert bench.ccu.may_issue == 0xFE
        bench.deliver()
        bench.go()
        assert bench.ccu.may_issue == 0xFF
        assert bench.issue(bench.uop(0, 1)) == number


def test_a_unit_with_far_values_only_is_chosen_at_random() -> None:
    """Number 5. Four units, of which one keeps a near value."""
    chosen = Counter[int]()
    for seed in range(1, 200):
        bench = Bench("sub_core.collectors=4", f"seed={seed}")
        near = bench.issue(bench.uop(0, 1, near=1))
        bench.deliver()
        bench.go()
        number = bench.issue(bench.uop(1, 1))
        assert number != near
        chosen[(number - near) % 4] += 1
    assert set(chosen) == {1, 2, 3}
    assert min(chosen.values()) > 20


def test_without_a_free_unit_there_is_none() -> None:
    """Number 6."""
    bench = Bench(TWO, "sthld=0")
    bench.issue(bench.uop(0, 1))
    bench.issue(bench.uop(1, 1))
    assert bench.ccu.may_issue == 0
    assert not bench.ccu.waits(0xFF), "nor does anybody wait for the values' sake"


def _near(*overrides: str) -> Bench:
    """One unit, free, with a near value of warp 0."""
    bench = Bench(ONE, *overrides)
    bench.run(bench.uop(0, 1, near=1))
    return bench


def _waited(bench: Bench, warp: int) -> int:
    """Cycles until the warp may issue."""
    cycles = 0
    while not bench.ccu.may_issue >> warp & 1:
        assert bench.ccu.waits(1 << warp)
        bench.ccu.wait()
        bench.edge()
        cycles += 1
    assert not bench.ccu.waits(1 << warp)
    return cycles


@pytest.mark.parametrize("sthld", [0, 1, 8, 255])
def test_near_values_make_wait(sthld: int) -> None:
    """Numbers 7, 8 and 9: it counts to STHLD, then takes the unit, and the count begins anew."""
    bench = _near(f"sthld={sthld}")
    for warp in (1, 0, 1):
        assert _waited(bench, warp) == sthld
        assert bench.ccu._owned[1 - warp] == 0
        assert [values[0] for values in bench.take("unit_wait")] == list(range(1, sthld + 1))
        bench.run(bench.uop(warp, 1, near=1))
        assert bench.ccu._owned[1 - warp] == -1
    assert bench.ccu._probe.counters["ccu.waits"] == 3 * sthld


def test_the_owner_may_go_on_meanwhile() -> None:
    bench = _near("sthld=8")
    assert bench.ccu.may_issue == 0b1
    bench.run(bench.uop(0, 1, near=0))
    assert bench.ccu.may_issue == 0xFF, "its value is far now"


def test_only_who_has_no_unit_waits() -> None:
    bench = _near("sthld=8")
    assert not bench.ccu.waits(0b01)
    assert bench.ccu.waits(0b11)
    assert not bench.ccu.waits(0)


def test_the_count_goes_on_where_it_was() -> None:
    """A far unit found in between does not reset it: the figure's number 9 does."""
    bench = _near("sthld=3")
    for _ in range(2):
        bench.ccu.wait()
        bench.edge()
    bench.run(bench.uop(0, 1, near=0))
    bench.run(bench.uop(1, 1, near=1))
    assert bench.ccu._waited == 2
    bench.ccu.wait()
    bench.edge()
    assert bench.ccu.may_issue == 0xFF


def test_another_waiting_time_counts_at_once() -> None:
    bench = _near("sthld=adaptive")
    assert bench.ccu.may_issue == 0xFF, "0 at the start"
    bench.ccu.adapt(2)
    assert bench.ccu.may_issue == 0b1
    assert _waited(bench, 1) == 2


def test_a_near_result_makes_a_unit_near() -> None:
    bench = owner("sthld=8")
    bench.run(bench.uop(0, 1, 2, 3))
    assert bench.ccu.may_issue == 0xFF
    bench.results((bench.uop(0, near=RESULT), 9, 7))
    assert bench.ccu.may_issue == 0b1


def test_a_new_warp_finds_nothing_of_the_one_before() -> None:
    for overrides in ((ONE,), PRIVATE):
        bench = Bench(*overrides)
        bench.run(bench.uop(2, 1, 2))
        assert bench.ccu.holds == 0b100
        bench.ccu.start(2)
        assert bench.ccu.holds == 0
        bench.issue(bench.uop(2, 1))
        assert [request[2:] for request in bench.requests] == [(2, 1)]


def test_per_warp_nobody_s_values_are_lost() -> None:
    bench = Bench(*PRIVATE, "sthld=8")
    assert [bench.issue(bench.uop(warp, 1, near=1)) for warp in range(8)] == list(range(8))
    bench.deliver()
    for _ in range(8):
        bench.go()
    assert (bench.ccu.holds, bench.ccu.may_issue) == (0xFF, 0xFF)
    assert not bench.ccu.waits(0xFF)
    assert not bench.take("flush")


def test_a_seed_decides() -> None:
    """Which unit, and which line."""

    def choices(seed: int) -> list[object]:
        bench = Bench(TWO, f"seed={seed}")
        made: list[object] = []
        for number in range(30):
            made.append(bench.issue(bench.uop(number % 8, *range(number, number + 3))))
            bench.deliver()
            bench.go()
            made.append(sorted(bench.held(0)))
            bench.run(bench.uop(number % 8, *range(40, 46)))
            made.append(sorted(bench.held(0)))
        return made

    assert choices(1) == choices(1)
    assert choices(1) != choices(2)


# --- The same storage under customary policies.


def test_lru_keeps_every_result_and_never_waits() -> None:
    bench = owner(kind=LRU)
    bench.results((bench.uop(0), 9, 7))
    assert bench.held(0) == {1, 2, 3, 9}
    assert bench.ccu.may_issue == 0xFF
    assert not bench.ccu.waits(0xFF)


def test_lru_replaces_near_lines_too() -> None:
    bench = Bench(ONE, kind=LRU)
    bench.run(bench.uop(0, *range(6), near=0b111111))
    bench.run(bench.uop(0, 6, 7, 8, 9))
    assert bench.held(0) == {2, 3, 4, 5, 6, 7, 8, 9}


# --- Any free unit for every uop.


def test_every_uop_gets_any_free_unit() -> None:
    """Four units, of which the warp's last one is free: each is as likely."""
    chosen = Counter[int]()
    for seed in range(1, 400):
        bench = Bench("sub_core.collectors=4", f"seed={163 * seed}", kind=ANY)
        last = bench.issue(bench.uop(0, 1))
        bench.deliver()
        bench.go()
        chosen[(bench.issue(bench.uop(0, 1)) - last) % 4] += 1
    assert min(chosen[place] for place in range(4)) > 60


def test_a_warp_collects_in_several_units_at_once() -> None:
    bench = Bench(TWO, kind=ANY)
    first, second = bench.uop(0, 1, 2), bench.uop(0, 3, 2)
    assert {bench.issue(first), bench.issue(second)} == {0, 1}
    assert bench.ccu.may_issue == 0
    bench.deliver()
    bench.go()
    bench.go()
    assert [operand.tolist() for operand in first.operands] == [value(1).tolist(), value(2).tolist()]
    assert [operand.tolist() for operand in second.operands] == [value(3).tolist(), value(2).tolist()]
    assert sorted(bench.done) == [(0, 1), (0, 2), (0, 2), (0, 3)]


def test_a_warp_has_values_in_its_last_unit_only() -> None:
    """Back in its last unit it finds them; in another one it finds nothing, and the last one forgets them."""
    found, moved = 0, 0
    for seed in range(1, 40):
        bench = Bench(TWO, f"seed={163 * seed}", kind=ANY)
        last = bench.issue(bench.uop(0, 1, 2))
        bench.deliver()
        bench.go()
        number = bench.issue(bench.uop(0, 2, 3))
        asked = [request[3] for request in bench.requests]
        bench.deliver()
        if number == last:
            found += 1
            assert bench.held(number) == {1, 2, 3}
            assert asked == [3]
        else:
            moved += 1
            assert (bench.held(last), bench.held(number)) == (set(), {2, 3})
            assert asked == [2, 3]
            assert bench.take("flush") == [(last, 2)]
    assert min(found, moved) > 8


def test_a_unit_that_is_left_takes_lines_for_its_uop_alone() -> None:
    for seed in range(1, 40):
        bench = Bench(TWO, f"seed={163 * seed}", kind=ANY)
        first, second = bench.uop(0, 1, 2), bench.uop(0, 2, 3)
        last = bench.issue(first)
        assert bench.issue(second) != last
        bench.deliver()
        assert bench.held(last) == set()
        assert {line.register for line in bench.unit(last).table.lines if line.locked} == {1, 2}
        bench.go()
        assert [operand.tolist() for operand in first.operands] == [value(1).tolist(), value(2).tolist()]


def test_a_result_in_the_cycle_in_which_its_warp_moves_on_is_not_kept() -> None:
    for seed in range(1, 20):
        bench = Bench(TWO, f"seed={163 * seed}", kind=ANY)
        last = bench.issue(bench.uop(0, 1))
        bench.deliver()
        bench.go()
        bench.results((bench.uop(0), 9, 7), edge=False)
        if bench.issue(bench.uop(0, 2)) != last:
            assert not bench.held(last)
            assert not bench.take("collector_write")
            return
    pytest.fail("the warp never moved on")
