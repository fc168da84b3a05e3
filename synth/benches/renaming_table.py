"""Bench of the renaming table (register renaming, section 6.1): a dictionary of places."""

from __future__ import annotations

from typing import Any

import cocotb

from warpbank.synth.benches.protocol import Coverage, Unit, bits


class Driver:
    """Enters, drops and looks up registers, and knows what must be found."""

    def __init__(self, unit: Unit) -> None:
        self.unit, self.rng = unit, unit.random
        self.banks, self.results = unit.count("find__#__warp"), unit.count("result__#__warp")
        self.warps, self.registers = unit.count("mapped__#"), unit.width("mapped__0")
        self.places = 1 << unit.width("enter__0__physical")
        #: The reference.
        self.table: dict[tuple[int, int], int] = {}
        self.coverage = Coverage(
            "found",
            "not there",
            "entered",
            "dropped",
            "all banks at once",
            "entered beside dropped",
            "taken over",
            "entered while looked up",
            "launch with registers mapped",
            "reset in flight",
            "highest register",
        )

    def register(self, bank: int | None = None) -> int:
        """Any register, mostly a low one; of a bank, if one is given."""
        limit = self.registers if self.unit.chance(0.2) else min(16, self.registers)
        register = self.rng.randrange(limit)
        return register if bank is None else register - register % self.banks + bank

    def drive(self) -> None:
        """Set the inputs of a cycle."""
        unit, rng, coverage = self.unit, self.rng, self.coverage
        self.entered: dict[tuple[int, int], int] = {}
        self.dropped: list[tuple[int, tuple[int, int]]] = []
        # A physical register is that of one register at a time; one that is dropped may change hands at once.
        taken = set(self.table.values())
        for bank in range(self.banks):
            there = [key for key in self.table if key[1] % self.banks == bank]
            drops = bool(there) and unit.chance(0.3)
            key = rng.choice(there) if drops else (0, bank)
            if drops:
                self.dropped.append((bank, key))
                taken.discard(self.table[key])
            unit.set(f"drop__{bank}__valid", drops)
            unit.set(f"drop__{bank}__warp", key[0])
            unit.set(f"drop__{bank}__register", key[1])
            new = rng.randrange(self.warps), self.register(bank)
            freed = [self.table[each] for _, each in self.dropped if self.table[each] not in taken]
            place = rng.choice(freed) if freed and unit.chance(0.3) else rng.randrange(self.places)
            enters = new not in self.table and place not in taken and unit.chance(0.5)
            if enters:
                self.entered[new] = place
                taken.add(place)
                coverage.hit("taken over", place in freed)
                coverage.hit("highest register", new[1] == self.registers - 1)
            coverage.hit("entered beside dropped", enters and drops)
            unit.set(f"enter__{bank}__valid", enters)
            unit.set(f"enter__{bank}__warp", new[0])
            unit.set(f"enter__{bank}__register", new[1])
            unit.set(f"enter__{bank}__physical", place)
        coverage.hit("all banks at once", len(self.entered) == self.banks)
        self.asked: list[tuple[str, tuple[int, int]]] = []
        for port in range(self.banks + self.results):
            found = port < self.banks
            name = f"find__{port}" if found else f"result__{port - self.banks}"
            key = rng.randrange(self.warps), self.register(port if found else None)
            if self.entered and unit.chance(0.2):
                other = rng.choice(list(self.entered))
                if not found or other[1] % self.banks == port:
                    key = other
            self.asked.append((name, key))
            unit.set(f"{name}__warp", key[0])
            unit.set(f"{name}__register", key[1])
        self.launches = unit.chance(0.005)
        unit.set("launch", self.launches)

    def check(self) -> None:
        """Compare the answers with the reference; what this cycle changes counts from the next one on."""
        unit, coverage = self.unit, self.coverage
        for name, key in self.asked:
            mapped = unit.get(f"{name}__mapped")
            assert mapped == (key in self.table), f"{name}: register {key[1]} of warp {key[0]}"
            if mapped:
                assert unit.get(f"{name}__physical") == self.table[key], f"{name}: {key}"
            coverage.hit("found" if mapped else "not there")
            coverage.hit("entered while looked up", key in self.entered)
        for bank, key in self.dropped:
            assert unit.get(f"drop__{bank}__physical") == self.table[key], f"drop {key}"
        for warp in range(self.warps):
            there = {register for each, register in self.table if each == warp}
            assert set(bits(unit.get(f"mapped__{warp}"))) == there, f"warp {warp}"

    def step(self) -> None:
        """The clock edge."""
        self.coverage.hit("launch with registers mapped", self.launches and self.table)
        self.coverage.hit("entered", self.entered)
        self.coverage.hit("dropped", self.dropped)
        for _, key in self.dropped:
            del self.table[key]
        self.table |= self.entered
        if self.launches:
            self.table.clear()

    def rest(self) -> None:
        """Enter and drop nothing."""
        for bank in range(self.banks):
            self.unit.set(f"enter__{bank}__valid", 0)
            self.unit.set(f"drop__{bank}__valid", 0)
        self.unit.set("launch", 0)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Registers come, go and are looked up in all banks at once; launches and resets in between."""
    unit = Unit(dut)
    await unit.begin()
    driver = Driver(unit)
    for _ in range(1500):
        driver.drive()
        await unit.settle()
        driver.check()
        await unit.edge()
        driver.step()
        if unit.chance(0.005):
            driver.coverage.hit("reset in flight", driver.table)
            driver.rest()
            await unit.reset()
            driver.table.clear()
    driver.coverage.check(dut._log)
