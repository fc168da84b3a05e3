"""The whole SM in the Amaranth simulator, fed with a trace, beside golden: every event of every cycle, every
operand."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.sim import Simulator

from tests.hdl.sub_core_bench import pack, uop_fields
from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import LINE_MASK, LINE_WIDTH
from warpbank.golden.execute.pipelines import Pipelines
from warpbank.golden.result import Result
from warpbank.golden.sm import Sm as GoldenSm
from warpbank.golden.stream import TraceUop, WarpStream, templates_of
from warpbank.hdl.layouts import uop_layout
from warpbank.hdl.probe import EventPort, event_ports
from warpbank.hdl.sm import Sm
from warpbank.program.trace.schema import Trace

#: How many cycles a run may take longer than golden's before it is given up.
_GRACE = 20


class Divergence(AssertionError):
    """RTL and golden differ."""


def run_golden(
    trace: Trace, config: SmConfig, scheme: str
) -> tuple[Result, list[Record], dict[tuple[int, int, int], list[int]]]:
    """Result, events, and the operands of every (sub-core, cycle, collector) dispatched."""
    records: list[Record] = []
    operands: dict[tuple[int, int, int], list[int]] = {}
    sm = GoldenSm(trace, config, parse_scheme(scheme), events=records.append)

    def spy(pipelines: Pipelines, number: int) -> None:
        dispatch = pipelines.dispatch

        def with_metadata(uop: TraceUop, collector: int, cycle: int) -> None:
            operands[number, cycle, collector] = [pack(value) for value in uop.operands]
            dispatch(uop, collector, cycle)

        pipelines.dispatch = with_metadata  # type: ignore[method-assign]

    for core in sm.cores:
        spy(core.pipelines, core.number)
    return sm.run(), records, operands


class Streams:
    """The trace as the testbench serves it: what runs in every warp slot."""

    def __init__(self, trace: Trace, config: SmConfig) -> None:
        self._trace = trace
        self._config = config
        self._templates = templates_of(trace)
        self._of: dict[tuple[int, int], WarpStream] = {}
        self._uops: dict[tuple[int, int, int], TraceUop] = {}
        self._launches = [launch for launch in trace.launches if launch["ctas"]]
        self._taken = 0
        self._next_warp = 0

    def offer(self) -> dict[str, int] | None:
        """The next launch, as `launch_layout` has it."""
        if self._taken == len(self._launches):
            return None
        launch = self._launches[self._taken]
        shape = int(launch["registers"]), 0, int(launch["warps_per_cta"])
        rows, slots = self._config.launch_shape(*shape)
        flags = {"kept": self._config.launch_reserve(*shape)} if self._config.takes_flags else {}
        return {
            "ctas": int(launch["ctas"]),
            "warps_per_cta": int(launch["warps_per_cta"]),
            "shared_bytes": int(launch["shared_bytes"]),
            "rows": rows,
            "slots": slots,
            **flags,
        }

    def launched(self) -> None:
        """The RTL took the launch."""
        self._next_warp = int(self._launches[self._taken]["first_warp"])
        self._taken += 1

    def started(self, begin: int, warps: int, masks: list[int]) -> None:
        """A CTA started; `masks`: per sub-core the slots that received a warp."""
        for index in range(warps):
            core = (begin + index) % len(masks)
            slot = (masks[core] & -masks[core]).bit_length() - 1
            masks[core] &= masks[core] - 1
            self._of[core, slot] = WarpStream(
                self._trace,
                self._templates,
                self._trace.warps[self._next_warp],
                core,
                slot,
                self._config.lanes,
            )
            self._next_warp += 1
        assert not any(masks), "a slot received no warp"

    def fill(self, core: int, warp: int) -> dict[str, Any]:
        """The next uop of a warp."""
        uop = self._of[core, warp].take()
        self._uops[core, warp, uop.seq] = uop
        return uop_fields(uop, self._of[core, warp])

    def uop(self, core: int, warp: int, seq: int) -> TraceUop:
        """A uop that is in flight."""
        return self._uops[core, warp, seq]


def lockstep(trace: Trace, config: SmConfig, *, scheme: str = "baseline", sm: Sm | None = None) -> Result:
    """Run both. Returns golden's result. Raises Divergence in the first cycle that differs."""
    result, records, operands = run_golden(trace, config, scheme)
    expected: dict[int, list[tuple[int, str, tuple[int, ...]]]] = {}
    for cycle, number, name, values in records:
        expected.setdefault(cycle, []).append((number, name, values))
    dut = sm or Sm(config, parse_scheme(scheme), probe=True)
    ports: list[tuple[int, EventPort]] = [(-1, port) for port in event_ports(dut.events)]
    for number, events in enumerate(dut.core_events):
        ports += [(number, port) for port in event_ports(events)]
    valids = Signal(len(ports))
    m = Module()
    m.submodules.sm = dut
    m.d.comb += valids.eq(Cat(port.valid for _, port in ports))
    layout = uop_layout(config)
    streams = Streams(trace, config)

    def answer(ctx: Any) -> None:
        for number, fill in enumerate(dut.fill):
            if ctx.get(fill.valid):
                ctx.set(fill.uop, layout.const(streams.fill(number, ctx.get(fill.warp))))
            for port in dut.write[number]:
                if ctx.get(port.valid):
                    uop = streams.uop(number, ctx.get(port.warp), ctx.get(port.seq))
                    ctx.set(port.value, pack(uop.values[ctx.get(port.register) - uop.destination]))
        lines = dut.lines
        if ctx.get(lines.valid):
            uop = streams.uop(ctx.get(lines.sub_core), ctx.get(lines.warp), ctx.get(lines.seq))
            touched = uop.lines[ctx.get(lines.index)]
            ctx.set(lines.line, touched & LINE_MASK)
            ctx.set(lines.sectors, touched >> LINE_WIDTH)

    def compare(ctx: Any, cycle: int) -> None:
        found = []
        mask = ctx.get(valids)
        while mask:
            number, port = ports[(mask & -mask).bit_length() - 1]
            mask &= mask - 1
            found.append((number, port.name, tuple(ctx.get(signal) for signal in port.fields)))
        there = sorted(expected.get(cycle, ()))
        if sorted(found) != there:
            only = [
                [event for event in side if event not in other]
                for side, other in ((there, found), (found, there))
            ]
            raise Divergence(
                f"cycle {cycle}: golden only {only[0]}, RTL only {only[1]}; all of golden: {there}"
            )
        for number, name, values in found:
            if name == "dispatch":
                values_there = operands[number, cycle, values[0]]
                held = dut.cores[number].collectors.operands[values[0]]
                if [ctx.get(held[slot]) for slot in range(len(values_there))] != values_there:
                    raise Divergence(f"cycle {cycle}: wrong operands of {values} in sub-core {number}")

    async def bench(ctx: Any) -> None:
        cycle = -1
        while True:
            offer = streams.offer()
            ctx.set(dut.launch.valid, offer is not None)
            if offer is not None:
                ctx.set(dut.launch.payload, offer)
            answer(ctx)
            if cycle >= 0:
                compare(ctx, cycle)
            if ctx.get(dut.started.valid):
                streams.started(
                    ctx.get(dut.started.begin),
                    ctx.get(dut.started.warps),
                    [ctx.get(start.warps) for start in dut.start],
                )
            assert not ctx.get(dut.overflow)
            if ctx.get(dut.launch.ready):
                if offer is None:
                    break
                streams.launched()
            if cycle > result.cycles + _GRACE:
                raise Divergence(f"golden ended after {result.cycles} cycles, the RTL goes on")
            await ctx.tick()
            cycle += 1
        if cycle + 1 != result.cycles:
            raise Divergence(f"golden ended after {result.cycles} cycles, the RTL after {cycle + 1}")

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return result
