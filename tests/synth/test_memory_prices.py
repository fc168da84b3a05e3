"""Memories that are black boxes: what they cost against the memories mapped as a whole, and how a path through one is
timed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.synth import library
from warpbank.synth import mapped, memories, memory_prices, pdk, slices, timing
from warpbank.synth.flow import Tools
from warpbank.synth.mapped import Instance, Netlist
from warpbank.synth.memories import Macro, Memory, Tiling
from warpbank.synth.memory_prices import Price
from warpbank.synth.slices import Slice
from warpbank.synth.timing import BoxTiming, Timer

#: An array of wide words: two reads within the cycle, one at a fixed row.
WIDE = Memory("slots", 4, 64, 16, (None, 2), (False, False), False, 1, 2)
#: One whose words are written whole and read a cycle later.
CLOCKED = Memory("slots", 8, 64, 64, (None,), (True,), False, 1, 3)
#: A narrow array.
TALL = Memory("table", 128, 3, 3, (None, None), (False, False), False, 1, 7)


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    (tmp_path / "small.lib").write_text(library.text())
    return pdk.load([tmp_path / "small.lib"], tmp_path)


def priced(memory: Memory, tools: Tools, folder: Path) -> Price:
    return memory_prices.prices([memory], tools, folder, 1.0, lambda _: None)[memory.shape]


def whole(memory: Memory, tools: Tools, folder: Path) -> Slice:
    return slices.mapped_slice(memories.array(memory, memory.width), tools, folder, 1.0)


def flops(made: Slice) -> int:
    return sum(1 for cell in made.net.cells if cell.type == "DFF")


@pytest.mark.parametrize("memory", [WIDE, CLOCKED], ids=["within", "clocked"])
def test_a_wide_array_is_a_straight_line(memory: Memory, tools: Tools, tmp_path: Path) -> None:
    monkey = priced(memory, tools, tmp_path)
    made = whole(memory, tools, tmp_path)
    outputs = memory.width * sum(memory.synchronous)
    assert monkey.flops + outputs == flops(made)
    assert monkey.area == pytest.approx(made.area, rel=0.03)


@pytest.mark.long
def test_a_tall_array_is_a_straight_line(tools: Tools, tmp_path: Path) -> None:
    price, made = priced(TALL, tools, tmp_path), whole(TALL, tools, tmp_path)
    assert price.flops == flops(made) == 384
    assert price.area == pytest.approx(made.area, rel=0.15)
    assert price.timing.clock == pytest.approx(slices.timed(made.net, tools, 1.0).clock, rel=0.2)
