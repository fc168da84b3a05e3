"""Proof that the warps of the CTA that is served first never lack physical registers, whoever takes and
gives back what and whenever CTAs start and end, by induction over one cycle, so for every cycle that can be
reached.

What is free, with what those give back that have ended, is at least what the warps of that CTA can still
need. So once the registers of warps that have ended are back, each of its warps finds as many as it can have.

The environment: two CTAs of two warps each, of one to eight registers a warp, on sixteen physical registers.
A CTA starts in slots whose last registers may still be on their way back, and takes none before they are. A
warp that is not served first takes registers only where as many stay free as the unit says. `late`: as it
said in the cycle before, of what was free then less what was taken then, and told a cycle late of what is
taken and given back (`Renaming` with look-up stages and an issue stage); none is taken in the first cycle of
a launch, since none is ready (`Availability`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Elaboratable, Fragment, Module, Mux, Signal, Value

from tests.formal.prove import Refuted, assume_no_reset, prove, unreached
from warpbank.arch.config import preset, with_overrides
from warpbank.hdl.mapping.deadlock_reserve import DeadlockReserve

CTAS, SHARE, REGISTERS = 2, 2, 16
WARPS = CTAS * SHARE


class Harness(Elaboratable):
    """The environment, the claims and, if `inductive`, the invariant."""

    def __init__(self, unit: Any = DeadlockReserve, inductive: bool = True, late: bool = False) -> None:
        overrides = [f"sub_core.warps={WARPS}", "sub_core.banks=1", f"sub_core.rows={REGISTERS}", "lanes=1"]
        self.unit, self.inductive = unit(with_overrides(preset("tiny"), overrides)), inductive
        self.needs = Signal(4)
        self.starts, self.ends = Signal(CTAS), Signal(CTAS)
        self.running, self.leaves, self.turn = Signal(CTAS), Signal(CTAS), Signal()
        self.held = [Signal(4, name=f"held_by_{warp}") for warp in range(WARPS)]
        self.late, self.ready = late, Signal()
        unit = self.unit
        self.free = [self.needs, self.starts, self.ends, unit.here]
        #: Who takes registers, and who gives some back; the unit is told a cycle later, if it is `late`.
        self.taker, self.takes = Signal.like(unit.taken.warp), Signal.like(unit.taken.count)
        self.giver, self.gives = Signal.like(unit.given.warp), Signal.like(unit.given.count)
        self.free += [self.taker, self.takes, self.giver, self.gives]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = Fragment.get(self.unit, platform)  # here, so that its inner signals exist
        assume_no_reset(m)
        unit, needs, held = self.unit, self.needs, self.held
        launched, before, whole = Signal(), Signal.like(needs), Signal(5)
        m.d.sync += [launched.eq(1), before.eq(needs)]
        m.d.comb += [
            Assume((needs > 0) & (needs * SHARE * CTAS <= 2 * REGISTERS)),
            Assume(~launched | (needs == before)),
            whole.eq(needs * SHARE),
            unit.launch.eq(~launched),
            unit.needs.eq(needs),
            unit.whole.eq(whole),
            unit.everybody.eq(0),
        ]
        running = self._ctas(m, launched)
        m.d.comb += unit.members.eq(
            Cat(running[warp // SHARE] & (self.turn == warp // SHARE) for warp in range(WARPS))
        )
        vacant = Signal(6)
        m.d.comb += vacant.eq(REGISTERS - sum(held))
        said = self._limit(m, launched, vacant)
        self._registers(m, launched, said)

        mine, leaving = Signal(6), Signal(6)
        m.d.comb += [
            mine.eq(sum(Mux(unit.members[warp], held[warp], 0) for warp in range(WARPS))),
            leaving.eq(
                sum(
                    Mux(self.leaves[warp // SHARE] & ~unit.members[warp], held[warp], 0)
                    for warp in range(WARPS)
                )
            ),
            # The claims.
            Assert(~launched | (vacant + leaving + mine >= whole)),
            *(
                Assert(~unit.members[warp] | self.leaves.any() | (vacant >= needs - held[warp]))
                for warp in range(WARPS)
            ),
        ]
        if self.inductive and self.late:
            served, floor, free = said
            m.d.comb += [
                *(
                    Assert(~served[warp] | unit.members[warp] | ~self.running[warp // SHARE])
                    for warp in range(WARPS)
                ),
                Assert(~self.ready | (free + unit.given.count <= vacant)),
                Assert(~self.ready | (vacant + leaving + mine + floor >= whole + free)),
                Assert(~self.ready | launched),
                Assert((unit.taken.count <= 4) & (unit.given.count <= 4)),
                Assert((vacant >= unit.given.count) & (self.ready | ~unit.taken.count.any())),
                Assert(launched | ~unit.given.count.any()),
            ]
        if self.inductive:
            told = [count - self._untold(warp) for warp, count in enumerate(held)]
            counted = sum(Mux(unit._counted[warp], told[warp], 0) for warp in range(WARPS))
            m.d.comb += [
                Assert(~launched | (unit._rest == whole - counted)),
                Assert(sum(held) <= REGISTERS),
                Assert(~launched | (unit._whole == whole)),
                Assert(~launched | (needs == before)),
                *(
                    Assert((left == -count) & (held[warp] <= 8) & (count >= 0) & (count <= 8))
                    for warp, (left, count) in enumerate(zip(unit._left, told, strict=True))
                ),
                *(Assert(launched | ~count.any()) for count in held),
                Assert(launched | ~(self.running | self.leaves).any()),
            ]
            for cta in range(CTAS):
                warps = Cat(held[SHARE * cta : SHARE * (cta + 1)])
                m.d.comb += Assert(self.running[cta] | self.leaves[cta] | ~warps.any())
                m.d.comb += Assert(~self.running.any() | self.running.bit_select(self.turn, 1))
        return m

    def _untold(self, warp: int) -> Value:
        """Change of a warp's number of registers that the unit is told of in this cycle, too late."""
        taken, given = self.unit.taken, self.unit.given
        gets, loses = Mux(taken.warp == warp, taken.count, 0), Mux(given.warp == warp, given.count, 0)
        return gets - loses if self.late else Const(0, len(taken.count))

    def _ctas(self, m: Module, launched: Value) -> Signal:
        """CTAs start and end; one that has ended leaves its registers behind. The turn passes on."""
        running = Signal(CTAS, name="running_then")
        m.d.comb += [
            Assume(launched | ~self.starts.any()),
            Assume(~(self.starts & self.running).any()),
            Assume(~(self.ends & ~self.running).any()),
            running.eq(self.running & ~self.ends | self.starts),
        ]
        m.d.sync += self.running.eq(running)
        with m.If(running.any() & ~running.bit_select(self.turn, 1)):
            m.d.sync += self.turn.eq(~self.turn)
        for cta in range(CTAS):
            left = Cat(self.held[SHARE * cta : SHARE * (cta + 1)]).any()
            m.d.sync += self.leaves[cta].eq((self.leaves[cta] | self.ends[cta]) & left)
        return self.running

    def _limit(self, m: Module, launched: Value, vacant: Value) -> tuple[Value, Value, Value]:
        """Warps that are served first, what the others leave free, and what is free: what takes a register is
        compared with them."""
        unit = self.unit
        if not self.late:
            return unit.served, unit.floor, vacant
        served, floor, free = Signal.like(unit.served), Signal.like(unit.floor), Signal.like(vacant)
        m.d.sync += [
            served.eq(unit.served),
            floor.eq(unit.floor),
            free.eq(vacant - self.uncounted(unit) - self.counted),
        ]
        m.d.sync += self.ready.eq(launched)
        m.d.comb += Assume((self.takes == 0) | self.ready)
        return served, floor, free

    @staticmethod
    def uncounted(unit: Any) -> Value:
        """Number of the registers that came back in the cycle before, and do not count as free yet."""
        return unit.given.count

    @property
    def counted(self) -> Value:
        """Number of the registers that are taken in a cycle, and not free in the next one."""
        return self.takes

    def _registers(self, m: Module, launched: Value, said: tuple[Value, Value, Value]) -> None:
        """Warps take registers as the unit lets them, and give back what they have."""
        unit, (served, floor, free) = self.unit, said
        m.d.comb += [Assume(self.takes <= 4), Assume(self.gives <= 4)]
        tells = m.d.sync if self.late else m.d.comb
        tells += [unit.taken.warp.eq(self.taker), unit.taken.count.eq(self.takes)]
        tells += [unit.given.warp.eq(self.giver), unit.given.count.eq(self.gives)]
        for warp, held in enumerate(self.held):
            cta = warp // SHARE
            takes, gives = Signal(3, name=f"takes_{warp}"), Signal(3, name=f"gives_{warp}")
            m.d.comb += [
                takes.eq(Mux(self.taker == warp, self.takes, 0)),
                gives.eq(Mux(self.giver == warp, self.gives, 0)),
                Assume((takes == 0) | launched & self.running[cta] & ~self.leaves[cta] & ~self.ends[cta]),
                Assume(held + takes <= self.needs),
                Assume((takes == 0) | (takes + Mux(served[warp], 0, floor) <= free)),
                Assume(gives <= held),
            ]
            m.d.sync += held.eq(held + takes - gives)


@pytest.mark.parametrize(("late", "depth"), [(False, 6), pytest.param(True, 3, marks=pytest.mark.long)])
def test_the_cta_that_is_served_first_lacks_nothing(late: bool, depth: int, tmp_path: Path) -> None:
    harness = Harness(late=late)
    prove(harness, harness.free, depth, tmp_path, inductive=True)


def test_the_states_that_matter_are_reached(tmp_path: Path) -> None:
    """Another CTA's registers are counted, some are still on their way back, and the others have to wait."""

    def states(harness: Harness) -> dict[str, Value]:
        unit = harness.unit
        others = Cat(count.any() & ~unit.members[warp] for warp, count in enumerate(harness.held))
        return {
            "stale": (unit._counted & ~unit.members).any(),
            "counts_others": harness.turn & (unit._rest < unit._whole),
            "leaves": harness.turn & harness.leaves[0] & harness.running[1],
            "keeps": (unit.floor > 0) & others.any() & unit.members.any(),
        }

    assert unreached(Harness(inductive=False), states, 9, tmp_path) == []


class ForgetsNobody(DeadlockReserve):
    """Who has been served first once is counted for ever."""

    def _one_cta(self, m: Module, left: Any, takes: Any, gives: Any, whole: Any) -> Any:
        members, self.members = self.members, Signal.like(self.members)
        seen = Signal.like(members)
        m.d.sync += seen.eq(self.members)
        m.d.comb += self.members.eq(seen | members)
        found = super()._one_cta(m, left, takes, gives, whole)
        self.members = members
        return found


class NoticesNoReturn(DeadlockReserve):
    """What a warp gives back counts as had, once it has been counted."""

    def _one_cta(self, m: Module, left: Any, takes: Any, gives: Any, whole: Any) -> Any:
        return super()._one_cta(m, left, takes, gives & 0, whole)


class ForgetsWhatIsTaken(Harness):
    """What is taken in a cycle is still free in the next one."""

    @property
    def counted(self) -> Value:
        return self.takes & 0


class CountsReturnsAtOnce(Harness):
    """What has come back is free before the unit has been told."""

    @staticmethod
    def uncounted(unit: Any) -> Value:
        return unit.given.count & 0


@pytest.mark.parametrize(("environment", "depth"), [(ForgetsWhatIsTaken, 6), (CountsReturnsAtOnce, 9)])
def test_what_changed_in_the_cycle_before_has_to_be_known(
    environment: Any, depth: int, tmp_path: Path
) -> None:
    harness = environment(inductive=False, late=True)
    with pytest.raises(Refuted):
        prove(harness, harness.free, depth, tmp_path, last_only=True)


@pytest.mark.parametrize(("unit", "depth"), [(ForgetsNobody, 7), (NoticesNoReturn, 6)])
def test_mutants_are_refuted(unit: Any, depth: int, tmp_path: Path) -> None:
    harness = Harness(unit, inductive=False)
    with pytest.raises(Refuted):
        prove(harness, harness.free, depth, tmp_path, last_only=True)
