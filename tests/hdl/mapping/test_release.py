"""Golden's registers are released, in golden's cycle: whatever is issued, read, written, moved and declared
dead while a warp passes the stages."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Const
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, make_uop, simulate, uop_record
from tests.hdl.wrapped import wrapped
from tests.thinned import examples
from warpbank.arch.uop import MAX_SOURCES
from warpbank.golden.mapping.release import Release as Golden
from warpbank.hdl.mapping.release import Release

#: Registers that can be on their way.
MOVERS = 2


class _Warps:
    """What an honest front end knows: what is mapped, read and written, and which uops are in collection."""

    def __init__(self, config: Any, entries: int, top: int) -> None:
        self.top = top
        self.mapped = [0] * config.sub_core.warps
        self.writing = [0] * config.sub_core.warps
        self.collecting: list[Any] = [None] * entries  # (warp, sources left: slot -> register)

    def readers(self, warp: int) -> set[int]:
        return {
            register
            for entry in self.collecting
            if entry and entry[0] == warp
            for register in entry[1].values()
        }


def lockstep(
    machine: str, entries: int, seed: int, unit: Any = Release, cycles: int = 130, movers: int = MOVERS
) -> int:
    rng = random.Random(seed)
    config = MACHINES[machine]
    count = config.sub_core.warps
    rtl, model = unit(config, entries, movers), Golden(count)
    moving: list[tuple[int, int] | None] = [None] * movers
    world = _Warps(config, entries, rng.choice((6, 20, 255)))
    released = kept = launches = 0

    async def bench(ctx: Any) -> None:
        nonlocal released, kept, launches
        closing = False  # nothing issues any more: a launch follows when all has arrived
        for seq in range(cycles):
            closing = closing or rng.random() < 0.02
            assert ctx.get(rtl.ended) == model.ended
            for warp, mask in enumerate(world.mapped):
                ctx.set(rtl.mapped[warp], mask)
            # Operands and results arrive.
            done = []
            for number, entry in enumerate(world.collecting):
                slots = 0
                if entry and (closing or rng.random() < 0.4):
                    slot = rng.choice(list(entry[1]))
                    slots = 1 << slot
                    done.append((number, slot))
                    model.read(entry[0], entry[1][slot])
                ctx.set(rtl.read[number].slots, slots)
            arrived = []
            for port in rtl.written:
                ctx.set(port.valid, 0)
                pending = [
                    (warp, r)
                    for warp in range(count)
                    for r in range(256)
                    if world.writing[warp] >> r & 1 and (warp, r) not in arrived
                ]
                if pending and (closing or rng.random() < 0.05):
                    warp, register = rng.choice(pending)
                    arrived.append((warp, register))
                    for name, value in (("valid", 1), ("warp", warp), ("register", register)):
                        ctx.set(getattr(port, name), value)
                    model.written(warp, 1 << register)
            for port, place in zip(rtl.moving, moving, strict=True):
                ctx.set(port.valid, place is not None)
                for name, value in zip(("warp", "register"), place or (), strict=False):
                    ctx.set(getattr(port, name), value)
            # A uop issues, and declares some of its sources dead; or flags do.
            ctx.set(rtl.issue.valid, 0)
            ctx.set(rtl.mark.valid, 0)
            warp = rng.randrange(count)
            free = [number for number, entry in enumerate(world.collecting) if entry is None]
            issued = None
            dead = 0
            open_ = not closing and not model.ended >> warp & 1
            if open_ and free and rng.random() < 0.5:
                live = [r for r in range(world.top) if world.mapped[warp] >> r & 1]
                sources = rng.sample(live, min(len(live), rng.randint(0, 6)))
                size = rng.randint(0, 4)
                first = rng.randrange(world.top - size) if world.top > size else 0
                writes = ((1 << size) - 1) << first
                busy = world.writing[warp] | sum(1 << r for r in world.readers(warp))
                if not busy & writes and not any(world.writing[warp] >> r & 1 for r in sources):
                    dead = sum(1 << r for r in sources if rng.random() < 0.5)
                    issued = (rng.choice(free), sources, writes)
                    uop = make_uop(warp, seq, sources=tuple(sources), destination=first, count=size)
                    ctx.set(rtl.issue.valid, 1)
                    ctx.set(rtl.issue.payload, {"warp": warp, "uop": uop_record(uop)})
                    ctx.set(rtl.entry, issued[0])
                    kept += bool(writes & model.dying[warp])
                    model.issue(warp, tuple(sources), writes, dead)
            elif open_ and rng.random() < 0.2:
                dead = world.mapped[warp] & rng.getrandbits(world.top)
                model.issue(warp, (), 0, dead)
            ctx.set(rtl.mark.valid, bool(dead))
            ctx.set(rtl.mark.warp, warp)
            ctx.set(rtl.mark.registers, dead)
            # A warp drains.
            ends = 0
            for slot in range(count):
                idle = (
                    not world.writing[slot] and not world.readers(slot) and (issued is None or slot != warp)
                )
                if idle and not model.ended >> slot & 1 and rng.random() < 0.02:
                    ends |= 1 << slot
                    model.end(slot, world.mapped[slot])
            ctx.set(rtl.end, ends)
            idle = not any(world.writing) and not any(world.collecting) and not any(moving)
            launches += closing and idle and not ends
            ctx.set(rtl.launch, closing and idle and not ends)
            # What is released was dead, and nobody reads or writes it.
            expected = sorted(model.released())
            found = sorted(
                (ctx.get(port.warp), ctx.get(port.register)) for port in rtl.released if ctx.get(port.valid)
            )
            assert found == expected
            for slot, register in found:
                released += 1
                assert world.mapped[slot] >> register & 1
                assert register not in world.readers(slot)
                assert not world.writing[slot] >> register & 1
                assert (slot, register) not in moving
                world.mapped[slot] &= ~(1 << register)
            # Registers arrive; what is not dying sets off.
            for number, place in enumerate(moving):
                alive = [
                    (slot, register)
                    for slot in range(count)
                    for register in range(world.top)
                    if world.mapped[slot] & ~model.dying[slot] & ~model.moving[slot] >> register & 1
                ]
                if place is not None and (closing or rng.random() < 0.1):
                    model.moving[place[0]] &= ~(1 << place[1])
                    moving[number] = None
                elif place is None and alive and not closing and rng.random() < 0.5:
                    slot, register = moving[number] = rng.choice(alive)
                    model.moving[slot] |= 1 << register
            for number, slot in done:
                del world.collecting[number][1][slot]
                if not world.collecting[number][1]:
                    world.collecting[number] = None
            for slot, register in arrived:
                world.writing[slot] &= ~(1 << register)
            if issued is not None:
                number, sources, writes = issued
                world.mapped[warp] |= writes
                world.writing[warp] |= writes
                if sources:
                    world.collecting[number] = (warp, dict(enumerate(sources)))
            begins = ctx.get(rtl.launch)
            await ctx.tick()
            model.edge(world.mapped)
            if begins:
                world.mapped, closing = [0] * count, False
                model.launch()

    simulate(rtl, bench)
    assert released
    assert launches or cycles < 130
    return kept


@settings(FEW, max_examples=examples(8, 4))
@given(machine=machines, entries=st.sampled_from([1, 2, 5]), seed=SEEDS)
def test_equals_golden(machine: str, entries: int, seed: int) -> None:
    lockstep(machine, entries, seed)


def test_destinations_take_dying_registers_over() -> None:
    """What the lockstep is about happens in it."""
    assert sum(lockstep("single", 2, seed) for seed in range(2))


def test_a_destination_that_is_released_is_caught() -> None:
    """The register that a uop writes is released as the uop issues."""

    def deaf(config: Any, entries: int, movers: int) -> Any:
        return wrapped(
            Release(config, entries, movers), issue=lambda value, _: value & 0 if len(value) == 1 else value
        )

    assert fails(lambda seed: lockstep("single", 2, seed, deaf))


def test_reads_that_are_forgotten_are_caught() -> None:
    def forgets(config: Any, entries: int, movers: int) -> Any:
        return wrapped(Release(config, entries, movers), read=lambda value, _: value | 63)

    assert fails(lambda seed: lockstep("tiny", 2, seed, forgets))


class Read(Release):
    """What a uop takes over as its warp's registers are read stays in the stages; so it does below in the
    other ones."""

    def _read(self, m: Any, served: Any, waiting: Any, issued: Any, destinations: Any) -> Any:
        return super()._read(m, served, waiting, issued, Const(0, len(destinations)))


class Found(Release):
    def _find(self, m: Any, reads: Any, issued: Any, destinations: Any) -> Any:
        return super()._find(m, reads, issued, Const(0, len(destinations)))


class Compared(Release):
    def _compare(self, m: Any, finds: Any, issued: Any, destinations: Any) -> Any:
        return super()._compare(m, finds, issued, Const(0, len(destinations)))


class OlderReads(Release):
    """A uop that issues as registers are compared does not count as their reader."""

    def _readers(self, m: Any, warp: Any) -> Any:
        return super()._readers(m, warp)[MAX_SOURCES:]


class Moved(Release):
    """What is on its way is released."""

    def _movers(self, warp: Any) -> Any:
        return []


class Unwritten(Release):
    """What is still to be written is released."""

    def _read(self, m: Any, served: Any, waiting: Any, issued: Any, destinations: Any) -> Any:
        return super()._read(m, served, self._dying, issued, destinations)


class ServedTwice(Release):
    """A warp that is in a stage is chosen again."""

    def _engaged(self, stages: Any) -> Any:
        return Const(0, len(stages[0]))


class Forgotten(Release):
    """A warp that has been served is not chosen again before it has been in no stage for a cycle."""

    def _engaged(self, stages: Any) -> Any:
        return super()._engaged([*stages, self._stages[-1].warp])


@pytest.mark.quick("Found", "OlderReads", "ServedTwice")
@pytest.mark.parametrize(
    "unit", [Read, Found, Compared, OlderReads, Moved, Unwritten, ServedTwice, Forgotten]
)
def test_mutants_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("single", 2, seed, unit), seeds=12)


@pytest.mark.parametrize("entries", [0, -1, "two"])
def test_entries_must_be_a_number(entries: Any) -> None:
    with pytest.raises(
        TypeError, match="Release needs the number of uops that can be in collection, at least 1, not"
    ):
        Release(MACHINES["tiny"], entries)
