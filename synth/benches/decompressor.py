"""Bench of the byte-wise decompressor (G-Scalar, section 3.2): bytes from base and banks.

What the banks deliver in a shared byte is random: it must not reach the register.
"""

from __future__ import annotations

from typing import Any

import cocotb

from warpbank.synth.benches.protocol import Coverage, Unit

BYTES = 4


def expected(data: list[int], encodings: list[int], bases: list[int]) -> int:
    """The register, lane by lane and byte by byte."""
    size, value = len(data) // len(bases), 0
    for lane, word in enumerate(data):
        part = lane // size
        for byte in range(BYTES):
            source = bases[part] if encodings[part] >> byte & 1 else word
            value |= (source >> 8 * byte & 255) << (32 * lane + 8 * byte)
    return value


@cocotb.test()
async def values(dut: Any) -> None:
    """Random values, bases and encodings, taken one after the other or held; resets change no data."""
    unit = Unit(dut)
    await unit.begin()
    rng, parts = unit.random, unit.count("enc__#")
    coverage = Coverage(*(f"encoding {number:04b}" for number in range(16)), "held", "back to back", "reset")
    register: int | None = None
    before = False
    for _ in range(600):
        data = [rng.getrandbits(32) for _ in range(unit.parameters["lanes"])]
        encodings = [rng.choice((0, 8, 12, 14, 15, rng.getrandbits(BYTES))) for _ in range(parts)]
        bases = [rng.getrandbits(32) for _ in range(parts)]
        enable = unit.chance(0.7)
        unit.set("enable", enable)
        unit.set("data", sum(word << 32 * lane for lane, word in enumerate(data)))
        for part in range(parts):
            unit.set(f"enc__{part}", encodings[part])
            unit.set(f"base__{part}", bases[part])
        await unit.edge()
        await unit.settle()
        coverage.hit("back to back", enable and before)
        coverage.hit("held", not enable and register is not None)
        before = enable
        if enable:
            register = expected(data, encodings, bases)
            for encoded in encodings:
                coverage.hit(f"encoding {encoded:04b}")
        if register is not None:
            assert unit.get("value") == register, f"{data} {encodings} {bases}"
        if unit.chance(0.02):
            unit.set("enable", 0)
            await unit.reset()
            coverage.hit("reset")
    coverage.check(dut._log)
