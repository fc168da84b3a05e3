"""Bench of a unit by recorded traffic: inputs, and what the unit's RTL answered in Amaranth's simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock

from warpbank.synth.benches.protocol import Coverage, Unit


@cocotb.test()
async def recorded_traffic(dut: Any) -> None:
    """Every output bit that is known has the recorded value in every cycle, resets included."""
    unit = Unit(dut)
    rows = json.loads((Path(__file__).parent / "vectors.json").read_text())
    again = [cycle for cycle, row in enumerate(rows) if row["outputs"] and row["inputs"]["rst"] == "1"]
    bins = ("an output changed", "half of all bits known")
    coverage = Coverage(*bins, *(("reset in mid-flight",) if again else ()))
    clocked = hasattr(dut, "clk")
    for name, port in unit.ports.items():
        if not port["output"]:
            unit.set(name, 0)
    if clocked:
        Clock(dut.clk, 10, unit="ns").start()
    known = total = 0
    before: dict[str, str] = {}
    for cycle, row in enumerate(rows):
        inputs, outputs = row["inputs"], row["outputs"]
        if unit.has_reset:
            dut.rst.value = int(inputs["rst"])
        for name, value in inputs.items():
            if name != "rst":
                unit.set(name, int(value, 16))
        await unit.settle()
        for name, value in outputs.items():
            width = unit.width(name)
            found, wanted = str(getattr(dut, name).value), f"{int(value, 16):0{width}b}"
            # Icarus shows data that nobody has written as unknown.
            pairs = [(f, w) for f, w in zip(found, wanted, strict=True) if f in "01"]
            assert all(f == w for f, w in pairs), f"cycle {cycle}: {name} is {found}, not {wanted}"
            known += len(pairs)
            total += width
        coverage.hit("an output changed", before and outputs != before)
        if cycle in again:
            coverage.hit("reset in mid-flight")
        before = outputs
        if clocked:
            await unit.edge()
    coverage.hit("half of all bits known", 2 * known >= total)
    coverage.check(dut._log)
