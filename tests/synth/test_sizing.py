"""Sizing: cells of late paths are exchanged until the clock is met, and no netlist becomes slower."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hdl.bench import SEEDS
from warpbank.synth import sizing, timing
from warpbank.synth.flow import Tools
from warpbank.synth.mapped import Instance, Netlist
from warpbank.synth.sizing import Sizer
from warpbank.synth.timing import BoxTiming


def chain(kinds: str) -> Netlist:
    """A register, gates of one input in a row, a register; eight more gates hang on each net."""
    cells = [Instance("first", "DFF", {"C": 0, "D": 1, "Q": 2})]
    for place, kind in enumerate(kinds.split()):
        cells.append(Instance(f"gate_{place}", kind, {"A": place + 2, "Y": place + 3}))
    last = len(cells) + 1
    loads = [(net, number) for net in range(2, last + 1) for number in range(8)]
    cells += [
        Instance(f"load_{net}_{number}", "INV", {"A": net, "Y": 100 * net + number}) for net, number in loads
    ]
    cells.append(Instance("last", "DFF", {"C": 0, "D": last, "Q": last + 1}))
    return Netlist("chain", {"clk": [0], "d": [1]}, {"q": [last + 1]}, cells, {})


def loaded(many: int) -> Netlist:
    """A chain, one net of which drives many registers beside the chain: these have all the time there is."""
    net = chain("INV INV INV INV")
    for number in range(many):
        net.cells.append(Instance(f"early_{number}", "DFF", {"C": 0, "D": 2, "Q": 3000 + number}))
    return net


def cloud(rng: random.Random, gates: int) -> Netlist:
    """Registers between random gates, each of which reads what is before it."""
    nets = list(range(1, 6))
    cells = [Instance(f"in_{bit}", "DFF", {"C": 0, "D": bit, "Q": bit + 10}) for bit in nets]
    nets = [bit + 10 for bit in nets]
    for place in range(gates):
        kind = rng.choice(("INV", "NAND2", "NOR2", "BUF", "XOR2"))
        pins = {pin: rng.choice(nets[-8:]) for pin in ("A" if kind in ("INV", "BUF") else "AB")}
        cells.append(Instance(f"gate_{place}", kind, {**pins, "Y": 100 + place}))
        nets.append(100 + place)
    ends = rng.sample(nets, 6)
    cells += [Instance(f"out_{bit}", "DFF", {"C": 0, "D": bit, "Q": 1000 + bit}) for bit in ends]
    outputs = [1000 + bit for bit in ends]
    return Netlist("cloud", {"clk": [0], "d": list(range(1, 6))}, {"q": outputs}, cells, {})


def delay(net: Netlist, tools: Tools, boxes: dict[str, BoxTiming] | None = None) -> float:
    return timing.Timer(net, tools.library, boxes or {}, tools.load).path().delay


def area(net: Netlist, tools: Tools) -> float:
    return sum(tools.library[cell.type].area for cell in net.cells)


def resize(net: Netlist, tools: Tools, clock: float) -> dict[str, str]:
    """Exchange cells; the new type of each cell that has another one."""
    sizer, old = Sizer(net, tools.library, {}, tools.load), [cell.type for cell in net.cells]
    before = sizer.delay
    assert sizer.run(clock) <= before
    sizer.apply()
    return {cell.name: cell.type for cell, kind in zip(net.cells, old, strict=True) if cell.type != kind}


def test_no_cell_changes_where_the_clock_is_met(tools: Tools) -> None:
    net = chain("INV INV INV")
    assert resize(net, tools, delay(net, tools)) == {}


def test_a_path_without_cells_is_left(tools: Tools) -> None:
    """From an input to an output: it is the slowest, and nothing can be done."""
    late = chain("INV")
    late.outputs["through"] = late.inputs["through"] = list(range(7000, 7050))
    late.cells += [Instance(f"pin_{n}", "INV", {"A": 7000, "Y": 8000 + n}) for n in range(60)]
    before = delay(late, tools)
    resize(late, tools, 0.01)
    assert delay(late, tools) <= before


def test_as_many_cells_change_as_the_clock_needs(tools: Tools) -> None:
    few, many = chain("INV INV INV INV"), chain("INV INV INV INV")
    before = delay(few, tools)
    little = resize(few, tools, 0.97 * before)
    much = resize(many, tools, 0.8 * before)
    assert delay(few, tools) <= 0.97 * before
    assert delay(many, tools) <= 0.8 * before
    assert 0 < len(little) < len(much)
    assert {cell.name: cell.type for cell in many.cells} | much == {
        cell.name: cell.type for cell in many.cells
    }
    assert area(few, tools) < area(many, tools)


def test_what_cannot_be_met_is_as_fast_as_single_cells_make_it(tools: Tools) -> None:
    net = chain("INV INV INV INV")
    before = delay(net, tools)
    resize(net, tools, 0.01)
    reached = delay(net, tools)
    assert reached < before
    assert resize(net, tools, 0.01) == {}
    assert delay(net, tools) == reached


def test_a_family_has_cells_of_one_function(tools: Tools) -> None:
    found = sizing.families(tools.library)
    assert [cell.name for cell in found["INV"]] == ["INV", "INV_2"]
    assert [cell.name for cell in found["DFF_2"]] == ["DFF", "DFF_2"]
    assert [cell.name for cell in found["BUF2"]] == ["BUF", "BUF2"]
    assert [cell.name for cell in found["XOR2"]] == ["XOR2"]


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, gates=st.integers(5, 60), share=st.floats(0.7, 0.99))
def test_a_netlist_becomes_no_slower(tools: Tools, seed: int, gates: int, share: float) -> None:
    net = cloud(random.Random(seed), gates)
    before = delay(net, tools)
    old = replace(net, cells=[replace(cell) for cell in net.cells])
    types = resize(net, tools, share * before)
    assert delay(net, tools) <= before + 0.0001
    changed = {
        new.name: new.type for new, was in zip(net.cells, old.cells, strict=True) if new.type != was.type
    }
    assert types == changed


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, gates=st.integers(100, 300))
def test_what_is_left_at_the_end_is_little(tools: Tools, seed: int, gates: int) -> None:
    """One that begins anew, with cells that brought nothing before, finds little more."""
    net = cloud(random.Random(seed), gates)
    resize(net, tools, 0.01)
    reached = delay(net, tools)
    resize(net, tools, 0.01)
    assert delay(net, tools) > 0.98 * reached, f"seed {seed}"


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, gates=st.integers(20, 100))
def test_no_single_change_is_much_better(tools: Tools, seed: int, gates: int) -> None:
    """Against all changes of one cell, tried by a timer that begins anew."""
    net = cloud(random.Random(seed), gates)
    resize(net, tools, 0.01)
    reached, found = delay(net, tools), sizing.families(tools.library)
    for cell in net.cells:
        before = cell.type
        for kind in found[before]:
            cell.type = kind.name
            assert delay(net, tools) > 0.99 * reached, f"seed {seed}: {cell.name} as {kind.name}"
        cell.type = before


def test_paths_that_are_equally_late_become_faster_one_after_the_other(tools: Tools) -> None:
    """Two chains meet in one register: no change of one cell brings anything."""
    net = chain("INV INV INV INV")
    twin = [replace(cell, name=f"twin_{cell.name}") for cell in net.cells if cell.name != "last"]
    for cell in twin:
        cell.pins = {pin: bit + 5000 * (pin != "C") for pin, bit in cell.pins.items()}
    last = next(cell for cell in net.cells if cell.name == "last")
    both = Instance("both", "NAND2", {"A": last.pins["D"], "B": last.pins["D"] + 5000, "Y": 9999})
    last.pins = {**last.pins, "D": 9999}
    net.cells += [*twin, both]
    net.inputs["d"].append(5001)
    before = delay(net, tools)
    types = resize(net, tools, 0.9 * before)
    assert delay(net, tools) <= 0.9 * before
    assert {name.startswith("twin_") for name in types} == {False, True}


def test_what_only_loads_a_late_path_becomes_smaller(tools: Tools) -> None:
    net = chain("INV INV INV INV")
    for cell in net.cells:
        if cell.name.startswith("load_"):
            cell.type = "INV_2"
    types = resize(net, tools, 0.01)
    assert {types[name] for name in types if name.startswith("load_")} == {"INV"}
