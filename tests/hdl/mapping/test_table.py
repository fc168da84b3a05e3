"""Golden's registers are found."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Fragment, Module, Signal, Value
from hypothesis import given
from hypothesis import strategies as st

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, simulate
from tests.hdl.wrapped import wrapped
from warpbank.golden.mapping.table import TABLE_BANKS
from warpbank.golden.mapping.table import RenamingTable as Golden
from warpbank.hdl.mapping.table import RenamingTable

#: A table of few registers.
Few = partial(RenamingTable, registers=16)


def lockstep(
    machine: str, seed: int, unit: Any = RenamingTable, cycles: int = 60, late: bool = False
) -> None:
    """`late`: nobody looks up, or drops, what was entered in the cycle before."""
    rng = random.Random(seed)
    config = MACHINES[machine]
    core = config.sub_core
    rtl, model = unit(config, 3, **({"late": True} if late else {})), Golden(core.warps)
    entered: set[tuple[int, int]] = set()
    free = list(range(core.warp_registers))
    top = rng.choice([top for top in (4, 12, 256) if top <= getattr(rtl, "registers", 256)])
    found = 0

    async def bench(ctx: Any) -> None:
        nonlocal found
        for _ in range(cycles):
            new = entered.copy() if late else set()
            entered.clear()
            launches = rng.random() < 0.05
            ctx.set(rtl.launch, launches)
            assert [ctx.get(mask) for mask in rtl.mapped] == model.mapped
            for bank in range(TABLE_BANKS):
                register = rng.randrange(bank, top, TABLE_BANKS)
                warp = rng.randrange(core.warps)
                for port in (rtl.find[bank], rtl.enter[bank], rtl.drop[bank]):
                    ctx.set(port.warp, warp)
                    ctx.set(port.register, register)
                ctx.set(rtl.enter[bank].valid, 0)
                ctx.set(rtl.drop[bank].valid, 0)
                if (warp, register) in new:
                    continue
                place = model.find(warp, register)
                assert ctx.get(rtl.find[bank].mapped) == (place is not None)
                if place is not None:
                    found += 1
                    assert ctx.get(rtl.find[bank].physical) == place
                if launches or rng.random() < 0.3:
                    continue
                if place is not None:
                    ctx.set(rtl.drop[bank].valid, 1)
                    assert ctx.get(rtl.drop[bank].physical) == model.drop(warp, register)
                    free.append(place)
                elif free:
                    physical = free.pop(rng.randrange(len(free)))
                    ctx.set(rtl.enter[bank].valid, 1)
                    ctx.set(rtl.enter[bank].physical, physical)
                    model.enter(warp, register, physical)
                    entered.add((warp, register))
            for port in rtl.result:
                warp, register = rng.randrange(core.warps), rng.randrange(top)
                ctx.set(port.warp, warp)
                ctx.set(port.register, register)
                if (warp, register) in new:
                    continue
                place = model.find(warp, register)
                assert ctx.get(port.mapped) == (place is not None)
                if place is not None:
                    assert ctx.get(port.physical) == place
            await ctx.tick()
            model.edge()
            if launches:
                model.launch()
                free[:] = range(core.warp_registers)
            owners = model.owners()
            assert len(owners) == sum(mask.bit_count() for mask in model.mapped)
            assert len(owners) + len(free) == core.warp_registers

    simulate(rtl, bench)
    assert found


@FEW
@given(machine=machines, seed=SEEDS, unit=st.sampled_from([RenamingTable, Few]), late=st.booleans())
def test_equals_golden(machine: str, seed: int, unit: Any, late: bool) -> None:
    lockstep(machine, seed, unit, late=late)


#: A table of as many names as there are physical registers.
Level = partial(
    RenamingTable, registers=MACHINES["tiny"].sub_core.warp_registers // MACHINES["tiny"].sub_core.warps
)


@pytest.mark.parametrize(("unit", "memories"), [(RenamingTable, 0), (Few, TABLE_BANKS), (Level, TABLE_BANKS)])
def test_a_table_of_few_names_has_a_row_for_each(unit: Any, memories: int) -> None:
    fragment = Fragment.get(unit(MACHINES["tiny"], 1), None)
    assert len(fragment.subfragments) == memories


def test_a_register_that_is_not_dropped_is_caught() -> None:
    def keeps(config: Any, results: int) -> Any:
        return wrapped(
            RenamingTable(config, results), drop=lambda value, _: value & 0 if len(value) == 1 else value
        )

    assert fails(lambda seed: lockstep("tiny", seed, keeps))


class Undropped(RenamingTable):
    """A physical register that is released keeps the name of who had it."""

    def _own(self, m: Module, enters: Any, drops: Any) -> None:
        super()._own(m, enters, [mask & 0 for mask in drops])


class Unlaunched(RenamingTable):
    """Names outlast their launch; the masks beside them do not."""

    def _own(self, m: Module, enters: Any, drops: Any) -> None:
        hears, self.launch = self.launch, Const(0, 1)
        super()._own(m, enters, drops)
        self.launch = hears


class Mixed(RenamingTable):
    """A name is joined with that of who had the physical register before."""

    def _own(self, m: Module, enters: Any, drops: Any) -> None:
        super()._own(m, enters, drops)
        for bit, owner in enumerate(self._owners):
            for comes, name in enters:
                with m.If(name[bit] & comes.any()):
                    m.d.sync += owner.eq(owner | comes)


class Alone(RenamingTable):
    """Of the registers that are entered in a cycle, that of the last bank gets no name."""

    def _own(self, m: Module, enters: Any, drops: Any) -> None:
        super()._own(m, [*enters[:-1], (enters[-1][0] & 0, enters[-1][1])], drops)


class AnyWarp(RenamingTable):
    """A name lacks a bit of its warp."""

    def _name(self, port: Any, bank: int | None = None) -> Value:
        return Cat(super()._name(port, bank)[:-1], Const(0, 1))


class Forwarded(RenamingTable):
    """What is entered is found in the cycle in which it is entered."""

    def _answer(self, m: Module, port: Any, has: Signal) -> None:
        super()._answer(m, port, has)
        for enter in self.enter:
            mine = (enter.warp == port.warp) & (enter.register == port.register)
            with m.If(enter.valid & mine):
                m.d.comb += [port.mapped.eq(1), port.physical.eq(enter.physical)]


@pytest.mark.parametrize("unit", [Undropped, Unlaunched, Mixed, Alone, AnyWarp, Forwarded])
def test_mutants_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", seed, unit))


@pytest.mark.parametrize("unit", [RenamingTable, Few])
def test_the_first_physical_register_is_kept_while_nothing_is_dropped(unit: Any) -> None:
    table = unit(MACHINES["tiny"], 1)
    assert steps(table, [{"enter": 1, "physical": 0}, *[{}] * 4]) == [None, 0, 0, 0, 0]


def test_a_table_that_is_late_answers_a_cycle_later() -> None:
    table = RenamingTable(MACHINES["tiny"], 1, late=True)
    assert steps(table, [{"enter": 1, "physical": 300}, *[{}] * 4]) == [None, None, 300, 300, 300]
    assert fails(lambda seed: lockstep("tiny", seed, partial(RenamingTable, late=True)))


def test_what_comes_late_is_lost_at_a_launch() -> None:
    table = RenamingTable(MACHINES["tiny"], 1, late=True)
    assert steps(table, [{"enter": 1, "physical": 300, "launch": True}, *[{}] * 4]) == [None] * 5


def steps(table: Any, cycles: list[dict[str, Any]]) -> list[int | None]:
    """What port `find` of bank 1 answers for register 5 of warp 1 in each cycle; None: no physical register.

    A cycle is a `launch`, or the `physical` register and warp that `enter` or `drop` name register 5 with."""
    found: list[int | None] = []

    async def bench(ctx: Any) -> None:
        for cycle in cycles:
            ctx.set(table.launch, "launch" in cycle)
            for name, port in (("find", table.find[1]), ("enter", table.enter[1]), ("drop", table.drop[1])):
                ctx.set(port.register, 5)
                ctx.set(port.warp, cycle.get(name, 1))
            for name in ("enter", "drop"):
                ctx.set(getattr(table, name)[1].valid, name in cycle)
            ctx.set(table.enter[1].physical, cycle.get("physical", 0))
            find = table.find[1]
            found.append(ctx.get(find.physical) if ctx.get(find.mapped) else None)
            await ctx.tick()

    simulate(table, bench)
    return found


def test_an_entry_counts_from_the_next_cycle_on_and_stands() -> None:
    """A register that is entered as it is looked up is not found; afterwards it is, for as long as it
    stands."""
    table = RenamingTable(MACHINES["tiny"], 1)
    assert steps(table, [{"enter": 1, "physical": 300}, *[{}] * 40]) == [None, *[300] * 40]


def test_a_register_that_is_dropped_is_found_for_the_last_time() -> None:
    """Its physical register goes to another warp in the next cycle, and is found under that name alone."""
    table = RenamingTable(MACHINES["tiny"], 1)
    cycles = [{"enter": 1, "physical": 7}, {"drop": 1}, {"enter": 2, "physical": 7}, {}, {"find": 2}]
    assert steps(table, cycles) == [None, 7, None, None, 7]


def test_a_launch_takes_all_names() -> None:
    """The number that a name had goes to another one, and the name gets another number."""
    table = RenamingTable(MACHINES["tiny"], 1)
    cycles = [
        {"enter": 1, "physical": 7},
        {"launch": True},
        {"enter": 1, "physical": 9},
        {"enter": 2, "physical": 7},
        {},
        {"find": 2},
    ]
    assert steps(table, cycles) == [None, 7, None, 9, 9, 7]


@pytest.mark.parametrize("results", [0, -1, "two"])
def test_results_must_be_a_number(results: Any) -> None:
    with pytest.raises(TypeError, match="RenamingTable needs a number of results of at least 1, not"):
        RenamingTable(MACHINES["tiny"], results)


def test_one_result_is_enough() -> None:
    assert len(RenamingTable(MACHINES["tiny"], 1).result) == 1
