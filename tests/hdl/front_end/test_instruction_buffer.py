"""The buffers ask for, hold and show what golden's do."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given

from arch.uop import RZ, Control
from golden.front_end.instruction_buffer import InstructionBuffers as Golden
from golden.stream import TraceUop
from hdl.front_end.instruction_buffer import InstructionBuffers
from tests.hdl.bench import FEW, MACHINES, SEEDS, Log, fails, machines, make_uop, seen, simulate, uop_record


class Stream:
    """A random warp's stream: golden reads `length` and `position` and calls `take`."""

    def __init__(self, rng: random.Random, warp: int) -> None:
        self._rng, self._warp = rng, warp
        self.position, self.length = 0, rng.randrange(1, 20)
        self.taken: TraceUop | None = None

    def take(self) -> TraceUop:
        rng = self._rng
        count = rng.choice((0, 1, 2, 4))
        self.taken = make_uop(
            self._warp, self.position, sources=tuple(rng.sample(range(255), rng.randrange(7))), destination=rng.randrange(250),
            count=count, predicates_read=rng.getrandbits(7), predicates_written=rng.getrandbits(7), collects=rng.random() < 0.8,
            control=rng.choice((Control.NONE, Control.NONE, Control.BRANCH)), last=self.position + 1 == self.length,
        )
        self.position += 1
        return self.taken


def lockstep(machine: str, seed: int, unit: Any = InstructionBuffers, cycles: int = 200) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    warps = config.sub_core.warps
    log = Log()
    rtl, model = unit(config, probe=True), Golden(config.sub_core, log.probe)
    streams: list[Stream | None] = [None] * warps

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            first = sum(1 << warp for warp in range(warps) if model.entries[warp])
            assert ctx.get(rtl.first) == first, f"cycle {cycle}"
            for warp, entries in enumerate(model.entries):
                if entries:
                    _shown(ctx, rtl, warp, entries[0])
            able = [warp for warp in range(warps) if first >> warp & 1]
            pop = bool(able) and rng.random() < 0.6
            ctx.set(rtl.pop, pop)
            warp = rng.choice(able) if able else 0
            ctx.set(rtl.warp, warp)
            if pop:
                assert ctx.get(rtl.uop.seq) == model.entries[warp][0].seq
            model.step(cycle)
            if ctx.get(rtl.fill.valid):
                stream = streams[ctx.get(rtl.fill.warp)]
                assert stream is not None
                assert stream.taken is not None
                ctx.set(rtl.fill.uop, uop_record(stream.taken))
            if pop:
                model.pop(warp, cycle)
            assert seen(ctx, rtl.events) == log.take(), f"cycle {cycle}"
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


def _shown(ctx: Any, rtl: Any, warp: int, uop: TraceUop) -> None:
    """What the scoreboard sees of a first uop."""
    port = rtl.hazards[warp]
    sources = [*uop.sources, *(RZ for _ in range(6 - len(uop.sources)))]
    targets = [uop.destination + place if place < uop.count else RZ for place in range(4)]
    assert [ctx.get(port.registers[place]) for place in range(10)] == [*sources, *targets]
    assert ctx.get(port.predicates) == uop.predicates_read | uop.predicates_written
    assert (ctx.get(port.destination), ctx.get(port.count)) == (uop.destination, uop.count if uop.collects else 0)
    assert ctx.get(rtl.collects) >> warp & 1 == uop.collects


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


class EarlyBranch(InstructionBuffers):
    """The stream goes on as soon as the branch issued."""

    def _hold(self, m: Any, popped: Any) -> Any:
        super()._hold(m, popped)
        return popped


def test_a_mutant_is_caught() -> None:
    assert fails(lambda seed: lockstep("tiny", seed, EarlyBranch))


def test_needs_a_configuration() -> None:
    with pytest.raises(TypeError, match="InstructionBuffers needs the machine's configuration, an SmConfig, not 'tiny'"):
        InstructionBuffers("tiny")  # type: ignore[arg-type]
