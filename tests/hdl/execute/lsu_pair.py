"""Golden's load/store unit and the RTL's, driven by the same uops."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from amaranth.sim import Simulator

from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import LINE_MASK, LINE_WIDTH, Memory
from warpbank.golden.execute.lsu import Lsu as GoldenLsu
from warpbank.golden.probe import Probe
from warpbank.hdl.execute.lsu import Lsu
from warpbank.hdl.probe import event_ports
from warpbank.program.trace.builder import of_line

#: What the unit does, with how often a random stimulus does it.
MIX = {
    Memory.LOAD_GLOBAL: 8,
    Memory.LOAD_LOCAL: 2,
    Memory.STORE_GLOBAL: 3,
    Memory.STORE_LOCAL: 1,
    Memory.ATOMIC_GLOBAL: 2,
    Memory.REDUCE_GLOBAL: 1,
    Memory.LOAD_SHARED: 2,
    Memory.STORE_SHARED: 1,
    Memory.ATOMIC_SHARED: 1,
    Memory.LOAD_CONST: 2,
    Memory.SHUFFLE: 1,
    Memory.FENCE: 1,
}


@dataclass
class Stimulus:
    """What the sub-cores dispatch: (cycle, sub-core) -> uop, if its queue has room. `launches`: cycles at
    whose end the L1 is invalidated, where nothing is in flight."""

    cycles: int
    uops: dict[tuple[int, int], SimpleNamespace] = field(default_factory=dict)


def random_stimulus(
    config: SmConfig, seed: int, cycles: int, spread: int, lines: int, rate: float
) -> Stimulus:
    """Random memory uops over `spread` lines, at most `lines` each; a sub-core dispatches with chance
    `rate`."""
    rng = random.Random(seed)
    stimulus = Stimulus(cycles)
    kinds, weights = list(MIX), list(MIX.values())
    high = rng.choice((0, 1 << 40))
    for cycle in range(cycles):
        for core in range(config.sub_cores):
            if rng.random() < rate:
                kind = rng.choices(kinds, weights)[0]
                count = rng.randint(1, min(lines, spread))
                where = [
                    of_line(high + line, rng.randint(1, 15)) for line in rng.sample(range(spread), count)
                ]
                stimulus.uops[cycle, core] = SimpleNamespace(
                    sub_core=core,
                    warp=rng.randrange(config.sub_core.warps),
                    seq=cycle,
                    memory=kind,
                    lines=where,
                    passes=rng.choice((0, 1, 1, 2, 8, 16)),
                    destination=rng.randrange(255),
                    count=rng.randrange(5),
                )
    return stimulus


def copy(uop: SimpleNamespace) -> Any:
    return SimpleNamespace(**vars(uop))


def run_golden(config: SmConfig, stimulus: Stimulus) -> list[Record]:
    """All events; returned uops as ("returned", sub-core, seq)."""
    records: list[Record] = []
    now = 0

    class Queue:
        def __init__(self, number: int) -> None:
            self.number = number
            self.lsu_queue: deque[tuple[int, Any]] = deque()

        def offers(self, cycle: int) -> bool:
            return bool(self.lsu_queue) and self.lsu_queue[0][0] < cycle

        def take(self) -> Any:
            return self.lsu_queue.popleft()[1]

        def returned(self, uop: Any, cycle: int) -> None:
            records.append((cycle - 1, self.number, "returned", (uop.warp, uop.seq)))

    queues = [Queue(number) for number in range(config.sub_cores)]
    unit = GoldenLsu(
        config,
        queues,
        lambda number, cycle: None,
        Probe(-1, records.append),  # type: ignore[arg-type]
        [Probe(number, records.append) for number in range(config.sub_cores)],
    )
    unit.launch()
    for now in range(stimulus.cycles):
        room = [len(queue.lsu_queue) < config.lsu.queue for queue in queues]
        unit.step(now)
        for number, queue in enumerate(queues):
            uop = stimulus.uops.get((now, number))
            if uop is not None and room[number]:
                queue.lsu_queue.append((now, copy(uop)))
    return sorted(record for record in records if record[0] < stimulus.cycles)


def run_rtl(config: SmConfig, stimulus: Stimulus, unit: Lsu | None = None) -> list[Record]:
    """The same of the RTL."""
    records: list[Record] = []
    dut = unit or Lsu(config, probe=True)
    ports = event_ports(dut.events)

    async def bench(ctx: Any) -> None:
        queues: list[deque[SimpleNamespace]] = [deque() for _ in range(config.sub_cores)]
        for now in range(stimulus.cycles):
            room = [len(queue) < config.lsu.queue for queue in queues]
            for stream, queue in zip(dut.uops, queues, strict=True):
                ctx.set(stream.valid, bool(queue))
                if queue:
                    uop = queue[0]
                    ctx.set(
                        stream.payload,
                        {
                            "memory": uop.memory,
                            "lines": len(uop.lines),
                            "passes": uop.passes,
                            "result": {
                                "warp": uop.warp,
                                "seq": uop.seq,
                                "destination": uop.destination,
                                "count": uop.count,
                            },
                        },
                    )
            if ctx.get(dut.lines.valid):
                number, seq = ctx.get(dut.lines.sub_core), ctx.get(dut.lines.seq)
                uop = stimulus.uops[seq, number]
                assert uop.warp == ctx.get(dut.lines.warp)
                touched = uop.lines[ctx.get(dut.lines.index)]
                ctx.set(dut.lines.line, touched & LINE_MASK)
                ctx.set(dut.lines.sectors, touched >> LINE_WIDTH)
            else:
                ctx.set(dut.lines.line, 0)
            for port in ports:
                if ctx.get(port.valid):
                    records.append((now, -1, port.name, tuple(ctx.get(signal) for signal in port.fields)))
            for number, stream in enumerate(dut.returned):
                if ctx.get(stream.valid):
                    result = ctx.get(stream.payload)
                    uop = stimulus.uops[result.seq, number]
                    assert (result.destination, result.count) == (uop.destination, uop.count)
                    records.append((now, number, "returned", (result.warp, result.seq)))
            for number, (stream, queue) in enumerate(zip(dut.uops, queues, strict=True)):
                if queue and ctx.get(stream.ready):
                    uop = queue.popleft()
                    records.append((now, number, "lsu_accept", (uop.warp, uop.seq)))
                uop = stimulus.uops.get((now, number))
                if uop is not None and room[number]:
                    queue.append(uop)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return sorted(records)


def difference(golden: list[Record], rtl: list[Record]) -> str:
    """The first cycle in which they differ, in words; "" if none."""
    wrong = sorted(set(golden) ^ set(rtl)) or (golden != rtl and golden)
    if not wrong:
        return ""
    cycle = wrong[0][0]
    sides = [[record[1:] for record in side if record[0] == cycle] for side in (golden, rtl)]
    return f"cycle {cycle}: golden {sides[0]}, RTL {sides[1]}"
