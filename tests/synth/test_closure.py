"""Timing closure: a netlist meets a clock that cells of other sizes and buffers can meet, and computes what
it did."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hdl.bench import SEEDS
from tests.synth.test_sizing import cloud, delay, loaded
from warpbank.synth import buffering, closure, flow, mapped, yosys
from warpbank.synth.closure import Changes
from warpbank.synth.flow import Tools
from warpbank.synth.mapped import Instance, Netlist
from warpbank.synth.sizing import Sizer


def close(net: Netlist, tools: Tools, clock: float) -> Changes:
    return closure.close(net, tools.library, {}, tools.load, clock)


def drivers(net: Netlist) -> dict[int, Instance]:
    return {cell.pins[pin]: cell for cell in net.cells for pin in ("Y", "Q") if pin in cell.pins}


def logic(net: Netlist) -> dict[str, object]:
    """Drivers of all pins, by name, buffers left out."""
    by_net = drivers(net)

    def source(bit: int) -> object:
        cell = by_net.get(bit)
        if cell is None:
            return bit
        return source(cell.pins["A"]) if cell.name.startswith("inserted_") else cell.name

    return {
        f"{cell.name}.{pin}": source(bit)
        for cell in net.cells
        if not cell.name.startswith("inserted_")
        for pin, bit in cell.pins.items()
        if pin not in ("Y", "Q", "C")
    }


def test_a_netlist_without_cells_is_left(tools: Tools) -> None:
    """From an input to an output: it is the slowest path, and nothing can be done."""
    net = Netlist("wire", {"clk": [0], "d": [1]}, {"q": [1]}, [], {})
    assert close(net, tools, 0.01) == Changes()


def test_what_is_early_is_driven_by_a_buffer(tools: Tools) -> None:
    net, sized = loaded(40), loaded(40)
    before = logic(net)
    alone = Sizer(sized, tools.library, {}, tools.load).run(0.01)
    said: list[str] = []
    changes = closure.close(net, tools.library, {}, tools.load, 0.9 * alone, said.append)
    assert delay(net, tools) <= 0.9 * alone
    assert sum(int(line.split()[1]) for line in said) == len(changes.inserted)
    moved = {cell.name for one in changes.inserted for cell, _ in one.pins}
    assert any(name.startswith("early_") for name in moved)
    assert not {name for name in moved if name.startswith("gate_")}, "these are late"
    assert logic(net) == before


def test_no_buffer_is_inserted_where_sizes_are_enough(tools: Tools) -> None:
    net = loaded(40)
    changes = close(net, tools, 0.99 * delay(net, tools))
    assert changes.types
    assert not changes.inserted


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, gates=st.integers(20, 200), share=st.floats(0.5, 0.99))
def test_logic_stays_and_no_path_becomes_slower(tools: Tools, seed: int, gates: int, share: float) -> None:
    net = cloud(random.Random(seed), gates)
    before, old = delay(net, tools), logic(net)
    names = [cell.name for cell in net.cells]
    changes = close(net, tools, share * before)
    assert delay(net, tools) <= before + 0.0001, f"seed {seed}"
    assert logic(net) == old, f"seed {seed}"
    assert [cell.name for cell in net.cells] == names + [one.buffer.name for one in changes.inserted]


def test_the_netlist_in_verilog_has_the_changes(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "unit.v").write_text(
        "module unit (input clk, input d, output q, output r); wire w;\n"
        "INV one (.A(d), .Y(w)); INV two (.A(w), .Y(q)); INV three (.A(w), .Y(r)); endmodule\n"
    )
    yosys.run(["read_verilog unit.v", "write_json net.json"], tmp_path)
    net = mapped.read(tmp_path / "net.json", "unit")
    three = next(cell for cell in net.cells if cell.name == "three")
    free = 1 + max(bit for cell in net.cells for bit in cell.pins.values())
    buffer = Instance(f"inserted_{free}", "BUF", {"A": three.pins["A"], "Y": free})
    inserted = buffering.Insertion(buffer, three.pins["A"], free, ((three, "A"),))
    flow.changed(tmp_path, "unit", "net.json", Changes({"two": "INV_2"}, [inserted]))
    yosys.run(["read_verilog mapped.v", "write_json again.json"], tmp_path)
    again = mapped.read(tmp_path / "again.json", "unit")
    assert again.count() == {"INV": 2, "INV_2": 1, "BUF": 1}
    by_net = {cell.pins["Y"]: cell for cell in again.cells}
    three = next(cell for cell in again.cells if cell.name == "three")
    behind = by_net[three.pins["A"]]
    assert behind.type == "BUF"
    assert by_net[behind.pins["A"]].name == "one"
