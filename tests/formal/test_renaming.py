"""Proofs about register renaming: table, availability flags, release, exempt registers, reserve, put together
as in the machine.

The environment: any uops that a scoreboard lets issue, if there are registers for them, with any sources,
wide results and any flags, sound or not; any pbr; operands and results come whenever they like; warps drain,
and launches begin that exempt none or any one register. Two warps of four registers on six physical ones, one
uop in collection. Shown for every reachable cycle, by induction over one cycle, for both policies:

* two (warp, register) pairs never share a physical register, and none has one that is reserved for exempt
  registers;
* none is lost: a register that is neither in the table nor reserved is in one place: among the flags, in
  the queue of those that are taken next, or on its way back to the flags, and as many are free as the count
  says; so a register that is free is in no table entry, and is not given away twice;
* an exempt register is never renamed;
* a uop never takes more registers than have been chosen, and what it writes has one when it has issued,
  whatever was released in that cycle, that register included;
* a register is released only if it has a physical one and nobody is to read or write it.

Warps, registers and uops in collection beyond these differ in their number only. The names of sources are
looked up beside this and change nothing of it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Assert, Assume, Cat, Const, Elaboratable, Fragment, Module, Mux, Signal, Value

from tests.formal.prove import Refuted, assume_no_reset, prove
from tests.formal.test_release import stages
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.layouts import Collection
from warpbank.hdl.mapping.availability import Availability
from warpbank.hdl.mapping.exempt import Exempt
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.mapping.renaming import Renaming
from warpbank.hdl.mapping.table import RenamingTable

WARPS, REGISTERS, PHYSICAL = 2, 4, 6
#: All (warp, register) pairs. Each has a port of the table of its own.
PLACES = [(warp, register) for warp in range(WARPS) for register in range(REGISTERS)]


def machine(policy: str) -> Any:
    return with_overrides(
        preset("tiny"),
        [
            f"sub_core.warps={WARPS}",
            "sub_core.banks=1",
            f"sub_core.rows={PHYSICAL}",
            "sub_core.collectors=1",
            "lanes=1",
            "sub_core.mapping.subarrays=3",
            "sub_core.mapping.release_flags=on",
            f"sub_core.mapping.policy={policy}",
        ],
    )


SmallTable = partial(RenamingTable, registers=REGISTERS)


class SmallRelease(Release):
    registers = REGISTERS


class SmallExempt(Exempt):
    registers = REGISTERS


class SmallAvailability(Availability):
    ahead = 4


class Small(Renaming):
    """Registers R0..R3: what a proof can hold. They differ from the others in their number only."""

    table_class, release_class, exempt_class = SmallTable, SmallRelease, SmallExempt
    availability_class = SmallAvailability

    def _shortage(self, m: Module, has: list[Signal]) -> None:
        self.has = has
        super()._shortage(m, has)


class Harness(Elaboratable):
    """The environment, the claims and, if `inductive`, the invariant."""

    first = 0  # port of the first place

    def __init__(self, unit: Any = Small, policy: str = "consolidate", inductive: bool = True) -> None:
        self.top = self.unit = unit(machine(policy), Collection(1), len(PLACES))
        self.inductive = inductive
        rename = self.unit
        self.free = [
            rename.start.registers,
            rename.start.exempt,
            rename.start.slots,
            rename.launch,
            rename.here,
            rename.issue.valid,
            rename.issue.payload.as_value(),
            rename.slide,
            rename.end,
            rename.done[0].slots,
        ]
        for hazards in rename.hazards:
            self.free += [hazards.destination, hazards.count]
        for port in rename.finished:
            self.free += [port.valid, port.warp, port.register]

    def _fragment(self, platform: object) -> Any:
        """The unit's fragment, whose inner signals exist from now on."""
        return Fragment.get(self.top, platform)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = self._fragment(platform)
        assume_no_reset(m)
        asked = slice(self.first, self.first + len(PLACES))
        table, exempt = (
            self.unit.table.result[asked],
            list(self.unit.exempt.find)[self.unit.operands :][asked],
        )
        for port, (warp, register) in zip(self.unit.locate[asked], PLACES, strict=True):
            m.d.comb += [port.warp.eq(warp), port.register.eq(register)]
        self.mapped, self.physical = [port.mapped for port in table], [port.physical for port in table]
        self.exempt, self.own = [port.exempt for port in exempt], [port.physical for port in exempt]
        self.reserved = Signal(3)
        self.slots = Signal.like(self.unit.start.slots)
        m.d.comb += self.reserved.eq(self.slots * sum(self.exempt[:REGISTERS]))
        with m.If(self.unit.launch):
            m.d.sync += self.slots.eq(self.unit.start.slots)
        self.begun = Signal(2)  # a launch began in the cycle before, and in the one before that
        m.d.sync += self.begun.eq(Cat(self.unit.launch, self.begun[0]))
        self._environment(m)
        self._claims(m)
        if self.inductive:
            self._invariant(m)
        return m

    def _environment(self, m: Module) -> None:
        """What is to be read and written, and what may therefore happen."""
        rename = self.unit
        uop, warp = rename.issue.payload.uop, rename.issue.payload.warp
        issues, done = rename.issue.valid, rename.done[0].slots
        self.left, self.owner, self.sources = Signal(MAX_SOURCES), Signal.like(warp), Signal.like(uop.sources)
        self.writing = [Signal(REGISTERS, name=f"expected_{number}") for number in range(WARPS)]
        destinations = Signal(REGISTERS)
        m.d.comb += destinations.eq(((1 << uop.count) - 1) << uop.destination)
        reads = [self._reads(self.left & ~done, number) for number in range(WARPS)]
        now = Array(self.writing)[warp]
        first = Array(Cat(hazards.destination, hazards.count) for hazards in rename.hazards)[warp]
        m.d.comb += [
            Assume(uop.count <= 4),
            Assume(uop.destination + uop.count <= REGISTERS),
            *(Assume(source < REGISTERS) for source in uop.sources),
            Assume(rename.start.registers == REGISTERS),
            Assume(sum(rename.start.exempt[:REGISTERS]) <= 1),
            Assume(rename.start.slots <= WARPS),
            Assume(~issues | (warp < self.slots)),
            Assume(~(issues & rename.slide)),
            Assume(~(done & ~self.left).any()),
            Assume(~issues | ~((rename.lacking | rename.choosing) >> warp)[0]),
            Assume(~issues | (first == Cat(uop.destination, uop.count))),
            Assume(~issues | ~self.left.any()),
            Assume(~issues | ~(now & destinations).any()),
        ]
        for slot in range(MAX_SOURCES):
            m.d.comb += Assume(~(issues & uop.source_valid[slot] & now.bit_select(uop.sources[slot][:2], 1)))
        m.d.sync += self.left.eq(Mux(issues, uop.source_valid, self.left & ~done))
        with m.If(issues):
            m.d.sync += [self.owner.eq(warp), self.sources.eq(uop.sources)]
        begins = rename.launch
        m.d.comb += Assume(~begins | ~(issues | rename.slide | rename.end.any() | self.left.any()))
        m.d.comb += Assume(~self.begun.any() | ~(begins | issues | rename.slide | rename.end.any()))
        for number, expected in enumerate(self.writing):
            written = [
                Mux(port.valid & (port.warp == number), 1 << port.register[:2], 0)[:REGISTERS]
                for port in rename.finished
            ]
            arrived, drains = Signal(REGISTERS, name=f"arrived_{number}"), rename.end[number]
            m.d.comb += arrived.eq(sum_or(written))
            m.d.comb += [
                Assume(~(arrived & ~expected).any()),
                Assume(~begins | ~expected.any()),
                Assume(~drains | ~((expected & ~arrived) | reads[number]).any()),
                Assume(~drains | ~issues | (warp != number)),
            ]
            m.d.sync += expected.eq(expected & ~arrived | Mux(issues & (warp == number), destinations, 0))
        for port in rename.finished:
            m.d.comb += Assume(port.register < REGISTERS)

    def _reads(self, slots: Value, warp: int) -> Value:
        """Mask of the registers of a warp that these slots are to read."""
        mine = self.owner == warp
        return sum_or(
            [
                Mux(slots[slot] & mine, 1 << self.sources[slot][:2], 0)[:REGISTERS]
                for slot in range(MAX_SOURCES)
            ]
        )

    def _claims(self, m: Module) -> None:
        rename = self.unit
        free = [self._free(number) for number in range(PHYSICAL)]
        for place, mapped in enumerate(self.mapped):
            mine = self.physical[place]
            m.d.comb += Assert(~mapped | ((mine >= self.reserved) & (mine < PHYSICAL)))
            m.d.comb += Assert(~(mapped & self.exempt[place]))
            m.d.comb += [
                Assert(~(mapped & self.mapped[other]) | (mine != self.physical[other]))
                for other in range(place)
            ]
        for number in range(PHYSICAL):
            owned = [
                mapped & (mine == number) for mapped, mine in zip(self.mapped, self.physical, strict=True)
            ]
            taken = Cat(owned).any() | (self.reserved > number)
            m.d.comb += Assert(self.begun.any() | (sum(free[number]) == ~taken))
            m.d.comb += Assert(sum(free[number]) <= 1)
        m.d.comb += [
            Assert(rename.availability.free == sum(Cat(places).any() for places in free)),
            Assert(rename.availability.take <= sum(rename.availability.ready)),
        ]
        uop, warp = rename.issue.payload.uop, rename.issue.payload.warp
        for place, (owner, register) in enumerate(PLACES):
            wrote = Signal(name=f"wrote_{place}")
            writes = (uop.destination <= register) & (register < uop.destination + uop.count)
            m.d.sync += wrote.eq(rename.issue.valid & writes & (warp == owner))
            m.d.comb += Assert(~wrote | self.mapped[place] | self.exempt[place])
            needed = self.writing[owner][register] | self._reads(self.left, owner)[register]
            for port in rename.release.released:
                released = port.valid & (port.warp == owner) & (port.register == register)
                m.d.comb += Assert(~released | (self.mapped[place] & ~needed))
        for port in rename.release.released:
            m.d.comb += Assert(~port.valid | (port.register < REGISTERS))

    def _free(self, number: int) -> list[Value]:
        """Whether a physical register is in each of the places where free ones are."""
        flags = self.unit.availability
        word, place = divmod(number, flags._size)
        begin = Mux(flags._full[word], 0, Mux(flags._bound[word], flags._part[place], 1))
        return [
            Mux(flags._beginning, begin, flags._flags[word][place]),
            *(valid & (entry == number) for valid, entry in zip(flags._there, flags._queue, strict=True)),
            *(valid & (entry == number) for valid, entry in flags._back),
        ]

    def _chosen(self, m: Module) -> None:
        """What a search has found is among the flags; the queue has no gap. When a launch begins nothing is
        in either."""
        flags = self.unit.availability
        searched = Signal(flags._size)
        for word, mask in enumerate(flags._flags):
            with m.If(flags._word[word]):
                m.d.comb += searched.eq(mask)
        m.d.comb += [
            Assert(~(flags._found & ~searched).any()),
            Assert(~flags._found.any() | (sum(flags._word) == 1)),
            Assert(~(flags._there[1:] & ~flags._there[:-1]).any()),
            *(Assert(~valid | (entry < PHYSICAL)) for valid, entry in flags._back),
            *(
                Assert(~valid | (entry < PHYSICAL))
                for valid, entry in zip(flags._there, flags._queue, strict=True)
            ),
            Assert(
                ~flags._beginning
                | ~Cat(flags._some, flags._found, flags._there, *(valid for valid, _ in flags._back)).any()
            ),
        ]

    def _invariant(self, m: Module) -> None:
        """Exempt registers have places of their own, the same in both masks of them; what is dying has a
        physical register; unit and environment agree on what is to be read and written."""
        rename = self.unit
        missing, owner, sources = rename.release._collecting[0]
        m.d.comb += [
            Assert(sum(self.exempt[:REGISTERS]) <= 1),
            Assert(missing == self.left),
            Assert(~self.left.any() | ((owner == self.owner) & (Cat(*sources) == Cat(*self.sources)))),
        ]
        m.d.comb += [Assert(~self.left.any() | (source < REGISTERS)) for source in self.sources]
        for place, (warp, register) in enumerate(PLACES):
            m.d.comb += [
                Assert(self.exempt[place] == self.exempt[register]),
                Assert(rename.has[warp][register] == (self.mapped[place] | self.exempt[place])),
                Assert(self.begun.any() | ~self.exempt[place] | (self.own[place] == warp)),
            ]
        self._named(m)
        self._counted(m)
        self._chosen(m)
        for warp in range(WARPS):
            m.d.comb += [
                Assert(~(rename.release._dying[warp] & ~rename.table.mapped[warp]).any()),
                Assert(rename.release._writing[warp] == self.writing[warp]),
            ]
        self._released(m)

    def _named(self, m: Module) -> None:
        """A name stands beside one physical register, and its register is in the mask of its warp."""
        table = self.unit.table
        for place, (warp, register) in enumerate(PLACES):
            named = Cat(
                owned & (Cat(*bits) == register + REGISTERS * warp)
                for owned, *bits in zip(table._owned, *table._owners, strict=True)
            )
            m.d.comb += [
                Assert(sum(named) == table.mapped[warp][register]),
                Assert(self.mapped[place] == named.any()),
            ]

    def _released(self, m: Module) -> None:
        """What is in the last stage of the release unit is not to be read, and not on its way."""
        stages(m, self.unit.release)
        last = self.unit.release._stages[-1]
        for warp in range(WARPS):
            mine = Signal(REGISTERS, name=f"leave_{warp}")
            m.d.comb += mine.eq(Mux(last.warp[warp], last.mask, 0))
            m.d.comb += Assert(~(mine & self._reads(self.left, warp)).any())
            for moving in self.unit.release.moving:
                moves = moving.valid & (moving.warp == warp)
                m.d.comb += Assert(~(moves & mine.bit_select(moving.register[:2], 1)))

    def _counted(self, m: Module) -> None:
        """A launch's exempt registers are counted in steps."""
        exempt = self.unit.exempt
        ones, slots = Signal(3), Cat(product[:2] for product in exempt._products)
        m.d.comb += [
            ones.eq(sum(exempt._mask)),
            Assert(self.begun == Cat(exempt._grouped, exempt.counted)),
            Assert(exempt._slots == self.slots),
            Assert(~self.begun[0] | ((exempt._sums[0] == ones) & ~self.begun[1])),
            Assert(~self.begun.any() | ~Cat(self.mapped).any()),
            Assert(self.begun[0] | (exempt.count == ones)),
            Assert(self.begun[0] | (slots == Mux(ones.any(), self.slots, 0))),
        ]
        for product in exempt._products:
            m.d.comb += Assert(self.begun[0] | (product <= 3))
        for port in exempt.find:
            m.d.comb += Assert(self.begun[0] | ~port.exempt | (port.physical == port.warp))


def sum_or(values: list[Value]) -> Value:
    """All of them, or-ed."""
    found: Value = Const(0, REGISTERS)
    for value in values:
        found = found | value
    return found


@pytest.mark.long
@pytest.mark.parametrize("policy", ["consolidate", "wear_level"])
def test_physical_registers_are_neither_shared_nor_lost(policy: str, tmp_path: Path) -> None:
    harness = Harness(policy=policy)
    prove(harness, harness.free, 2, tmp_path, inductive=True)


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


class FreeTooEarly(Small):
    """A register is marked free when it is about to be released, although the uop that issues then keeps
    it."""

    release_class = Forgets

    def _release(self, m: Module) -> None:
        super()._release(m)
        uop, warp = self.issue.payload.uop, self.issue.payload.warp
        for drop in self.table.drop:
            kept = (
                (uop.destination <= drop.register)
                & (drop.register < uop.destination + uop.count)
                & (warp == drop.warp)
            )
            with m.If(self.issue.valid & kept):
                m.d.comb += drop.valid.eq(0)


class Unreserved(SmallExempt):
    """Registers are exempt, but their places are nobody's."""

    def elaborate(self, platform: object) -> Any:
        hears, self.reserved = self.reserved, Signal.like(self.reserved)
        m = super().elaborate(platform)
        self.reserved = hears
        return m


class ReleasesKept(Small):
    release_class = Forgets


class NoReserved(Small):
    exempt_class = Unreserved


class TwiceChosen(SmallAvailability):
    """A register is read again in the cycle in which it is chosen."""

    def _search(
        self, m: Module, some: Any, flags: Any, word: Any, found: Any, accepted: Any, bit: Any
    ) -> None:
        super()._search(m, some, flags, word, found, accepted & 0, bit)


class ChoosesTwice(Small):
    availability_class = TwiceChosen


class RenamesExempt(Small):
    """Exempt registers are renamed, too: only those in the table count as having a physical register."""

    def _shortage(self, m: Module, has: list[Signal]) -> None:
        super()._shortage(m, list(self.table.mapped))

    def _allocate(self, m: Module, has: list[Signal]) -> None:
        super()._allocate(m, list(self.table.mapped))


@pytest.mark.quick("ChoosesTwice-8")
@pytest.mark.parametrize(
    ("unit", "depth"),
    [(ReleasesKept, 14), (FreeTooEarly, 14), (NoReserved, 10), (RenamesExempt, 8), (ChoosesTwice, 8)],
)
def test_mutants_are_refuted(unit: Any, depth: int, tmp_path: Path) -> None:
    """By a run from the initial state, without the invariant."""
    harness = Harness(unit, inductive=False)
    with pytest.raises(Refuted):
        prove(harness, harness.free, depth, tmp_path)
