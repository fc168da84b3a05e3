"""Bench of the warp control blocks (LTRF, sections 4.1 and 4.2): sets and dictionaries of what is where.

The bench plays what stands around the blocks: warps start, come, prefetch, issue, leave and end, and the
mover takes its time. Which of several rows with work is served, and which unused place a register gets, is
the unit's choice; that the choice is a right one is checked.
"""

from __future__ import annotations

from typing import Any

import cocotb

from warpbank.synth.benches.protocol import Coverage, Unit, bits


class Warp:
    """Warp as the reference knows it: its working set, what is alive, what is placed."""

    def __init__(self) -> None:
        self.exists = self.active = self.held = self.leaving = False
        self.row: int | None = None  # once it was seen
        self.working: set[int] = set()
        self.alive: set[int] = set()
        self.placed: dict[int, int] = {}

    @property
    def target(self) -> set[int]:
        """Registers that are to be in the cache."""
        return set() if self.leaving else self.working

    @property
    def out(self) -> set[int]:
        """Registers that have to leave."""
        return set(self.placed) - self.target

    @property
    def into(self) -> set[int]:
        """Registers that have to come."""
        return self.target - set(self.placed)


class Bench:
    """Driver, mover, monitor and scoreboard."""

    def __init__(self, unit: Unit) -> None:
        self.unit, self.rng = unit, unit.random
        self.count, self.rows = unit.width("start"), unit.width("inbound")
        self.places = unit.parameters["cache_registers"]
        self.finds = unit.count("find__#__warp")
        #: Some of a warp's registers: low ones, and high ones.
        self.registers = (*range(self.places + 2), 100, 254)
        self.coverage = Coverage(
            "found",
            "not there",
            "comes alive",
            "comes dead",
            "leaves alive",
            "leaves dead",
            "mover busy",
            "waits for operands",
            "row full",
            "may issue",
            "no row free",
            "freed",
            "warp comes back",
            "ends",
            "prefetch while placed",
            "last read",
            "reset in flight",
        )
        self.clear()

    def clear(self) -> None:
        """No warp is there."""
        self.warps = [Warp() for _ in range(self.count)]
        self.flying: dict[tuple[int, int], bool] = {}  # (warp, register): into the cache

    def works(self, number: int) -> bool:
        """Whether a register of that warp could be moved."""
        warp = self.warps[number]
        if not warp.held:
            return False
        if warp.out:
            return not warp.leaving or bool(self.quiet >> number & 1)
        return bool(warp.into) and len(warp.placed) < self.places

    def drive(self) -> None:
        """Set what the unit's answers do not depend on, and read the state that it offers."""
        unit, rng, coverage = self.unit, self.rng, self.coverage
        self.quiet = rng.getrandbits(self.count)
        unit.set("quiet", self.quiet)
        for name, inward in (("inbound", True), ("carried", False)):
            rows = {self.warps[warp].row for (warp, _), into in self.flying.items() if into or not inward}
            unit.set(name, sum(1 << row for row in rows if row is not None))
        self.asked = [(rng.randrange(self.count), rng.choice(self.registers)) for _ in range(self.finds)]
        for port, (warp, register) in enumerate(self.asked):
            unit.set(f"find__{port}__warp", warp)
            unit.set(f"find__{port}__register", register)
        coverage.hit(
            "waits for operands", any(w.leaving and w.out and not self.works(n) for n, w in self.held)
        )

    @property
    def held(self) -> list[tuple[int, Warp]]:
        """Warps that have a row."""
        return [(number, warp) for number, warp in enumerate(self.warps) if warp.held]

    def check(self) -> None:
        """Compare masks, look-ups and what is offered with what is known."""
        unit, coverage = self.unit, self.coverage
        inward = {warp for (warp, _), into in self.flying.items() if into}
        self.may_issue = {
            number
            for number, warp in self.held
            if not warp.leaving and set(warp.placed) == warp.working and number not in inward
        }
        assert set(bits(unit.get("may_issue"))) == self.may_issue
        free = self.rows - len(self.held)
        self.may_activate = {n for n, warp in enumerate(self.warps) if not warp.held} if free else set()
        assert set(bits(unit.get("may_activate"))) == self.may_activate
        coverage.hit("may issue", self.may_issue)
        coverage.hit("no row free", not free)
        for port, (number, register) in enumerate(self.asked):
            warp = self.warps[number]
            placed = register in warp.placed
            assert unit.get(f"find__{port}__placed") == placed, f"register {register} of warp {number}"
            if placed:
                assert unit.get(f"find__{port}__entry") == warp.placed[register]
                self.same_row(number, unit.get(f"find__{port}__offset"))
            coverage.hit("found" if placed else "not there")
        empty = {
            number
            for number, warp in self.held
            if warp.leaving and not warp.placed and not any(flying == number for flying, _ in self.flying)
        }
        assert unit.get("freed") == bool(empty)
        self.freed = unit.get("freed_warp") if empty else None
        assert self.freed is None or self.freed in empty
        self.choose()

    def same_row(self, number: int, row: int) -> None:
        """A warp keeps its row, and has it for itself."""
        for other, warp in self.held:
            if warp.row is not None:
                assert (warp.row == row) == (other == number), f"row {row} of warp {number}"
        self.warps[number].row = row

    def choose(self) -> None:
        """Look at the register that could be moved; the mover takes it, or not."""
        unit, coverage = self.unit, self.coverage
        self.moved: tuple[int, int, bool, int] | None = None
        able = [number for number, _ in self.held if self.works(number)]
        assert unit.get("works") == bool(able)
        coverage.hit("row full", any(len(warp.placed) == self.places for _, warp in self.held))
        unit.set("goes", 0)
        if not able:
            return
        number, register, entry = unit.get("warp"), unit.get("moved"), unit.get("entry")
        assert number in able, f"warp {number} has nothing to move"
        warp = self.warps[number]
        self.same_row(number, unit.get("offset"))
        leaves, live = bool(unit.get("leaves")), bool(unit.get("live"))
        assert leaves == bool(warp.out)
        assert register in (warp.out or warp.into), f"register {register} of warp {number}"
        assert live == (register in warp.alive), f"register {register} of warp {number}"
        if leaves:
            assert entry == warp.placed[register]
        else:
            assert entry < self.places
            assert entry not in warp.placed.values(), f"place {entry} is taken"
        if (number, register) in self.flying or self.unit.chance(0.3):
            coverage.hit("mover busy")
            return
        coverage.hit(f"{'leaves' if leaves else 'comes'} {'alive' if live else 'dead'}")
        unit.set("goes", 1)
        self.moved = number, register, leaves, entry
        self.moved_alive = live

    def warp_events(self) -> None:
        """Warps start, come, prefetch, issue, leave and end."""
        unit, rng, coverage = self.unit, self.rng, self.coverage
        self.landing = [key for key in self.flying if unit.chance(0.2)]
        self.gone = {
            n
            for n, w in enumerate(self.warps)
            if w.active and unit.chance(0.08 if n in self.may_issue else 0.01)
        }
        self.ended = {number for number in self.gone if unit.chance(0.3)}
        self.started = {
            n for n, w in enumerate(self.warps) if not w.exists and not w.held and unit.chance(0.2)
        }
        able = [n for n in sorted(self.may_activate) if self.warps[n].exists and not self.warps[n].active]
        self.comes = rng.choice(able) if able and unit.chance(0.6) else None
        unit.set("start", _mask(self.started))
        unit.set("deactivate", _mask(self.gone))
        unit.set("ended", _mask(self.ended))
        unit.set("activate", self.comes is not None)
        unit.set("activated", self.comes or 0)
        ready = sorted(n for n in self.may_issue - self.gone if self.warps[n].active)
        self.issuer = rng.choice(ready) if ready and unit.chance(0.6) else None
        self.fetches = self.issuer is not None and unit.chance(0.3)
        self.set = set(
            rng.sample(
                self.registers, min(len(self.registers), rng.choice((0, 3, self.places - 1, self.places)))
            )
        )
        unit.set("prefetch", self.fetches)
        unit.set("prefetching", self.issuer or 0)
        unit.set("registers", _mask(self.set))
        if self.fetches and self.issuer is not None:
            coverage.hit("prefetch while placed", self.warps[self.issuer].placed)
        sources = rng.sample(self.registers, rng.randrange(4))
        self.dead = {register for register in sources if unit.chance(0.5)}
        destination, count = rng.choice(self.registers[:-1]), rng.randrange(3)
        self.written = set(range(destination, destination + count))
        unit.set("issue__valid", self.issuer is not None and not self.fetches)
        unit.set_record(
            "issue__payload",
            {
                "warp": self.issuer or 0,
                "uop.sources": sum(register << 8 * slot for slot, register in enumerate(sources)),
                "uop.source_valid": (1 << len(sources)) - 1,
                "uop.dead": sum(1 << slot for slot, register in enumerate(sources) if register in self.dead),
                "uop.destination": destination,
                "uop.count": count,
            },
        )

    def step(self) -> None:
        """The clock edge."""
        coverage = self.coverage
        for key in self.landing:
            del self.flying[key]
        if self.moved is not None:
            number, register, leaves, entry = self.moved
            if leaves:
                del self.warps[number].placed[register]
            else:
                self.warps[number].placed[register] = entry
            if self.moved_alive:
                self.flying[number, register] = not leaves
        if self.issuer is not None:
            warp = self.warps[self.issuer]
            if self.fetches:
                warp.working = set(self.set)
            else:
                coverage.hit("last read", warp.alive & self.dead)
                warp.alive = warp.alive - self.dead | self.written
        if self.freed is not None:
            warp = self.warps[self.freed]
            warp.held = warp.leaving = False
            warp.row = None
            coverage.hit("freed")
        for number in self.gone:
            warp = self.warps[number]
            warp.active, warp.leaving = False, True
            if number in self.ended:
                warp.alive, warp.exists = set(), False
                coverage.hit("ends")
        for number in self.started:
            self.warps[number] = Warp()
            self.warps[number].exists = True
        if self.comes is not None:
            warp = self.warps[self.comes]
            warp.active = warp.held = True
            coverage.hit("warp comes back", warp.working)


def _mask(numbers: set[int]) -> int:
    return sum(1 << number for number in numbers)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Warps come and go and change their intervals; resets while registers are on their way."""
    unit = Unit(dut)
    await unit.begin()
    bench = Bench(unit)
    for _ in range(2500):
        bench.drive()
        await unit.settle()
        bench.check()
        bench.warp_events()
        await unit.edge()
        bench.step()
        if unit.chance(0.003):
            bench.coverage.hit("reset in flight", any(warp.placed for warp in bench.warps))
            for name in ("goes", "start", "deactivate", "ended", "activate", "prefetch", "issue__valid"):
                unit.set(name, 0)
            await unit.reset()
            bench.clear()
    bench.coverage.check(dut._log)
