"""External testbench of the SM: serves its questions from programs of its own, and checks their order.

The SM has no arithmetic: it asks for the next uop of a warp (`fill`), for the values of results (`write`,
`keep`) and for memory lines (`lines`). This bench draws a program for every warp, answers, and holds what the
SM asks to what any correct machine does: each result once, a result after those that its uop reads, nothing
behind a barrier before all have come to it, and an end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cocotb

from warpbank.synth.benches.protocol import Coverage, Unit, bits

REGISTERS = 8
ALU, FMA, SFU, LSU, CONTROL = 0, 1, 2, 5, 6
LOAD, STORE = 1, 2
BARRIER, EXIT = 2, 3
#: Cycles within which a job has to end.
PATIENCE = 20000


@dataclass
class Uop:
    """Instruction of a warp."""

    unit: int
    sources: list[int] = field(default_factory=list)
    destination: int = 0
    values: list[int] = field(default_factory=list)
    mask: int = 0
    memory: int = 0
    control: int = 0
    lines: list[int] = field(default_factory=list)
    last: bool = False

    def record(self, seq: int, collects: bool) -> dict[str, int]:
        """Return the fields of the answer to `fill`."""
        barrier = self.control == BARRIER
        fields = {
            "seq": seq,
            "pc": seq,
            "unit": self.unit,
            "sources": sum(register << 8 * slot for slot, register in enumerate(self.sources)),
            "source_valid": (1 << len(self.sources)) - 1,
            "destination": self.destination,
            "count": len(self.values),
            "mask": self.mask,
            "memory": self.memory,
            "control": self.control,
            "collects": collects,
            "arrive": barrier,
            "wait": barrier,
            "last": self.last,
            "lines": len(self.lines),
            "passes": 1,
            "write_back": 3,
        }
        return {name: int(value) for name, value in fields.items()}


class Warp:
    """Warp of a CTA: its program, and how far the SM has come in it."""

    def __init__(self, cta: Cta, program: list[Uop]) -> None:
        self.cta, self.program = cta, program
        self.filled = 0
        self.made: set[tuple[int, int]] = set()  # (seq, register): a collector or a bank has it
        self.written: set[tuple[int, int]] = set()  # (seq, register): a bank has it
        self.lines: set[tuple[int, int]] = set()  # (seq, index)

    def make(self, seq: int, register: int) -> None:
        """Check a question for a result. Raises AssertionError if it comes too early."""
        uop = self.program[seq]
        assert seq < self.filled, f"uop {seq} was never asked for"
        assert register in range(uop.destination, uop.destination + len(uop.values))
        for older, other in enumerate(self.program[:seq]):
            if other.control == BARRIER:
                assert self.cta.arrived(older), f"uop {seq} ends before all warps are at the barrier"
            for number in range(other.destination, other.destination + len(other.values)):
                if number in (*uop.sources, register):
                    assert (older, number) in self.made, f"uop {seq} goes before r{number} of uop {older}"
        self.made.add((seq, register))

    def write(self, seq: int, register: int) -> None:
        """Take down that a bank has a result. Raises AssertionError if it had it before."""
        assert (seq, register) not in self.written, f"r{register} of uop {seq} is written twice"
        self.written.add((seq, register))


class Cta:
    """Warps that wait for one another."""

    def __init__(self) -> None:
        self.warps: list[Warp] = []

    def arrived(self, seq: int) -> bool:
        """Whether all warps have asked for uop `seq`, a barrier."""
        return all(warp.filled > seq for warp in self.warps)


class Testbench:
    """Job of several launches, and its answers."""

    def __init__(self, unit: Unit) -> None:
        self.unit, self.rng = unit, unit.random
        self.cores, self.slots = unit.parameters["sub_cores"], unit.parameters["warps"]
        self.banks = unit.parameters["banks"]
        bins = ["two warps write", "line", "barrier", "some lanes", "slot used again", "second launch"]
        self.coverage = Coverage(*bins)
        self.every = (1 << unit.parameters["lanes"]) - 1
        self.running: dict[tuple[int, int], Warp] = {}  # by sub-core and slot
        self.waiting: list[Warp] = []  # warps of the launch that was taken, in order
        self.all: list[Warp] = []

    def program(self, barrier: int) -> list[Uop]:
        """A random program with a barrier as uop `barrier`."""
        rng, uops = self.rng, []
        for number in range(barrier + 12):
            mask = self.every if rng.random() < 0.7 else rng.randrange(1, self.every + 1)
            sources = rng.sample(range(REGISTERS), rng.randrange(4))
            uop = Uop(rng.choice((ALU, ALU, FMA, SFU, LSU)), sources, rng.randrange(REGISTERS - 1), mask=mask)
            if number == barrier:
                uop = Uop(CONTROL, control=BARRIER, mask=self.every)
            elif uop.unit == LSU:
                uop.memory = rng.choice((LOAD, STORE))
                uop.lines = rng.sample(range(64), rng.choice((1, 1, 2)))
            if uop.control == 0 and uop.memory != STORE:
                width = 32 * self.every.bit_length()
                uop.values = [rng.getrandbits(width) for _ in range(2 if rng.random() < 0.1 else 1)]
            uops.append(uop)
        return [*uops, Uop(CONTROL, control=EXIT, mask=self.every, last=True)]

    def launch(self, ctas: int, warps: int) -> tuple[dict[str, int], list[Warp]]:
        """A launch as the SM takes it, and its warps in order."""
        found = []
        for _ in range(ctas):
            cta, barrier = Cta(), self.rng.randrange(3, 12)
            cta.warps = [Warp(cta, self.program(barrier)) for _ in range(warps)]
            found += cta.warps
        rows = -(-REGISTERS // self.banks)
        slots = min(self.slots, self.unit.parameters["rows"] // rows)
        sizes = {"ctas": ctas, "warps_per_cta": warps, "shared_bytes": 0, "rows": rows, "slots": slots}
        return sizes, found

    def start(self) -> None:
        """A CTA starts: learn which slots its warps have."""
        unit = self.unit
        masks = [unit.get(f"start__{core}__warps") for core in range(self.cores)]
        begin = unit.get("started__begin") if unit.has("started__begin") else 0
        for index in range(unit.get("started__warps")):
            core = (begin + index) % self.cores
            slot = bits(masks[core])[0]
            masks[core] &= masks[core] - 1
            self.coverage.hit("slot used again", (core, slot) in self.running)
            self.running[core, slot] = self.waiting.pop(0)
        assert not any(masks), "a slot starts without a warp"

    def answer(self) -> None:
        """Answer this cycle's questions."""
        unit, writes = self.unit, 0
        for core in range(self.cores):
            if unit.get(f"fill__{core}__valid"):
                warp = self.running[core, unit.get(f"fill__{core}__warp")]
                uop = warp.program[warp.filled]
                unit.set_record(f"fill__{core}__uop", uop.record(warp.filled, uop.unit != CONTROL))
                self.coverage.hit("barrier", uop.control == BARRIER)
                warp.filled += 1
            for kind in ("keep", "write"):
                for number in range(unit.count(f"{kind}__{core}__#__valid")):
                    port = f"{kind}__{core}__{number}"
                    if unit.get(f"{port}__valid"):
                        self.value(core, port, kind == "write")
                        writes += 1
        self.coverage.hit("two warps write", writes > 1)
        if unit.get("lines__valid"):
            core = unit.get("lines__sub_core") if unit.has("lines__sub_core") else 0
            warp = self.running[core, unit.get("lines__warp")]
            seq, index = unit.get("lines__seq"), unit.get("lines__index")
            assert seq < warp.filled
            unit.set("lines__line", warp.program[seq].lines[index])
            warp.lines.add((seq, index))
            self.coverage.hit("line")

    def value(self, core: int, port: str, final: bool) -> None:
        """Answer with the value of a result."""
        unit = self.unit
        warp = self.running[core, unit.get(f"{port}__warp")]
        seq, register = unit.get(f"{port}__seq"), unit.get(f"{port}__register")
        uop = warp.program[seq]
        assert unit.get(f"{port}__mask") == uop.mask
        unit.set(f"{port}__value", uop.values[register - uop.destination])
        self.coverage.hit("some lanes", uop.mask != self.every)
        warp.make(seq, register)
        if final:
            warp.write(seq, register)

    def finish(self, kept: bool) -> None:
        """Check that everything was asked for. With collectors that keep results not each reaches a bank."""
        for warp in self.all:
            assert warp.filled == len(warp.program), "a warp ends early"
            results = {
                (seq, uop.destination + place)
                for seq, uop in enumerate(warp.program)
                for place in range(len(uop.values))
            }
            assert warp.written == results or (kept and warp.written <= results), "a result was never written"
            lines = {(s, i) for s, uop in enumerate(warp.program) for i in range(len(uop.lines))}
            assert warp.lines == lines, "a memory line was never asked for"


@cocotb.test()
async def job(dut: Any) -> None:
    """Three launches of several CTAs run to their end."""
    unit = Unit(dut)
    await unit.begin()
    bench = Testbench(unit)
    launches = [bench.launch(3, 2), bench.launch(6, 2 * bench.cores), bench.launch(2, 1)]
    for _ in range(PATIENCE):
        unit.set("launch__valid", bool(launches))
        if launches:
            unit.set_record("launch__payload", launches[0][0])
        await unit.settle()
        bench.answer()
        await unit.settle()
        assert not unit.get("overflow"), "the SM lost a uop"
        if unit.get("started__valid"):
            bench.start()
        if unit.get("launch__ready"):
            if not launches:
                break
            bench.coverage.hit("second launch", bench.all)
            bench.waiting = launches.pop(0)[1]
            bench.all += bench.waiting
        await unit.edge()
    else:
        raise AssertionError(f"the job does not end within {PATIENCE} cycles")
    assert not bench.waiting, "a warp never starts"
    bench.finish(unit.has("keep__0__0__valid"))
    bench.coverage.check(dut._log)
