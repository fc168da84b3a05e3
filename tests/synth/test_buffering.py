"""Buffer insertion: pins behind a buffer have the time for it, and a netlist is what it was without it."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hdl.bench import SEEDS
from tests.synth.test_sizing import cloud, delay
from warpbank.synth import buffering
from warpbank.synth.flow import Tools
from warpbank.synth.sizing import Sizer


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, gates=st.integers(20, 100))
def test_buffers_can_be_taken_out_again(tools: Tools, seed: int, gates: int) -> None:
    net = cloud(random.Random(seed), gates)
    before = [(cell.name, cell.type, {**cell.pins}) for cell in net.cells]
    sizer = Sizer(net, tools.library, {}, tools.load)
    slope = np.ones(len(sizer.graph.loads))
    inserted = buffering.insert(net, tools.library, sizer.graph, slope, 2 * sizer.delay)
    assert inserted, f"seed {seed}"
    buffering.remove(net, inserted)
    assert [(cell.name, cell.type, cell.pins) for cell in net.cells] == before


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, gates=st.integers(20, 100))
def test_what_is_behind_a_buffer_has_the_time_for_it(tools: Tools, seed: int, gates: int) -> None:
    """Whatever a buffer would bring: no path becomes later than the clock by it."""
    net = cloud(random.Random(seed), gates)
    sizer = Sizer(net, tools.library, {}, tools.load)
    slope, clock = np.ones(len(sizer.graph.loads)), 1.2 * sizer.delay
    for place in sorted(sizer.graph.place.values()):
        one = np.where(np.arange(len(slope)) == place, slope, 0.0)
        inserted = buffering.insert(net, tools.library, sizer.graph, one, clock)
        assert delay(net, tools) <= clock, f"seed {seed}"
        buffering.remove(net, inserted)
