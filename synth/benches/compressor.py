"""Bench of the byte-wise compressor (G-Scalar, section 3.1): every byte against the first active lane's.

The reference is the paper's definition, lane by lane; the unit works on bit columns over all lanes.
"""

from __future__ import annotations

from typing import Any

import cocotb

from warpbank.synth.benches.protocol import Coverage, Unit, bits

BYTES = 4


def encoding(lanes: list[int]) -> int:
    """Bit i: byte i and all above it are equal in all these lanes."""
    same = [len({lane >> 8 * byte & 255 for lane in lanes}) <= 1 for byte in range(BYTES)]
    return sum(1 << byte for byte in range(BYTES) if all(same[byte:]))


def drawn(unit: Unit) -> tuple[list[int], int]:
    """Lanes that are alike in some upper bytes, and which of them are active."""
    rng, count = unit.random, unit.parameters["lanes"]
    base, varied = rng.getrandbits(32), rng.choice((0, 0, 8, 16, 24, 32))
    lanes = [base ^ rng.getrandbits(varied) if varied else base for _ in range(count)]
    if unit.chance(0.3):
        lanes[rng.randrange(count)] = rng.getrandbits(32)  # a lane that differs may be inactive
    mask = rng.choice(((1 << count) - 1, rng.getrandbits(count), rng.getrandbits(count), 0))
    if unit.chance(0.2):
        mask = 1 << rng.randrange(count)
    return lanes, mask


class Scoreboard:
    """Scoreboard that compares the outputs with the definition of the encoding."""

    def __init__(self, unit: Unit) -> None:
        self.unit, self.parts = unit, unit.count("enc__#")
        self.coverage = Coverage(
            *(f"encoding {encoded:04b}" for encoded in (0, 8, 12, 14, 15)),
            "full",
            "not full",
            "no lane",
            "one lane",
            "some lanes",
            "all lanes",
            "held",
            "back to back",
        )

    def check(self, lanes: list[int], mask: int) -> None:
        """Compare every output with the definition."""
        unit, count = self.unit, len(lanes)
        assert unit.get("data") == sum(lane << 32 * number for number, lane in enumerate(lanes))
        assert unit.get("active") == mask
        size = count // self.parts
        for part in range(self.parts):
            active = [lanes[lane] for lane in range(part * size, (part + 1) * size) if mask >> lane & 1]
            encoded = encoding(active)
            assert unit.get(f"enc__{part}") == encoded, f"part {part} of {active}"
            base = unit.get(f"base__{part}")
            for byte in bits(encoded):
                first = active[0] if active else 0
                assert base >> 8 * byte & 255 == first >> 8 * byte & 255, f"byte {byte} of part {part}"
            self.coverage.hit(f"encoding {encoded:04b}")
        chosen = [lanes[lane] for lane in bits(mask)]
        assert unit.get("full") == (len(set(chosen)) <= 1), chosen
        self.coverage.hit("full" if len(set(chosen)) <= 1 else "not full")
        number = mask.bit_count()
        kinds = {0: "no lane", 1: "one lane", count: "all lanes"}
        self.coverage.hit(kinds.get(number, "some lanes"))


@cocotb.test()
async def values(dut: Any) -> None:
    """Random values and masks, taken one after the other or held; a reset in between changes no data."""
    unit = Unit(dut)
    await unit.begin()
    scoreboard = Scoreboard(unit)
    expected: tuple[list[int], int] | None = None
    before = False
    for _ in range(600):
        lanes, mask = drawn(unit)
        enable = unit.chance(0.7)
        unit.set("enable", enable)
        unit.set("value", sum(lane << 32 * number for number, lane in enumerate(lanes)))
        unit.set("mask", mask)
        await unit.edge()
        await unit.settle()
        scoreboard.coverage.hit("back to back", enable and before)
        scoreboard.coverage.hit("held", not enable and expected)
        before = enable
        if enable:
            expected = lanes, mask
        if expected:
            scoreboard.check(*expected)
        if unit.chance(0.02):
            unit.set("enable", 0)
            await unit.reset()
    scoreboard.coverage.check(dut._log)
