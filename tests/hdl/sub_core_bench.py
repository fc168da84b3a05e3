"""A sub-core in the Amaranth simulator, in lockstep with golden's.

A whole golden SM runs first; what its shared units do to one of its sub-cores (starts, barriers, the
load/store unit) is recorded and played to the RTL sub-core, whose events and operands must be golden's in
every cycle.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.sim import Simulator

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.arch.uop import Memory
from warpbank.golden.execute.pipelines import Pipelines
from warpbank.golden.sm import Sm
from warpbank.golden.stream import TraceUop, WarpStream
from warpbank.golden.sub_core import SubCore as GoldenSubCore
from warpbank.hdl.layouts import uop_layout
from warpbank.hdl.probe import event_ports
from warpbank.hdl.sub_core import SubCore
from warpbank.program.trace.schema import Trace


@dataclass
class Recording:
    """What golden's SM did, per sub-core and cycle."""

    events: dict[tuple[int, int], list[tuple[str, tuple[int, ...]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    starts: dict[tuple[int, int], list[tuple[int, WarpStream]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    releases: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    returned: dict[tuple[int, int], TraceUop] = field(default_factory=dict)
    operands: dict[tuple[int, int, int], list[int]] = field(default_factory=dict)
    drains: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    arrivals: dict[tuple[int, int], TraceUop] = field(default_factory=dict)
    rows: dict[tuple[int, int], int] = field(default_factory=dict)
    cycles: int = 0


def pack(value: Any) -> int:
    """A register's lanes as one number, lane 0 lowest."""
    return int.from_bytes(value.astype("<u4").tobytes(), "little")


def record(trace: Trace, config: SmConfig, scheme: Scheme) -> Recording:
    """Run golden."""
    log = Recording()

    class Listening(GoldenSubCore):
        def start(self, warp: int, row: int, stream: WarpStream) -> None:
            super().start(warp, row, stream)
            key = (self.number, sm.probe.cycle)
            copy = WarpStream.__new__(WarpStream)
            for name in WarpStream.__slots__:
                setattr(copy, name, getattr(stream, name))
            log.starts[key].append((warp, copy))
            log.rows[key] = sm.ctas.rows_per_warp

        def release(self, warp: int) -> None:
            super().release(warp)
            log.releases[self.number, sm.probe.cycle] |= 1 << warp

    class Spy(Sm):
        sub_core_class = Listening

        def _at_drain(self, number: int, warp: int) -> None:
            super()._at_drain(number, warp)
            log.drains[number, self.probe.cycle] |= 1 << warp

        def _at_issue(self, uop: TraceUop) -> None:
            super()._at_issue(uop)
            log.arrivals[uop.sub_core, self.probe.cycle] = uop

    def sink(event: tuple[int, int, str, tuple[int, ...]]) -> None:
        cycle, number, name, values = event
        log.events[number, cycle].append((name, values))

    sm = Spy(trace, config, scheme, events=sink)
    for core in sm.cores:
        _spy_pipelines(core.pipelines, core.number, log)
    log.cycles = sm.run().cycles
    return log


def _spy_pipelines(pipelines: Pipelines, number: int, log: Recording) -> None:
    dispatch, returned = pipelines.dispatch, pipelines.returned

    def spy_dispatch(uop: TraceUop, collector: int, cycle: int) -> None:
        log.operands[number, cycle, collector] = [pack(value) for value in uop.operands]
        dispatch(uop, collector, cycle)

    def spy_returned(uop: TraceUop, cycle: int) -> None:
        log.returned[number, cycle - 1] = uop
        returned(uop, cycle)

    pipelines.dispatch = spy_dispatch  # type: ignore[method-assign]
    pipelines.returned = spy_returned  # type: ignore[method-assign]


def uop_fields(uop: TraceUop, stream: WarpStream) -> dict[str, Any]:
    """The `uop_layout` record of a uop. The registers are the instruction's, also where the guard is
    false."""
    template = stream._templates[uop.pc]
    valid = (1 << len(template.sources)) - 1
    return {
        "seq": uop.seq,
        "pc": uop.pc,
        "unit": int(uop.unit),
        "sources": [*template.sources, *(0 for _ in range(6 - len(template.sources)))],
        "source_valid": valid,
        "destination": template.destination,
        "count": template.count,
        "predicates_read": template.predicates_read,
        "predicates_written": template.predicates_written,
        "mask": uop.lane_mask,
        "memory": int(uop.memory),
        "control": int(uop.control),
        "collects": int(uop.collects),
        "arrive": int(uop.arrive),
        "wait": int(uop.wait),
        "barrier": uop.barrier if uop.arrive else 0,
        "barrier_warps": uop.barrier_warps if uop.arrive else 0,
        "last": int(uop.last),
        "lines": len(uop.lines),
        "passes": uop.passes,
    }


def result_fields(uop: TraceUop) -> dict[str, Any]:
    """The `result_layout` record of a uop."""
    return {
        "warp": uop.warp,
        "seq": uop.seq,
        "destination": uop.destination,
        "count": uop.count,
        "predicates_written": uop.predicates_written,
        "mask": uop.lane_mask,
        "fence": int(uop.memory == Memory.FENCE),
    }


class Divergence(AssertionError):
    """RTL and golden differ."""


def replay(
    trace: Trace,
    config: SmConfig,
    *,
    scheme: str = "baseline",
    number: int = 0,
    make: Any = None,
    cycles: int | None = None,
) -> int:
    """Run the RTL sub-core `number` against a recording. Returns the operands compared. Raises Divergence."""
    parsed = parse_scheme(scheme)
    log = record(trace, config, parsed)
    core = SubCore(config, parsed, probe=True) if make is None else make(config, parsed)
    ports = event_ports(core.events)
    valids = Signal(len(ports))
    m = Module()
    m.submodules.core = core
    m.d.comb += valids.eq(Cat(port.valid for port in ports))
    checked = 0
    uops: dict[tuple[int, int], TraceUop] = {}
    streams: dict[int, WarpStream] = {}
    layout = uop_layout(config)

    async def bench(ctx: Any) -> None:
        nonlocal checked
        for cycle in range(log.cycles if cycles is None else min(cycles, log.cycles)):
            key = (number, cycle)
            started = log.starts.get(key, ())
            ctx.set(core.start.warps, sum(1 << warp for warp, _ in started))
            if started:
                ctx.set(core.start.rows, log.rows[key])
            ctx.set(core.release, log.releases.get(key, 0))
            uop = log.returned.get(key)
            ctx.set(core.returned.valid, uop is not None)
            if uop is not None:
                ctx.set(core.returned.payload, result_fields(uop))
            events = sorted(log.events.get(key, ()))
            ctx.set(core.lsu.ready, any(name == "lsu_accept" for name, _ in events))
            if ctx.get(core.fill.valid):
                warp = ctx.get(core.fill.warp)
                taken = streams[warp].take()
                uops[warp, taken.seq] = taken
                ctx.set(core.fill.uop, layout.const(uop_fields(taken, streams[warp])))
            for port in core.write:
                if ctx.get(port.valid):
                    writer = uops[ctx.get(port.warp), ctx.get(port.seq)]
                    ctx.set(port.value, pack(writer.values[ctx.get(port.register) - writer.destination]))
            found = []
            mask = ctx.get(valids)
            while mask:
                place = (mask & -mask).bit_length() - 1
                mask &= mask - 1
                found.append((ports[place].name, tuple(ctx.get(signal) for signal in ports[place].fields)))
            if sorted(found) != events:
                missing = [event for event in events if event not in found]
                extra = [event for event in found if event not in events]
                raise Divergence(
                    f"cycle {cycle}: golden only {missing}, RTL only {extra}; all of golden: {events}"
                )
            for name, values in found:
                if name == "dispatch":
                    expected = log.operands[number, cycle, values[0]]
                    operands = [
                        ctx.get(core.collectors.operands[values[0]][slot]) for slot in range(len(expected))
                    ]
                    checked += len(expected)
                    if operands != expected:
                        raise Divergence(
                            f"cycle {cycle}: operands of {values}: {operands} instead of {expected}"
                        )
            _check_ports(ctx, core, log, key)
            for warp, stream in started:
                streams[warp] = stream
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return checked


def _check_ports(ctx: Any, core: SubCore, log: Recording, key: tuple[int, int]) -> None:
    drain = ctx.get(core.drain)
    if drain != log.drains.get(key, 0):
        raise Divergence(f"cycle {key[1]}: drains {drain:#b} instead of {log.drains.get(key, 0):#b}")
    uop = log.arrivals.get(key)
    arrival = core.arrival
    found = (ctx.get(arrival.arrive), ctx.get(arrival.last))
    expected = (int(uop.arrive), int(uop.last)) if uop is not None else (0, 0)
    if found != expected or (uop is not None and ctx.get(arrival.warp) != uop.warp):
        raise Divergence(f"cycle {key[1]}: arrival {found} instead of {expected}")
    if ctx.get(core.overflow):
        raise Divergence(f"cycle {key[1]}: a returned uop was lost")
