"""Bench of operand collectors: classic ones, BOW's (section IV) and Malekeh's (sections III and IV).

The bench plays everything around them: warps whose uops obey their hazards, banks that deliver when they
like, execution units that refuse uops and finish in any order, a result bus that is not always free. The
reference is program order alone: every operand of every uop must be the value that the uops before it left in
the register, whatever was forwarded, kept, evicted or fetched. It knows no cycle of the unit.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import cocotb

from warpbank.synth.benches.protocol import Coverage, Unit, bits

#: Few registers, so that most uops find an operand where it is kept.
REGISTERS = 10
#: Cycles within which what is issued has to be done once nothing is refused.
PATIENCE = 400


class Uop:
    """A uop from its issue to its last result."""

    def __init__(self, warp: int, seq: int, sources: list[int], destination: int, values: list[int]) -> None:
        self.warp, self.seq, self.sources = warp, seq, sources
        self.destination, self.values = destination, values
        self.unit = self.mask = self.memory = self.passes = self.near = 0
        self.hint = 3
        self.expected: list[int] = []
        self.requested: set[int] = set()
        self.read: set[int] = set()  # source slots that the scoreboard heard of
        self.written = 0

    @property
    def registers(self) -> set[int]:
        """Registers that it writes."""
        return set(range(self.destination, self.destination + len(self.values)))


class World:
    """Driver, banks, execution units, monitor and scoreboard."""

    def __init__(self, unit: Unit) -> None:
        self.unit, self.rng = unit, unit.random
        self.warps = unit.width("may_issue")
        self.collectors, self.units = unit.count("deliver__#__valid"), unit.count("dispatch__#__valid")
        self.entries = unit.count("read_done__#__slots")
        self.tags = self.entries // self.collectors
        self.slots = unit.ports["issue__payload"]["fields"]["uop.source_valid"][1]
        self.lanes = unit.parameters["lanes"]
        self.evicts, self.keeps = unit.has("evicted__0__valid"), unit.has("keep__0__valid")
        #: Operands that a collector shows at a time; those of a uop may be read over several cycles.
        self.ports, self.reads = unit.count("operands__0__#"), unit.has("reads__0")
        bins = ["fetched", "refused", "wide result", "result on some lanes", "a warp waits", "start"]
        bins += ["two deliveries", "reset in flight"]
        if self.keeps:
            bins += ["found", "kept"]
        if self.evicts:
            bins += ["absorbed", "not absorbed", "evicted", "eviction waits"]
        if self.tags > 1:
            bins += ["slide", "held", "out of order"]
        if self.reads:
            bins += ["read in turn"]
        self.coverage = Coverage(*bins)
        self.banks = [[self.value() for _ in range(REGISTERS)] for _ in range(self.warps)]
        self.seqs = [0] * self.warps
        self.clear()

    def clear(self) -> None:
        """Nothing is in flight, and only the banks hold values."""
        self.state = [list(bank) for bank in self.banks]  # what program order leaves in the registers
        self.reading: list[Counter[int]] = [Counter() for _ in range(self.warps)]
        self.writing: list[set[int]] = [set() for _ in range(self.warps)]
        self.collecting: dict[int, Uop] = {}  # by entry
        self.shown: dict[int, dict[int, int]] = {}  # operands that a unit has got so far: by entry and slot
        self.requests: list[tuple[int, int, int, int, int]] = []  # collector, slot, tag, warp, register
        self.asked: list[tuple[int, int, int, int, int]] = []  # those of this cycle
        self.executing: list[list[Uop]] = [[] for _ in range(self.units)]
        self.told: list[tuple[Uop, int] | None] = [None] * self.units  # what a unit offers next, as it said
        self.released: list[tuple[int, int]] = []  # (warp, register) that were read in this cycle
        self.in_flight = [0] * self.warps
        self.next: list[Uop | None] = [None] * self.warps
        self.silent = [False] * self.warps  # nothing may be evicted: a new warp has issued nothing yet

    def value(self) -> int:
        """Any value."""
        return self.rng.getrandbits(32 * self.lanes)

    def merged(self, old: int, new: int, mask: int) -> int:
        """A register after a write of some lanes."""
        written = sum(0xFFFFFFFF << 32 * lane for lane in bits(mask))
        return old & ~written | new & written

    # --- The program.

    def drawn(self, warp: int) -> Uop:
        """A random uop."""
        rng, every = self.rng, (1 << self.lanes) - 1
        count = rng.choice((0, 1, 1, 1, 1, 2, 4))
        uop = Uop(
            warp,
            self.seqs[warp],
            rng.sample(range(REGISTERS), rng.choice((0, 1, 2, 2, 3, 3, self.slots))),
            rng.randrange(REGISTERS - count + 1),
            [self.value() for _ in range(count)],
        )
        uop.unit = rng.randrange(self.units)
        uop.mask = every if self.unit.chance(0.7) else rng.randrange(1, every + 1)
        uop.memory, uop.passes = rng.randrange(13), rng.randrange(9)
        uop.near, uop.hint = rng.getrandbits(self.slots + 1), rng.choice((2, 3, 3))
        return uop

    def free_of_hazards(self, uop: Uop) -> bool:
        """No register that it reads is being written, none that it writes is in use."""
        warp = uop.warp
        busy = self.writing[warp] | {register for register, count in self.reading[warp].items() if count}
        return not (set(uop.sources) & self.writing[warp] or uop.registers & busy)

    # --- A cycle.

    async def cycle(self, *, busy: bool = True, program: list[Uop] | None = None) -> None:
        """One cycle. `busy`: random uops, starts and refusals; without, everything is taken. `program`: uops
        to be issued, in order, in the place of random ones."""
        unit = self.unit
        self.ready = []
        for warp in range(self.warps):
            if busy and self.next[warp] is None:
                self.next[warp] = self.drawn(warp)
            uop = self.next[warp]
            if busy and uop is not None and self.free_of_hazards(uop):
                self.ready.append(warp)
        if program and self.free_of_hazards(program[0]):
            self.ready.append(program[0].warp)
        started = self.start(busy)
        self.ready = [warp for warp in self.ready if warp != started]
        unit.set("ready", sum(1 << warp for warp in self.ready))
        unit.set("sthld", 3)
        self.offer(busy)
        self.accept(busy)
        self.deliver(busy)
        await unit.settle()
        uop, slides = self.issue(busy, program, started)
        await unit.settle()
        self.take(busy)
        await unit.settle()
        if self.keeps:
            self.answer()
        await unit.settle()
        gone = self.dispatched()
        entry = unit.get("entry")
        if uop is not None:
            assert entry not in self.collecting, f"entry {entry} has a uop already"
            self.collecting[entry] = uop
        self.request()
        self.edge(started, uop, gone)
        self.coverage.hit("slide", slides) if self.tags > 1 else None
        self.tell()
        await unit.edge()

    def start(self, busy: bool) -> int | None:
        """Now and then a warp that has nothing in flight gives way to a new one."""
        idle = [warp for warp in range(self.warps) if not self.in_flight[warp]]
        started = self.rng.choice(idle) if busy and idle and self.unit.chance(0.05) else None
        self.unit.set("start", 0 if started is None else 1 << started)
        return started

    def offer(self, busy: bool) -> None:
        """Execution units offer results, in any order."""
        self.offers: dict[int, Uop] = {}
        self.unit.set("first", self.rng.randrange(self.units))
        for number in range(self.units):
            queue = self.executing[number]
            offered = bool(queue) and (not busy or self.unit.chance(0.6))
            self.unit.set(f"result__{number}__valid", offered)
            self.unit.set(f"result__{number}__taken", 0)
            if not offered:
                continue
            uop = self.offers[number] = queue[0]
            fields = {"warp": uop.warp, "seq": uop.seq, "register": uop.destination + uop.written}
            fields |= {"mask": uop.mask, "near": uop.near >> self.slots}
            self.unit.set_record(f"result__{number}__payload", fields)

    def tell(self) -> None:
        """Execution units tell which register they offer from the next cycle on, if that changes, and now and
        then if it does not."""
        unit, rng = self.unit, self.rng
        for number, queue in enumerate(self.executing):
            head = (queue[0], queue[0].destination + queue[0].written) if queue else None
            changes = head != self.told[number] or unit.chance(0.2)
            warp, register = (head[0].warp, head[1]) if head and changes else (0, rng.randrange(REGISTERS))
            unit.set(f"upcoming__{number}__changes", changes)
            unit.set(f"upcoming__{number}__warp", warp)
            unit.set(f"upcoming__{number}__register", register)
            self.told[number] = head

    def accept(self, busy: bool) -> None:
        """Execution units, and the bus that evicted values go over, are ready or not."""
        for number in range(self.units):
            self.unit.set(f"dispatch__{number}__ready", not busy or self.unit.chance(0.6))
        self.taking = not busy or self.unit.chance(0.5)
        self.unit.set("evicted__0__ready", self.taking)

    def deliver(self, busy: bool) -> None:
        """Banks serve requests in any order, one for a collector in a cycle. What is requested in a cycle is
        read in the next one at the earliest, and arrives in the one after that."""
        served: set[int] = set()
        left = []
        self.rng.shuffle(self.requests)
        for request in self.requests:
            collector, slot, tag, warp, register = request
            if collector in served or (busy and self.unit.chance(0.4)):
                left.append(request)
                continue
            served.add(collector)
            self.unit.set(f"deliver__{collector}__slot", slot)
            self.unit.set(f"deliver__{collector}__tag", tag)
            self.unit.set(f"deliver__{collector}__value", self.banks[warp][register])
        for collector in range(self.collectors):
            self.unit.set(f"deliver__{collector}__valid", collector in served)
        self.requests, self.asked = left + self.asked, []
        self.coverage.hit("two deliveries", len(served) > 1)

    def issue(self, busy: bool, program: list[Uop] | None, started: int | None) -> tuple[Uop | None, bool]:
        """Issue a uop that the unit takes; or one that needs no collector goes past."""
        unit = self.unit
        may_issue = unit.get("may_issue")
        self.coverage.hit("a warp waits", may_issue != (1 << self.warps) - 1)
        uop = None
        able = [warp for warp in self.ready if may_issue >> warp & 1]
        if program and may_issue >> program[0].warp & 1 and self.free_of_hazards(program[0]):
            uop = program.pop(0)
            uop.seq = self.seqs[uop.warp]
        elif busy and able and unit.chance(0.9):
            uop = self.next[self.rng.choice(able)]
        slides = False
        if uop is not None:
            self.next[uop.warp] = None
            self.put(uop)
        elif busy and unit.chance(0.3):
            warp = self.rng.randrange(self.warps)
            slides = bool(unit.get("may_slide") >> warp & 1) and warp != started
            unit.set_record("issue__payload", {"warp": warp})
        unit.set("issue__valid", uop is not None)
        unit.set("slide", slides)
        unit.set("idle", uop is None and not slides)
        return uop, slides

    def put(self, uop: Uop) -> None:
        """Set the issue interface, and what program order says of the uop."""
        warp, state = uop.warp, self.state[uop.warp]
        fields = {
            "seq": uop.seq,
            "unit": uop.unit,
            "sources": sum(register << 8 * slot for slot, register in enumerate(uop.sources)),
            "source_valid": (1 << len(uop.sources)) - 1,
            "destination": uop.destination,
            "count": len(uop.values),
            "mask": uop.mask,
            "memory": uop.memory,
            "passes": uop.passes,
            "collects": 1,
            "write_back": uop.hint,
            "near": uop.near,
        }
        record = {"warp": warp, **{f"uop.{name}": value for name, value in fields.items()}}
        self.unit.set_record("issue__payload", record)
        self.unit.set_record(f"heads__{warp}", fields)  # those of other warps are what they issued last
        uop.expected = [state[register] for register in uop.sources]
        for register, value in enumerate(uop.values, uop.destination):
            state[register] = self.merged(state[register], value, uop.mask)
        self.seqs[warp] += 1
        self.in_flight[warp] += 1
        self.reading[warp].update(uop.sources)
        self.writing[warp] |= uop.registers
        self.silent[warp] = False

    def take(self, busy: bool) -> None:
        """The banks take some results; those that a collector absorbs need none."""
        unit = self.unit
        self.taken: dict[int, bool] = {}
        for number in self.offers:
            held = self.keeps and unit.get(f"result__{number}__held")
            absorbed = bool(self.evicts and unit.get(f"result__{number}__absorbed"))
            assert not held or self.tags > 1, "a result is held where none has to be kept"
            self.coverage.hit("held", held) if self.tags > 1 else None
            takes = not held and (absorbed or not busy or unit.chance(0.6))
            unit.set(f"result__{number}__taken", takes)
            if takes:
                self.taken[number] = absorbed

    def answer(self) -> None:
        """The unit asks for the values of results that it keeps."""
        unit = self.unit
        for number in range(self.units):
            kept = unit.get(f"keep__{number}__valid")
            if not kept:
                assert not self.taken.get(number), "a result that a collector absorbs is not kept"
                continue
            assert number in self.taken, "a result is kept that was not taken"
            uop = self.offers[number]
            wanted = (uop.warp, uop.seq, uop.destination + uop.written, uop.mask)
            found = [unit.get(f"keep__{number}__{name}") for name in ("warp", "seq", "register", "mask")]
            assert tuple(found) == wanted, f"unit {number} asks for {found}"
            unit.set(f"keep__{number}__value", uop.values[uop.written])
            self.coverage.hit("kept")

    def dispatched(self) -> list[Uop]:
        """Uops that go to their units, with their operands."""
        unit, gone, refused = self.unit, [], False
        left: set[int] = set()
        self.release()
        self.show()
        for number in range(self.units):
            if not unit.get(f"dispatch__{number}__valid"):
                continue
            port = f"dispatch__{number}__payload"
            if not unit.get(f"dispatch__{number}__ready"):
                refused = True
                continue
            collector = unit.field(port, "collector")
            key = unit.field(port, "result.warp"), unit.field(port, "result.seq")
            found = [entry for entry, uop in self.collecting.items() if (uop.warp, uop.seq) == key]
            assert found, f"uop {key} was not issued, or goes twice"
            entry = found[0]
            assert collector == entry // self.tags
            assert collector not in left, f"two uops leave collector {collector}"
            left.add(collector)
            uop = self.collecting.pop(entry)
            assert uop.unit == number, f"uop {key} goes to unit {number}"
            self.compare(uop, port, self.shown.pop(entry, {}) if self.reads else self.operands(collector))
            assert uop.read == set(range(len(uop.sources))), "the scoreboard does not hear of an operand"
            older = [
                each for each in self.collecting.values() if each.warp == uop.warp and each.seq < uop.seq
            ]
            self.coverage.hit("out of order", older) if self.tags > 1 else None
            gone.append(uop)
        if self.reads:  # a unit that is not ready is offered nothing: its uop is not even read
            refused = bool(unit.get("refused"))
            waiting = {uop.unit for uop in self.collecting.values()}
            assert not refused or any(not unit.get(f"dispatch__{number}__ready") for number in waiting)
        assert unit.get("refused") == refused
        self.coverage.hit("refused", refused)
        return gone

    def operands(self, collector: int, first: int = 0) -> dict[int, int]:
        """Operands that a collector shows, by source slot from the `first` on."""
        return {first + port: self.unit.get(f"operands__{collector}__{port}") for port in range(self.ports)}

    def show(self) -> None:
        """Collectors that read the operands of a uop over several cycles show some of them to its unit."""
        for collector in range(self.collectors if self.reads else 0):
            if not self.unit.get(f"reads__{collector}"):
                continue
            entry, step = self.unit.get(f"offered__{collector}"), self.unit.get(f"step__{collector}")
            assert entry in self.collecting, f"operands are read for entry {entry}, which has no uop"
            assert entry // self.tags == collector
            if not step:  # a unit that chose a uop too early begins again
                self.shown[entry] = {}
            shown = self.shown[entry]
            assert step * self.ports == len(shown), f"read {step} of entry {entry} is out of order"
            shown.update(self.operands(collector, len(shown)))
            self.coverage.hit("read in turn", step)

    def release(self) -> None:
        """The scoreboard hears which operands have been read, of each once."""
        for entry in range(self.entries):
            slots = self.unit.get(f"read_done__{entry}__slots")
            if not slots:
                continue
            assert entry in self.collecting, f"operands of entry {entry} are read, which has no uop"
            uop = self.collecting[entry]
            for slot in bits(slots & ((1 << len(uop.sources)) - 1)):
                assert slot not in uop.read, f"operand {slot} of entry {entry} is read twice"
                uop.read.add(slot)
                self.released.append((uop.warp, uop.sources[slot]))

    def compare(self, uop: Uop, port: str, operands: dict[int, int]) -> None:
        """Compare what a unit receives with what was issued and with program order."""
        unit, name = self.unit, f"uop {uop.seq} of warp {uop.warp}"
        names = ("memory", "passes", "result.destination", "result.count", "result.mask")
        issued = (uop.memory, uop.passes, uop.destination, len(uop.values), uop.mask)
        for field, value in zip(names, issued, strict=True):
            assert unit.field(port, field) == value, f"{field} of {name}"
        for slot, value in enumerate(uop.expected):
            assert slot in operands, f"{name} goes before r{uop.sources[slot]} is read"
            found = operands[slot]
            assert found == value, f"{name}: r{uop.sources[slot]} is {found:x}, program order says {value:x}"
        if self.keeps:
            self.coverage.hit("found", len(uop.requested) < len(uop.sources))
        self.coverage.hit("fetched", uop.requested)

    def request(self) -> None:
        """The unit asks the banks for operands: each of a uop at most once."""
        unit = self.unit
        if not unit.get("read__valid"):
            return
        port = "read__payload"
        collector, warp = unit.field(port, "collector"), unit.field(port, "warp")
        tag = unit.field(port, "tag") if self.tags > 1 else 0
        uop = self.collecting[collector * self.tags + tag]
        assert uop.warp == warp
        for slot in bits(unit.field(port, "source_valid")):
            register = unit.field(port, "sources") >> 8 * slot & 255
            assert register == uop.sources[slot]
            assert slot not in uop.requested, f"r{register} is fetched twice for a uop"
            uop.requested.add(slot)
            self.asked.append((collector, slot, tag, warp, register))

    def edge(self, started: int | None, issued: Uop | None, gone: list[Uop]) -> None:
        """Let the clock edge change banks, execution units and hazards."""
        unit, coverage = self.unit, self.coverage
        for number, absorbed in self.taken.items():
            uop = self.offers[number]
            register = uop.destination + uop.written
            if not absorbed:
                bank = self.banks[uop.warp]
                bank[register] = self.merged(bank[register], uop.values[uop.written], uop.mask)
            if self.evicts:
                coverage.hit("absorbed" if absorbed else "not absorbed")
            coverage.hit("result on some lanes", uop.mask != (1 << self.lanes) - 1)
            coverage.hit("wide result", len(uop.values) > 1)
            uop.written += 1
            self.writing[uop.warp].discard(register)
            if uop.written == len(uop.values):
                self.executing[number].pop(0)
                self.in_flight[uop.warp] -= 1
        if self.evicts and unit.get("evicted__0__valid"):
            warp, register = (unit.field("evicted__0__payload", name) for name in ("warp", "register"))
            assert not self.silent[warp], f"a value of the warp before is written for warp {warp}"
            if self.taking:
                self.banks[warp][register] = unit.field("evicted__0__payload", "value")
            coverage.hit("evicted" if self.taking else "eviction waits")
        for warp, register in self.released:
            self.reading[warp][register] -= 1
        self.released = []
        for uop in gone:
            if uop.values:
                self.executing[uop.unit].insert(self.rng.randrange(1, 3), uop)
            else:
                self.in_flight[uop.warp] -= 1
        if started is not None:
            self.state[started] = list(self.banks[started])
            self.silent[started] = True
            coverage.hit("start")

    # --- Phases.

    async def drain(self, program: list[Uop] | None = None) -> None:
        """Let everything finish that is in flight, and a program. Raises AssertionError if it does not."""
        for _ in range(PATIENCE):
            if not program and not any(self.in_flight):
                return
            await self.cycle(busy=False, program=program)
        raise AssertionError(f"uops {[(uop.warp, uop.seq) for uop in self.collecting.values()]} never finish")

    async def read_all(self) -> None:
        """Read every register of every warp: the final contents."""
        for warp in range(self.warps):
            program = [
                Uop(warp, 0, list(range(first, min(first + 2, REGISTERS))), 0, [])
                for first in range(0, REGISTERS, 2)
            ]
            for uop in program:
                uop.mask = (1 << self.lanes) - 1
            await self.drain(program)

    def rest(self) -> None:
        """Issue, deliver, offer and take nothing."""
        unit = self.unit
        for number in range(self.units):
            for name in (
                "result__#__valid",
                "result__#__taken",
                "upcoming__#__changes",
                "dispatch__#__ready",
            ):
                unit.set(name.replace("#", str(number)), 0)
        for collector in range(self.collectors):
            unit.set(f"deliver__{collector}__valid", 0)
        for name in ("issue__valid", "slide", "start", "evicted__0__ready"):
            unit.set(name, 0)

    async def reset(self) -> None:
        """Reset, whatever is in flight: afterwards the banks alone hold values."""
        unit = self.unit
        self.coverage.hit("reset in flight", any(self.in_flight))
        self.rest()
        await unit.reset()
        self.clear()
        await unit.settle()
        assert unit.get("holds") == 0
        assert not any(unit.get(f"dispatch__{number}__valid") for number in range(self.units))
        if self.evicts:
            assert not unit.get("evicted__0__valid")


@cocotb.test()
async def program_order(dut: Any) -> None:
    """Random programs under back-pressure; resets in flight; then every register is read."""
    unit = Unit(dut)
    await unit.begin()
    world = World(unit)
    for number in range(6):
        for _ in range(unit.random.randrange(100, 300)):
            await world.cycle()
        if number == 0 or unit.chance(0.4):
            await world.reset()
        else:
            await world.drain()
            await world.read_all()
    await world.reset()
    for _ in range(200):
        await world.cycle()
    await world.drain()
    await world.read_all()
    world.coverage.check(dut._log)


@cocotb.test()
async def stalls(dut: Any) -> None:
    """While no unit takes a uop none goes, and nothing is lost: all go when units are ready again."""
    unit = Unit(dut)
    await unit.begin()
    world = World(unit)
    for _ in range(50):
        await world.cycle()
    world.rest()
    for _ in range(20):
        await unit.settle()
        world.request()
        assert not any(unit.get(f"read_done__{number}__slots") for number in range(world.entries))
        await unit.edge()
    await world.drain()
    await world.read_all()
