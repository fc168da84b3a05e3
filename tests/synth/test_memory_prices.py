"""Memories that are black boxes cost what they cost mapped as a whole; paths through them are timed so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.synth import library
from warpbank.synth import memories, memory_prices, pdk, slices, timing, yosys
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


def boxed(pins: dict[str, int], inputs: dict[str, list[int]], outputs: dict[str, list[int]]) -> Netlist:
    """Netlist of a memory `box` that is read within the cycle."""
    memory = Instance("memory", "box", pins, {"RD_CLK_ENABLE": "0"})
    return Netlist("top", inputs, outputs, [memory], {}, {})


def delay(tools: Tools, box: BoxTiming, net: Netlist, *ends: str, begins: str = "") -> float:
    return Timer(net, tools.library, {"box": box}, tools.load, begins=(begins,)).path(*ends).delay


@pytest.mark.parametrize("memory", [WIDE, CLOCKED], ids=["within", "clocked"])
def test_a_wide_array_is_a_straight_line(memory: Memory, tools: Tools, tmp_path: Path) -> None:
    price, made = priced(memory, tools, tmp_path), whole(memory, tools, tmp_path)
    registered = memory.width * sum(memory.synchronous)
    assert price.flops + registered == flops(made)
    assert price.area == pytest.approx(made.area, rel=0.03)


@pytest.mark.long
def test_a_tall_array_is_a_straight_line(tools: Tools, tmp_path: Path) -> None:
    """What is written comes through a tree, which the array that is mapped as a whole does not have."""
    price, made = priced(TALL, tools, tmp_path), whole(TALL, tools, tmp_path)
    assert price.flops == flops(made) == 384
    tree = TALL.width * (128 / 8 + 16 / 8) * tools.driver.area
    assert price.area == pytest.approx(made.area + tree, rel=0.05)
    assert price.timing.clock == pytest.approx(slices.timed(made.net, tools, 1.0).clock, rel=0.2)


@pytest.mark.parametrize("memory", [WIDE, CLOCKED], ids=["within", "clocked"])
@pytest.mark.parametrize(("pin", "port"), [("WR_DATA", "wd"), ("WR_EN", "we"), ("WR_ADDR", "wa")])
def test_a_path_into_an_array_counts_its_registers_setup(
    memory: Memory, pin: str, port: str, tools: Tools, tmp_path: Path
) -> None:
    """A path from a register into a pin of a black box takes as long as the slice's own, from a register in
    front of it to the setup of the last one, and the tree to what all columns share."""
    columns = memories.slice_widths(memory)[1]
    net = slices.mapped_slice(memories.array(memory, columns), tools, tmp_path, 1.0).net
    own = Timer(net, tools.library, {}, tools.load, begins=(f"input {port}",)).path("register", "clock gate")
    common = pin == "WR_ADDR" or (pin == "WR_EN" and memory.group == memory.width)
    tree = memory_prices._tree(tools, memory.width / columns, 1.0) if common else 0.0
    box, into = priced(memory, tools, tmp_path).timing, boxed({f"{pin}[0]": 2}, {"in": [2]}, {})
    assert delay(tools, box, into, "memory") == pytest.approx(own.delay + tree, abs=0.005)


def test_an_address_within_the_cycle_is_no_end(tools: Tools, tmp_path: Path) -> None:
    within, clocked = (priced(memory, tools, tmp_path).timing for memory in (WIDE, CLOCKED))
    assert "RD_ADDR" not in within.setup
    assert within.address > 0
    assert clocked.setup["RD_ADDR"] > 0
    assert clocked.address == 0
    net = boxed({"RD_ADDR[0]": 2}, {"in": [2]}, {})
    assert delay(tools, within, net, "memory") == 0
    assert delay(tools, clocked, net, "memory") > clocked.setup["RD_ADDR"]


def test_a_registered_read_has_its_setup_once(tools: Tools, tmp_path: Path) -> None:
    """What comes out of it is late by the launch of a register, with the load of four."""
    clocked = priced(CLOCKED, tools, tmp_path).timing
    assert clocked.clock == pytest.approx(timing.launch(tools.library, clocked.load), rel=0.1)


def test_the_guard_band_goes_into_an_array(tools: Tools, tmp_path: Path) -> None:
    price = priced(CLOCKED, tools, tmp_path)
    assert price.guarded.inside > price.timing.inside > 0
    assert all(price.guarded.setup[pin] > price.timing.setup[pin] for pin in ("WR_DATA", "RD_ADDR"))


def test_the_slowest_path_may_be_inside(tools: Tools) -> None:
    box = BoxTiming(0.1, 0.0, {}, inside=5.0)
    path = Timer(boxed({"RD_DATA[0]": 2}, {}, {"out": [2]}), tools.library, {"box": box}, tools.load).path()
    assert (path.delay, path.start, path.end) == (5.0, "memory memory", "memory memory")


def test_a_load_makes_data_late(tools: Tools) -> None:
    """Beyond the one with which the memory was measured."""
    light, heavy = (
        delay(tools, BoxTiming(0.1, 0.0, {}, load=load), boxed({"RD_DATA[0]": 2}, {}, {"out": [2]}), "output")
        for load in (1000.0, 1.0)
    )
    assert heavy > light > 0.1


def test_columns_written_together_load_a_net_once(tools: Tools) -> None:
    pins = {"WR_EN": [2, 2, 2, 3], "WR_DATA": [4, 4, 4, 4]}
    named = {f"{pin}[{index}]": net for pin, nets in pins.items() for index, net in enumerate(nets)}
    found = timing.loads(boxed(named, {}, {}), tools.library, {"box": BoxTiming(0.1, 0.1, {})}, 1.0, 1.0)
    assert found[2] == found[3] < found[4]


def test_what_is_written_goes_through_a_tree(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it goes to many rows: in this test to more than four, with two branches a stage."""
    monkeypatch.setattr(memory_prices, "FAN", 2)
    monkeypatch.setattr(memory_prices, "_ROWS", 4)
    late = []
    for rows in (2, 6, 8, 10):
        memory = Memory("", rows, 8, 2, (None,), (False,), False, 1, 4)
        late.append(priced(memory, tools, tmp_path).timing.setup["WR_DATA"])
    stage = late[3] - late[2]
    assert stage > 0
    assert late == pytest.approx([late[0], late[0] + 2 * stage, late[0] + 2 * stage, late[0] + 3 * stage])


def test_stacked_macros_have_a_choice(tools: Tools, tmp_path: Path) -> None:
    """Of three macros over each other: area, registers of the address, time; against one."""
    one, three = (
        priced(Memory("bank", rows, 256, 256, (None,), (True,), False, 1, 10), tools, tmp_path)
        for rows in (64, 1200)
    )
    assert one.tiling is not None
    assert one.tiling.down == 1
    assert three.tiling is not None
    assert three.tiling.down > 1
    assert (one.flops, three.flops) == (0, (three.tiling.down - 1).bit_length())
    assert three.area > three.tiling.area + 256 * (three.tiling.down - 1) * tools.library.nand2.area
    assert three.timing.clock > three.tiling.macro.access_ns
    assert three.timing.setup["RD_ADDR"] > three.timing.setup["WR_DATA"] == memories.table()["setup_ns"]


@pytest.mark.parametrize("row", range(3))
def test_the_choice_is_of_the_row_that_was_asked_for(row: int, tmp_path: Path) -> None:
    """What is enabled, and what is read a cycle later, proved by a SAT solver."""
    tiling = Tiling(Macro(32, 4, 1.0, 0.1, 1.0, 1.0), 3, 1)
    (tmp_path / "slice.v").write_text(memories.row_choice(tiling, 4))
    data = " ".join(f"-set-at 2 of{other} {other + 5}" for other in range(3))
    yosys.run(
        [
            "read_verilog slice.v",
            "prep -top slice",
            f"sat -verify -seq 2 -set-at 1 ra {row} -set-at 1 en 1 {data} -prove rd {row + 5} -prove-skip 1",
            f"sat -verify -set ra {row} -set en 1 -seq 1 -prove ce {1 << row}",
            f"sat -verify -set ra {row} -set en 0 -seq 1 -prove ce 0",
        ],
        tmp_path,
    )
