"""Look-ups of operands' names, by hand."""

from __future__ import annotations

import pytest

from warpbank.golden.mapping.exempt import Exempt
from warpbank.golden.mapping.operand_lookup import OperandLookup
from warpbank.golden.mapping.table import RenamingTable


def _lookup(exempt: int = 0, stages: int = 0) -> OperandLookup:
    """Warps 0 and 1; register r is in physical register 10 + r, odd warps' in 50 + r."""
    table, places = RenamingTable(2), Exempt()
    places.launch(exempt, 2)
    for warp in range(2):
        for register in range(12):
            table.enter(warp, register, 10 + 40 * warp + register)
    table.edge()
    return OperandLookup(table, places, stages)


def _ask(names: OperandLookup, collector: int, warp: int, *registers: int) -> None:
    for slot, register in enumerate(registers):
        names.read(collector, slot, warp, register)


def test_a_uop_whose_sources_are_in_different_banks_loses_no_time() -> None:
    names = _lookup()
    _ask(names, 0, 1, 4, 5, 6)
    asked, group = names.step()
    assert asked == 3
    assert group is not None
    assert group.places == {0: 54, 1: 55, 2: 56}
    assert not names.busy


def test_sources_in_one_bank_go_one_after_the_other_and_others_pass() -> None:
    """R1, R5 and R9 are in bank 1; the second uop needs bank 2, the third one bank 1."""
    names = _lookup()
    _ask(names, 0, 0, 1, 5, 9)
    assert names.step() == (1, None)
    _ask(names, 1, 1, 2)
    asked, group = names.step()
    assert asked == 2
    assert group is not None
    assert (group.collector, group.places) == (1, {0: 52})
    _ask(names, 2, 1, 1)
    asked, group = names.step()
    assert asked == 1
    assert group is not None
    assert (group.collector, group.places) == (0, {0: 11, 1: 15, 2: 19})
    asked, group = names.step()
    assert asked == 1
    assert group is not None
    assert (group.collector, group.places) == (2, {0: 51})


def test_one_uop_goes_in_a_cycle_the_oldest() -> None:
    """The last name of the first uop is found in the cycle in which the second one has all of its own."""
    names = _lookup()
    _ask(names, 0, 0, 1, 5)
    assert names.step() == (1, None)
    _ask(names, 1, 0, 2, 3)
    asked, group = names.step()
    assert asked == 3
    assert group is not None
    assert group.collector == 0
    asked, group = names.step()
    assert asked == 0
    assert group is not None
    assert (group.collector, group.places) == (1, {0: 12, 1: 13})


def test_exempt_registers_need_no_look_up() -> None:
    names = _lookup(exempt=0b10)
    _ask(names, 0, 0, 1, 5)
    asked, group = names.step()
    assert asked == 1
    assert group is not None
    assert group.places == {0: 0, 1: 15}


@pytest.mark.parametrize("stages", [0, 1, 2])
def test_a_stage_takes_a_cycle(stages: int) -> None:
    """The first stage delays the look-ups, too."""
    names = _lookup(stages=stages)
    _ask(names, 0, 0, 1, 2)
    for cycle in range(stages + 1):
        assert cycle == 0 or names.busy
        asked, group = names.step()
        assert asked == 2 * (cycle == min(stages, 1))
        assert (group is not None) == (cycle == stages)
    assert group is not None
    assert group.places == {0: 11, 1: 12}
    assert not names.busy


def test_a_uop_a_cycle_goes_through_the_stages() -> None:
    names = _lookup(stages=2)
    found = []
    for collector in range(4):
        _ask(names, collector, 0, collector)
        found.append(names.step()[1])
    found += [names.step()[1] for _ in range(2)]
    assert [group and group.collector for group in found] == [None, None, 0, 1, 2, 3]


@pytest.mark.parametrize("stages", [0, 1, 2])
def test_a_source_that_its_uop_writes_first_is_nowhere(stages: int) -> None:
    """R13 has no physical register when the uop asks for it, and gets one in that cycle, as its destination.
    A uop in front of it takes the bank's turn, so that it is looked up later in any case."""
    table, places = RenamingTable(1), Exempt()
    places.launch(0, 1)
    for register in (1, 5):
        table.enter(0, register, register)
    table.edge()
    names = OperandLookup(table, places, stages)
    _ask(names, 0, 0, 1, 5)
    names.step()
    _ask(names, 1, 0, 13)
    table.enter(0, 13, 70)
    found = {}
    for _ in range(4 + stages):
        _, group = names.step()
        table.edge()
        if group is not None:
            found[group.collector] = group.places
    assert found == {0: {0: 1, 1: 5}, 1: {0: None}}
