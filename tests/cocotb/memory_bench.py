"""The memory behind the L1 beside golden's: random requests, every answer in its cycle."""

from __future__ import annotations

import random
from typing import Any

import amaranth.sim

from warpbank.arch.parameters import SmConfig
from warpbank.golden.execute.memory import Memory as Golden
from warpbank.golden.execute.memory import Request
from warpbank.golden.probe import Probe
from warpbank.hdl.execute.memory import Memory
from warpbank.hdl.probe import event_ports


def lockstep(config: SmConfig, seed: int, cycles: int = 600) -> None:
    """Raises AssertionError in the first cycle that differs."""
    rng = random.Random(seed)
    events: list[Any] = []
    rtl, model = Memory(config, probe=True), Golden(config.memory, Probe(-1, events.append))
    ports = event_ports(rtl.events)
    flying: dict[tuple[int, int], int] = {}  # (line of an L1 request) or (uop) -> id

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            answer = model.answer(cycle)
            assert ctx.get(rtl.answer) == (answer is not None), f"cycle {cycle}"
            if answer is not None:
                line, uop = answer
                found = (ctx.get(rtl.fill), ctx.get(rtl.id_answered))
                expected = (0, uop) if uop is not None else (1, flying.pop((0, line)))
                assert found == expected, f"cycle {cycle}"
            accepts = model.accepts(cycle)
            assert bool(ctx.get(rtl.accepts)) == accepts, f"cycle {cycle}"
            kind, line = rng.choice(list(Request)), rng.randrange(24) | rng.choice((0, 1 << 56))
            asks = accepts and rng.random() < 0.4
            if kind is Request.READ and ((0, line) in flying or len(flying) >= config.l1.mshrs):
                asks = False  # the L1 asks for a line once, and for as many as it has MSHRs
            name = rng.randrange(config.lsu.pending)
            if kind is Request.READ and asks:
                name = next(number for number in range(config.l1.mshrs) if number not in flying.values())
                flying[0, line] = name
            for port, value in ((rtl.request, asks), (rtl.kind, kind), (rtl.line, line), (rtl.id, name)):
                ctx.set(port, int(value))
            if asks:
                model.request(cycle, kind, line, None if kind is Request.READ else name)  # type: ignore[arg-type]
            seen = [tuple(ctx.get(field) for field in port.fields) for port in ports if ctx.get(port.valid)]
            assert seen == [event[3] for event in events if event[0] == cycle], f"cycle {cycle}"
            await ctx.tick()

    simulator = amaranth.sim.Simulator(rtl)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
