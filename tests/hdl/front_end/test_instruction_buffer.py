"""The buffers ask for, hold and show what golden's do."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from amaranth.hdl import Array, Const, Module, Signal, Value
from hypothesis import given

from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, fails, machines, make_uop, seen, simulate, uop_record
from warpbank.arch.config import with_overrides
from warpbank.arch.uop import RZ, Control
from warpbank.golden.front_end.instruction_buffer import InstructionBuffers as Golden
from warpbank.golden.stream import TraceUop
from warpbank.hdl.front_end.instruction_buffer import InstructionBuffers

#: Instructions of a program, and of those that a pir word covers; every other word is left out.
CODE, WORD = 24, 3


class Stream:
    """A random warp's stream: golden reads `length` and `position` and calls `take`. Warps walk through the
    same program, and jump in it now and then."""

    def __init__(self, rng: random.Random, warp: int) -> None:
        self._rng, self._warp = rng, warp
        self.position, self.length = 0, rng.randrange(1, 20)
        self._pc = 0
        self.taken: TraceUop | None = None

    def take(self) -> TraceUop:
        rng = self._rng
        count = rng.choice((0, 1, 2, 4))
        self.taken = make_uop(
            self._warp,
            self.position,
            sources=tuple(rng.sample(range(255), rng.randrange(7))),
            destination=rng.randrange(250),
            count=count,
            predicates_read=rng.getrandbits(7),
            predicates_written=rng.getrandbits(7),
            collects=rng.random() < 0.8,
            control=rng.choice((Control.NONE, Control.NONE, Control.BRANCH)),
            last=self.position + 1 == self.length,
            pc=self._pc,
            covered=self._pc // WORD * WORD if self._pc // WORD % 2 else None,
            enters=rng.random() < 0.4,
            part=rng.random() < 0.5,
            fresh=int(rng.random() < 0.5),
        )
        self.position += 1
        self._pc = (self._pc + 1) % CODE if rng.random() < 0.8 else rng.randrange(CODE)
        return self.taken


def lockstep(
    machine: str,
    seed: int,
    unit: Any = InstructionBuffers,
    cycles: int = 200,
    flags: str = "off",
    prefetch: str = "instruction",
    stages: int = 0,
) -> Counter[str]:
    """Returns how many events there were. Golden's `enter` reports none: its caller does. Half of the seeds
    show collectors every first uop, and in half of all what others see of first uops stands in registers.
    `stages`: of issue; with two the warp that issues is known in the cycle before, and its uop
    has been there for one more."""
    rng = random.Random(seed)
    config = with_overrides(
        MACHINES[machine],
        [
            f"sub_core.mapping.release_flags={flags}",
            f"sub_core.cache.prefetch={prefetch}",
            f"sub_core.front_end.issue_stages={stages}",
        ],
    )
    warps = config.sub_core.warps
    log = Log()
    counts: Counter[str] = Counter()
    rtl = unit(config, probe=True, shown=not seed % 2, standing=seed % 4 > 1)
    model = Golden(config.sub_core, log.probe)
    streams: list[Stream | None] = [None] * warps
    coming: list[int] = []  # warp that may issue in the next cycle
    picked: list[int] = []  # warps whose first uop the scheduler may have picked in the cycle before

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            first = sum(1 << warp for warp in range(warps) if model.entries[warp])
            assert ctx.get(rtl.first) == first, f"cycle {cycle}"
            for warp, entries in enumerate(model.entries):
                if entries:
                    _shown(ctx, rtl, warp, entries[0])
            able = [warp for warp in range(warps) if first >> warp & 1]
            entered = []
            if prefetch == "bit":
                waits = sum(1 << warp for warp in able if model.entries[warp][0].enters)
                assert ctx.get(rtl.entry.waits) == waits, f"cycle {cycle}"
                may = rng.getrandbits(warps)
                ctx.set(rtl.entry.may, may)
                assert ctx.get(rtl.entry.valid) == bool(waits & may)
                able = [warp for warp in able if not waits >> warp & 1]
                if waits & may:
                    uop = model.enter(waits & may)
                    assert (ctx.get(rtl.entry.warp), ctx.get(rtl.entry.pc)) == (uop.warp, uop.pc)
                    entered = [("prefetch", (uop.warp, uop.seq))]
            turn = [warp for warp in coming if warp in able] if stages > 1 else able
            pop = bool(turn) and rng.random() < 0.6
            ctx.set(rtl.pop, pop)
            warp = rng.choice(turn) if turn else 0
            ctx.set(rtl.warp, warp)
            if stages > 1:
                others = [other for other in able if (not pop or other != warp) and other in picked]
                coming[:] = rng.sample(others, min(len(others), 1))
                picked[:] = [other for other in able if not pop or other != warp]
                ctx.set(rtl.coming, coming[0] if coming else rng.randrange(warps))
            if pop:
                popped = model.entries[warp][0]
                assert (ctx.get(rtl.uop.seq), ctx.get(rtl.uop.mask)) == (popped.seq, popped.lane_mask)
            model.step(cycle)
            if ctx.get(rtl.fill.valid):
                stream = streams[ctx.get(rtl.fill.warp)]
                assert stream is not None
                assert stream.taken is not None
                record, covered = uop_record(stream.taken), stream.taken.covered
                record |= {"part": int(stream.taken.part), "fresh": stream.taken.fresh}
                if flags == "on":
                    record |= {"covered": covered is not None, "first": covered or 0}
                if prefetch == "bit":
                    record |= {"enters": stream.taken.enters}
                ctx.set(rtl.fill.uop, record)
            if pop:
                model.pop(warp, cycle)
            events = sorted([*log.take(), *entered])
            assert seen(ctx, rtl.events) == events, f"cycle {cycle}"
            counts.update(name for name, _ in events)
            started = 0
            for slot, stream in enumerate(streams):
                over = stream is None or (stream.position == stream.length and not model.entries[slot])
                if over and rng.random() < 0.2:
                    started |= 1 << slot
                    streams[slot] = Stream(rng, slot)
                    model.start(slot, streams[slot])  # type: ignore[arg-type]
            ctx.set(rtl.start, started)
            await ctx.tick()

    simulate(rtl, bench)
    return counts


def _shown(ctx: Any, rtl: Any, warp: int, uop: TraceUop) -> None:
    """What the scoreboard sees of a first uop."""
    port = rtl.hazards[warp]
    sources = [*uop.sources, *(RZ for _ in range(6 - len(uop.sources)))]
    targets = [uop.destination + place if place < uop.count else RZ for place in range(4)]
    assert [ctx.get(port.registers[place]) for place in range(10)] == [*sources, *targets]
    assert ctx.get(port.predicates) == uop.predicates_read | uop.predicates_written
    assert (ctx.get(port.destination), ctx.get(port.count)) == (
        uop.destination,
        uop.count if uop.collects else 0,
    )
    assert ctx.get(rtl.collects) >> warp & 1 == uop.collects
    assert ctx.get(rtl.partial) >> warp & 1 == (uop.part and not uop.fresh)
    for head in rtl.heads[warp : warp + 1]:
        assert (ctx.get(head.seq), ctx.get(head.mask)) == (uop.seq, uop.lane_mask)


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


@FEW
@given(machine=machines, seed=SEEDS)
def test_the_uop_is_read_before_its_turn(machine: str, seed: int) -> None:
    lockstep(machine, seed, stages=2)


@FEW
@given(machine=machines, seed=SEEDS)
def test_flag_instructions_equal_goldens(machine: str, seed: int) -> None:
    """Flag instructions are skipped if the release flag cache has them, and take the next fill slot if
    not."""
    lockstep(machine, seed, flags="on")


def test_flag_instructions_are_skipped_and_fetched() -> None:
    counts = lockstep("tiny", 1, flags="on")
    assert counts["flag_hit"] > counts["flag_fetch"] > 0, counts


class OnePlace(InstructionBuffers):
    """Every uop enters at the first place of its warp."""

    def _by_place(self, m: Module, tail: Value, heads: list[Signal]) -> Value:
        return super()._by_place(m, Const(0, len(tail)), heads)


class FirstHead(InstructionBuffers):
    """The warp that comes issues what stands where warp 0 has its first uop."""

    def _by_place(self, m: Module, tail: Value, heads: list[Signal]) -> Value:
        return super()._by_place(m, tail, [heads[0]] * len(heads))


@pytest.mark.parametrize("unit", [OnePlace, FirstHead])
def test_mutants_of_places_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", 2 * seed + 1, unit, stages=2))


class FetchesAll(InstructionBuffers):
    """A flag instruction takes a fill slot even if the cache has it."""

    def _flags(self, m: Module) -> Value:
        fetches, again = super()._flags(m), Signal()
        cache = m.submodules.flags
        m.d.sync += again.eq(cache.asks & cache.hit)
        return fetches | again


class FetchesNone(InstructionBuffers):
    """A flag instruction takes no fill slot."""

    def _flags(self, m: Module) -> Value:
        super()._flags(m)
        return Const(0, 1)


@pytest.mark.parametrize("unit", [FetchesAll, FetchesNone])
def test_another_order_of_fetches_is_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", seed, unit, flags="on"))


@FEW
@given(machine=machines, seed=SEEDS)
def test_extra_bits_equal_goldens(machine: str, seed: int) -> None:
    """The extra bit of every first uop that has one is served once, one in a cycle, in rotating order."""
    lockstep(machine, seed, prefetch="bit")


def test_extra_bits_are_served() -> None:
    counts = lockstep("tiny", 1, prefetch="bit")
    assert counts["fill"] > counts["prefetch"] > 20, counts


class NeverServed(InstructionBuffers):
    """A uop whose extra bit has been served goes on waiting for that."""

    def _enter(self, m: Module, *rest: Any) -> None:
        super()._enter(m, *rest)
        m.d.comb += self.entry.waits.eq(self.first & self._enters)


class ServedForAll(InstructionBuffers):
    """The uops behind one whose bit has been served count as served, too."""

    def _enter(self, m: Module, firsts: Any, popped: Value) -> None:
        super()._enter(m, firsts, popped & 0)


class OtherUop(InstructionBuffers):
    """The bit-vector is that of another warp's uop."""

    def _enter(self, m: Module, firsts: Array[Value], popped: Value) -> None:
        one, *others = firsts
        super()._enter(m, Array([*others, one]), popped)


@pytest.mark.parametrize("unit", [NeverServed, ServedForAll, OtherUop])
def test_mutants_of_extra_bits_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", seed, unit, prefetch="bit"))


class EarlyBranch(InstructionBuffers):
    """The stream goes on as soon as the branch issued."""

    def _hold(self, m: Any, popped: Any) -> Any:
        super()._hold(m, popped)
        return popped


class StaysFirst(InstructionBuffers):
    """A first uop that collectors see stays until its buffer is empty."""

    def _stand(self, m: Any, name: str, popped: Any, *others: Any) -> None:
        super()._stand(m, name, Const(0, len(popped)), *others)


class NeverSecond(InstructionBuffers):
    """Behind the first uop comes the one that is filled."""

    def _stand(self, m: Any, name: str, popped: Any, more_than: Any, *others: Any) -> None:
        super()._stand(m, name, popped, more_than[:1], *others)


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: lockstep("tiny", seed, EarlyBranch))


@pytest.mark.parametrize("unit", [StaysFirst, NeverSecond])
def test_mutants_of_the_first_uops_are_caught(unit: Any) -> None:
    assert fails(lambda seed: lockstep("tiny", 2 * seed, unit))


def test_needs_a_configuration() -> None:
    with pytest.raises(
        TypeError, match="InstructionBuffers needs the machine's configuration, an SmConfig, not 'tiny'"
    ):
        InstructionBuffers("tiny")  # type: ignore[arg-type]
