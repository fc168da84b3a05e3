"""Timing graph: times are those of the timer, at the beginning and when cells have been exchanged."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hdl.bench import SEEDS
from tests.synth.test_sizing import chain, cloud, delay, loaded
from warpbank.synth import sizing
from warpbank.synth.flow import Tools
from warpbank.synth.mapped import Instance, Netlist
from warpbank.synth.timing import BoxTiming
from warpbank.synth.timing_graph import NEVER, Graph


def graph(net: Netlist, tools: Tools, boxes: dict[str, BoxTiming] | None = None) -> Graph:
    return Graph(net, tools.library, boxes or {}, tools.load, sizing.families(tools.library))


def randomly(
    rng: random.Random, of: Graph, net: Netlist, tools: Tools, many: int
) -> tuple[list[int], list[int]]:
    """Cells, and kinds of their families."""
    found = sizing.families(tools.library)
    cells = [place for place in rng.sample(range(len(net.cells)), many) if net.cells[place].type in found]
    return cells, [of.number[rng.choice(found[net.cells[place].type]).name] for place in cells]


def memory(address: float, load: float = math.inf) -> tuple[Netlist, dict[str, BoxTiming]]:
    """A memory whose address comes through gates, and whose data go through gates to a register."""
    pins = {"RD_ADDR[0]": 4, "RD_DATA[0]": 5, "RD_DATA[1]": 6, "WR_DATA[0]": 4, "RD_CLK[0]": 0}
    cells = [
        Instance("first", "DFF", {"C": 0, "D": 1, "Q": 2}),
        Instance("before", "INV", {"A": 2, "Y": 3}),
        Instance("last_before", "BUF", {"A": 3, "Y": 4}),
        Instance("memory", "box", pins, {"RD_CLK_ENABLE": "0" if address else "1"}),
        Instance("behind", "NAND2", {"A": 5, "B": 6, "Y": 7}),
        *(Instance(f"load_{number}", "INV", {"A": 5, "Y": 20 + number}) for number in range(9)),
        Instance("last", "DFF", {"C": 0, "D": 7, "Q": 8}),
    ]
    box = BoxTiming(clock=0.3, address=address, setup={"WR_": 0.15, "RD_": 0.1}, load=load)
    return Netlist("memory", {"clk": [0], "d": [1]}, {"q": [8]}, cells, {}), {"box": box}


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, gates=st.integers(5, 60))
def test_times_stay_those_of_a_timer_that_begins_anew(tools: Tools, seed: int, gates: int) -> None:
    """Any cells take any types of their families, over and over."""
    rng = random.Random(seed)
    net = cloud(rng, gates)
    times = graph(net, tools)
    assert times.ends.max() == pytest.approx(delay(net, tools)), f"seed {seed}"
    for _ in range(20):
        cells, kinds = randomly(rng, times, net, tools, rng.randrange(1, 4))
        times.exchange(np.array(cells, np.int64), np.array(kinds, np.int64))
        for cell, kind in zip(cells, kinds, strict=True):
            net.cells[cell].type = times.kinds[kind]
        assert times.ends.max() == pytest.approx(delay(net, tools), abs=1e-5), f"seed {seed}"


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, gates=st.integers(5, 60))
def test_an_exchange_can_be_taken_back(tools: Tools, seed: int, gates: int) -> None:
    rng = random.Random(seed)
    net = cloud(rng, gates)
    times = graph(net, tools)
    names = ("kind", "loads", "arrival", "slew", "delay", "ends")
    before = {name: getattr(times, name).copy() for name in names}
    needed = times.required(1.0)
    cells, kinds = randomly(rng, times, net, tools, 3)
    times.exchange(np.array(cells, np.int64), np.array(kinds, np.int64)).restore()
    for name, was in before.items():
        assert (getattr(times, name) == was).all(), f"seed {seed}: {name}"
    assert (times.required(1.0) == needed).all(), f"seed {seed}"


@pytest.mark.parametrize("load", [math.inf, 2.0])
@pytest.mark.parametrize("address", [0.0, 0.4])
def test_a_memory_is_timed_as_the_timer_does(tools: Tools, address: float, load: float) -> None:
    net, boxes = memory(address, load)
    times = graph(net, tools, boxes)
    assert times.ends.max() == pytest.approx(delay(net, tools, boxes))
    place = next(number for number, cell in enumerate(net.cells) if cell.name == "before")
    times.exchange(np.array([place]), np.array([times.number["INV_2"]]))
    net.cells[place].type = "INV_2"
    assert times.ends.max() == pytest.approx(delay(net, tools, boxes))


def test_a_node_that_nothing_reaches_is_never_late(tools: Tools) -> None:
    net = chain("INV INV")
    net.cells.append(Instance("constant", "INV", {"A": -1, "Y": 777}))
    net.cells.append(Instance("held", "DFF", {"C": 0, "D": 777, "Q": 778}))
    times = graph(net, tools)
    assert (times.ends == NEVER).any()
    assert times.ends.max() == pytest.approx(delay(net, tools))


def test_slack_is_what_the_slowest_path_through_a_node_has_left(tools: Tools) -> None:
    net = chain("INV INV INV")
    times = graph(net, tools)
    slack = (times.required(2.0) - times.arrival)[times.arrival >= 0]
    assert slack.min() == pytest.approx(2.0 - delay(net, tools))
    deciding = times.deciding()
    weight = times.weights(0.0, deciding)
    ends = np.maximum(times.ends, 0.0)
    assert weight[0] == pytest.approx(ends.sum())  # all paths begin at the clock edge
    assert (times.weights(2.0, deciding) == 0).all()


def test_a_pin_has_the_slack_of_the_slowest_path_through_it(tools: Tools) -> None:
    net = loaded(3)
    times = graph(net, tools)
    slack = dict(zip(times.named(np.arange(len(times.pin_net))), times.pin_slack(2.0).tolist(), strict=True))
    place = {cell.name: number for number, cell in enumerate(net.cells)}
    left = 2.0 - delay(net, tools)
    assert slack[place["gate_2"], "A"] == pytest.approx(left)
    assert slack[place["last"], "D"] == pytest.approx(left)
    assert left < slack[place["early_0"], "D"] < 2.0
    assert slack[place["early_0"], "C"] == np.inf
    assert slack[place["load_3_0"], "A"] == np.inf, "nothing reads it"
