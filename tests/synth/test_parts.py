"""The logic of each sub-unit's registers is copied and marked, and what the netlist computes stays what it
was."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tests.synth import library
from tests.synth.test_memory_paths import cells, computed, marked
from warpbank.synth import cones, flow, netlist, parts, pdk
from warpbank.synth.flow import Tools

WIDTH = 12


class Half(wiring.Component):
    """A register that follows its input where it is told to."""

    def __init__(self) -> None:
        super().__init__({"enable": In(1), "given": In(WIDTH), "held": Out(WIDTH)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal(WIDTH)
        with m.If(self.enable):
            m.d.sync += held.eq(self.given ^ held)
        m.d.comb += self.held.eq(held)
        return m


class Halves(wiring.Component):
    """Two sub-units that need one sum, and a register beside them."""

    def __init__(self) -> None:
        super().__init__({"a": In(WIDTH), "b": In(WIDTH), "out": Out(WIDTH)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.left = left = Half()
        m.submodules.right = right = Half()
        total, beside = Signal(WIDTH), Signal(WIDTH)
        m.d.comb += [
            total.eq(self.a + self.b),
            left.given.eq(total),
            right.given.eq(~total),
            left.enable.eq(total[-1]),
            right.enable.eq(total[0]),
            self.out.eq(left.held ^ right.held ^ beside),
        ]
        m.d.sync += beside.eq(total & self.a)
        return m


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tools, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("parts")
    (folder / "small.lib").write_text(library.text())
    tools = pdk.load([folder / "small.lib"], folder)
    flow.coarse(netlist.to_rtlil(Halves(), "lookup"), "lookup", folder)
    flow.gates(tools, "lookup", folder, {})
    return tools, json.loads((folder / "gates.json").read_text())


def parted(made: tuple[Tools, dict[str, Any]], folder: Path) -> tuple[dict[str, Any], list[str]]:
    tools, design = made
    (folder / "gates.json").write_text(json.dumps(copy.deepcopy(design)))
    marks = parts.part(folder / "gates.json", "lookup", set(), tools.library)
    return json.loads((folder / "gates.json").read_text()), marks


def ends(tools: Tools, design: dict[str, Any]) -> list[int]:
    """Nets that registers take."""
    flop = tools.library.flop
    return [cell["connections"][flop.data][0] for cell in cells(design).values() if cell["type"] == flop.name]


def test_each_sub_unit_has_gates_of_its_own(
    made: tuple[Tools, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(parts, "LEAST", WIDTH)
    monkeypatch.setattr(parts, "MANY", 2)
    apart, marks = parted(made, tmp_path)
    assert marks == ["part_0", "part_1"]
    outputs = [{net for cell in marked(apart, mark) for net in cones.nets(cell, "output")} for mark in marks]
    found = [sum(net in own for net in ends(made[0], apart)) for own in outputs]
    assert found == [WIDTH, WIDTH], "the registers of the two sub-units, and not the one beside them"
    for mark, own in zip(marks, outputs, strict=True):
        for name, cell in cells(apart).items():
            if cell["type"] in cones.GATES and mark not in cell["attributes"]:
                assert not own & set(cones.nets(cell, "input")), f"{name} reads what is only {mark}'s"


def test_nothing_else_is_computed(
    made: tuple[Tools, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(parts, "LEAST", WIDTH)
    monkeypatch.setattr(parts, "MANY", 2)
    (apart, _), rng = parted(made, tmp_path), random.Random(1)
    (tools, design), ports = made, made[1]["modules"]["lookup"]["ports"]
    others = [cell for cell in cells(design).values() if cell["type"] not in cones.GATES]
    starts = [net for cell in others for net in cones.nets(cell, "output")]
    starts += [net for port in ports.values() if port["direction"] == "input" for net in port["bits"]]
    for _ in range(30):
        given: dict[int, bool] = {net: rng.random() < 0.5 for net in starts}
        one, other = computed(design, given), computed(apart, given)
        assert [one[net] for net in ends(tools, design)] == [other[net] for net in ends(tools, apart)]
        assert [one[net] for net in ports["out"]["bits"]] == [other[net] for net in ports["out"]["bits"]]


def test_a_unit_with_too_many_gates_in_copies_stays(
    made: tuple[Tools, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "LEAST", WIDTH)
    monkeypatch.setattr(parts, "MANY", 2)
    apart, marks = parted(made, tmp_path)
    assert marks
    many = len(cells(apart))
    for most, expected in ((many, marks), (many - 1, [])):
        monkeypatch.setattr(parts, "MOST", most)
        again, found = parted(made, tmp_path)
        assert found == expected
        assert again == (apart if expected else made[1])


def test_a_unit_without_large_sub_units_stays(made: tuple[Tools, dict[str, Any]], tmp_path: Path) -> None:
    apart, marks = parted(made, tmp_path)
    assert not marks
    assert apart == made[1]
