"""The logic of each sub-unit's registers is copied and marked, and what the netlist computes stays what it
was."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tests.synth import library
from tests.synth.test_memory_paths import cells, computed, marked
from warpbank.synth import cones, flow, netlist, parts, pdk, synthesis
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


def test_a_unit_without_large_sub_units_stays(made: tuple[Tools, dict[str, Any]], tmp_path: Path) -> None:
    apart, marks = parted(made, tmp_path)
    assert not marks
    assert apart == made[1]


@dataclass(frozen=True)
class _Mapped:
    """Mapped netlist, as far as the choice among several looks at it."""

    in_parts: bool
    delay: float
    net: Any
    way: str = flow.QUICK
    within: bool = False

    @property
    def late(self) -> bool:
        return self.delay > 1.0


@pytest.mark.parametrize(
    ("delays", "cells_", "tried"),
    [
        ({True: 0.9}, 10, [True]),
        ({True: 1.5, False: 0.9}, 10, [True, False]),
        ({True: 1.5, False: 1.02}, 10, [True, False, False]),  # once more, with a shorter target
        ({True: 1.02, False: 1.1}, 10, [True, False, True]),  # in parts, which are the faster
        ({True: 1.3, False: 1.26}, 10, [True, False]),  # too late
        ({True: 1.5}, 10_000_000, [True]),
        ({True: 1.1}, 10_000_000, [True, True]),
        ({False: 0.9}, 10, [False]),  # no sub-units
    ],
)
def test_a_unit_that_is_late_in_parts_is_mapped_as_one(
    delays: dict[bool, float], cells_: int, tried: list[bool]
) -> None:
    """A netlist in parts that is late, and not huge, gets one without parts beside it, to choose from. Only
    the last one, with its shorter target, keeps the sizes that cost time to make smaller."""
    net, gaps = SimpleNamespace(cells=range(cells_)), []

    def one(_: str, target: float, *rest: object, in_parts: bool = False, gap: int = flow.LOOSE) -> _Mapped:
        gaps.append(gap)
        assert (target < 0.9) == (gap == flow.TIGHT)
        kind = in_parts if in_parts in delays else not in_parts
        return _Mapped(kind, delays[kind], net)

    found = synthesis._quickly(one, 0.9, 1.0, {}, {}, lambda text: None)
    assert [each.in_parts for each in found] == tried
    assert flow.TIGHT not in gaps[:-1]


@pytest.mark.parametrize(("delay", "target"), [(1.002, 0.85), (1.08, 0.78)])
def test_a_huge_unit_gets_a_target_that_is_shorter_by_what_it_misses(delay: float, target: float) -> None:
    """By 5 % at least, and by 4 % more than the first netlist misses the clock."""
    targets = []

    def one(_: str, target: float, *rest: object, in_parts: bool = False, gap: int = flow.LOOSE) -> _Mapped:
        targets.append(target)
        return _Mapped(True, delay, SimpleNamespace(cells=range(10_000_000)))

    synthesis._quickly(one, 0.9, 1.0, {}, {}, lambda text: None)
    assert targets == pytest.approx([0.9, target])


@pytest.mark.parametrize(
    ("whole", "parts", "sized"),
    [
        ((1.02, 1.05), (1.1,), [1.02, 1.1]),
        ((1.05, 1.02), (), [1.02]),
        ((), (1.1, 1.04), [1.04]),
        ((1.2,), (1.1,), [1.1]),  # too late
        ((1.02, 0.99), (1.1,), []),  # one meets the clock
        ((1.02,), (1.0,), []),
    ],
)
def test_cells_become_larger_in_the_fastest_netlist_of_either_kind(
    whole: tuple[float, ...], parts: tuple[float, ...], sized: list[float]
) -> None:
    tried: Any = [
        _Mapped(kind, delay, None) for kind, delays in ((False, whole), (True, parts)) for delay in delays
    ]
    assert [one.delay for one in synthesis._nearest(tried, 1.0)] == sized
