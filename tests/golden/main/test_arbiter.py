"""The bank arbiter alone."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from


def test_first_from_wraps() -> None:
    assert [first_from(0b1010, pointer) for pointer in range(4)] == [1, 1, 3, 3]
    assert first_from(0b0011, 2) == 0


def test_oldest_first_within_a_bank() -> None:
    arbiter = Arbiter(2, Probe(0, None))
    for slot in (2, 0, 1):
        arbiter.request(0, 0, 0, slot)
    assert [arbiter.step(0)[0][3] for _ in range(3)] == [2, 0, 1]
    assert arbiter.pending == 0


def test_a_written_bank_is_not_read() -> None:
    arbiter = Arbiter(2, Probe(0, None))
    arbiter.request(0, 7, 0, 0)
    arbiter.request(1, 8, 1, 0)
    assert arbiter.step(0b01) == [(1, 8, 1, 0, 0)]
    assert arbiter.step(0b00) == [(0, 7, 0, 0, 0)]


def test_the_port_rotates_between_banks() -> None:
    arbiter = Arbiter(4, Probe(0, None))
    for bank in (0, 2, 3):
        for _ in range(2):
            arbiter.request(bank, 0, 0, 0)
    assert [arbiter.step(0)[0][0] for _ in range(6)] == [0, 2, 3, 0, 2, 3]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 5)), max_size=3), max_size=30
    ),
    st.lists(st.integers(0, 15), max_size=30),
)
def test_nobody_starves(requests: list[list[tuple[int, int, int]]], written: list[int]) -> None:
    """Every request is granted exactly once, and a bank that nobody writes serves its head within as many
    cycles as banks."""
    arbiter = Arbiter(4, Probe(0, None))
    asked: list[tuple[int, int]] = []
    granted: list[tuple[int, int]] = []
    waits = [0] * 4
    heads = [0] * 4
    for cycle in range(200):
        busy = written[cycle] if cycle < len(written) else 0
        before = list(heads)
        grants = arbiter.step(busy)
        assert (
            len({bank for bank, *_ in grants})
            == len({collector for _, _, collector, *_ in grants})
            == len(grants)
        )
        assert not any(busy >> bank & 1 for bank, *_ in grants)
        served = {bank for bank, *_ in grants}
        for bank in range(4):
            waits[bank] = waits[bank] + 1 if before[bank] and bank not in served and not busy else 0
            assert waits[bank] < 4
        for bank, row, *_ in grants:
            granted.append((bank, row))
            heads[bank] -= 1
        for bank, collector, slot in requests[cycle] if cycle < len(requests) else ():
            arbiter.request(bank, len(asked), collector, slot)
            asked.append((bank, len(asked)))
            heads[bank] += 1
    assert sorted(granted) == sorted(asked)
    for bank in range(4):
        rows = [row for where, row in granted if where == bank]
        assert rows == sorted(rows), "oldest first"
