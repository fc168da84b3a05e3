"""Choice of a physical register, and its way into the renaming table: the example of register renaming's
Figure 7."""

from __future__ import annotations

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.uop import Control, Unit
from warpbank.golden.mapping.availability import Availability
from warpbank.golden.mapping.renaming import Renaming
from warpbank.golden.probe import Probe
from warpbank.golden.stream import Template, TraceUop

WARP = 5


def _write(register: int, *sources: int, mask: int = 0xF) -> TraceUop:
    template = Template(Unit.ALU, Control.NONE, sources, register, 1)
    return TraceUop(template, 0, WARP, 0, 0, mask, mask, [], [])


def test_fig7() -> None:
    """P2 to P5 have owners; warp 5 writes R0 and goes on reading R2. The availability flags give P0, in the
    sub-array of the others, and mark it; the table finds it from the next cycle on; the other side of a
    divergent branch, which writes R0 as well, takes none."""
    mapping = Renaming(with_overrides(preset("tiny"), []).sub_core, Probe(0, None))
    mapping.launch(8, 0, 8)
    for register in (6, 7, 2, 3, 4, 1):  # R2 is in P2
        mapping.issue(_write(register))
        mapping.edge()
    mapping.availability.give(mapping.table.drop(WARP, 6))  # P0
    mapping.availability.give(mapping.table.drop(WARP, 7))  # P1
    mapping.edge()
    assert mapping.availability.taken == 0b111100

    write = _write(0, 2, mask=0x3)
    assert mapping.missing(write) == 1
    mapping.issue(write)
    assert mapping.home(WARP, 0) is None, "the table has it from the clock edge on"
    mapping.edge()
    assert mapping.availability.taken == 0b111101
    assert mapping.table.find(WARP, 0) == 0
    assert mapping.table.find(WARP, 2) == 2, "R2 is not released at this instruction"

    other_side = _write(0, 2, mask=0xC)
    assert mapping.missing(other_side) == 0
    mapping.issue(other_side)
    mapping.edge()
    assert mapping.availability.taken == 0b111101
    assert mapping.table.find(WARP, 0) == 0


def test_fig7_with_wear_levelling() -> None:
    """Section 7.2: the register at the distance of a sub-array from the one taken last."""
    flags = Availability(32, "wear_level", 8)
    flags.launch(0)
    found = []
    for _ in range(5):
        found += flags.take(1)
        flags.edge()
    assert found == [0, 8, 16, 24, 1]
