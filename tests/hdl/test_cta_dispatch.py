"""CTA dispatch in lockstep with golden's: random launches, warps that drain when they like."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Const
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hdl.sm_bench import Streams
from tests.hdl.wrapped import wrapped
from warpbank.arch.config import SmConfig, preset, with_overrides
from warpbank.golden.cta_dispatch import Cta
from warpbank.golden.cta_dispatch import CtaDispatch as GoldenDispatch
from warpbank.hdl.cta_dispatch import CtaDispatch
from warpbank.hdl.probe import event_ports
from warpbank.program.trace.builder import TraceBuilder, alu
from warpbank.program.trace.schema import Trace


@st.composite
def machines(draw: st.DrawFn) -> SmConfig:
    return with_overrides(
        preset("tiny"),
        [
            f"sub_cores={draw(st.integers(1, 5))}",
            f"sub_core.warps={draw(st.integers(1, 6))}",
            f"sub_core.rows={draw(st.sampled_from((8, 20, 64)))}",
            f"cta.max_ctas={draw(st.integers(1, 6))}",
            f"cta.shared_bytes={draw(st.sampled_from((0, 100, 1000)))}",
            f"sub_core.mapping.release_flags={draw(st.sampled_from(('on', 'off')))}",
        ],
    )


def random_launches(config: SmConfig, rng: random.Random) -> Trace:
    """A few launches that fit the machine; every warp is a single uop, which nobody looks at."""
    builder = TraceBuilder()
    made = 0
    while made < 3:
        warps = rng.randint(1, config.warps)
        registers = rng.choice((1, 8, 16, 40))
        shared = rng.choice((0, 0, config.cta.shared_bytes // 3, config.cta.shared_bytes))
        rows = config.rows_per_warp(registers)
        if rows * -(-warps // config.sub_cores) <= config.sub_core.rows:
            builder.launch(*[[[alu(1)]] * warps] * rng.randint(1, 6), registers=registers, shared=shared)
            made += 1
    return builder.build()


def compare(config: SmConfig, seed: int, dut: Any = None) -> str:
    """The first difference, in words."""
    rng = random.Random(seed)
    trace = random_launches(config, rng)
    golden = GoldenDispatch(config, trace)
    dut = dut or CtaDispatch(config, probe=True)
    ports = event_ports(dut.events)
    streams = Streams(trace, config)
    of: dict[tuple[int, int], Cta] = {}
    wrong = ""

    async def bench(ctx: Any) -> None:
        nonlocal wrong
        ctx.set(dut.launch.valid, 1)
        ctx.set(dut.launch.payload, streams.offer())
        running = golden.next_launch()
        await ctx.tick()
        streams.launched()
        for cycle in range(2000):
            drained = [place for place in of if rng.random() < 0.1]
            for core, port in enumerate(dut.drain):
                ctx.set(port, sum(1 << warp for number, warp in drained if number == core))
            offer = streams.offer()
            ctx.set(dut.launch.valid, offer is not None)
            if offer is not None:
                ctx.set(dut.launch.payload, offer)
            expected = []
            masks = [0] * config.sub_cores
            served = [ctx.get(start.served) for start in dut.start] if config.takes_flags else golden.served()
            if served != golden.served():
                wrong = f"cycle {cycle}: golden serves {golden.served()} first, RTL {served}"
            begin = golden._begin
            started = golden.start()
            if started is not None:
                begin = started[0].warps[0][0]
                expected.append(("cta_start", (started[0].slot,)))
                for core, warp in started[0].warps:
                    masks[core] |= 1 << warp
            for core, warp in of:
                ctx.set(dut.warps[core], warp)
                members = sum(
                    1 << number * config.sub_core.warps + slot for number, slot in of[core, warp].warps
                )
                if (ctx.get(dut.ctas[core]), ctx.get(dut.members[core])) != (of[core, warp].slot, members):
                    wrong = (
                        f"cycle {cycle}: warp {warp} of sub-core {core} is not of CTA {of[core, warp].slot}"
                    )
            for place in drained:
                cta = of.pop(place)
                cta.running -= 1
                if not cta.running:
                    golden.end(cta)
                    expected.append(("cta_end", (cta.slot,)))
            over = golden.exhausted and not golden.running
            found = sorted(
                (port.name, tuple(ctx.get(field) for field in port.fields))
                for port in ports
                if ctx.get(port.valid)
            )
            starts = [ctx.get(start.warps) for start in dut.start]
            if (found, starts, ctx.get(dut.launch.ready)) != (sorted(expected), masks, over):
                wrong = (
                    f"cycle {cycle}: golden {expected} {masks} {over}, RTL {found} {starts} "
                    f"{ctx.get(dut.launch.ready)}"
                )
            if started is not None:
                cta = started[0]
                of.update(dict.fromkeys(cta.warps, cta))
                seen = (
                    ctx.get(dut.started.cta),
                    ctx.get(dut.started.begin),
                    ctx.get(dut.started.warps),
                    ctx.get(dut.start[0].rows),
                )
                if seen != (cta.slot, begin, len(cta.warps), golden.rows_per_warp):
                    wrong = f"cycle {cycle}: CTA {cta} starts as {seen}"
            if wrong:
                return
            if over:
                if offer is None:
                    running = golden.next_launch()
                    assert not running
                    return
                golden.next_launch()
                streams.launched()
            await ctx.tick()
        wrong = "the launches do not end"

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return wrong


@settings(max_examples=25, deadline=None)
@given(config=machines(), seed=st.integers(0, 1 << 20))
def test_random_launches(config: SmConfig, seed: int) -> None:
    assert compare(config, seed) == ""


class TurnStays(CtaDispatch):
    """The CTA in slot 0 always has its turn."""

    def _serve(self, m: Any, following: Any, held: Any, numbers: Any) -> None:
        super()._serve(m, Const(0, len(following)), held, numbers)


MUTANTS = {
    "the turn never passes on": lambda config: TurnStays(config, probe=True),
    "the last warp is not waited for": lambda config: wrapped(
        CtaDispatch(config, probe=True), drain=lambda value, _: value | (value << 1)
    ),
    "warp slot 0 never drains": lambda config: wrapped(
        CtaDispatch(config, probe=True), drain=lambda value, _: value & ~1
    ),
    "a CTA has a warp less": lambda config: wrapped(
        CtaDispatch(config, probe=True), launch=lambda value, _: _less(value)
    ),
}


def _less(value: Any) -> Any:
    """The launch's payload with an even number of warps."""
    return value if len(value) == 1 else value & ~(1 << 32)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_noticed(name: str) -> None:
    config = with_overrides(preset("tiny"), ["sub_cores=2", "sub_core.mapping.release_flags=on"])
    assert any(compare(config, seed, MUTANTS[name](config)) for seed in range(3))


def test_configuration_is_asked_for() -> None:
    with pytest.raises(
        TypeError, match=r"CtaDispatch needs the machine's configuration, an SmConfig, not 'tiny'\."
    ):
        CtaDispatch("tiny")  # type: ignore[arg-type]
