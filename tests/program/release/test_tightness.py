"""Dead bits and release flags against a replay that knows the future: nothing that is needed is lost, and
little else is held. The table of all kernels, in docs/release.md: `python -m tests.hint_tightness`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.hint_tightness import Tightness, of_kernel, tightness
from warpbank import workloads
from warpbank.program.hints import Hints
from warpbank.program.trace.builder import TraceBuilder, alu
from warpbank.program.trace.schema import Trace


def by_hand(dead: dict[int, int]) -> Trace:
    """R1 is written, read, written on one lane, and read twice."""
    ops = [alu(1), alu(2, 1), alu(1, mask=1), alu(3, 1), alu(4, 1)]
    trace = TraceBuilder().launch([ops]).build()
    bits = np.zeros(len(trace.code), np.uint8)
    for pc, mask in dead.items():
        bits[pc] = mask
    return replace(trace, hints=replace(Hints.none(len(trace.code)), dead=bits))


def test_a_replay_by_hand() -> None:
    """Six instructions, EXIT included. R1 is needed behind the first four, held behind all; R2, R3 and R4 are
    never read."""
    none = tightness(by_hand({}))
    assert none == Tightness(
        lost=0, last_reads=1, marked=0, wrong=0, needed=4, held=6 + 5 + 3 + 2, written=6 + 5 + 3 + 2
    )
    right = tightness(by_hand({4: 1}))
    assert right == none._replace(marked=1, held=none.held - 2)
    early = tightness(by_hand({3: 1}))
    assert early.wrong == 1
    assert early.lost == 1


def test_a_lane_that_is_not_written_again_is_lost() -> None:
    """The read before the partial write is not the last of the other lanes."""
    early = tightness(by_hand({1: 1}))
    assert early.wrong == 1
    assert early.lost == 3


FEW = ("bfs", "btree", "reduction", "sad", "vectoradd")


@pytest.mark.parametrize(
    "name",
    [name if name in FEW else pytest.param(name, marks=pytest.mark.long) for name in workloads.names()],
)
def test_nothing_that_a_lane_needs_is_lost(name: str) -> None:
    dead, flags = of_kernel(name)
    assert (dead.lost, dead.wrong) == (0, 0)
    assert (flags.lost, flags.wrong) == (0, 0)
    assert dead.needed == flags.needed <= flags.held <= flags.written
    assert dead.dead_bits > 0.4
    assert flags.flags > 0.6
