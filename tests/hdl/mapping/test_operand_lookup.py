"""Golden's uops have their names in golden's cycle."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, simulate
from tests.hdl.mapping.broken_lookup import ENTERED_MUTANTS, MUTANTS, STAGE_MUTANTS
from tests.hdl.wrapped import wrapped
from warpbank.arch.config import with_overrides
from warpbank.golden.mapping.exempt import Exempt
from warpbank.golden.mapping.operand_lookup import OperandLookup as Golden
from warpbank.golden.mapping.table import TABLE_BANKS, RenamingTable
from warpbank.hdl.mapping.operand_lookup import OperandLookup


def lockstep(
    machine: str, seed: int, tags: int = 1, unit: Any = OperandLookup, cycles: int = 80, stages: int = 0
) -> int:
    """Returns how many uops got their names before an older one."""
    rng = random.Random(seed)
    config = with_overrides(MACHINES[machine], [f"sub_core.mapping.lookup_stages={stages}"])
    core = config.sub_core
    rtl, table = unit(config, tags), RenamingTable(core.warps)
    entered: dict[int, tuple[int, int]] = {}  # by bank, what is entered, with stages in the cycle before
    exempt = Exempt()
    exempt.launch(
        rng.getrandbits(8) & rng.getrandbits(8) if core.warp_registers >= 8 * core.warps else 0, core.warps
    )
    model = Golden(table, exempt, stages)
    for warp in range(core.warps):
        for register in rng.sample(range(256), 100):
            table.enter(warp, register, rng.randrange(core.warp_registers))
    table.edge()
    free = [(collector, tag) for collector in range(core.collectors) for tag in range(tags)]
    named = waited = overtook = 0
    order: list[tuple[int, int]] = []  # uops that wait, oldest first
    reads: dict[tuple[int, int], list[tuple[int, int]]] = {}  # what they read

    async def bench(ctx: Any) -> None:
        nonlocal entered, named, waited, overtook
        for _ in range(cycles):
            asks = bool(free) and rng.random() < 0.7
            ctx.set(rtl.read.valid, asks)
            if asks:
                collector, tag = free.pop(rng.randrange(len(free)))
                warp = rng.randrange(core.warps)
                top = rng.choice((8, 256))
                chosen = sorted(rng.sample(range(6), rng.randint(0, 6)))
                sources = [rng.randrange(top) for _ in range(6)]
                read = {
                    "collector": collector,
                    "warp": warp,
                    "sources": sources,
                    "source_valid": sum(1 << slot for slot in chosen),
                }
                ctx.set(rtl.read.payload, {**read, "tag": tag} if tags > 1 else read)
                if not chosen:  # nothing to ask for: no turn is taken
                    free.append((collector, tag))
                else:
                    order.append((collector, tag))
                    reads[collector, tag] = [(warp, sources[slot]) for slot in chosen]
                for slot in chosen:
                    model.read(collector, slot, warp, sources[slot], tag)
            # Some get a physical register as they ask: what no older uop of their warp has still to read.
            gets: dict[int, tuple[int, int]] = {}
            others = {name for uop in order[:-1] for name in reads[uop]}
            for name in reads[order[-1]] if asks and chosen else []:
                new = name[1] % TABLE_BANKS not in gets and exempt.find(*name) is None
                if new and table.find(*name) is None and name not in others and rng.random() < 0.5:
                    gets[name[1] % TABLE_BANKS] = name
                # And some of another warp, under the numbers that it asks for.
                other = rng.randrange(core.warps), name[1]
                new = name[1] % TABLE_BANKS not in gets and exempt.find(*other) is None
                if new and table.find(*other) is None and all(other not in names for names in reads.values()):
                    gets[name[1] % TABLE_BANKS] = other
            for bank, port in enumerate(rtl.entered):
                there = entered if stages else gets
                ctx.set(port.valid, bank in there)
                ctx.set(port.warp, there.get(bank, (0, 0))[0])
                ctx.set(port.register, there.get(bank, (0, 0))[1])
            for port in rtl.place:
                place = exempt.find(ctx.get(port.warp), ctx.get(port.register))
                ctx.set(port.exempt, place is not None)
                ctx.set(port.physical, place or 0)
            for bank in range(TABLE_BANKS):  # the table answers what it is asked
                find = rtl.find[bank]
                place = table.find(ctx.get(find.warp), ctx.get(find.register))
                ctx.set(find.mapped, place is not None)
                ctx.set(find.physical, place or 0)
            looked_up, group = model.step()
            assert ctx.get(rtl.looked_up) == looked_up
            assert ctx.get(rtl.named.valid) == (group is not None)
            waited += group is None and looked_up > 0
            if group is not None:
                named += 1
                assert (ctx.get(rtl.named.collector), ctx.get(rtl.named.warp)) == (
                    group.collector,
                    group.warp,
                )
                if tags > 1:
                    assert ctx.get(rtl.named.tag) == group.tag
                assert ctx.get(rtl.named.slots) == sum(1 << slot for slot in group.places)
                for slot, place in group.places.items():
                    assert ctx.get(rtl.named.mapped) >> slot & 1 == (place is not None)
                    if place is not None:
                        assert ctx.get(rtl.named.physical[slot]) == place
                overtook += order[0] != (group.collector, group.tag)
                order.remove((group.collector, group.tag))
                free.append((group.collector, group.tag))
            for name in gets.values():
                table.enter(*name, rng.randrange(core.warp_registers))
            entered = gets
            table.edge()
            await ctx.tick()

    simulate(rtl, bench)
    assert named
    assert waited
    return overtook


@FEW
@given(machine=machines, tags=st.integers(1, 3), stages=st.integers(0, 2), seed=SEEDS)
def test_equals_golden(machine: str, tags: int, stages: int, seed: int) -> None:
    lockstep(machine, seed, tags, stages=stages)


@pytest.mark.parametrize("stages", [0, 1, 2])
@pytest.mark.parametrize("tags", [2, 3])
def test_uops_of_one_collector_are_told_apart(tags: int, stages: int) -> None:
    lockstep("per_warp", tags, tags, stages=stages)


def test_a_younger_uop_may_go_first() -> None:
    assert lockstep("per_warp", 0)


@pytest.mark.parametrize("tags", [0, -1, "two"])
def test_tags_must_be_a_number(tags: Any) -> None:
    with pytest.raises(TypeError, match="OperandLookup needs a number of tags of at least 1, not"):
        OperandLookup(MACHINES["tiny"], tags)


def test_a_late_name_is_caught() -> None:
    def blind(config: Any, tags: int) -> Any:
        return wrapped(OperandLookup(config, tags), looked_up=lambda value, _: value & 1)

    assert fails(lambda seed: lockstep("tiny", seed, unit=blind))


@pytest.mark.parametrize("unit", [*MUTANTS, *ENTERED_MUTANTS])
def test_mutants_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("per_warp", seed, unit=unit))


@pytest.mark.parametrize("unit", STAGE_MUTANTS)
def test_mutants_of_the_stages_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("per_warp", seed, unit=unit, stages=2))
