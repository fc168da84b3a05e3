"""Whether a clock edge would change a model is told by its netlist, and a netlist that lies is caught."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from tests.sim.engines.test_mutants import BASELINE, MACHINE, small_trace
from warpbank.sim.engines import quiet
from warpbank.sim.engines.base import EngineError
from warpbank.sim.engines.model import Build
from warpbank.sim.engines.verilator import VerilatorEngine
from warpbank.sim.lockstep import lockstep
from warpbank.synth import netlist, yosys


class Unit(wiring.Component):
    """A register with an enable, one that counts down by itself, one that follows an input, and a memory."""

    def __init__(self) -> None:
        super().__init__(
            {
                "set": In(1),
                "value": In(4),
                "follow": In(2),
                "write": In(1),
                "held": Out(4),
                "left": Out(3),
                "followed": Out(2),
                "inner": Out(2),
                "word": Out(8),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words: Any = memory.Memory(shape=8, depth=4, init=[])
        m.submodules.words = words
        write, read = words.write_port(), words.read_port(domain="comb")
        stage = self.inner
        with m.If(self.set):
            m.d.sync += self.held.eq(self.value)
        with m.If(self.left != 0):
            m.d.sync += self.left.eq(self.left - 1)
        m.d.sync += [stage.eq(self.follow), self.followed.eq(stage)]
        m.d.comb += [
            write.addr.eq(stage),
            write.data.eq(self.value),
            write.en.eq(self.write & (self.held != 0)),
            read.addr.eq(stage),
            self.word.eq(read.data),
        ]
        return m


def flat() -> str:
    """Netlist of the unit."""
    return netlist.changed(netlist.to_rtlil(Unit(), "unit"), netlist.simulation("unit", flat=True))


IDLE = {"set": 0, "value": 5, "follow": 0, "write": 0, "held": 0, "left": 0, "followed": 0, "inner": 0}
#: What the memory holds.
WORDS = (3, 7, 0, 0)


@pytest.mark.parametrize(
    ("state", "busy", "stirred"),
    [
        ({}, 0, 0),
        ({"value": 9}, 0, 0),
        ({"set": 1}, 0, 1),
        ({"set": 1, "held": 5}, 0, 0),
        ({"left": 3}, 1, 0),
        ({"follow": 2}, 0, 1),
        ({"follow": 2, "inner": 2, "followed": 2}, 0, 0),
        ({"follow": 2, "inner": 2, "followed": 1}, 1, 0),
        ({"write": 1}, 0, 0),
        ({"write": 1, "held": 1}, 0, 1),
        ({"write": 1, "held": 1, "value": 3}, 0, 0),
        ({"write": 1, "held": 1, "value": 3, "inner": 1, "followed": 1, "follow": 1}, 0, 1),
    ],
)
def test_what_would_change(state: dict[str, int], busy: int, stirred: int, tmp_path: Path) -> None:
    (tmp_path / "unit.il").write_text(quiet.with_activity(flat()))
    widths = {"set": 1, "value": 4, "follow": 2, "write": 1, "held": 4, "left": 3, "followed": 2, "inner": 2}
    sets = " ".join(
        f"-set {name} {widths[name]}'b{value:0{widths[name]}b}" for name, value in (IDLE | state).items()
    )
    words = " ".join(f"-set words[{row}] 8'd{word}" for row, word in enumerate(WORDS))
    evaluate = f"eval {sets} {words} -show busy -show stirred"
    said = yosys.run(["read_rtlil unit.il", "memory_map", evaluate], tmp_path)
    found = dict(re.findall(r"Eval result: \\(busy|stirred) = 1'([01])", said))
    assert found == {"busy": str(busy), "stirred": str(stirred)}


def test_a_cell_of_another_kind() -> None:
    source = flat()
    assert " $dff " in source
    with pytest.raises(EngineError, match=r"cell \$sdffce"):
        quiet.with_activity(source.replace(" $dff ", " $sdffce "))


def test_initial_zeros_go() -> None:
    source = flat()
    assert "$meminit_v2" in source
    assert "$meminit_v2" not in quiet.without_zeros(source)


def _without(kind: str) -> Any:
    """`_changes` that forgets the cells of a kind."""
    sound = quiet._changes

    def lies(cell: quiet.Cell, *others: Any) -> tuple[list[str], list[str]]:
        return ([], []) if cell.kind == kind else sound(cell, *others)

    return lies


@pytest.mark.long
def test_a_netlist_that_lies_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sub-core that is not evaluated though it would change comes behind golden. Registers without enable
    are forgotten: on this machine a cell of another kind changes only where one of them does, too."""
    monkeypatch.setattr(quiet, "_changes", _without("$dff"))
    engine = VerilatorEngine(Build(variant="forgets $dff"))
    assert lockstep(small_trace(), MACHINE, BASELINE, engine).divergence is not None
