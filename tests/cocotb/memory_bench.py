"""The memory behind the L1 beside golden's: random requests, every answer in its cycle."""

from __future__ import annotations

import random
from typing import Any

import amaranth.sim

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import SECTORS
from warpbank.golden.execute.l1 import Missing
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
    flying: dict[int, tuple[int, int]] = {}  # id of an L1 request -> its line and sectors

    async def bench(ctx: Any) -> None:
        for cycle in range(cycles):
            answer = model.answer(cycle)
            assert ctx.get(rtl.answer) == (answer is not None), f"cycle {cycle}"
            if answer is not None:
                entry, uop = answer
                found = (ctx.get(rtl.fill), ctx.get(rtl.id_answered))
                if entry is None:
                    assert found == (0, uop), f"cycle {cycle}"
                else:
                    assert found[0] == 1, f"cycle {cycle}"
                    assert flying.pop(found[1]) == (entry.line, entry.sectors), f"cycle {cycle}"
            accepts = model.accepts(cycle)
            assert bool(ctx.get(rtl.accepts)) == accepts, f"cycle {cycle}"
            kind, line = rng.choice(list(Request)), rng.randrange(24) | rng.choice((0, 1 << 56))
            sectors = rng.randrange(1, 1 << SECTORS)
            asks = accepts and rng.random() < 0.4
            coming = [waits & sectors for number, waits in flying.values() if number == line]
            if kind is Request.READ and (any(coming) or len(flying) >= config.l1.mshrs):
                asks = False  # the L1 asks for a sector once, and for as many requests as it has MSHRs
            name = rng.randrange(config.lsu.pending)
            if kind is Request.READ and asks:
                name = next(number for number in range(config.l1.mshrs) if number not in flying)
                flying[name] = (line, sectors)
            ports_in = (rtl.request, rtl.kind, rtl.line, rtl.sectors, rtl.id)
            for place, value in zip(ports_in, (asks, kind, line, sectors, name), strict=True):
                ctx.set(place, int(value))
            if asks and kind is Request.READ:
                model.request(cycle, kind, line, sectors, Missing(line, sectors))
            elif asks:
                model.request(cycle, kind, line, sectors, None, name)  # type: ignore[arg-type]
            seen = [tuple(ctx.get(field) for field in port.fields) for port in ports if ctx.get(port.valid)]
            assert seen == [event[3] for event in events if event[0] == cycle], f"cycle {cycle}"
            await ctx.tick()

    simulator = amaranth.sim.Simulator(rtl)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
