"""Logic around memories is copied and marked, and what the netlist computes stays the same."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from tests.synth import library
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.synth import flow, memories, memory_paths, netlist, synthesis, yosys

_GATES: dict[str, Any] = {
    "$_NOT_": lambda a: not a,
    "$_BUF_": lambda a: a,
    "$_AND_": lambda a, b: a and b,
    "$_OR_": lambda a, b: a or b,
    "$_XOR_": lambda a, b: a != b,
    "$_NAND_": lambda a, b: not (a and b),
    "$_NOR_": lambda a, b: not (a or b),
    "$_XNOR_": lambda a, b: a == b,
    "$_ANDNOT_": lambda a, b: a and not b,
    "$_ORNOT_": lambda a, b: a or not b,
    "$_MUX_": lambda a, b, s: b if s else a,
}


class Lookup(wiring.Component):
    """The lowest set bit of a register chooses a word, which is masked on its way out; the register's parity
    goes out, too."""

    def __init__(self) -> None:
        super().__init__(
            {"mask": In(8), "lanes": In(8), "write": In(1), "value": In(256), "word": Out(256), "odd": Out(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=256, depth=8, init=[])
        read, port, mask = words.read_port(domain="comb"), words.write_port(), Signal(8)
        lowest = mask & (~mask + 1)
        number = Cat((lowest & sum(1 << at for at in range(8) if at >> bit & 1)).any() for bit in range(3))
        m.d.sync += mask.eq(self.mask)
        m.d.comb += [
            read.addr.eq(number),
            port.addr.eq(number),
            port.data.eq(self.value),
            port.en.eq(self.write),
            self.odd.eq(number.xor()),
            self.word.eq(read.data & Cat((lane ^ number.xor()).replicate(32) for lane in self.lanes)),
        ]
        return m


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Its netlist in gates, the memory as a black box."""
    folder = tmp_path_factory.mktemp("around")
    flow.coarse(netlist.to_rtlil(Lookup(), "lookup"), "lookup", folder)
    (memory,) = memories.found(folder / "coarse.json", "lookup")
    (folder / "boxes.v").write_text(memories.box("box_0", memory))
    yosys.run(
        [
            "read_rtlil coarse.il",
            "read_verilog -lib boxes.v",
            f"chtype -set box_0 c:{memory.name}",
            "synth -flatten -noabc -top lookup -run fine:check",
            "simplemap",
            "write_json gates.json",
        ],
        folder,
    )
    design: dict[str, Any] = json.loads((folder / "gates.json").read_text())
    return design


def parted(design: dict[str, Any], folder: Path) -> dict[str, Any]:
    (folder / "gates.json").write_text(json.dumps(design))
    memory_paths.part(folder / "gates.json", "lookup", {"box_0"})
    found: dict[str, Any] = json.loads((folder / "gates.json").read_text())
    return found


def cells(design: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = design["modules"]["lookup"]["cells"]
    return found


def box(design: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(cell for cell in cells(design).values() if cell["type"] == "box_0")[
        "connections"
    ]
    return found


def marked(design: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [cell for cell in cells(design).values() if name in cell["attributes"]]


def computed(design: dict[str, Any], given: dict[int, bool]) -> dict[int | str, bool]:
    """All nets, from those of inputs, registers and memories."""
    known: dict[int | str, bool] = {"0": False, "1": True, "x": False, **given}
    gates = [cell for cell in cells(design).values() if cell["type"] in _GATES]
    while gates:
        ready = [
            gate
            for gate in gates
            if all(bits[0] in known for pin, bits in gate["connections"].items() if pin != "Y")
        ]
        assert ready, "a loop, or a net that nothing drives"
        for gate in ready:
            pins = sorted(pin for pin in gate["connections"] if pin != "Y")
            value = _GATES[gate["type"]](*(known[gate["connections"][pin][0]] for pin in pins))
            known[gate["connections"]["Y"][0]] = bool(value)
        gates = [gate for gate in gates if gate["connections"]["Y"][0] not in known]
    return known


def test_nothing_else_is_computed(made: dict[str, Any], tmp_path: Path) -> None:
    apart, rng = parted(copy.deepcopy(made), tmp_path), random.Random(1)
    ports = made["modules"]["lookup"]["ports"]
    registers = [
        bit for cell in cells(made).values() if "DFF" in cell["type"] for bit in cell["connections"]["Q"]
    ]
    given_bits, ends = (
        [bit for port in ports.values() if port["direction"] == way for bit in port["bits"]]
        for way in ("input", "output")
    )
    starts = [*registers, *box(made)["RD_DATA"], *given_bits]
    for _ in range(30):
        given = {bit: rng.random() < 0.5 for bit in starts}
        one, other = computed(made, given), computed(apart, given)
        assert [one[bit] for bit in ends] == [other[bit] for bit in ends]
        assert [one[bit] for bit in box(made)["RD_ADDR"]] == [other[bit] for bit in box(apart)["RD_ADDR"]]


def test_addresses_and_what_data_meet_have_gates_of_their_own(made: dict[str, Any], tmp_path: Path) -> None:
    apart = parted(copy.deepcopy(made), tmp_path)
    assert all(marked(apart, name) for name in memory_paths.APART)
    before = {cell["connections"]["Y"][0] for cell in marked(apart, memory_paths.BEFORE)}
    beside = {cell["connections"]["Y"][0] for cell in marked(apart, memory_paths.BESIDE)}
    behind = {cell["connections"]["Y"][0] for cell in marked(apart, memory_paths.BEHIND)}
    marks = set(memory_paths.APART)
    others = [cell for cell in cells(apart).values() if not marks & set(cell["attributes"])]
    assert set(box(apart)["RD_ADDR"]) <= before
    assert set(made["modules"]["lookup"]["ports"]["word"]["bits"]) <= behind
    for cell in others:
        used = {bit for pin, bits in cell["connections"].items() if pin not in ("RD_ADDR",) for bit in bits}
        assert not used & (before | beside), "the rest of the netlist has the originals"
    assert len(cells(made)) == len(cells(apart)) - len(before) - len(beside)


def test_a_netlist_without_such_memories_stays(made: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "gates.json").write_text(json.dumps(made))
    memory_paths.part(tmp_path / "gates.json", "lookup", set())
    assert json.loads((tmp_path / "gates.json").read_text()) == made


@pytest.mark.long
def test_little_effort_maps_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not where the clock is met, nor where it is out of reach."""
    (tmp_path / "small.lib").write_text(library.text())
    monkeypatch.setattr(synthesis, "make", lambda *_: Lookup())
    said, delay = [], 0.0
    for clock in (100.0, 0.8, 0.4):
        steps: list[str] = []
        made = synthesis.synthesize(
            "lookup",
            preset("tiny"),
            parse_scheme("baseline"),
            [tmp_path / "small.lib"],
            clock=clock if not delay else clock * delay,
            effort="quick",
            on_step=steps.append,
        )
        said.append(any("around memories" in step for step in steps))
        assert made.path
        delay = delay or made.path.delay
    assert said == [False, True, False]
