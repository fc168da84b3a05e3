"""Small SM that runs a kernel: the bench answers the questions of the RTL to the testbench and compares every
event of every cycle with golden."""

from __future__ import annotations

from typing import Any

import cocotb
from amaranth.hdl import Value
from cocotb.triggers import Timer

from tests.hdl.sm_bench import Streams, pack, run_golden
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import LINE_MASK, LINE_WIDTH
from warpbank.hdl.cta_dispatch import launch_layout
from warpbank.hdl.layouts import uop_layout
from warpbank.hdl.probe import event_ports
from warpbank.hdl.sm import Sm
from warpbank.program import runner


def _names(component: Any) -> dict[int, str]:
    """Name in Verilog of every port."""
    return {
        id(Value.cast(port)): "__".join(map(str, path))
        for path, _, port in component.signature.flatten(component)
    }


async def lockstep(overrides: list[str], kernel: str, seed: int, cycles: int) -> None:
    """Run the first `cycles` cycles. Nothing is drawn from `seed`. Raises AssertionError in the first cycle
    that differs."""
    config = with_overrides(preset("tiny"), overrides)
    job = workloads.get(kernel).job("tiny")
    trace = runner.trace_job(job, runner.Options(max_registers=min(255, config.sub_core.warp_registers // 8)))
    result, records, _ = run_golden(trace, config, "baseline")
    expected: dict[int, list[Any]] = {}
    for cycle, number, name, values in records:
        expected.setdefault(cycle, []).append((number, name, values))
    machine = Sm(config, parse_scheme("baseline"), probe=True)
    names = _names(machine)

    def handle(port: Any) -> Any:
        return getattr(cocotb.top, names[id(Value.cast(port))])

    def read(port: Any) -> int:
        value = handle(port).value
        return int(value) if len(Value.cast(port)) == 1 else int(value.to_unsigned())

    events = [
        (number, port)
        for number, bundle in enumerate([machine.events, *machine.core_events], -1)
        for port in event_ports(bundle)
    ]
    streams = Streams(trace, config)
    launches, uops = launch_layout(config), uop_layout(config)
    cocotb.top.clk.value, cocotb.top.rst.value = 0, 0
    for cycle in range(-1, cycles):
        offer = streams.offer()
        handle(machine.launch.valid).value = offer is not None
        if offer is not None:
            handle(machine.launch.payload).value = launches.const(offer).as_bits()
        await Timer(1, "step")
        for core, fill in enumerate(machine.fill):
            if read(fill.valid):
                handle(fill.uop).value = uops.const(streams.fill(core, read(fill.warp))).as_bits()
            for port in machine.write[core]:
                if read(port.valid):
                    uop = streams.uop(core, read(port.warp), read(port.seq))
                    handle(port.value).value = pack(uop.values[read(port.register) - uop.destination])
        if read(machine.lines.valid):
            uop = streams.uop(read(machine.lines.sub_core), read(machine.lines.warp), read(machine.lines.seq))
            touched = uop.lines[read(machine.lines.index)]
            handle(machine.lines.line).value = touched & LINE_MASK
            handle(machine.lines.sectors).value = touched >> LINE_WIDTH
        await Timer(1, "step")
        if cycle >= 0:
            found = sorted(
                (number, port.name, tuple(read(field) for field in port.fields))
                for number, port in events
                if read(port.valid)
            )
            there = sorted(expected.get(cycle, ()))
            assert found == there, f"cycle {cycle}: golden {there}, RTL {found}"
        if read(machine.started.valid):
            streams.started(
                read(machine.started.begin),
                read(machine.started.warps),
                [read(start.warps) for start in machine.start],
            )
        assert not read(machine.overflow)
        if read(machine.launch.ready):
            if offer is None:
                assert cycle + 1 == result.cycles
                return
            streams.launched()
        cocotb.top.clk.value = 1
        await Timer(1, "step")
        cocotb.top.clk.value = 0
    assert cycles < result.cycles, f"golden ended after {result.cycles} cycles, the RTL goes on"
