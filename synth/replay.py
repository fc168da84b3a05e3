"""Recorded traffic of a unit: seeded random inputs, and what its RTL answers in Amaranth's simulator. A bench
plays it on the exported Verilog, so that a simulator has to agree on every bit."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from typing import Any

from amaranth.hdl import ClockDomain, Module, ResetSignal, Signal, Value
from amaranth.sim import Simulator

from warpbank.synth import netlist

#: Cycles that are recorded, and those in mid-flight in which the reset is given again.
CYCLES, RESETS = 400, (100, 101, 200, 201, 300, 301)
#: Cycles of the first reset. Only behind them are outputs recorded: data registers have no reset, so that
#: what passes through them without an enable has to do so first.
SETTLING = 8
_SEED = 1


def recorded(component: Any, *, resets: Sequence[int] = RESETS) -> list[dict[str, dict[str, str]]]:
    """For every cycle the unit's inputs and outputs, by port, in hexadecimal.

    Inputs hold for some cycles, rest at 0 for others, and are random otherwise. The reset comes first, and
    the cycles in it have no outputs.

    Parameters
    ----------
    component : a unit, not elaborated before.
    resets : cycles in which it comes again.
    """
    places = {
        "__".join(str(part) for part in path): Value.cast(value)
        for path, _, value in component.signature.flatten(component)
    }
    ports = netlist.ports(component)
    inputs = [port for port in ports if not port.output]
    outputs = [port for port in ports if port.output]
    module = Module()
    module.domains += ClockDomain("sync")
    reset = Signal()
    module.d.comb += ResetSignal("sync").eq(reset)
    module.submodules.unit = component
    rng = random.Random(_SEED)
    rows: list[dict[str, dict[str, str]]] = []

    async def testbench(ctx: Any) -> None:
        values = dict.fromkeys((port.name for port in inputs), 0)
        for cycle in range(CYCLES):
            settling = cycle < SETTLING
            again = settling or cycle in resets
            for port in inputs:
                values[port.name] = 0 if again else _next(rng, values[port.name], port.width)
                ctx.set(places[port.name], values[port.name])
            ctx.set(reset, again)
            given = {"rst": int(again), **values}
            answered = {port.name: ctx.get(places[port.name]) for port in outputs if not settling}
            rows.append({"inputs": _hexadecimal(given), "outputs": _hexadecimal(answered)})
            await ctx.tick()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulator = Simulator(module)
        simulator.add_clock(1e-6)
        simulator.add_testbench(testbench)
        simulator.run()
    return rows


def _next(rng: random.Random, before: int, width: int) -> int:
    """An input's next value. Few bits are often more telling than many."""
    kind = rng.random()
    if kind < 0.3:
        return before
    if kind < 0.45:
        return 0
    value = rng.getrandbits(width)
    return value & rng.getrandbits(width) if kind < 0.7 else value


def _hexadecimal(values: dict[str, int]) -> dict[str, str]:
    return {name: f"{value:x}" for name, value in values.items()}
