"""Power: the gate simulation against the RTL, the sum by hand, and a unit inside a real kernel."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator

from tests.cli.command import warpbank
from tests.synth import library
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.hdl.lfsr import Lfsr
from warpbank.hdl.storage.decompressor import Decompressor
from warpbank.synth import flow, gates, mapped, netlist, pdk, power
from warpbank.synth.liberty import Library, parse
from warpbank.synth.mapped import NetlistError
from warpbank.synth.units import make

BASELINE = parse_scheme("baseline")


def _recorded(component: Any, cycles: int, seed: int) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Random inputs, and what the RTL answers."""
    draw = random.Random(seed)
    ports = netlist.ports(component)
    inputs: dict[str, list[int]] = {port.name: [] for port in ports if not port.output}
    outputs: dict[str, list[int]] = {port.name: [] for port in ports if port.output}
    signals = {
        "__".join(map(str, path)): Value.cast(value)
        for path, _, value in component.signature.flatten(component)
    }

    async def bench(ctx: Any) -> None:
        for _ in range(cycles):
            for name, column in inputs.items():
                column.append(draw.getrandbits(len(signals[name])))
                ctx.set(signals[name], column[-1])
            for name, column in outputs.items():
                column.append(ctx.get(signals[name]))
            await ctx.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return inputs, outputs


def _netlist(
    folder: Path, name: str, component: Any, read: str = flow.PLAIN, way: str = flow.SMALL, cells: str = ""
) -> tuple[flow.Tools, mapped.Netlist]:
    (folder / "small.lib").write_text(cells or library.text(inverted=read != flow.PLAIN))
    tools = pdk.load([folder / "small.lib"], folder)
    flow.coarse(netlist.to_rtlil(component, name), name, folder)
    flow.mapped(tools, name, folder, picoseconds=800, boxes={}, read=read, way=way)
    return tools, mapped.read(folder / "mapped.json", name)


def test_gates_do_what_the_rtl_does(tmp_path: Path) -> None:
    """Registers whose first value is not 0 among them."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")  # noqa: T201
    inputs, outputs = _recorded(Lfsr(5), 100, seed)
    tools, net = _netlist(tmp_path, "lfsr", Lfsr(5))
    active = gates.simulate(net, tools.library, inputs)
    assert active.outputs == outputs
    assert sum(active.toggles.values()) > 100
    stimulus = power.Stimulus(inputs, outputs, "")
    spent = power.estimate(net, tools, stimulus, 1.0)
    parts = ("clock", "combinational", "register", "leakage")
    assert spent["total"] == pytest.approx(sum(spent[name] for name in parts), abs=1e-5)
    assert spent["leakage"] == pytest.approx(
        sum(tools.library[cell.type].leakage for cell in net.cells) * 1e-6, abs=1e-6
    )
    flops = sum(1 for cell in net.cells if cell.type == "DFF")
    capacitance = flops + tools.library.wire(flops)
    assert spent["clock"] == pytest.approx((flops * 2 * 1.5 + capacitance) * 1e-3, abs=1e-5)
    slow = power.estimate(net, tools, stimulus, 2.0)
    assert slow["clock"] == pytest.approx(spent["clock"] / 2, abs=1e-5)
    assert slow["leakage"] == spent["leakage"]
    still = power.estimate(net, tools, power.Stimulus({"rst": [0] * 50}, {}, ""), 1.0)
    assert still["register"] < spent["register"]
    name = next(iter(outputs))
    wrong = power.Stimulus(inputs, {name: [value ^ 1 for value in outputs[name]]}, "")
    with pytest.raises(NetlistError, match="differs from its RTL: in cycle 0"):
        power.estimate(net, tools, wrong, 1.0)


def test_busy_cycles_alone(tmp_path: Path) -> None:
    """The cycles in which a unit takes a value, one after the other: the netlist answers as the RTL did, and
    its clock is never gated."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")  # noqa: T201
    unit = Decompressor(with_overrides(preset("tiny"), ["lanes=2"]))
    inputs, outputs = _recorded(unit, 300, seed)
    whole = power.Stimulus(inputs, outputs, "s")
    busy = whole.busy()
    assert busy is not None
    assert busy.source == "s"
    taken = [cycle for cycle, on in enumerate(inputs["enable"]) if on]
    assert 100 < len(taken) < 200
    assert busy.inputs["data"] == [inputs["data"][cycle] for cycle in taken]
    assert busy.outputs["value"] == [outputs["value"][cycle] for cycle in taken]
    tools, net = _netlist(tmp_path, "decompressor", unit)
    spent, all_cycles = (power.estimate(net, tools, one, 1.0) for one in (busy, whole))
    assert spent["register"] > 1.5 * all_cycles["register"]
    assert spent["leakage"] == all_cycles["leakage"]
    assert power.Stimulus({"enable": [0, 0]}, {}, "").busy() is None
    assert power.Stimulus({"rst": [0, 0]}, {}, "").busy() is None


#: Units that any input is legal for: compared in the default suite, and when there is time.
QUICK = ("compressor", "decompressor", "address_allocation", "gto")
SLOW = ("compressor_half",)


@pytest.mark.parametrize("way", [flow.SMALL, flow.BARE])
@pytest.mark.parametrize("unit", [*QUICK, *(pytest.param(unit, marks=pytest.mark.long) for unit in SLOW)])
def test_gates_of_a_unit(unit: str, way: str, tmp_path: Path) -> None:
    """Random inputs: the mapped netlist answers as the RTL in every cycle."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")  # noqa: T201
    config = preset("tiny")
    inputs, outputs = _recorded(make(unit, config, BASELINE), 200, seed)
    tools, net = _netlist(tmp_path, unit, make(unit, config, BASELINE), way=way)
    active = gates.simulate(net, tools.library, inputs)
    assert active.outputs == {name: column for name, column in outputs.items() if name in active.outputs}
    assert active.outputs


def test_gates_at_both_outputs_of_registers(tmp_path: Path) -> None:
    """The netlist answers as the RTL, and some registers are read inverted too."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")  # noqa: T201
    config = preset("tiny")
    inputs, outputs = _recorded(make("compressor", config, BASELINE), 100, seed)
    tools, net = _netlist(tmp_path, "compressor", make("compressor", config, BASELINE), flow.BOTH)
    active = gates.simulate(net, tools.library, inputs)
    assert active.outputs == {name: column for name, column in outputs.items() if name in active.outputs}
    taken = {bit for cell in net.cells for pin, bit in cell.pins.items() if pin not in ("Q", "QN", "Y")}
    taken |= {bit for bits in net.outputs.values() for bit in bits}
    used = [
        {pin for pin in ("Q", "QN") if cell.pins.get(pin) in taken}
        for cell in net.cells
        if cell.type == "DFF"
    ]
    assert {"Q", "QN"} in used


@pytest.mark.parametrize(
    ("read", "way"), [(flow.PLAIN, flow.BARE), (flow.INVERTED, flow.SMALL), (flow.BOTH, flow.SMALL)]
)
def test_gates_of_flops_that_invert_their_data(read: str, way: str, tmp_path: Path) -> None:
    """As ASAP7's: the netlist answers as the RTL, however registers are read."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")  # noqa: T201
    inputs, outputs = _recorded(Lfsr(5), 100, seed)
    cells = library.text(inverted=True).replace('next_state : "D"', 'next_state : "!D"')
    tools, net = _netlist(tmp_path, "lfsr", Lfsr(5), read, way, cells)
    assert flow.can_invert(tools.library.flop)
    assert gates.simulate(net, tools.library, inputs).outputs == outputs


def test_one_output_is_not_read_inverted() -> None:
    """That which such a flop has may be either of the two."""
    for function in ("IQ", "IQN"):
        cells = library.text().replace('function : "IQ"', f'function : "{function}"')
        assert not flow.can_invert(Library([parse(cells, "small.lib")]).flop)


@pytest.mark.long
def test_in_a_kernel(tmp_path: Path) -> None:
    """pytest -m long tests/synth/test_power.py"""
    (tmp_path / "small.lib").write_text(library.text())
    base = ("--preset", "tiny", "--liberty", str(tmp_path / "small.lib"), "--kernel", "sad")
    done = warpbank("synth", "gto", *base, "--json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert data["power_mw"]["total"] > data["power_mw"]["leakage"] > 0
    assert "cycles of sad (tiny) on tiny" in data["method"]["power"]
    done = warpbank("synth", "lfsr", *base)
    assert done.code == 2
    assert "name the scheme that uses it" in " ".join(done.err.split())
