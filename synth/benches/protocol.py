"""Ports, clock, reset and functional coverage of a bench on one exported unit."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer

#: Clock period in ns.
_PERIOD = 10


class Unit:
    """Unit under test: its ports by name, and the records that they carry.

    Parameters
    ----------
    dut : what cocotb gives a test.
    """

    def __init__(self, dut: Any) -> None:
        description = json.loads((Path(__file__).parent / "unit.json").read_text())
        self.dut = dut
        self.ports: dict[str, dict[str, Any]] = {port["name"]: port for port in description["ports"]}
        self.parameters: dict[str, int] = description["parameters"]
        #: All that a test draws comes from here: the same seed gives the same test.
        self.random = random.Random(int(os.environ.get("SEED", "1")))

    async def begin(self) -> None:
        """Start the clock, set all inputs to 0 and give a reset."""
        for port in self.ports.values():
            if not port["output"]:
                getattr(self.dut, port["name"]).value = 0
        Clock(self.dut.clk, _PERIOD, unit="ns").start()
        await self.reset()

    async def reset(self) -> None:
        """Hold the reset for two cycles, if the unit has one."""
        if self.has_reset:
            self.dut.rst.value = 1
        await self.edge()
        await self.edge()
        if self.has_reset:
            self.dut.rst.value = 0

    @property
    def has_reset(self) -> bool:
        """Whether the unit has a reset: one whose registers are data alone has none."""
        return hasattr(self.dut, "rst")

    async def edge(self) -> None:
        """Go past the next rising edge; what is set now holds from it on."""
        await RisingEdge(self.dut.clk)

    async def settle(self) -> None:
        """Let combinational outputs follow what was set."""
        await Timer(1, unit="ns")

    def has(self, name: str) -> bool:
        """Whether there is a port of that name."""
        return name in self.ports

    def count(self, name: str) -> int:
        """Number of the ports `name`, in which `#` stands for 0, 1, 2, ..."""
        number = 0
        while name.replace("#", str(number)) in self.ports:
            number += 1
        return number

    def width(self, name: str) -> int:
        """Bits of a port."""
        return int(self.ports[name]["width"])

    def get(self, name: str) -> int:
        """Value of a port."""
        value = getattr(self.dut, name).value
        return int(value.to_unsigned()) if hasattr(value, "to_unsigned") else int(value)

    def set(self, name: str, value: int) -> None:
        """Set an input, if the unit has it."""
        if name in self.ports:
            getattr(self.dut, name).value = value

    def set_record(self, name: str, fields: dict[str, int]) -> None:
        """Set an input that carries a record, if the unit has it; fields that are not named become 0."""
        if name not in self.ports:
            return
        places = self.ports[name]["fields"]
        self.set(name, sum(value << places[field][0] for field, value in fields.items() if field in places))

    def field(self, name: str, field: str) -> int:
        """One field of a port that carries a record."""
        low, width = self.ports[name]["fields"][field]
        return self.get(name) >> low & ((1 << width) - 1)

    def chance(self, probability: float) -> bool:
        """True with that probability."""
        return self.random.random() < probability


class Coverage:
    """Functional coverage: situations that a test has to reach.

    Parameters
    ----------
    bins : names of all of it.
    """

    def __init__(self, *bins: str) -> None:
        self._hits: Counter[str] = Counter(dict.fromkeys(bins, 0))

    def hit(self, name: str, reached: object = True) -> None:
        """Count `name`, if it was reached."""
        if name not in self._hits:
            raise KeyError(name)
        if reached:
            self._hits[name] += 1

    def check(self, log: Any) -> None:
        """Print what was reached how often. Raises AssertionError if anything was not."""
        for name, count in self._hits.items():
            log.info("covered %s: %d", name, count)
        missing = [name for name, count in self._hits.items() if not count]
        assert not missing, f"never reached: {', '.join(missing)}"


def bits(mask: int) -> list[int]:
    """Numbers of the bits that are set."""
    return [number for number in range(mask.bit_length()) if mask >> number & 1]
