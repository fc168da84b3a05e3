"""Bench of the warp control blocks (LTRF, sections 4.1 and 4.2): sets and dictionaries of what is where.

The bench plays what stands around the blocks: warps start, come, prefetch, issue, leave and end, and the
transfer engine takes its time. Which of several rows with work is served, and which unused place a register
gets, is the unit's choice; that the choice is a right one is checked.
"""

from __future__ import annotations

from typing import Any

import cocotb

from warpbank.synth.benches.protocol import Coverage, Unit, bits


class Warp:
    """Warp as the reference knows it: its working set, what is alive, what is placed."""

    def __init__(self) -> None:
        self.exists = self.active = self.held = self.leaving = False
        self.loading = False  # its row has been given in the cycle before
        self.row: int | None = None  # once it was seen
        self.working: set[int] = set()
        self.alive: set[int] = set()
        self.placed: dict[int, int | None] = {}  # None: its place is still to be given
        self.coming: set[int] = set()  # chosen to come, and not there
        self.departing: dict[int, int] = {}  # chosen to leave, and not read out

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
    """Driver, transfer engine, monitor and scoreboard."""

    def __init__(self, unit: Unit) -> None:
        self.unit, self.rng = unit, unit.random
        self.count, self.rows = unit.width("start"), unit.width("inbound")
        self.places = unit.parameters["cache_registers"]
        self.finds, self.classes = unit.count("find__#__warp"), unit.count("setting__#__valid")
        #: Some of a warp's registers: low ones, and high ones.
        self.registers = (*range(self.places + 2), 100, 254)
        self.coverage = Coverage(
            "found",
            "not there",
            "comes alive",
            "comes dead",
            "leaves alive",
            "leaves dead",
            "held up",
            "waits for operands",
            "turn without registers",
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
        self.group: tuple[int, bool] | None = None  # warp whose registers set off, and whether they leave
        self.setting: dict[int, tuple[int, bool]] = {}  # by class: register, alive
        self.saving: int | None = None  # warp that has lost its row in the cycle before
        self.able: dict[int, bool] = {}  # warps that may be given the turn, and whether their registers leave
        # Of those that may have it: whether registers leave, which can be chosen, and which are alive.
        self.choices: dict[int, tuple[bool, set[int], set[int]]] = {}

    def works(self, number: int) -> bool | None:
        """Whether registers of that warp leave, if it may be given the turn."""
        warp = self.warps[number]
        if not warp.held or warp.loading:
            return None
        if warp.out:
            free = not warp.coming and (not warp.leaving or bool(self.quiet >> number & 1))
            return True if free else None
        return False if warp.into and not warp.departing else None

    def drive(self) -> None:
        """Set what the unit's answers do not depend on, and read the state that it offers."""
        unit, rng, coverage = self.unit, self.rng, self.coverage
        self.quiet = rng.getrandbits(self.count)
        unit.set("quiet", self.quiet)
        for name, inward in (("inbound", True), ("outbound", False)):
            rows = {self.warps[warp].row for (warp, _), into in self.flying.items() if into == inward}
            unit.set(name, sum(1 << row for row in rows if row is not None))
        self.asked = [(rng.randrange(self.count), rng.choice(self.registers)) for _ in range(self.finds)]
        for port, (warp, register) in enumerate(self.asked):
            unit.set(f"find__{port}__warp", warp)
            unit.set(f"find__{port}__register", register)
        coverage.hit(
            "waits for operands",
            any(w.leaving and w.out and not w.coming and self.works(n) is None for n, w in self.held),
        )

    @property
    def held(self) -> list[tuple[int, Warp]]:
        """Warps that have a row."""
        return [(number, warp) for number, warp in enumerate(self.warps) if warp.held]

    def check(self) -> None:
        """Compare masks, look-ups and what is offered with what is known."""
        unit, coverage = self.unit, self.coverage
        self.take()
        self.may_issue = {
            number
            for number, warp in self.held
            if not (warp.leaving or warp.loading or warp.coming) and set(warp.placed) == warp.working
        }
        assert set(bits(unit.get("may_issue"))) == self.may_issue
        free = self.rows - len(self.held)
        self.may_activate = (
            {n for n, warp in enumerate(self.warps) if not warp.held and n != self.saving} if free else set()
        )
        assert set(bits(unit.get("may_activate"))) == self.may_activate
        coverage.hit("may issue", self.may_issue)
        coverage.hit("no row free", not free)
        for port, (number, register) in enumerate(self.asked):
            warp = self.warps[number]
            placed = register in warp.placed
            assert unit.get(f"find__{port}__placed") == placed, f"register {register} of warp {number}"
            if placed and warp.placed[register] is not None:
                assert unit.get(f"find__{port}__entry") == warp.placed[register]
                self.same_row(number, unit.get(f"find__{port}__offset"))
            coverage.hit("found" if placed else "not there")
        empty = {
            number for number, warp in self.held if warp.leaving and not warp.placed and not warp.departing
        }
        assert unit.get("freed") == bool(empty)
        self.freed = unit.get("freed_warp") if empty else None
        assert self.freed is None or self.freed in empty
        self.set_off()
        self.choices = {
            n: (leaves, warp.out if leaves else warp.into, set(warp.alive))
            for n, leaves in self.able.items()
            for warp in [self.warps[n]]
        }
        self.able = {n: leaves for n, _ in self.held if (leaves := self.works(n)) is not None}

    def same_row(self, number: int, row: int) -> None:
        """A warp keeps its row, and has it for itself."""
        for other, warp in self.held:
            if warp.row is not None:
                assert (warp.row == row) == (other == number), f"row {row} of warp {number}"
        self.warps[number].row = row

    def take(self) -> None:
        """Look at the registers that have been chosen at the last clock edge, if none were left: of a warp
        that had the turn, in the direction that was found a cycle before."""
        unit, coverage = self.unit, self.coverage
        valid = {number for number in range(self.classes) if unit.get(f"setting__{number}__valid")}
        coverage.hit("row full", any(len(w.placed) + len(w.departing) == self.places for _, w in self.held))
        if self.setting:
            assert valid == set(self.setting)
            return
        if not valid:
            assert not self.choices or any(not registers for _, registers, _ in self.choices.values())
            coverage.hit("turn without registers", self.choices)
            return
        number, leaves = unit.get("warp"), bool(unit.get("leaves"))
        assert number in self.choices, f"warp {number} has nothing to move"
        out, registers, alive = self.choices[number]
        warp, self.group = self.warps[number], (number, leaves)
        assert leaves == out
        self.same_row(number, unit.get("offset"))
        lowest = {register % self.classes: register for register in sorted(registers, reverse=True)}
        assert valid == set(lowest)
        for place, register in lowest.items():
            assert unit.get(f"setting__{place}__register") == register, f"warp {number}"
            self.setting[place] = register, register in alive
            if leaves:
                entry = warp.placed.pop(register)
                assert entry is not None
                warp.departing[register] = entry
            else:
                warp.placed[register] = None
                warp.coming.add(register)

    def set_off(self) -> None:
        """Look at the places of the registers that set off, and let some of them go on."""
        unit, coverage = self.unit, self.coverage
        self.gone_on: dict[int, int] = {}  # class, place
        for place in range(self.classes):
            unit.set(f"setting__{place}__goes", 0)
        if not self.setting or self.group is None:
            return
        number, leaves = self.group
        warp = self.warps[number]
        assert (unit.get("warp"), unit.get("leaves")) == (number, leaves)
        used = {entry for entry in (*warp.placed.values(), *warp.departing.values()) if entry is not None}
        for place, (register, alive) in sorted(self.setting.items()):
            entry = unit.get(f"setting__{place}__entry")
            assert unit.get(f"setting__{place}__live") == alive, f"register {register} of warp {number}"
            if leaves:
                assert entry == warp.departing[register]
            else:
                assert entry < self.places
                assert entry not in used, f"place {entry} is taken"
                used.add(entry)
            if unit.chance(0.3):
                coverage.hit("held up")
                continue
            coverage.hit(f"{'leaves' if leaves else 'comes'} {'alive' if alive else 'dead'}")
            unit.set(f"setting__{place}__goes", 1)
            self.gone_on[place] = entry

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
        back = [0] * self.rows
        for number, register in self.landing:
            if not self.flying[number, register]:
                self._gives_back(back, number, register)
        if self.group is not None and self.group[1]:
            for place in self.gone_on:
                register, alive = self.setting[place]
                if not alive:
                    self._gives_back(back, self.group[0], register)
        for row, mask in enumerate(back):
            unit.set(f"back__{row}", mask)
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

    def _gives_back(self, back: list[int], number: int, register: int) -> None:
        """A register that leaves loses its place."""
        row = self.warps[number].row
        assert row is not None
        back[row] |= 1 << self.warps[number].departing[register]

    def step(self) -> None:
        """The clock edge."""
        coverage = self.coverage
        for number, register in self.landing:
            warp = self.warps[number]
            if self.flying.pop((number, register)):
                warp.coming.discard(register)
            else:
                del warp.departing[register]
        for place, entry in self.gone_on.items():
            assert self.group is not None
            (number, leaves), (register, alive) = self.group, self.setting.pop(place)
            warp = self.warps[number]
            if not leaves:
                warp.placed[register] = entry
            if alive:
                self.flying[number, register] = not leaves
            elif leaves:
                del warp.departing[register]
            else:
                warp.coming.discard(register)
        if self.issuer is not None:
            warp = self.warps[self.issuer]
            if self.fetches:
                warp.working = set(self.set)
            else:
                coverage.hit("last read", warp.alive & self.dead)
                warp.alive = warp.alive - self.dead | self.written
        self.saving = self.freed
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
        for warp in self.warps:
            warp.loading = False
        if self.comes is not None:
            warp = self.warps[self.comes]
            warp.active = warp.held = warp.loading = True
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
            goes = [f"setting__{place}__goes" for place in range(bench.classes)]
            for name in (*goes, "start", "deactivate", "ended", "activate", "prefetch", "issue__valid"):
                unit.set(name, 0)
            await unit.reset()
            bench.clear()
    bench.coverage.check(dut._log)
