"""Choice of a physical register, and its way into the renaming table: the example of register renaming's
Figure 7."""

from __future__ import annotations

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.uop import Control, Unit
from warpbank.golden.mapping.availability import AHEAD, POLICIES, Availability
from warpbank.golden.mapping.renaming import Renaming
from warpbank.golden.probe import Probe
from warpbank.golden.stream import Template, TraceUop

WARP = 5


def _write(register: int, *sources: int, mask: int = 0xF) -> TraceUop:
    template = Template(Unit.ALU, Control.NONE, sources, register, 1)
    return TraceUop(template, 0, WARP, 0, 0, mask, mask, [], [])


def settle_flags(flags: Availability) -> None:
    """Go on until the queue no longer changes."""
    while flags.busy:
        flags.edge()


def settle(mapping: Renaming) -> None:
    """Go on until nothing happens any more."""
    while mapping.busy:
        mapping.edge()


def test_fig7() -> None:
    """P2 to P5 have owners; warp 5 writes R0 and goes on reading R2. The availability flags give a register
    in the sub-array of the others, and mark it; the table finds it from the next cycle on; the other side of
    a divergent branch, which writes R0 as well, takes none. The paper's P0 was given back too late to be
    chosen for it; it comes after those that were chosen ahead."""
    mapping = Renaming(with_overrides(preset("tiny"), []).sub_core, Probe(0, None))
    mapping.launch(8, 0, 8, 0)
    settle(mapping)
    for register in (6, 7, 2, 3, 4, 1):  # R2 is in P2
        mapping.issue(_write(register))
        mapping.edge()
    mapping.availability.give(mapping.table.drop(WARP, 6))  # P0
    mapping.availability.give(mapping.table.drop(WARP, 7))  # P1
    mapping.edge()
    settle(mapping)
    assert mapping.availability.taken == 0b111100
    assert mapping.availability.ahead == list(range(6, 6 + AHEAD))

    write = _write(0, 2, mask=0x3)
    assert mapping.missing(write) == 1
    mapping.issue(write)
    assert mapping.home(WARP, 0) is None, "the table has it from the clock edge on"
    mapping.edge()
    assert mapping.availability.taken == 0b1111100
    assert mapping.table.find(WARP, 0) == 6
    assert mapping.table.find(WARP, 2) == 2, "R2 is not released at this instruction"

    other_side = _write(0, 2, mask=0xC)
    assert mapping.missing(other_side) == 0
    mapping.issue(other_side)
    mapping.edge()
    assert mapping.availability.taken == 0b1111100
    assert mapping.table.find(WARP, 0) == 6
    settle(mapping)
    assert mapping.availability.ahead[-1] == 0


def test_fig7_with_wear_levelling() -> None:
    """Section 7.2: the register at the distance of a sub-array from the one taken last."""
    flags = Availability(32, "wear_level", 8)
    flags.launch(0)
    found = []
    while len(found) < 5:
        found += flags.take(min(1, flags.ready))
        flags.edge()
    assert found == [0, 8, 16, 24, 1]


def test_what_is_chosen_ahead_is_free() -> None:
    """All registers can be taken, and count as free until they are."""
    for policy in POLICIES:
        flags = Availability(100, policy, 25)
        flags.launch(7)
        found: list[int] = []
        while flags.free:
            assert flags.free == 93 - len(found)
            assert flags.taken.bit_count() == 7 + len(found)
            found += flags.take(min(3, flags.ready))
            flags.edge()
        assert sorted(found) == list(range(7, 100))
        assert not flags.ready


def test_a_low_register_goes_ahead_of_high_ones() -> None:
    """What waits in the queue, although a lower sub-array has room again, is exchanged."""
    flags = Availability(64, "consolidate", 16)
    flags.launch(0)
    held: list[int] = []
    while len(held) < 16:  # the first sub-array
        held += flags.take(min(1, flags.ready))
        flags.edge()
    settle_flags(flags)
    assert flags.ahead == list(range(16, 16 + AHEAD))
    for number in (3, 5, 7, 2):
        flags.give(number)
    flags.edge()
    settle_flags(flags)
    assert sorted(flags.ahead) == [2, 3, 5, 7, 16, 17, 18, 19]
    assert flags.free == 52
