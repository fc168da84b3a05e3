"""Rules of the window one by one, on streams made by hand. BOW, sections IV-A to IV-C; docs/bow.md."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from warpbank.arch.uop import TO_BANKS, TO_COLLECTOR
from warpbank.golden.collector.window import Collected, Entry, Insertion, Window
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value

BOTH = TO_BANKS | TO_COLLECTOR
EVERY = 0xF
SOME = 0x3


def _uop(sources: Sequence[int], to: int | None, count: int, mask: int, write_back: int) -> TraceUop:
    uop = TraceUop.__new__(TraceUop)
    uop.seq, uop.sources = 0, tuple(sources)
    uop.destination, uop.count = (to, count) if to is not None else (0, 0)
    uop.lane_mask, uop.write_back = mask, write_back
    return uop


def _value(number: int) -> Value:
    return np.full(4, number, np.uint32)


class Bench:
    """A window whose operands arrive at once, and whose leaving values a bank takes at once, unless a test
    says otherwise."""

    def __init__(self, entries: int = 12, window: int = 3, *, write_through: bool = False) -> None:
        self.window = Window(entries, window, write_through, EVERY)
        self.banks: list[int] = []  # registers written back
        self.overwritten = self.transient = 0
        self._inside: list[Collected] = []

    def insert(
        self, *sources: int, to: int | None = None, count: int = 1, mask: int = EVERY, write_back: int = BOTH
    ) -> Insertion | Entry | None:
        """Insert a uop that stays in collection."""
        collected = Collected(_uop(sources, to, count, mask, write_back), 0)
        done = self.window.insert(collected)
        if isinstance(done, Insertion):
            self.overwritten += done.overwritten
            self.transient += done.transient
            for slot in done.read:
                self.window.fill(collected.entries[slot], _value(100 + sources[slot]))
            self._inside.append(collected)
            self.drain()
        return done

    def dispatch(self) -> None:
        """All uops in collection are dispatched."""
        for collected in self._inside:
            for entry in collected.entries:
                entry.users -= 1
        self._inside.clear()
        self.drain()

    def run(
        self, *sources: int, to: int | None = None, count: int = 1, mask: int = EVERY, write_back: int = BOTH
    ) -> Insertion:
        """Insert a uop, dispatch it, and let its results arrive."""
        done = self.insert(*sources, to=to, count=count, mask=mask, write_back=write_back)
        assert isinstance(done, Insertion)
        self.dispatch()
        if to is not None:
            for register in range(to, to + count):
                self.result(register, mask)
        return done

    def result(self, register: int, mask: int = EVERY, value: int = 7) -> bool:
        """A result arrives; whether the window keeps it."""
        entry = self.window.expecting(register)
        if entry is not None:
            self.window.expect_write(entry)
            self.window.write(entry, mask, _value(value))
            entry.users -= 1
        return entry is not None

    def slide(self, uops: int = 1) -> None:
        """Uops that access nothing."""
        for _ in range(uops):
            self.transient += self.window.slide()
            self.drain()

    def drain(self) -> None:
        """A bank takes what leaves."""
        while (entry := self.window.leaving()) is not None:
            entry.dirty = False
            self.banks.append(entry.register)

    def holds(self, register: int) -> bool:
        """Whether a uop that reads the register now finds it."""
        return isinstance(done := self.insert(register), Insertion) and done.found == [0]


@pytest.mark.parametrize("window", range(2, 8))
@pytest.mark.parametrize("written", [False, True])
def test_the_edge_of_the_window(window: int, written: bool) -> None:
    """A reuse `window` - 1 uops later is found, one more uop later not."""
    for distance, found in ((window - 1, True), (window, False)):
        bench = Bench(window=window)
        if written:
            bench.run(to=1, write_back=TO_COLLECTOR)
        else:
            bench.run(1)
        bench.slide(distance - 1)
        assert bench.holds(1) == found, distance


@pytest.mark.parametrize("window", range(2, 8))
def test_every_access_renews_the_stay(window: int) -> None:
    bench = Bench(window=window)
    bench.run(1)
    for turn in range(4):
        bench.slide(window - 2)
        assert bench.run(1, to=2 if turn % 2 else None).found == [0]


def test_one_value_serves_all_sources_and_a_register_has_one_entry() -> None:
    bench = Bench()
    assert bench.run(1, 2).read == [0, 1]
    done = bench.run(2, 3, 1, to=3)
    assert (done.found, done.read, done.reserved) == ([0, 2], [1], 1)
    assert bench.window.used == 3


def test_overwritten_in_the_window() -> None:
    """Three writes, one bank write."""
    bench = Bench()
    for _ in range(3):
        bench.run(to=1)
    assert bench.overwritten == 2
    bench.slide(5)
    assert bench.banks == [1]
    assert bench.transient == 0


def test_a_transient_value_is_dropped() -> None:
    bench = Bench()
    bench.run(to=1, write_back=TO_COLLECTOR)
    assert bench.run(1).found == [0]
    bench.slide(5)
    assert bench.banks == []
    assert bench.transient == 1


def test_a_dropped_value_is_counted_when_its_entry_is_taken() -> None:
    bench = Bench(entries=6)
    for register in range(6):
        bench.run(to=register, write_back=TO_COLLECTOR)
    bench.slide(2)
    assert isinstance(bench.insert(10, 11, 12, 13, 14, 15), Insertion)
    assert bench.transient == 6
    assert bench.banks == []


def test_a_value_for_both_is_written_once() -> None:
    bench = Bench()
    bench.run(to=1)
    assert bench.banks == []
    bench.slide(2)
    assert bench.banks == [1]
    bench.slide(5)
    assert bench.banks == [1]


def test_write_through_is_never_dirty() -> None:
    bench = Bench(write_through=True)
    bench.run(to=1)
    bench.run(to=1)
    assert bench.holds(1)
    bench.dispatch()
    bench.slide(5)
    assert (bench.banks, bench.overwritten, bench.transient) == ([], 0, 0)


def test_a_result_for_the_banks_takes_no_entry() -> None:
    bench = Bench()
    assert bench.run(to=1, write_back=TO_BANKS).reserved == 0
    assert not bench.holds(1)


def test_a_result_for_the_banks_ends_an_older_values_stay() -> None:
    bench = Bench()
    bench.run(to=1)
    assert bench.run(to=1, write_back=TO_BANKS).overwritten == 1
    assert not bench.holds(1)
    assert bench.banks == []


def test_a_late_result_goes_elsewhere() -> None:
    """An entry kept for a result is given up when the window has passed."""
    for late, kept in ((1, True), (2, False)):
        bench = Bench()
        bench.insert(to=1)
        bench.slide(late)
        assert bench.result(1) == kept


def test_a_late_result_over_an_older_value() -> None:
    """The value that was there before must not be found once the uop that replaces it was inserted and its
    window has passed."""
    bench = Bench()
    bench.run(1)
    bench.insert(to=1)
    bench.slide(2)
    assert not bench.result(1)
    assert not bench.holds(1)


def test_an_entry_that_a_uop_in_collection_reads_stays() -> None:
    bench = Bench()
    bench.insert(1)
    bench.slide(6)
    assert bench.holds(1)
    bench.dispatch()
    bench.slide(2)
    assert not bench.holds(1)


def test_a_value_that_no_bank_has_taken_is_found() -> None:
    """The banks are behind: reading them would give an older value."""
    bench = Bench()
    bench.run(to=1)
    bench.window.slide()
    bench.window.slide()
    bench.window.slide()
    leaving = bench.window.leaving()
    assert leaving is not None
    assert leaving.register == 1
    assert bench.holds(1)


@pytest.mark.parametrize("write_back", [TO_COLLECTOR, BOTH])
def test_a_value_squeezed_out_is_written_back_whatever_its_hint(write_back: int) -> None:
    """Full of dirty values: the oldest goes, to the banks."""
    bench = Bench(entries=6, window=7)
    for register in range(6):
        bench.run(to=register, write_back=write_back)
    victim = bench.insert(10)
    assert isinstance(victim, Entry)
    assert victim.register == 0
    bench.window.squeeze(victim)
    bench.drain()
    assert bench.banks == [0]
    assert bench.transient == 0
    done = bench.insert(10)
    assert isinstance(done, Insertion)
    bench.dispatch()
    assert not bench.holds(0)


def test_a_clean_value_squeezed_out_is_gone() -> None:
    bench = Bench(entries=6, window=7)
    bench.run(0, 1, 2, 3, 4, 5)
    victim = bench.insert(10)
    assert isinstance(victim, Entry)
    bench.window.squeeze(victim)
    assert isinstance(bench.insert(10), Insertion)
    assert bench.banks == []


def test_the_result_of_an_entry_squeezed_out_goes_to_the_banks() -> None:
    bench = Bench(entries=6, window=7)
    bench.insert(to=0)
    bench.run(1, 2, 3, 4, 5)
    victim = bench.insert(10)
    assert isinstance(victim, Entry)
    assert victim.register == 0
    bench.window.squeeze(victim)
    assert not bench.result(0)


def test_nothing_is_squeezed_while_enough_leave_anyway() -> None:
    bench = Bench(entries=6, window=2)
    for register in range(6):
        done = bench.window.insert(Collected(_uop((), register, 1, EVERY, BOTH), 0))
        assert isinstance(done, Insertion)
        assert bench.result(register)
    assert bench.insert(10) is None


def test_a_claimed_entry_is_not_squeezed() -> None:
    bench = Bench(entries=6, window=7)
    bench.run(0, 1, 2, 3, 4, 5)
    bench.window.entries[0].claimed = True
    victim = bench.insert(10)
    assert isinstance(victim, Entry)
    assert victim.register == 1


@pytest.mark.parametrize("window", range(2, 8))
def test_the_fewest_entries_let_the_widest_uops_through(window: int) -> None:
    """Six entries, six sources, all of them dirty before: each uop gets in after at most six evictions."""
    bench = Bench(entries=6, window=window)
    for turn in range(20):
        base = 8 * (turn % 3)
        for _ in range(7):
            done = bench.insert(*range(base, base + 6), to=base, count=2, write_back=TO_COLLECTOR)
            if isinstance(done, Insertion):
                break
            if done is not None:
                bench.window.squeeze(done)
                bench.drain()
        else:
            pytest.fail(f"uop {turn} got no entries")
        bench.dispatch()
        for register in (base, base + 1):
            bench.result(register)


def test_a_partial_result_merges_into_a_complete_entry() -> None:
    bench = Bench()
    bench.run(1)
    assert bench.run(to=1, mask=SOME).reserved == 1
    (entry,) = (entry for entry in bench.window.entries if entry.valid)
    assert entry.value is not None
    assert entry.value.tolist() == [7, 7, 101, 101]
    bench.slide(3)
    assert bench.banks == [1]


def test_a_partial_result_alone_goes_to_the_banks() -> None:
    bench = Bench()
    assert bench.run(to=1, mask=SOME).reserved == 0
    assert not bench.holds(1)


@pytest.mark.parametrize(
    ("first", "second"), [(BOTH, TO_COLLECTOR), (TO_COLLECTOR, BOTH), (TO_COLLECTOR, TO_BANKS)]
)
def test_a_partial_result_on_a_dirty_value_keeps_what_either_must_keep(first: int, second: int) -> None:
    """A guarded write does not replace the value: if either must reach the banks, both do."""
    bench = Bench()
    bench.run(to=1, write_back=first)
    assert bench.run(to=1, mask=SOME, write_back=second).overwritten == 0
    bench.slide(3)
    assert bench.banks == [1]


def test_a_partial_result_for_the_banks_ends_a_clean_values_stay() -> None:
    bench = Bench()
    bench.run(1)
    assert bench.run(to=1, mask=SOME, write_back=TO_BANKS).reserved == 0
    assert not bench.holds(1)


def test_several_result_registers() -> None:
    bench = Bench()
    assert bench.run(to=4, count=4).reserved == 4
    bench.slide(3)
    assert bench.banks == [4, 5, 6, 7]


def test_without_a_free_entry_the_result_goes_to_the_banks() -> None:
    """Room is made for operands only."""
    bench = Bench(entries=6, window=7)
    done = bench.run(0, 1, 2, 3, 4, 5, to=8)
    assert done.reserved == 0
    assert not bench.result(8)


def test_a_new_warp_finds_nothing() -> None:
    bench = Bench()
    bench.run(1, to=2)
    bench.window.clear()
    assert bench.window.used == 0
    assert not bench.holds(1)
    assert bench.banks == []
