"""The forwarding logic decides as golden's window does, whatever state a collector is in."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.hdl import Const
from amaranth.sim import Simulator
from hypothesis import given, settings, strategies

from tests.hdl.bench import FEW, SEEDS, fails, make_uop
from tests.hdl.wrapped import Change, wrapped
from tests.thinned import examples
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES, MOVE
from warpbank.golden.collector.window import Collected, Entry, Insertion, Window
from warpbank.golden.stream import TraceUop
from warpbank.hdl.collector.window import Inserter

#: Machines by window and entries.
MACHINES: dict[str, SmConfig] = {
    f"{window} {entries}": with_overrides(
        preset("tiny"),
        [f"sub_core.collector.window={window}", f"sub_core.collector.boc_entries={entries}", "lanes=2"],
    )
    for window, entries in ((2, "full"), (3, "half"), (4, "9"), (5, "half"), (7, "6"))
}
machines = strategies.sampled_from(list(MACHINES))
FULL = 0b11


@dataclass(eq=False)
class Recorded(Window):
    """Golden's window, and what it did."""

    config: SmConfig
    taken: dict[int, int] = field(default_factory=dict)  # entry -> register
    touched: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        shape = self.config.sub_core.collector
        super().__init__(shape.window_entries, shape.window, False, FULL)

    def _take(self, entry: Entry, register: int) -> None:
        self.taken[entry.number] = register
        super()._take(entry, register)

    def _move(self, touched: list[Entry], collects: bool, slides: bool = True) -> int:
        self.touched = {entry.number for entry in touched}
        return super()._move(touched, collects, slides)


def mask_of(numbers: Iterable[int]) -> int:
    """A mask with the bits `numbers`."""
    return sum(1 << number for number in set(numbers))


def drawn(rng: random.Random, config: SmConfig) -> Recorded:
    """A collector in any state: no register is in the window twice, and what is dirty is valid."""
    window = Recorded(config)
    depth, count = config.sub_core.collector.window, len(window.entries)
    pinned, young = rng.random(), rng.random()
    for entry, register in zip(window.entries, rng.sample(range(count + 4), count), strict=True):
        entry.register = register
        entry.valid = rng.random() < 0.9
        entry.dirty = entry.valid and rng.random() < 0.5
        entry.filled = entry.dirty or rng.random() < 0.5
        entry.keep = rng.random() < 0.5
        entry.idle = rng.randrange(depth - 1) if rng.random() < young else rng.randint(depth - 1, depth)
        entry.age = rng.randint(1, 15)
        entry.users = rng.randint(1, 2) if rng.random() < pinned / 2 else 0
        entry.claimed = entry.valid and entry.idle < depth - 1 and rng.random() < 0.2
    for entry in window.entries:
        if (
            not entry.users
            and not (entry.dirty and entry.keep)
            and entry.idle >= depth - 1
            and rng.random() < 0.3
        ):
            entry.register = rng.choice(window.entries).register
    return window


def drawn_uop(rng: random.Random, config: SmConfig) -> TraceUop:
    """A uop on the registers that the collector knows."""
    registers = config.sub_core.collector.window_entries + 4
    return make_uop(
        0,
        MOVE if rng.random() < 0.2 else 0,
        sources=tuple(rng.sample(range(registers), rng.choice((0, 1, 2, 3, 6)))),
        destination=rng.randrange(registers - 4),
        count=rng.choice((0, 1, 1, 1, 2, 4)),
        lane_mask=FULL if rng.random() < 0.6 else rng.randint(1, FULL),
        write_back=rng.randrange(4),
    )


def given_to(
    ctx: Any, unit: Any, rng: random.Random, window: Recorded, uop: TraceUop, config: SmConfig
) -> None:
    """The same state and uop for the RTL, the uop as one that issues or that waits, beside any other."""
    entries, waits = window.entries, rng.random() < 0.4
    for name in ("valid", "dirty", "keep", "claimed", "filled"):
        ctx.set(getattr(unit, name), mask_of(entry.number for entry in entries if getattr(entry, name)))
    ctx.set(
        unit.passed,
        mask_of(entry.number for entry in entries if entry.idle >= config.sub_core.collector.window - 1),
    )
    ctx.set(unit.pinned, mask_of(entry.number for entry in entries if entry.users))
    for entry in entries:
        ctx.set(unit.registers[entry.number], entry.register)
    for bit, plane in enumerate(unit.age):
        ctx.set(plane, mask_of(entry.number for entry in entries if entry.age >> bit & 1))
    ctx.set(unit.waits, waits)
    for sources, destination, other in (
        (unit.sources, unit.destination, waits),
        (unit.waiting_sources, unit.waiting_destination, not waits),
    ):
        for slot in range(MAX_SOURCES):
            ctx.set(
                sources[slot],
                rng.randrange(256) if other else uop.sources[slot] if slot < len(uop.sources) else 0,
            )
        ctx.set(destination, rng.randrange(256) if other else uop.destination)
    ctx.set(unit.source_valid, (1 << len(uop.sources)) - 1)
    for name in ("count", "write_back"):
        ctx.set(getattr(unit, name), getattr(uop, name))
    ctx.set(unit.full, uop.lane_mask == FULL)
    ctx.set(unit.still, uop.seq == MOVE)


def lockstep(
    machine: str, seed: int, changes: dict[str, Change] | None = None, cases: int = 150
) -> Counter[str]:
    """Compare the unit in `cases` states. Returns how often what can happen did."""
    rng = random.Random(seed)
    config = MACHINES[machine]
    unit: Any = wrapped(Inserter(config), **changes) if changes else Inserter(config)
    happened: Counter[str] = Counter()

    async def bench(ctx: Any) -> None:
        for case in range(cases):
            window, uop = drawn(rng, config), drawn_uop(rng, config)
            given_to(ctx, unit, rng, window, uop, config)
            before = {entry.number: (entry.valid, entry.dirty, entry.keep) for entry in window.entries}
            collected = Collected(uop, 0)
            done = window.insert(collected)
            assert bool(ctx.get(unit.fits)) == isinstance(done, Insertion), f"case {case}"
            if isinstance(done, Insertion):
                assert ctx.get(unit.squeezed) == 0
                _same(ctx, unit, window, collected, done)
                _same_state(ctx, unit, window, before)
                happened.update(
                    overwritten=done.overwritten,
                    transient=done.transient,
                    found=len(done.found),
                    read=len(done.read),
                    reserved=done.reserved,
                    none=uop.count - done.reserved,
                )
                happened["still"] += uop.seq == MOVE
                happened["partial"] += uop.lane_mask != FULL and done.reserved > 0
            else:
                assert ctx.get(unit.squeezed) == (0 if done is None else 1 << done.number), f"case {case}"
                happened[
                    "waits" if done is None else "squeezes dirty" if done.dirty else "squeezes clean"
                ] += 1

    simulator = Simulator(unit)
    simulator.add_testbench(bench)
    simulator.run()
    return happened


def _same(ctx: Any, unit: Any, window: Recorded, collected: Collected, done: Insertion) -> None:
    """The uop got the same entries."""
    assert ctx.get(unit.found) == mask_of(done.found)
    assert ctx.get(unit.read) == mask_of(done.read)
    assert ctx.get(unit.complete) == (not done.read and all(entry.filled for entry in collected.entries))
    places = [ctx.get(unit.places[slot]) for slot in range(len(collected.entries))]
    assert places == [entry.number for entry in collected.entries]
    assert ctx.get(unit.uses) == mask_of(places)
    assert ctx.get(unit.taken) == mask_of(window.taken)
    assert {number: ctx.get(unit.numbers[number]) for number in window.taken} == window.taken
    assert ctx.get(unit.expected) == mask_of(entry.number for entry in window.entries if entry.reserved)
    assert ctx.get(unit.touched) == mask_of(window.touched)
    counts = [ctx.get(port).bit_count() for port in (unit.expected, unit.overwritten, unit.transient)]
    assert counts == [done.reserved, done.overwritten, done.transient]


def _same_state(ctx: Any, unit: Any, window: Recorded, before: dict[int, tuple[bool, bool, bool]]) -> None:
    """The collector, doing what the unit says, comes into golden's state."""
    taken, dropped, invalid, clean, sets, clears = (
        ctx.get(port)
        for port in (unit.taken, unit.dropped, unit.invalid, unit.clean, unit.keep_set, unit.keep_clear)
    )
    for entry in window.entries:
        valid, dirty, keep = before[entry.number]
        bit = 1 << entry.number
        valid = bool(((valid and not dropped & bit) or taken & bit) and not invalid & bit)
        assert valid == entry.valid, entry.number
        if valid:
            assert (dirty and not clean & bit) == entry.dirty, entry.number
            assert bool((keep and not clears & bit) or sets & bit) == entry.keep, entry.number


@settings(FEW, max_examples=examples(5, 2))
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


@pytest.mark.quick("3 half")
@pytest.mark.parametrize("machine", MACHINES)
def test_what_matters_happens(machine: str) -> None:
    happened = lockstep(machine, 1, cases=300)
    for name in ("overwritten", "transient", "found", "read", "reserved", "none", "partial"):
        assert happened[name] >= 5, f"{name}: {happened[name]} times"
    if machine in ("3 half", "7 6"):
        for name in ("waits", "squeezes clean", "squeezes dirty"):
            assert happened[name] >= 5, f"{name}: {happened[name]} times"


#: Broken ones: an input that is not looked at, or an output that is not right.
MUTANTS: dict[str, dict[str, Change]] = {
    "forwards what has left the window": {"passed": lambda value, unit: Const(0, len(value))},
    "drops what the banks have to get": {"keep": lambda value, unit: Const(0, len(value))},
    "takes a partial result for a full one": {"full": lambda value, unit: Const(1)},
    "writes overwritten values back": {"clean": lambda value, unit: value & unit.taken},
    "looks for the other uop": {"waits": lambda value, unit: ~value},
    "dispatches without a value": {"filled": lambda value, unit: ~Const(0, len(value))},
    "evicts the youngest": {"age": lambda value, unit: ~value},
    "evicts what a result arrives for": {"claimed": lambda value, unit: Const(0, len(value))},
    "gives away what a uop in collection reads": {"pinned": lambda value, unit: Const(0, len(value))},
}


@pytest.mark.quick("drops*", "looks*")
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name: str) -> None:
    assert fails(lambda seed: lockstep("3 half", seed, MUTANTS[name]))
