"""The two-level scheduler: who is active, and what the cycles in which a ready warp is not are counted as."""

from __future__ import annotations

import pytest

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.counters import count, stalls
from warpbank.arch.events import Record
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.front_end.two_level import TwoLevel
from warpbank.golden.probe import Probe
from warpbank.golden.sm import simulate
from warpbank.program.random_programs.operations import random_trace

TINY = with_overrides(preset("tiny"), ["sub_core.front_end.scheduler=two_level"])


def made(warps: int, active: int) -> TwoLevel:
    return TwoLevel(
        with_overrides(TINY, [f"sub_core.warps={warps}", f"sub_core.active_warps={active}"]).sub_core,
        Probe(0, None),
    )


def test_a_warp_that_waits_makes_room_for_the_oldest() -> None:
    sets = made(4, 2)
    assert [sets.edge(0) for _ in range(3)] == [(0b0001, 0), (0b0010, 0), (0, 0)]
    assert sets.edge(0b0101) == (0, 0b0001)  # warp 0 goes; its place is free from the next cycle on
    sets.start(2)
    assert sets.edge(0b0001) == (0b1000, 0)  # warp 3 is older than the new warp 2
    assert sets.active == 0b1010


def test_nobody_away_is_activated() -> None:
    sets = made(4, 2)
    assert not sets.moves(0b1111)
    assert sets.edge(0b1111) == (0, 0)
    assert sets.edge(0, 0b0100) == (0b0100, 0)


def test_active_warps_take_turns() -> None:
    sets = made(4, 4)
    assert [sets.pick(0b1011) for _ in range(4)] == [0, 1, 3, 0]


@pytest.mark.quick("*-1", "*-8")
@pytest.mark.parametrize("active", [1, 2, 8, 20])
@pytest.mark.parametrize("scheme", ["baseline", "bow-wr", "malekeh"])
def test_every_program_ends_and_skipping_is_exact(scheme: str, active: int) -> None:
    """CTAs of up to eight warps with barriers, and fewer places."""
    config = with_overrides(TINY, [f"sub_core.active_warps={active}"])
    for seed in range(3):
        trace = random_trace(seed)
        records: list[Record] = []
        result = simulate(trace, config, parse_scheme(scheme), events=records)
        slow = simulate(trace, config, parse_scheme(scheme), skip=False)
        assert (slow.cycles, slow.counters, slow.stalls) == (result.cycles, result.counters, result.stalls), (
            f"seed {seed}"
        )
        assert count(records) == result.counters
        assert stalls(records, 1) == result.stalls_per_scheduler
        active_now: set[int] = set()
        for _, _, name, values in sorted(records, key=lambda record: record[0]):
            if name == "deactivate":
                active_now.discard(values[0])
            elif name == "activate":
                active_now.add(values[0])
                assert len(active_now) <= active
        assert result.counters["two_level.activations"] == result.counters["two_level.deactivations"] > 0
