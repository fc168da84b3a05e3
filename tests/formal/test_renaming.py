"""Proofs about register renaming, on two warps of four registers and six physical ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Elaboratable, Module, Signal

from arch.config import preset, with_overrides
from hdl.mapping.exempt import Exempt
from hdl.mapping.release import Release
from hdl.mapping.renaming import Renaming
from hdl.mapping.table import RenamingTable
from tests.formal.prove import Refuted, assume_no_reset, prove

CONFIG = with_overrides(preset("tiny"), [
    "sub_core.warps=2", "sub_core.banks=1", "sub_core.rows=6", "sub_core.collectors=1", "lanes=1", "sub_core.mapping.subarrays=3",
    "sub_core.mapping.release_flags=on",
])
REGISTERS = 4


class SmallTable(RenamingTable):
    registers = REGISTERS


class SmallRelease(Release):
    registers = REGISTERS


class SmallExempt(Exempt):
    registers = REGISTERS


class Small(Renaming):
    """Registers R0..R3: what a proof can hold. They differ from the others in their number only."""

    table_class, release_class, exempt_class = SmallTable, SmallRelease, SmallExempt


class Harness(Elaboratable):
    """Any uops of any warps issue, if there are registers for them; operands and results come whenever they like; anything may be
    declared dead, warps may drain and launches begin at any time."""

    def __init__(self, unit: Any = Small) -> None:
        self.unit = unit(CONFIG, 1, 2)
        rename = self.unit
        self.free = [rename.start.registers, rename.start.exempt, rename.launch, rename.here, rename.issue.valid,
                     rename.issue.payload.as_value(), rename.slide, rename.entry, rename.end, rename.done[0].slots]
        for hazards in rename.hazards:
            self.free += [hazards.destination, hazards.count]
        for port in (*rename.locate, *rename.written):
            self.free += [port.warp, port.register]
        self.free += [port.valid for port in rename.written]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = rename = self.unit
        assume_no_reset(m)
        uop, warp = rename.issue.payload.uop, rename.issue.payload.warp
        m.d.comb += [
            Assume(uop.count <= 4), Assume(uop.destination + uop.count <= REGISTERS),
            Assume(~(rename.issue.valid & rename.slide)),
            Assume(~rename.issue.valid | ~(rename.lacking >> warp)[0]),
            Assume(rename.exempt.count <= 1), Assume(rename.start.registers == REGISTERS),
            *(Assume(source < REGISTERS) for source in uop.sources),
        ]
        first = Array(Cat(hazards.destination, hazards.count) for hazards in rename.hazards)[warp]
        m.d.comb += Assume(~rename.issue.valid | (first == Cat(uop.destination, uop.count)))
        for port in (*rename.locate, *rename.written):
            m.d.comb += Assume(port.register < REGISTERS)
        # A launch begins when everything has drained.
        m.d.comb += Assume(~rename.launch | ~(rename.issue.valid | rename.slide))

        one, other = rename.locate
        different = (one.warp != other.warp) | (one.register != other.register)
        m.d.comb += Assert(~(different & rename.mapped.all()) | (one.row != other.row))  # nobody shares
        taken = rename.availability.taken
        m.d.comb += Assert(~rename.mapped[0] | (taken >> one.row)[0])  # what is free is nowhere
        reserved = Signal(4)
        with m.If(rename.launch):
            m.d.sync += reserved.eq(rename.exempt.reserved)
        held = sum(bit for mask in rename.table.mapped for bit in mask)
        m.d.comb += Assert(sum(taken) == held + reserved)  # nothing is lost
        m.d.comb += Assert(rename.availability.free == len(taken) - sum(taken))
        m.d.comb += Assert(sum(rename.availability.take > place for place in range(4)) <= rename.availability.free)

        # What a uop writes has a register when it has issued, whatever was released in that cycle.
        wrote, watched, whose = Signal(), Signal(2), Signal()
        writes = rename.issue.valid & (uop.destination <= one.register) & (one.register < uop.destination + uop.count)
        m.d.sync += [wrote.eq(writes & (one.warp == warp)), watched.eq(one.register), whose.eq(one.warp)]
        again = (one.register == watched) & (one.warp == whose)
        m.d.comb += Assert(~(wrote & again) | rename.mapped[0])
        # A register is released only if it has a physical one, and not while it is written or read.
        for port in rename.release.released:
            there = (Array(rename.table.mapped)[port.warp] >> port.register)[0]
            m.d.comb += Assert(~port.valid | there)
        return m


@pytest.mark.long
def test_physical_registers_are_neither_shared_nor_lost(tmp_path: Path) -> None:
    harness = Harness()
    prove(harness, harness.free, 5, tmp_path)


class Forgets(SmallRelease):
    """The uop that issues does not save its destinations from being released."""

    def elaborate(self, platform: object) -> Any:
        hears = self.issue
        self.issue = _Silent(hears)
        m = super().elaborate(platform)
        self.issue = hears
        return m


class _Silent:
    def __init__(self, port: Any) -> None:
        self.payload = port.payload
        self.valid = port.valid & 0


class ReleasesMapped(Small):
    release_class = Forgets


@pytest.mark.parametrize("unit", [ReleasesMapped])
def test_mutants_are_refuted(unit: Any, tmp_path: Path) -> None:
    harness = Harness(unit)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 5, tmp_path)
