"""Bench of the address allocation unit (LTRF, section 4.2): no address is given out twice, none is lost."""

from __future__ import annotations

from typing import Any

import cocotb

from warpbank.synth.benches.protocol import Coverage, Unit, bits


class Scoreboard:
    """The set of addresses that are given out, and since when the others are unused."""

    def __init__(self, unit: Unit, coverage: Coverage) -> None:
        self.unit, self.coverage = unit, coverage
        self.count = unit.width("occupied")
        self.reset()

    def reset(self) -> None:
        """All addresses are unused, in ascending order."""
        self.given: set[int] = set()
        self.unused = list(range(self.count))

    def check(self) -> None:
        """Compare the outputs with the sets; the address unused for longest goes next."""
        unit = self.unit
        assert set(bits(unit.get("occupied"))) == self.given
        assert unit.get("available") == bool(self.unused)
        if self.unused:
            head = unit.get("head")
            assert head not in self.given, f"address {head} is given out twice"
            assert head == self.unused[0], f"address {head} goes before {self.unused[0]}"
        self.coverage.hit("all given out", not self.unused)
        self.coverage.hit("none given out", not self.given)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Phases that fill, drain and mix, with resets while addresses are given out."""
    unit = Unit(dut)
    await unit.begin()
    rng = unit.random
    coverage = Coverage(
        "all given out", "none given out", "allocate", "release", "both", "reset in flight", "went round"
    )
    scoreboard = Scoreboard(unit, coverage)
    allocations, likely = 0, 0.5
    for cycle in range(3000):
        await unit.settle()
        scoreboard.check()
        if cycle % 40 == 0:
            likely = rng.choice((0.1, 0.5, 0.9))
        takes = bool(scoreboard.unused) and unit.chance(likely)
        gives = bool(scoreboard.given) and unit.chance(1 - likely)
        address = rng.choice(sorted(scoreboard.given)) if gives else rng.randrange(scoreboard.count)
        unit.set("allocate", takes)
        unit.set("release", gives)
        unit.set("address", address)
        coverage.hit("both" if takes and gives else "allocate", takes)
        coverage.hit("release", gives and not takes)
        if takes:
            scoreboard.given.add(scoreboard.unused.pop(0))
            allocations += 1
            coverage.hit("went round", allocations > 2 * scoreboard.count)
        if gives:
            scoreboard.given.remove(address)
            scoreboard.unused.append(address)
        await unit.edge()
        if unit.chance(0.01):
            coverage.hit("reset in flight", scoreboard.given)
            unit.set("allocate", 0)
            unit.set("release", 0)
            await unit.reset()
            scoreboard.reset()
            allocations = 0
    coverage.check(dut._log)
