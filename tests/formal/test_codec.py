"""Proofs: what was compressed comes back on every active lane, inactive lanes do not matter, FS means one
scalar."""

from __future__ import annotations

from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Cat, Elaboratable, Module, Mux, Signal, Value

from tests.formal.prove import Refuted, assume_no_reset, prove
from tests.hdl.storage.test_codec import AnyHalves, BusForAll, Garbage, WithoutBus
from warpbank.arch.config import preset, with_overrides
from warpbank.hdl.storage.bdi import BdiCompressor, BdiDecompressor, Delta
from warpbank.hdl.storage.compressor import BroadcastCompressor, Compressor
from warpbank.hdl.storage.decompressor import Decompressor

LANES = 4
CONFIG = with_overrides(preset("tiny"), [f"lanes={LANES}"])


def lanes(value: Value) -> list[Value]:
    return [value[32 * lane : 32 * lane + 32] for lane in range(LANES)]


class RoundTrip(Elaboratable):
    """Any value under any mask; for the bytes that are not stored, anything comes from the banks. A second
    compressor sees the same active lanes beside other inactive ones."""

    def __init__(self, parts: int, compressor: Any = Compressor) -> None:
        self.parts = parts
        self.one, self.other = compressor(CONFIG, parts), compressor(CONFIG, parts)
        self.decompressor = Decompressor(CONFIG, parts)
        self.junk, self.beside = Signal(32 * LANES), Signal(32 * LANES)
        self.free = [self.one.value, self.one.mask, self.one.enable, self.junk, self.beside]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        one, other, back = self.one, self.other, self.decompressor
        m.submodules.one, m.submodules.other, m.submodules.decompressor = one, other, back
        assume_no_reset(m)
        shown = [
            Mux(active, mine, its)
            for active, mine, its in zip(one.mask, lanes(one.value), lanes(self.beside), strict=True)
        ]
        m.d.comb += [other.enable.eq(one.enable), other.mask.eq(one.mask), other.value.eq(Cat(shown))]

        first, there = Signal(), Signal()
        value, active = Signal(32 * LANES), Signal(LANES)
        m.d.sync += [first.eq(first | one.enable), there.eq(first), value.eq(one.data), active.eq(one.active)]
        stored = []
        for lane, (mine, junk) in enumerate(zip(lanes(one.data), lanes(self.junk), strict=True)):
            chosen = Cat(bit.replicate(8) for bit in one.enc[lane * self.parts // LANES])
            stored.append(mine & ~chosen | junk & chosen)
        m.d.comb += [back.enable.eq(1), back.data.eq(Cat(stored))]
        for part in range(self.parts):
            m.d.comb += [back.enc[part].eq(one.enc[part]), back.base[part].eq(one.base[part])]
            m.d.comb += Assert(
                ~first | (one.enc[part] == other.enc[part]) & (one.base[part] == other.base[part])
            )
            # A prefix code.
            m.d.comb += Assert(
                (one.enc[part] == 0) | reduce(or_, (one.enc[part] == code for code in (8, 12, 14, 15)))
            )
        m.d.comb += Assert(~first | (one.full == other.full))
        for lane in range(LANES):
            m.d.comb += Assert(~there | ~active[lane] | (lanes(back.value)[lane] == lanes(value)[lane]))
            for beside in range(lane):
                same = lanes(one.data)[lane] == lanes(one.data)[beside]
                m.d.comb += Assert(~first | ~one.full | ~one.active[lane] | ~one.active[beside] | same)
        return m


@pytest.mark.parametrize("parts", [1, 2])
def test_active_lanes_come_back(parts: int, tmp_path: Path) -> None:
    harness = RoundTrip(parts)
    prove(harness, harness.free, 5, tmp_path)


@pytest.mark.parametrize("unit", [Garbage, AnyHalves])
def test_mutants_are_refuted(unit: Any, tmp_path: Path) -> None:
    harness = RoundTrip(2, unit)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 5, tmp_path)


class Alike(Elaboratable):
    """The compressor of figure 7, with its bus, beside ours without one, under any values and masks."""

    def __init__(self, broadcast: Any = BroadcastCompressor) -> None:
        self.one, self.other = Compressor(CONFIG), broadcast(CONFIG)
        self.free = [self.one.value, self.one.mask, self.one.enable]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.one, m.submodules.other = one, other = self.one, self.other
        assume_no_reset(m)
        first = Signal()
        m.d.sync += first.eq(first | one.enable)
        shared = Cat(bit.replicate(8) for bit in one.enc[0])
        m.d.comb += [
            other.enable.eq(one.enable),
            other.value.eq(one.value),
            other.mask.eq(one.mask),
            Assert(~first | (one.enc[0] == other.enc[0]) & (one.full == other.full)),
            Assert(~first | (one.base[0] & shared == other.base[0] & shared)),
        ]
        return m


def test_a_bus_changes_no_answer(tmp_path: Path) -> None:
    harness = Alike()
    prove(harness, harness.free, 4, tmp_path)


@pytest.mark.parametrize("unit", [WithoutBus, BusForAll])
def test_mutants_of_the_bus_are_refuted(unit: Any, tmp_path: Path) -> None:
    harness = Alike(unit)
    with pytest.raises(Refuted):
        prove(harness, harness.free, 4, tmp_path)


class BdiRoundTrip(Elaboratable):
    """Any value under any mask; the packed bits beyond those that a kind uses may be anything."""

    def __init__(self) -> None:
        self.compressor, self.decompressor = BdiCompressor(CONFIG), BdiDecompressor(CONFIG)
        self.junk = Signal(32 * LANES)
        self.free = [self.compressor.value, self.compressor.mask, self.compressor.enable, self.junk]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.compressor, m.submodules.decompressor = there, back = self.compressor, self.decompressor
        assume_no_reset(m)
        first, valid = Signal(), Signal()
        value, active = Signal(32 * LANES), Signal(LANES)
        with m.If(there.enable):
            m.d.sync += [first.eq(1), value.eq(there.value), active.eq(there.mask)]
        before, mask = Signal.like(value), Signal.like(active)
        m.d.sync += [valid.eq(first), before.eq(value), mask.eq(active)]
        used = Signal(32 * LANES)
        every = (1 << 32 * LANES) - 1
        widths = {
            Delta.RAW: 32 * LANES,
            Delta.NONE: 32,
            Delta.BYTE: 32 + 8 * LANES,
            Delta.HALF: 32 + 16 * LANES,
        }
        for kind, width in widths.items():
            with m.If(there.kind == kind):
                m.d.comb += used.eq(every >> (32 * LANES - width))
        m.d.comb += [
            back.enable.eq(1),
            back.kind.eq(there.kind),
            back.packed.eq(there.packed & used | self.junk & ~used),
        ]
        for lane in range(LANES):
            m.d.comb += Assert(~valid | ~mask[lane] | (lanes(back.value)[lane] == lanes(before)[lane]))
        return m


def test_bdi_comes_back(tmp_path: Path) -> None:
    harness = BdiRoundTrip()
    prove(harness, harness.free, 5, tmp_path)
