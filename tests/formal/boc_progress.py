"""Progress of the bypassing operand collectors: no deadlock, no unfairness, and units that are unfair."""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import patch

from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal, Value

from tests.formal.boc_harness import Harness
from tests.formal.collecting import USED
from warpbank.hdl.collector import boc, boc_dispatch, boc_results
from warpbank.hdl.round_robin import Choice, soonest


class Drains(Harness):
    """With a fair bus, fair banks and fair units a rank falls in every cycle in which uops are in collection
    and none issues.

    Fair: units take, an operand is delivered where one was asked for, evicted values and results that have
    their turn are written. Rank: what has to happen yet. A uop counts 2, 1 once it is complete and a unit has
    chosen it, 3 if a unit has chosen it in vain, and 64 more while it waits for entries; a requested operand
    2, an arriving one 1; an entry that is to be evicted 3, one of the window 3, 6 if dirty, and 8 more if it
    expects a result; a result that waits 1; a bus that reads a value 1, one without a value 2,
    one whose value is wanted again 3.
    """

    def claims(self, m: Module) -> None:
        super().claims(m)
        unit = self.unit
        m.d.comb += Assume(self.accepts.all())
        for number in range(self.collectors):
            m.d.comb += Assume(
                ~Cat(self.left[number * self.tags : (number + 1) * self.tags]).any() | self.grants[number]
            )
        if unit.evicted:
            m.d.comb += Assume(~unit.evicted[0].valid | unit.evicted[0].ready)
        m.d.comb += [
            Assume(~offer.valid | offer.held | offer.taken) for offer in (unit.result[used] for used in USED)
        ]
        terms: list[Value] = [
            *self.busy,
            *(left[slot] << 1 for left in self.left for slot in range(self.slots)),
        ]
        for warp, state in enumerate(unit._state):
            expecting = state.valid & state.reserved & (~state.passed | unit._pinned[warp] | state.owed)
            terms += [unit._waits[warp] << 6, unit.deliver[warp].valid]
            terms += [
                self.busy[warp * self.tags + tag] & ~(unit._taken[warp][tag] & unit._complete[warp][tag])
                for tag in range(self.tags)
            ]
            terms += [unit._taken[warp][tag] & ~unit._complete[warp][tag] for tag in range(self.tags)]
            for entry in range(len(state.registers)):
                weight = Mux(state.passed[entry], state.owed[entry], 1 + state.dirty[entry])
                terms += [Mux(state.valid[entry], 3 * weight, 0), Mux(expecting[entry], 8, 0)]
        terms += [slot.valid for slot in unit._late.slots]
        if unit.evicted:
            bus = unit._bus
            assert bus is not None
            terms.append(Mux(bus.valid, Mux(bus.stays, ~bus.has, 3), 2))
        rank, before, falls = Signal(10), Signal(10), Signal()
        m.d.comb += rank.eq(sum(terms))
        m.d.sync += [before.eq(rank), falls.eq(self.busy.any() & ~self.issue)]
        m.d.comb += Assert(~falls | (rank < before))


class Fair(Harness):
    """Fairness of what the warps share, which serves none of them twice while another one wants it.

    A uop that waits for its entries is looked at, a unit chooses a complete uop, and the bus a value that has
    left its window, before any other warp has its second turn. A uop that waits is passed by one that issues
    in every second cycle at most.

    `overtaken`: per resource, some warp that wants it has seen another one served.
    """

    def elaborate(self, platform: object) -> Module:
        self.turns: dict[str, tuple[Value, Value, Choice]] = {}
        with ExitStack() as stack:
            for module in (boc, boc_dispatch, boc_results):
                stack.enter_context(patch.object(module, "soonest", self._recorded))
            return super().elaborate(platform)

    def _recorded(
        self, m: Module, mask: Value, pointer: Value, name: str, reached: Signal | None = None
    ) -> Choice:
        """Let the unit choose, and keep its choice by name."""
        choice = self._chosen(m, mask, pointer, name, reached)
        self.turns[name] = mask, pointer, choice
        return choice

    _chosen = staticmethod(soonest)

    def claims(self, m: Module) -> None:
        super().claims(m)
        unit = self.unit
        self.overtaken: dict[str, Value] = {}
        waits = unit._waits
        self._turns(m, "waiting", waits, unit._chosen & waits)
        passed, passes = Signal(), Signal()
        m.d.comb += passes.eq((unit._chosen & ~waits).any() & waits.any())
        m.d.sync += passed.eq(passes)
        m.d.comb += Assert(~(passed & (unit._chosen & ~waits).any()))
        for number, used in enumerate(USED):
            one, port, name = unit._units[used], unit.dispatch[used], f"unit_{int(used)}"
            mask, _, choice = self.turns[name]
            free = ~one.valid | ~one.of(unit._complete) | (port.valid & port.ready)
            uops = self._for(number)
            wants = Cat(uops.word_select(warp, self.tags).any() for warp in range(self.warps))
            m.d.comb += Assert(mask == wants)
            self._turns(m, name, wants, Mux(free, choice.one_hot, 0))
        for port in unit.evicted:
            mask, _, choice = self.turns["bus"]
            assert unit._bus is not None
            free = ~unit._bus.stays | (port.valid & port.ready)
            self._turns(m, "bus", mask, Mux(free, choice.one_hot, 0))

    def _turns(self, m: Module, name: str, wants: Value, served: Value) -> None:
        """No warp is served twice while another one wants the resource all the time."""
        _, pointer, _ = self.turns[name]
        overtaken = []
        for one in range(self.warps):
            for other in range(self.warps):
                if one != other:
                    seen = Signal(name=f"overtaken_{name}_{one}_{other}")
                    m.d.sync += seen.eq(wants[one] & ~served[one] & (seen | served[other]))
                    m.d.comb += Assert(~(seen & wants[one] & served[other]))
                    overtaken.append(seen & wants[one])
                    if (
                        self.inductive
                    ):  # the turn is then between the one that was served and the one that wants
                        between = [(other + step) % self.warps for step in range(1, self.warps)]
                        before = between[: between.index(one) + 1]
                        m.d.comb += Assert(~seen | Cat(pointer == each for each in before).any())
        self.overtaken[name] = Cat(overtaken).any()


class Unfair(Fair):
    """The lowest warp that wants a resource is served. That is unfair.

    Parameters
    ----------
    broken : name of the resource.
    """

    broken = ""

    def _recorded(
        self, m: Module, mask: Value, pointer: Value, name: str, reached: Signal | None = None
    ) -> Choice:
        if name == self.broken:
            pointer, reached = Const(0, len(pointer)), None
        choice = super()._recorded(m, mask, pointer, name, reached)
        return choice


class UnfairInsertion(Unfair):
    """Uops that wait for entries."""

    broken = "waiting"


class UnfairUnit(Unfair):
    """Complete uops of the first unit."""

    broken = f"unit_{int(USED[0])}"


class UnfairBus(Unfair):
    """Values that have left their window."""

    broken = "bus"
