"""Loop iterations that stand for others."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.sampling.jobs import looping
from warpbank.program.trace.builder import TraceBuilder, alu, barrier
from warpbank.sim.sampling.loops import barriers_agree, find_loop, kept_rows
from warpbank.sim.sampling.settings import Settings

SETTINGS = Settings(wave_instructions=40)


def test_iterations_are_left_out_between_two_heads() -> None:
    trace = looping(iterations=100, warps=4)
    loop = find_loop(trace, 0, 4, SETTINGS)
    assert loop is not None
    kept, weights = kept_rows(trace, 0, loop)
    length = int(trace.warps[0]["length"])
    assert len(kept) < length / 2
    assert weights.sum() == pytest.approx(length)
    assert kept[0] == 0
    assert kept[-1] == length - 1
    pcs = trace.dynamic["pc"][:length]
    jumps = np.flatnonzero(np.diff(kept) > 1)
    assert len(jumps)
    assert (pcs[kept[jumps + 1]] == loop.head).all()
    # Where a jump lands is what would have come next anyway: the head of another iteration.
    assert (pcs[kept[jumps] + 1] == loop.head).all()


def test_a_warp_without_a_loop_keeps_all() -> None:
    straight = [alu(1 + place, place % 7) for place in range(100)]
    trace = TraceBuilder().launch([straight], registers=128).build()
    assert find_loop(trace, 0, 4, SETTINGS) is None
    assert find_loop(looping(iterations=40), 0, 4, SETTINGS) is None


def test_another_number_of_iterations_keeps_the_same_fraction() -> None:
    long, short = looping(iterations=100), looping(iterations=75)
    loop = find_loop(long, 0, 4, SETTINGS)
    assert loop is not None
    assert np.diff(loop.bounds).min() == 8, "neighbours stay together"
    kept, weights = kept_rows(short, 0, loop)
    length = int(short.warps[0]["length"])
    assert weights.sum() == pytest.approx(length)
    assert len(kept) < length
    few = looping(iterations=len(loop.taken) - 2)
    assert len(kept_rows(few, 0, loop)[0]) == int(few.warps[0]["length"])


def test_warps_that_would_miss_each_other_are_seen() -> None:
    trace = looping(iterations=20, warps=2)
    length = int(trace.warps[0]["length"])
    whole = np.arange(length)
    arrivals = np.flatnonzero(trace.dynamic["flags"][:length] & 1)
    fewer = np.delete(whole, arrivals[3])
    assert barriers_agree(trace, range(2), [whole, whole])
    assert barriers_agree(trace, range(2), [fewer, fewer])
    assert not barriers_agree(trace, range(2), [whole, fewer])


def test_warps_at_barriers_of_their_own_lose_none() -> None:
    one, other = [alu(1), barrier(1, warps=1)] * 4, [alu(1), barrier(2, warps=1)] * 4
    trace = TraceBuilder().launch([one, other]).build()
    whole = np.arange(9)
    assert barriers_agree(trace, range(2), [whole, whole])
    assert not barriers_agree(trace, range(2), [whole[2:], whole[2:]])
