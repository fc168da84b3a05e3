"""Proofs about LTRF over renamed registers: the real cache and engine above the mapping of `test_renaming`.

The environment of the mapping is that of `test_renaming`; all that concerns the cache comes whenever it
likes: warps that start, are activated and stall, PREFETCHes of any sets, results, operands. Two warps of four
registers, two per interval, on six physical ones in one bank. Shown for every reachable cycle, by induction
over one cycle, besides what `test_renaming` shows:

* a register on its way between cache and main register file has a physical register for as long as that
  takes, and that is where it is read or written: what leaves the cache never goes into a physical register
  that is free or somebody else's.

That nothing alive is lost on the way is shown in `test_ltrf`, of that engine over registers at fixed
places.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from amaranth.hdl import Array, Assert, Assume, Module, Signal, Value
from amaranth.lib.wiring import In

from tests.formal.ltrf_machine import ENTRIES, Few, elaborated, short_queues
from tests.formal.prove import NotInductive, prove
from tests.formal.test_renaming import PLACES, REGISTERS, Harness, Small, SmallRelease, machine
from tests.hdl.hierarchy.test_ltrf import KeepsMoving, MovesDying, ReleasesMoving
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.layouts import UNITS, Collection
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.storage.banks import Banks


class SmallBlocks(WarpControlBlocks):
    registers_per_warp = REGISTERS


class Below(Harness):
    """The mapping below a cache."""

    first = UNITS

    def __init__(self, cache: type[Ltrf] = Ltrf, mapping: type[Small] = Small) -> None:
        config = machine("consolidate")
        core = replace(config.sub_core, active_warps=2, cache=Few(registers=ENTRIES, crossing=1))
        config = replace(config, sub_core=core)
        collection = Collection(1)
        with short_queues(), mock.patch("warpbank.hdl.hierarchy.ltrf.WarpControlBlocks", SmallBlocks):
            moved = cache.moved(config)
            self.unit = mapping(config, collection, UNITS + len(PLACES) + moved[0], 0, moved=moved)
            main = MainRegisterFile(
                config, self.unit, Banks(config), collection, **cache.main_needs, moved=moved
            )
            self.top: Any = cache(config, main, collection)
        self.inductive = True
        self.free = [
            Value.cast(value)
            for (name, *_), member, value in self.top.signature.flatten(self.top)
            if member.flow == In and name != "entry"
        ]  # one uop is in collection

    def _fragment(self, platform: object) -> Any:
        return elaborated(self.top, platform)

    def _claims(self, m: Module) -> None:
        super()._claims(m)
        for link in self.top.engine.links:
            # What waits, or goes out and has not been written; since the last launch, so that it is wanted.
            waits = [valid & ~void for valid, void in zip(link._valid, link._void, strict=True)]
            leaves = link._busy & link._crossing.out & ~link._crossing_void
            for here, transfer in zip([*waits, leaves], [*link._heads, link._crossing], strict=True):
                place = Signal(range(len(PLACES)), name="carried_place")
                m.d.comb += place.eq(transfer.warp * REGISTERS + transfer.register)
                mapped, physical = Array(self.mapped)[place], Array(self.physical)[place]
                exempt, own = Array(self.exempt)[place], Array(self.own)[place]
                there = mapped & (physical == transfer.row) | exempt & (own == transfer.row)
                m.d.comb += Assert(~here | (there & (transfer.register < REGISTERS)))
                m.d.comb += Assert(~here | ~self.begun.any())
            m.d.comb += [
                *(Assert(~late | early) for early, late in zip(link._valid, link._valid[1:], strict=False)),
                Assert(link._busy | (link._left == 0)),
                Assert(~link._full | ~link._ahead_transfer.out),
            ]
        for number, setting in enumerate(self.top._blocks.setting):
            classes = len(self.top._blocks.setting)
            # No warp of a launch has issued a PREFETCH before the exempt registers are counted.
            m.d.comb += Assume(~setting.valid | ~self.begun.any())
            m.d.comb += Assert(
                ~setting.valid | (setting.register < REGISTERS) & (setting.register % classes == number)
            )


@pytest.mark.long
def test_what_moves_has_its_physical_register(tmp_path: Path) -> None:
    built = Below()
    prove(built, built.free, 2, tmp_path, inductive=True)


class ReleasesWhatMoves(ReleasesMoving, SmallRelease):
    """A register is released although it is on its way."""


class NotHeldBack(Small):
    release_class = ReleasesWhatMoves


@pytest.mark.long
@pytest.mark.parametrize(
    ("cache", "mapping"), [(Ltrf, NotHeldBack), (MovesDying, Small), (KeepsMoving, Small)]
)
def test_mutants_are_not_proved(cache: type[Ltrf], mapping: type[Small], tmp_path: Path) -> None:
    """They are caught in runs by `tests/hdl/hierarchy/test_ltrf.py`."""
    built = Below(cache, mapping)
    with pytest.raises(NotInductive):
        prove(built, built.free, 1, tmp_path, inductive=True)
